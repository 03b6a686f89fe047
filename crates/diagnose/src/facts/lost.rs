//! Finds segments that never arrived. Both ends must have been observed.
//!
//! Rule: only the first byte of each retransmitted segment is examined. If such a byte was sent n
//! times and arrived m times, the first n − m segments that carried it are marked lost. A segment
//! whose payload was sent only once is never marked lost, because it may still be in flight.

use super::{Connection, Segments};

/// Marks lost segments in both directions of `connection`.
pub fn find(connection: &mut Connection) {
    let Some(second) = &mut connection.second else {
        return;
    };
    mark(&mut connection.first.sent, &second.received);
    mark(&mut second.sent, &connection.first.received);
}

fn mark(sent: &mut Segments, arrived: &Segments) {
    let mut asked: Vec<u64> = (0..sent.len())
        .filter(|place| sent.is_retransmission(*place) && sent.len[*place] > 0)
        .map(|place| sent.seq[place])
        .collect();
    asked.sort_unstable();
    asked.dedup();
    if asked.is_empty() {
        return;
    }
    let mut missing: Vec<i64> = vec![0; asked.len()];
    for place in 0..sent.len() {
        for byte in covered(&asked, sent, place) {
            missing[byte] += 1;
        }
    }
    for place in 0..arrived.len() {
        for byte in covered(&asked, arrived, place) {
            missing[byte] -= 1;
        }
    }
    for place in 0..sent.len() {
        let mut is_lost = false;
        for byte in covered(&asked, sent, place) {
            if missing[byte] > 0 {
                missing[byte] -= 1;
                is_lost = true;
            }
        }
        if is_lost {
            sent.status[place] |= Segments::LOST;
        }
    }
}

/// Returns the indices of those sequence numbers in `asked` that the segment at `place` carries.
/// `asked` is sorted, so the indices are a range.
fn covered(asked: &[u64], segments: &Segments, place: usize) -> std::ops::Range<usize> {
    let from = segments.seq[place];
    let until = from + u64::from(segments.len[place]);
    asked.partition_point(|byte| *byte < from)..asked.partition_point(|byte| *byte < until)
}
