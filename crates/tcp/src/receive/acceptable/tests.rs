//! Tests of the acceptability table.

use super::*;

#[test]
fn the_four_cases_of_the_table_hold_across_the_wrap() {
    let next = SeqNum(u32::MAX - 10);
    for (name, seq, len, window, expected) in [
        ("empty, closed window, exact", next, 0, 0, true),
        ("empty, closed window, off by one", next + 1, 0, 0, false),
        ("empty, open window, first", next, 0, 100, true),
        ("empty, open window, last", next + 99, 0, 100, true),
        ("empty, open window, past", next + 100, 0, 100, false),
        ("payload, closed window", next, 1, 0, false),
        ("payload, begins inside", next + 99, 50, 100, true),
        ("payload, ends inside", next - 49, 50, 100, true),
        ("payload, all old", next - 50, 50, 100, false),
        ("payload, all new", next + 100, 50, 100, false),
    ] {
        assert_eq!(
            acceptable(seq, len, next, window, false),
            expected,
            "{name}"
        );
    }
    assert!(
        acceptable(next, 1, next, 0, true),
        "a bare FIN needs no room"
    );
}
