//! Tests of the tightest bound, and of the clock.

use fullpipe_pool::{Duration, Instant};

use super::{Limit::*, *};

#[test]
fn the_smallest_bound_wins_and_the_first_of_equals() {
    for (name, bounds, expected) in [
        (
            "peer full",
            [(ReceiveWindow, 0), (CwndSteady, 9000)],
            ReceiveWindow,
        ),
        (
            "cwnd full",
            [(ReceiveWindow, 9000), (CwndSteady, 0)],
            CwndSteady,
        ),
        (
            "both full",
            [(ReceiveWindow, 0), (CwndSteady, 0)],
            ReceiveWindow,
        ),
    ] {
        assert_eq!(tightest(&bounds).bound_by, expected, "{name}");
    }
}

#[test]
fn the_times_of_all_limits_add_up_to_the_age() {
    let mut clock = LimitClock::start(Handshake, Instant::from_micros(5));
    for (at_us, limit) in [(7, Application), (7, Nagle), (9, Nagle), (100, Recovery)] {
        clock.set(limit, Instant::from_micros(at_us));
    }
    let now = Instant::from_micros(1_000);
    let total = clock
        .shares(now)
        .fold(Duration::ZERO, |sum, (_, time, _)| sum + time);
    assert_eq!(total, Duration::from_micros(995));
    assert_eq!(clock.time_at(Nagle, now), Duration::from_micros(93));
    assert_eq!(clock.time_at(Application, now), Duration::ZERO);
}

#[test]
fn bytes_are_charged_to_the_limit_that_ended_when_they_left() {
    let mut clock = LimitClock::start(SendBuffer, Instant::ZERO);
    clock.charge_bytes(1_460);
    clock.set(CwndSteady, Instant::from_micros(1));
    clock.charge_bytes(40);
    assert_eq!(
        (clock.bytes(SendBuffer), clock.bytes(CwndSteady)),
        (1_460, 40)
    );
}

/// The last of `Limit` and the last two of `ReceiveLimit` apply only to datagrams, so the clocks
/// of connections have no memory for them.
#[test]
fn the_clock_of_a_connection_has_no_place_for_the_limits_of_a_host() {
    let now = Instant::from_secs(1);
    let sender = LimitClock::start(Limit::Application, now);
    let limits: alloc::vec::Vec<_> = sender.shares(now).map(|(limit, ..)| limit).collect();
    assert_eq!(limits, Limit::ALL[..Limit::COUNT - 1]);
    assert_eq!(Limit::ALL.last(), Some(&Limit::Processor));
    let receiver = ReceiveClock::start(ReceiveLimit::None, now);
    let last = receiver.shares(now).last().map(|(limit, ..)| limit);
    assert_eq!(last, Some(ReceiveLimit::Memory));
}
