//! Loss recovery on its own: what it concludes from ACKs and timeouts.

use super::*;

const MSS: u32 = 1_000;

fn after_handshake() -> Recovery {
    Recovery::new(SeqNum(0))
}

#[test]
fn the_third_duplicate_starts_fast_recovery_once() {
    let mut recovery = after_handshake();
    let mut outcomes = [OnDuplicate::Counted; 5];
    for outcome in &mut outcomes {
        *outcome = recovery.on_duplicate(SeqNum(1), SeqNum(9_001), 0, MSS);
    }
    assert_eq!(
        outcomes
            .iter()
            .filter(|&&o| o == OnDuplicate::LossFound)
            .count(),
        1
    );
    assert_eq!(outcomes[2], OnDuplicate::LossFound);
    assert!(recovery.head_is_due());
    assert_eq!(
        recovery.credit(),
        5 * MSS,
        "each segment that left lets another in"
    );
}

#[test]
fn a_partial_ack_names_the_next_hole_and_a_full_one_ends_recovery() {
    let mut recovery = after_handshake();
    for _ in 0..3 {
        recovery.on_duplicate(SeqNum(1), SeqNum(9_001), 0, MSS);
    }
    recovery.on_head_sent();
    assert!(!recovery.on_ack(SeqNum(3_001), 3_000, MSS));
    assert!(recovery.head_is_due());
    assert!(recovery.on_ack(SeqNum(9_001), 6_000, MSS));
    assert_eq!((recovery.phase(), recovery.credit()), (Phase::Open, 0));
    assert!(!recovery.head_is_due());
}

#[test]
fn duplicates_after_a_timeout_do_not_start_fast_recovery_for_the_same_window() {
    let mut recovery = after_handshake();
    recovery.on_timeout(SeqNum(9_001));
    for _ in 0..5 {
        assert_eq!(
            recovery.on_duplicate(SeqNum(1), SeqNum(9_001), 0, MSS),
            OnDuplicate::Counted
        );
    }
    assert!(recovery.on_ack(SeqNum(9_001), 9_000, MSS));
    for _ in 0..5 {
        recovery.on_duplicate(SeqNum(9_001), SeqNum(12_001), 0, MSS);
    }
    assert_eq!(
        recovery.phase(),
        Phase::Open,
        "recover must be passed first"
    );
}

#[test]
fn one_ack_whose_blocks_cover_three_segments_is_as_good_as_three() {
    let mut recovery = after_handshake();
    assert_eq!(
        recovery.on_duplicate(SeqNum(1), SeqNum(9_001), 3 * MSS, MSS),
        OnDuplicate::LossFound
    );
    assert_eq!(recovery.credit(), 3 * MSS);
}
