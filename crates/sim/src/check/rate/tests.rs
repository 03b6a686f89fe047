//! Tests of `rate.rs`.

use super::*;

const PATH: PathCapacity = PathCapacity {
    rate_bps: 8_000_000,
    round_trip_us: 10_000,
    frame: 1_514,
};

fn sample(delivered: u32, interval_us: u32, rtt_us: u32) -> FastestSample {
    FastestSample {
        delivered,
        interval_us,
        rtt_us,
    }
}

#[test]
fn a_sample_above_the_link_is_found() {
    for (name, sample, holds) in [
        ("the rate itself", sample(10_000, 10_000, 10_000), true),
        ("a frame more", sample(11_500, 10_000, 10_000), true),
        ("half as much again", sample(15_000, 10_000, 10_000), false),
        (
            "the same behind a queue",
            sample(15_000, 10_000, 15_000),
            true,
        ),
    ] {
        assert_eq!(check(sample, PATH).is_ok(), holds, "{name}");
    }
}
