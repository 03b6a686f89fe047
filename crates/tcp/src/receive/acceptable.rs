//! Whether any part of a segment is inside the receive window. RFC 9293
//! §3.10.7.4, first step, table 6.

use crate::SeqNum;

/// Whether a segment from `seq` with `len` sequence numbers is acceptable to a
/// window of `window` bytes that begins at `rcv_nxt`.
///
/// One case goes beyond the table: a FIN alone (`bare_fin`) right at `rcv_nxt`
/// is accepted into a closed window, because taking it needs no memory and
/// lets the connection end.
pub fn acceptable(seq: SeqNum, len: u32, rcv_nxt: SeqNum, window: u32, bare_fin: bool) -> bool {
    let inside = |number: SeqNum| number.at_or_after(rcv_nxt) && number.before(rcv_nxt + window);
    match (len, window) {
        (0, 0) => seq == rcv_nxt,
        (0, _) => inside(seq),
        (_, 0) => bare_fin && seq == rcv_nxt,
        (_, _) => inside(seq) || inside(seq + (len - 1)),
    }
}

#[cfg(test)]
mod tests {
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
            ("text, closed window", next, 1, 0, false),
            ("text, begins inside", next + 99, 50, 100, true),
            ("text, ends inside", next - 49, 50, 100, true),
            ("text, all old", next - 50, 50, 100, false),
            ("text, all new", next + 100, 50, 100, false),
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
}
