//! Checks that no payload is retransmitted that the sender must know to have
//! arrived.
//!
//! Rule: an ACK counts only if no later ACK can have overtaken it, and only after the moment of its
//! arrival. An ACK that counts has no payload, and its sequence number is exactly the next one that
//! the host expects. Its timestamp is not older, and its acknowledgment number is not lower, than
//! in any other ACK that has arrived. Ranges that are acknowledged or SACKed by an ACK that counts
//! are known to have arrived. If the acknowledgment number of a later ACK lies inside a SACKed
//! range, the peer has discarded payload, and the host must no longer rely on earlier SACK blocks
//! (RFC 2018 §8). From then on, only the SACK blocks of that later ACK count.
//!
//! Probes need no exception: a zero-window or keepalive probe carries no payload that is
//! known to have arrived, and a tail loss probe is sent only when nothing is SACKed.

use fullpipe_pool::Instant;
use fullpipe_wire::TcpFlags;

use super::Violation;
use crate::packet::TcpPacket;

/// The ranges that one end of a connection must know to have arrived at the other.
#[derive(Clone, Debug, Default)]
pub struct RepeatChecker {
    iss: Option<u32>,
    /// Sequence number after everything that this end has sent.
    sent_end: u32,
    /// The last acknowledgment number that this end has sent.
    acked: Option<u32>,
    /// Sequence number after everything that has arrived at this end.
    arrived_end: Option<u32>,
    newest_stamp: Option<u32>,
    /// Highest acknowledgment number that has arrived.
    most_acked: Option<u32>,
    /// Highest acknowledgment number that counts, with its arrival time.
    una: Option<(u32, Instant)>,
    /// The value of `una` before the last ACK that counts.
    una_before: Option<u32>,
    /// SACKed ranges, each with the time of its first report.
    sacked: Vec<(u32, u32, Instant)>,
}

/// Returns true if `a` comes after `b`, within half the sequence space.
const fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl RepeatChecker {
    /// Processes a segment that reached this end undamaged.
    pub fn arrived(&mut self, packet: &TcpPacket, now: Instant) {
        if packet.has(TcpFlags::RST) {
            return;
        }
        let header = &packet.header;
        let fresh = self.is_fresh(packet);
        let expected = header.seq;
        if packet.has(TcpFlags::ACK) {
            self.sacked
                .retain(|&(_, right, _)| after(right, header.ack));
            if self
                .sacked
                .iter()
                .any(|&(left, _, _)| !after(left, header.ack))
            {
                self.sacked.clear();
            }
        }
        let is_bare = packet.seq_end() == header.seq && packet.has(TcpFlags::ACK);
        let is_next = self.acked == Some(expected) && self.arrived_end == Some(expected);
        if packet.has(TcpFlags::ACK) && !after(header.ack, self.sent_end) {
            let most = *self.most_acked.get_or_insert(header.ack);
            if !after(most, header.ack) {
                self.most_acked = Some(header.ack);
                if is_bare && is_next && fresh {
                    self.believe(packet, now);
                }
            }
        }
        let end = packet.seq_end();
        if self.arrived_end.is_none_or(|known| after(end, known)) {
            self.arrived_end = Some(end);
        }
    }

    fn is_fresh(&mut self, packet: &TcpPacket) -> bool {
        let Some(stamp) = packet.header.options.timestamps else {
            return true;
        };
        let newest = self.newest_stamp.get_or_insert(stamp.value);
        let is_fresh = !after(*newest, stamp.value);
        if is_fresh {
            *newest = stamp.value;
        }
        is_fresh
    }

    fn believe(&mut self, packet: &TcpPacket, now: Instant) {
        let ack = packet.header.ack;
        match self.una {
            Some((una, _)) if after(una, ack) => return,
            Some((una, _)) if una == ack => {}
            Some((una, at)) => {
                if at < now {
                    self.una_before = Some(una);
                }
                self.una = Some((ack, now));
            }
            None => self.una = Some((ack, now)),
        }
        for block in packet.header.options.sack.as_slice() {
            let (left, right) = (block.left, block.right);
            let credible = after(left, ack) && after(right, left) && !after(right, self.sent_end);
            let known = |&(l, r, _): &(u32, u32, Instant)| !after(l, left) && !after(right, r);
            if credible && !self.sacked.iter().any(known) {
                self.drop_parts(left, right, now);
                self.sacked.push((left, right, now));
            }
        }
    }

    /// Keeps only the widest of the ranges inside `left..right` that were known before `now`, and
    /// drops the ranges inside the widest one. A growing range is reported with every segment, and
    /// without this function each of its states would be stored. Dropping ranges changes no result.
    /// The widest range contains their bytes. An ACK number inside a SACKed range makes earlier
    /// SACK blocks invalid; an ACK number inside a dropped range is also inside the widest range,
    /// and therefore still does so.
    fn drop_parts(&mut self, left: u32, right: u32, now: Instant) {
        let inside = |part: &(u32, u32, Instant), (left, right): (u32, u32)| {
            !after(left, part.0) && !after(part.1, right)
        };
        let parts = self.sacked.iter();
        let parts = parts.filter(|part| part.2 < now && inside(part, (left, right)));
        let widest = parts
            .max_by_key(|part| part.1.wrapping_sub(part.0))
            .copied();
        if let Some(widest) = widest {
            self.sacked
                .retain(|part| *part == widest || !inside(part, (widest.0, widest.1)));
        }
    }

    /// Checks a segment that this end sends. Returns true if the segment could be judged: it has
    /// payload, and an ACK that counts arrived before.
    ///
    /// # Errors
    /// Fails if the segment repeats a range that is known to have arrived; the error states the
    /// range.
    pub fn sent(&mut self, packet: &TcpPacket, now: Instant) -> Result<bool, Violation> {
        let header = &packet.header;
        if packet.has(TcpFlags::RST) {
            return Ok(false);
        }
        if packet.has(TcpFlags::SYN) && self.iss != Some(header.seq) {
            *self = Self {
                iss: Some(header.seq),
                sent_end: header.seq,
                ..Self::default()
            };
        }
        if packet.has(TcpFlags::ACK) {
            self.acked = Some(header.ack);
        }
        let payload_end = header.seq.wrapping_add(packet.payload_len);
        if packet.payload_len > 0 {
            self.judge(header.seq, payload_end, now)?;
        }
        if self.iss.is_some() && after(packet.seq_end(), self.sent_end) {
            self.sent_end = packet.seq_end();
        }
        Ok(self.una.is_some() && packet.payload_len > 0)
    }

    fn judge(&self, start: u32, end: u32, now: Instant) -> Result<(), Violation> {
        let una = match self.una {
            Some((una, at)) if at < now => Some(una),
            Some(_) | None => self.una_before,
        };
        if let Some(una) = una.filter(|&una| after(una, start)) {
            return Err(format!(
                "{} bytes from sequence number {start} on were retransmitted, although {} of these bytes \
                 are below {una}, which was acknowledged",
                end.wrapping_sub(start),
                una.wrapping_sub(start),
            ));
        }
        let overlap = |&&(left, right, at): &&(u32, u32, Instant)| {
            at < now && after(end, left) && after(right, start)
        };
        match self.sacked.iter().find(overlap) {
            Some((left, right, at)) => Err(format!(
                "{start}..{end} was retransmitted although {left}..{right} was SACKed at {:.6} s",
                at.as_secs_f64()
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
