//! Tests of the proofs that a recovery was spurious.

use super::*;

fn recovering() -> UndoDetector {
    let mut undo = UndoDetector::default();
    undo.start(SeqNum(100), 0, false);
    undo.on_retransmission(true, 20, Instant::from_millis(50));
    undo
}

#[test]
fn a_timestamp_from_before_the_retransmission_proves_it_spurious() {
    assert!(recovering().is_spurious(Some(Instant::from_millis(40)), false));
    assert!(!recovering().is_spurious(Some(Instant::from_millis(50)), false));
}

#[test]
fn dsacks_of_everything_retransmitted_prove_it_spurious() {
    let mut undo = recovering();
    undo.on_dsack(SeqNum(100), 10);
    assert!(!undo.is_spurious(None, false));
    undo.on_dsack(SeqNum(50), 10); // from before this recovery
    assert!(!undo.is_spurious(None, false));
    undo.on_recovered();
    undo.on_dsack(SeqNum(110), 10);
    assert!(undo.is_spurious(None, false), "also after its end");
}

#[test]
fn an_original_known_by_its_early_ack_is_not_counted_again_by_a_dsack() {
    let mut undo = recovering();
    undo.on_original(10);
    undo.on_dsack(SeqNum(100), 10);
    assert!(!undo.is_spurious(None, false));
    undo.on_original(10);
    assert!(undo.is_spurious(None, false));
}

#[test]
fn retransmissions_of_an_earlier_recovery_must_be_spurious_too() {
    let mut undo = UndoDetector::default();
    undo.start(SeqNum(100), 10, false);
    undo.on_retransmission(false, 10, Instant::from_millis(50));
    undo.on_dsack(SeqNum(100), 10);
    assert!(!undo.is_spurious(None, false));
    undo.on_dsack(SeqNum(110), 10);
    assert!(undo.is_spurious(None, false));
}

#[test]
fn the_timestamp_echo_of_another_segment_proves_nothing() {
    let mut undo = UndoDetector::default();
    undo.start(SeqNum(100), 0, false);
    undo.on_retransmission(false, 10, Instant::from_millis(50));
    undo.on_retransmission(true, 10, Instant::from_millis(60));
    assert!(!undo.is_spurious(Some(Instant::from_millis(40)), false));
}

#[test]
fn late_originals_undo_only_a_timeout() {
    for is_timeout in [false, true] {
        let mut undo = UndoDetector::default();
        undo.start(SeqNum(100), 0, is_timeout);
        assert_eq!(undo.is_spurious(None, true), is_timeout);
    }
}

#[test]
fn outside_of_a_recovery_nothing_is_counted_or_undone() {
    let mut undo = UndoDetector::default();
    undo.on_retransmission(true, 20, Instant::from_millis(50));
    undo.on_original(20);
    undo.on_dsack(SeqNum(100), 20);
    assert!(!undo.is_spurious(Some(Instant::ZERO), true));
    assert!(!undo.sent_nothing());
    undo.start(SeqNum(100), 0, true);
    assert!(undo.sent_nothing() && !undo.is_spurious(None, false));
    undo.forget();
    assert!(!undo.is_spurious(None, true));
}

#[test]
fn a_recovery_has_sent_nothing_until_it_or_the_one_before_has_a_retransmission() {
    let mut undo = UndoDetector::default();
    undo.start(SeqNum(100), 10, false);
    assert!(!undo.sent_nothing(), "of the recovery before");
    undo.start(SeqNum(100), 0, false);
    undo.on_retransmission(true, 10, Instant::from_millis(50));
    assert!(!undo.sent_nothing());
    undo.on_original(10);
    assert!(!undo.sent_nothing(), "it sent something, needlessly");
}

/// RFC 3522 §3.2, RFC 5682 §2.1: after the end of a recovery, only DSACKs can undo it.
#[test]
fn after_the_recovery_neither_echo_nor_original_undo_it() {
    let mut undo = recovering();
    undo.on_recovered();
    assert!(!undo.is_spurious(Some(Instant::ZERO), true));
    let mut timeout = UndoDetector::default();
    timeout.start(SeqNum(100), 0, true);
    timeout.on_recovered();
    assert!(!timeout.is_spurious(None, true));
}

#[test]
fn a_dsack_of_more_than_was_known_counts_for_the_rest() {
    let mut undo = recovering();
    undo.on_original(5);
    undo.on_dsack(SeqNum(100), 12);
    assert_eq!((undo.undo_retrans, undo.known_spurious), (8, 0));
    undo.on_dsack(SeqNum(112), 8);
    assert!(undo.is_spurious(None, false));
}

#[test]
fn the_detection_ends_a_window_after_the_recovery_across_the_wrap() {
    for (marker, end, last) in [
        (100, 300, 500),
        (u32::MAX - 99, 100, 300),
        // `end` is more than the largest window after `marker`, so `last` is one largest window
        // after `end`.
        (0, LARGEST_WINDOW + 100, 2 * LARGEST_WINDOW + 100),
    ] {
        let mut undo = UndoDetector::default();
        undo.start(SeqNum(marker), 0, false);
        undo.on_recovered();
        for ack in [end, last] {
            undo.expire(SeqNum(ack), SeqNum(end));
            assert!(undo.is_running(), "{ack} after {end}");
        }
        undo.expire(SeqNum(last) + 1, SeqNum(end));
        assert!(!undo.is_running(), "after {last}");
    }
}
