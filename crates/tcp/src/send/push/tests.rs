//! Tests of the choice of segments that carry PSH.

use super::*;

const WRITE: PushPolicy = PushPolicy::Write;

/// Linux marks the end of a write, and the segment that ends more than half of the
/// largest window beyond the last mark. The marks begin at 1, and the window is 2,000.
#[test]
fn the_end_of_a_write_and_half_a_window_carry_psh() {
    for (name, policy, end, drains, expected) in [
        ("in the middle", WRITE, 400, false, false),
        ("the end of the write", WRITE, 500, false, true),
        ("nothing unsent", WRITE, 400, true, true),
        ("half a window", WRITE, 1_001, false, false),
        ("more than that", WRITE, 1_002, false, true),
        ("drained", PushPolicy::Drained, 400, true, true),
        ("not drained", PushPolicy::Drained, 500, false, false),
        ("every", PushPolicy::Every, 400, false, true),
        ("never", PushPolicy::Never, 500, true, false),
    ] {
        let mut push = PushMarks::new(SeqNum(0));
        push.on_write(SeqNum(500), SeqNum(1));
        assert_eq!(
            push.take(SeqNum(end), drains, 2_000, policy),
            expected,
            "{name}"
        );
        // Half a window counts from the last mark.
        let later = push.take(SeqNum(1_400), false, 2_000, WRITE);
        assert_eq!(later, !expected || end < 400, "{name}");
    }
}

/// Of several writes that wait, the end of the first is marked, and then the end of
/// the last.
#[test]
fn writes_that_wait_together_are_marked_at_the_end_of_the_first() {
    let mut push = PushMarks::new(SeqNum(0));
    push.on_write(SeqNum(100), SeqNum(1));
    push.on_write(SeqNum(200), SeqNum(99));
    let mut takes = |end| push.take(SeqNum(end), false, 2_000, WRITE);
    assert!(takes(100) && !takes(200));
    push.on_write(SeqNum(300), SeqNum(100));
    assert!(push.take(SeqNum(300), false, 2_000, WRITE));
    // A retransmission moves no mark back.
    assert!(push.take(SeqNum(50), true, 2_000, WRITE));
    assert!(!push.take(SeqNum(1_300), false, 2_000, WRITE));
    assert!(push.take(SeqNum(1_301), false, 2_000, WRITE));
}
