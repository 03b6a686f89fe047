//! Tests of algorithms that share a path. The tests of a single algorithm are beside its code.

pub mod path;

use fullpipe_pool::Duration;

use self::path::{Path, World, config};
use crate::CongestionAlgorithm::{self, Bbr, Cubic, NewReno};

/// Returns the shares of the link that two flows get in a minute, with a queue
/// of one bandwidth-delay product.
fn shares(first: CongestionAlgorithm, second: CongestionAlgorithm) -> (f64, f64) {
    let path = Path {
        buffer: Path::wide().bdp(),
        ..Path::wide()
    };
    let mut world = World::new(path, &[config(first), config(second)], 1);
    world.run(Duration::from_secs(10));
    world.flows[1].forget();
    let first = world.utilisation(0, Duration::from_secs(60));
    let possible = world.path.rate as f64 * 60.0;
    (first, world.flows[1].delivered as f64 / possible)
}

#[test]
fn two_of_a_kind_fill_the_link_and_share_it() {
    for algorithm in CongestionAlgorithm::ALL.iter().copied() {
        let (a, b) = shares(algorithm, algorithm);
        let jain = (a + b).powi(2) / (2.0 * (a * a + b * b));
        assert!(a + b > 0.94, "{algorithm}: {a} and {b}");
        assert!(jain > 0.95, "{algorithm}: {a} and {b}");
    }
}

#[test]
fn none_starves_another() {
    for (first, second, least) in [
        (Cubic, NewReno, 0.3),
        (Bbr, Cubic, 0.2),
        (Bbr, NewReno, 0.2),
    ] {
        let (a, b) = shares(first, second);
        assert!(a > least && b > least, "{first} {a}, {second} {b}");
        assert!(a + b > 0.95, "{first} {a}, {second} {b}");
    }
}
