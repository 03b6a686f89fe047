//! Tests of comparisons and offsets across the wrap of sequence numbers.

use super::*;

#[test]
fn order_survives_the_wrap() {
    let near_end = SeqNum(u32::MAX - 5);
    assert!(near_end.before(near_end + 10));
    assert!((near_end + 10).after(near_end));
    assert_eq!(near_end.room_to(near_end + 10), 10);
    assert_eq!((near_end + 10).room_to(near_end), 0);
}

#[test]
fn offsets_and_numbers_are_inverse_across_many_wraps() {
    let first = SeqNum(0xffff_fff0);
    for offset in [0, 1, 15, 16, 1 << 32, (1 << 33) + 7, (5 << 32) - 1] {
        let seq = seq_of(offset, first);
        assert_eq!(offset_of(seq, first, offset), offset);
        assert_eq!(offset_of(seq, first, offset + (1 << 30)), offset);
        assert_eq!(
            offset_of(seq, first, offset.saturating_sub(1 << 30)),
            offset
        );
    }
}
