//! Tests that compare the generator with published values, and check the ranges of its draws.

use super::*;

/// Published outputs of the reference implementations: splitmix64 from seed
/// 1234567, xoshiro256++ from state 1, 2, 3, 4.
#[test]
fn the_generators_give_their_published_values() {
    let mut state = 1_234_567;
    for expected in [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ] {
        assert_eq!(splitmix64(&mut state), expected);
    }
    let mut rng = Rng([1, 2, 3, 4]);
    for expected in [
        41_943_041,
        58_720_359,
        3_588_806_011_781_223,
        3_591_011_842_654_386,
        9_228_616_714_210_784_205,
    ] {
        assert_eq!(rng.next_u64(), expected);
    }
}

#[test]
fn draws_stay_in_their_range_and_reach_all_of_it() {
    let mut rng = Rng::seeded(7);
    let mut seen = [0_u32; 6];
    for _ in 0..6_000 {
        seen[rng.between(10, 15) as usize - 10] += 1;
    }
    assert!(
        seen.iter().all(|&count| (850..1150).contains(&count)),
        "{seen:?}"
    );
    assert_eq!(rng.below(1), 0);
    assert_eq!(rng.between(9, 9), 9);
    assert!(rng.below((1 << 63) + 1) <= 1 << 63);
    let wide = Rng::seeded(1).between(0, u64::MAX);
    assert_eq!(wide, Rng::seeded(1).next_u64());
}

#[test]
fn a_chance_is_true_in_its_share_of_draws() {
    let mut rng = Rng::seeded(11);
    for (p, expected) in [(0.0, 0..=0), (0.25, 2_300..=2_700), (1.0, 10_000..=10_000)] {
        let hits = (0..10_000).filter(|_| rng.chance(p)).count();
        assert!(expected.contains(&hits), "{p}: {hits}");
    }
}

#[test]
fn forks_are_reproducible_and_differ_by_label_and_by_parent() {
    let parent = Rng::seeded(3);
    assert_eq!(parent.fork(1), parent.fork(1));
    assert_ne!(parent.fork(1), parent.fork(2));
    assert_ne!(parent.fork(1), Rng::seeded(4).fork(1));
    assert_eq!(parent, Rng::seeded(3));
}

#[test]
#[should_panic(expected = "no number is below 0")]
fn drawing_below_zero_is_refused() {
    Rng::seeded(0).below(0);
}
