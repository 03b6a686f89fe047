//! Tests of the time of a probe, and of its outcome.

use super::*;

#[test]
fn the_probe_waits_two_round_trips_and_longer_for_a_lone_segment() {
    let ms = Duration::from_millis;
    assert_eq!(TailLoss::timeout(ms(20), false, ms(300)), ms(42));
    assert_eq!(TailLoss::timeout(ms(20), true, ms(300)), ms(240));
    assert_eq!(TailLoss::timeout(ms(200), false, ms(300)), ms(300));
}

#[test]
fn the_ack_tells_whether_the_probe_repaired_anything() {
    for (name, again, ack, dsack, bare, expected) in [
        ("new payload", false, 100, false, true, ProbeOutcome::NoLoss),
        (
            "reported twice",
            true,
            100,
            true,
            true,
            ProbeOutcome::NoLoss,
        ),
        (
            "later payload acknowledged",
            true,
            101,
            false,
            true,
            ProbeOutcome::LossRepaired,
        ),
        (
            "not reached yet",
            true,
            99,
            false,
            true,
            ProbeOutcome::Nothing,
        ),
    ] {
        let mut tail = TailLoss::default();
        tail.on_probe(SeqNum(100), again);
        assert_eq!(tail.on_ack(SeqNum(ack), dsack, bare), expected, "{name}");
    }
}

#[test]
fn without_a_round_trip_time_the_probe_waits_as_long_as_the_timeout() {
    let ms = Duration::from_millis;
    for lone in [false, true] {
        assert_eq!(TailLoss::timeout(ms(0), lone, ms(1_000)), ms(1_000));
    }
}

/// RFC 8985 §7.4: an ACK exactly at the end of the probe decides only if it has a DSACK or
/// reports nothing else.
#[test]
fn an_ack_at_the_end_of_the_probe_leaves_it_open_unless_it_is_a_duplicate() {
    for (dsack, bare, expected, probing) in [
        (false, false, ProbeOutcome::Nothing, true),
        (false, true, ProbeOutcome::NoLoss, false),
        (true, false, ProbeOutcome::NoLoss, false),
    ] {
        let mut tail = TailLoss::default();
        assert!(!tail.is_probing());
        tail.on_probe(SeqNum(100), true);
        assert_eq!(tail.on_ack(SeqNum(100), dsack, bare), expected);
        assert_eq!(tail.is_probing(), probing);
        tail.cancel();
        assert!(!tail.is_probing());
        assert_eq!(
            tail.on_ack(SeqNum(200), false, false),
            ProbeOutcome::Nothing
        );
    }
    let mut tail = TailLoss::default();
    tail.on_probe(SeqNum(100), true);
    tail.on_ack(SeqNum(101), false, false);
    assert!(!tail.is_probing(), "repaired");
}
