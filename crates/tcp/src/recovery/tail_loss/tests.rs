//! Probe timeout and probe outcome.

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
