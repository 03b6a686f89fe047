//! Tests of the rounds in which the window counts as used.

use super::*;

/// RFC 7661 §4.2: a stop counts in its round trip and in the next.
#[test]
fn a_stop_counts_for_its_round_trip_and_the_next() {
    let mut window = WindowUse::new();
    assert!(!window.on_ack(false));
    window.on_full();
    let expected = [(false, true), (true, true), (false, true), (true, false)];
    for (step, (round_start, limited)) in expected.into_iter().enumerate() {
        assert_eq!(window.on_ack(round_start), limited, "step {step}");
    }
}

/// RFC 3042 §2: duplicate ACKs do not grow the window; their bytes count with the next
/// ACK that advances, unless a loss is repaired.
#[test]
fn sacked_bytes_count_when_the_ack_advances_unless_a_loss_is_repaired() {
    let mut window = WindowUse::new();
    for (delivered, advanced, repairing, expected) in [
        (10, false, false, 0),
        (20, false, false, 0),
        (5, true, false, 35),
        (5, true, false, 5),
        (10, false, false, 0),
        (20, false, true, 0),
        (5, true, false, 5),
        (10, false, false, 0),
        (5, true, true, 5),
        (5, true, false, 5),
    ] {
        assert_eq!(window.growth(delivered, advanced, repairing), expected);
    }
}
