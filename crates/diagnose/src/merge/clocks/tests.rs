//! Tests of clock differences, with made-up segments.

use super::*;

/// Segments with delays of 10 ms in each direction and queues of up to 40 ms. The clocks differ by
/// 3 s, and one drifts by `drift`.
fn passed(drift: f64, seconds: u32) -> [Vec<Passed>; 2] {
    let mut random = fullpipe_pool::Rng::seeded(7);
    let mut queue = || f64::from(u32::try_from(random.below(40_000)).expect("small")) * 1e3;
    [1.0, -1.0].map(|sign| {
        let at = |step: u32| f64::from(step) * 1e7;
        let difference = |at: f64| 3e9 + drift * at;
        let steps = 0..seconds * 100;
        let time = |at: f64, queue: f64| 1e7 + queue + sign * difference(at);
        steps
            .map(|step| (at(step), time(at(step), queue())))
            .collect()
    })
}

#[test]
fn clocks_are_compared_below_the_noise_of_queues() {
    for drift in [0.0, 80e-6, -200e-6] {
        let [there, back] = passed(drift, 60);
        let found = compare(&there, &back).expect("enough segments");
        assert!((found.ahead_ns - 3e9).abs() < 500e3, "{drift}: {found:?}");
        assert!((found.drift - drift).abs() < 15e-6, "{drift}: {found:?}");
        assert!(
            (found.round_trip_ns - 2e7).abs() < 1e6,
            "{drift}: {found:?}"
        );
    }
}

#[test]
fn taps_the_other_way_around_have_a_negative_round_trip() {
    let [there, back] = passed(0.0, 10).map(|points| {
        let turned = points.into_iter().map(|(at, time)| (at, -time));
        turned.collect::<Vec<_>>()
    });
    assert!(compare(&there, &back).expect("enough").round_trip_ns < 0.0);
    let few = compare(&there[..2], &back);
    assert_eq!(few, Err(MergeFailure::NothingInCommon));
}
