//! Tests of the timer wheel, against a plain sorted list of deadlines.

use super::*;
use alloc::collections::BTreeMap;
use fullpipe_pool::{Duration, Rng};

const TICK: Duration = Duration::from_nanos(1 << TICK_SHIFT);

#[test]
fn a_timer_expires_neither_early_nor_a_tick_late() {
    for at_ns in [
        0,
        1,
        1_024,
        1_025,
        65_536,
        200_000_000,
        40_000_001,
        86_400_000_000_000,
    ] {
        let mut wheel = TimerWheel::new(1);
        let at = Instant::from_nanos(at_ns);
        wheel.set(0, Some(at));
        let next = wheel.next_deadline().unwrap();
        assert!(next >= at && next.since(at) < TICK, "{at_ns}: {next:?}");
        if next > Instant::ZERO {
            assert_eq!(
                wheel.expire(next - Duration::from_nanos(1)),
                None,
                "{at_ns} early"
            );
        }
        assert_eq!(wheel.expire(next), Some(0), "{at_ns}");
        assert_eq!(wheel.expire(next), None);
        assert_eq!(wheel.next_deadline(), None);
    }
}

#[test]
fn a_cancelled_deadline_is_forgotten_and_a_new_one_replaces_the_old() {
    let mut wheel = TimerWheel::new(2);
    wheel.set(0, Some(Instant::from_millis(5)));
    wheel.set(1, Some(Instant::from_millis(6)));
    wheel.set(0, None);
    wheel.set(1, Some(Instant::from_millis(9)));
    assert_eq!(wheel.expire(Instant::from_millis(8)), None);
    assert_eq!(wheel.expire(Instant::from_millis(10)), Some(1));
    assert_eq!(wheel.next_deadline(), None);
}

#[test]
fn a_deadline_in_the_past_is_due_at_once() {
    let mut wheel = TimerWheel::new(1);
    let now = Instant::from_secs(3);
    assert_eq!(wheel.expire(now), None);
    wheel.set(0, Some(Instant::from_secs(1)));
    assert!(wheel.next_deadline().unwrap() <= now);
    assert_eq!(wheel.expire(now), Some(0));
}

#[test]
fn a_deadline_at_the_end_of_time_is_kept_or_never_comes() {
    const LAST_TICK: u64 = u64::MAX >> TICK_SHIFT << TICK_SHIFT;
    for (clock_ns, at_ns, expires) in [
        (0, u64::MAX, false),
        (0, LAST_TICK + 1, false),
        (0, LAST_TICK, true),
        (u64::MAX / 2, LAST_TICK - 1, true),
        (LAST_TICK, u64::MAX, false),
        (LAST_TICK, LAST_TICK, true),
    ] {
        let mut wheel = TimerWheel::new(1);
        assert_eq!(wheel.expire(Instant::from_nanos(clock_ns)), None);
        wheel.set(0, Some(Instant::from_nanos(at_ns)));
        assert_eq!(
            wheel.next_deadline().is_some(),
            expires,
            "{clock_ns} {at_ns}"
        );
        let due = wheel.expire(Instant::from_nanos(u64::MAX));
        assert_eq!(due.is_some(), expires, "{clock_ns} {at_ns}");
    }
}

#[test]
fn calling_expire_at_the_next_deadline_always_makes_progress() {
    let mut wheel = TimerWheel::new(100);
    for index in 0..100 {
        wheel.set(index, Some(Instant::from_millis(7_000 + u64::from(index))));
    }
    let (mut fired, mut asked) = (0, 0);
    while let Some(next) = wheel.next_deadline() {
        asked += 1;
        while wheel.expire(next).is_some() {
            fired += 1;
        }
    }
    assert_eq!(fired, 100);
    assert!(asked < 100 * LEVELS, "asked {asked} times");
}

/// A number of any order of magnitude below two to the power `most`.
fn below_power(rng: &mut Rng, most: u64) -> u64 {
    let power = rng.between(1, most);
    rng.below(1 << power)
}

/// Random sets, cancels and steps of time, compared with a model and with a wheel that has a table
/// of heads.
#[test]
fn the_wheel_agrees_with_a_sorted_list() {
    const INDICES: u64 = FEW as u64;
    for seed in 0..40 {
        let mut rng = Rng::seeded(seed);
        let mut wheel = TimerWheel::new(FEW);
        let mut large = TimerWheel::new(FEW + 1);
        let mut model: BTreeMap<u32, u64> = BTreeMap::new();
        let mut now = rng.below(1 << 40);
        for wheel in [&mut wheel, &mut large] {
            while wheel.expire(Instant::from_nanos(now)).is_some() {}
        }
        for _ in 0..2_000 {
            let index = rng.below(INDICES) as u32;
            match rng.below(4) {
                0 => {
                    wheel.set(index, None);
                    large.set(index, None);
                    model.remove(&index);
                }
                1 => now += below_power(&mut rng, 42),
                _ => {
                    let at = now + below_power(&mut rng, 45);
                    wheel.set(index, Some(Instant::from_nanos(at)));
                    large.set(index, Some(Instant::from_nanos(at)));
                    model.insert(index, at.div_ceil(1 << TICK_SHIFT));
                }
            }
            let next = wheel.next_deadline().map(|at| at.as_nanos() >> TICK_SHIFT);
            let earliest = model.values().min().copied();
            assert_eq!(next.is_some(), earliest.is_some());
            if let (Some(next), Some(earliest)) = (next, earliest) {
                assert!(next <= earliest.max(now >> TICK_SHIFT), "seed {seed}");
            }
            let mut fired = Vec::new();
            while let Some(index) = wheel.expire(Instant::from_nanos(now)) {
                assert_eq!(large.expire(Instant::from_nanos(now)), Some(index));
                fired.push(index);
            }
            assert_eq!(large.expire(Instant::from_nanos(now)), None);
            fired.sort_unstable();
            let due: Vec<u32> = model
                .iter()
                .filter(|(_, at)| **at <= now >> TICK_SHIFT)
                .map(|(index, _)| *index)
                .collect();
            assert_eq!(fired, due, "seed {seed}");
            model.retain(|_, at| *at > now >> TICK_SHIFT);
        }
    }
}
