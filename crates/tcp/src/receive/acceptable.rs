//! The acceptability test of RFC 9293 §3.10.7.4, first step, table 6.
//!
//! Rule: a segment is acceptable if its first or last sequence number is inside the receive
//! window. The test changes nothing.

use fullpipe_wire::TcpFlags;

use crate::{Segment, SeqNum};

/// Returns true if a segment of `len` sequence numbers from `seq` is acceptable
/// to a window of `window` bytes that begins at `rcv_nxt`.
///
/// One case goes beyond the table: a FIN without payload (`bare_fin`) at
/// `rcv_nxt` is accepted into a closed window, because it needs no memory and
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

/// Returns true if `segment` may come from a peer that has filled the window up to `edge`:
/// the segment is empty, and `edge` is its sequence number. While a hole keeps the window
/// from advancing, only such segments acknowledge this side's payload. Table 6 refuses them;
/// Linux and FreeBSD accept them. For resets, table 6 applies.
pub fn is_at_right_edge(segment: &Segment<'_>, edge: SeqNum) -> bool {
    segment.is_empty() && segment.seq == edge && !segment.has(TcpFlags::RST)
}

#[cfg(test)]
mod tests;
