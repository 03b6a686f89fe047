//! Checks advertised windows, as segments on the wire show them.
//!
//! Rule: only frames that left a host count. The right edge of an advertised window never retreats
//! (RFC 9293 §3.8.6, SHLD-14; required here). A retreat by less than one unit of the window scale
//! is allowed, because the window field counts in whole units (RFC 7323 §2.4). No payload is sent
//! beyond the edge, except the byte of a zero-window probe. No sequence number is acknowledged that
//! was never sent.

use fullpipe_wire::TcpFlags;

use super::Violation;
use crate::packet::TcpPacket;

/// The state of one end of a connection, as the segments that this end sent show it.
#[derive(Clone, Copy, Debug, Default)]
struct EndState {
    /// Initial sequence number of this end.
    iss: Option<u32>,
    /// Window scale option of this end.
    scale: Option<u8>,
    /// Window field of this end's SYN, kept until the other end's initial sequence number is known,
    /// because the window counts from that number.
    syn_window: Option<u16>,
    /// Right edge of the window that this end advertised.
    edge: Option<u32>,
    /// Sequence number after everything that this end has sent.
    sent_end: u32,
    /// Sequence number of this end's FIN.
    fin: Option<u32>,
    /// The connection may be over at this end, because this end acknowledged the other end's FIN,
    /// or the other end sent a reset.
    may_be_over: bool,
    /// This end answered one SYN twice with different sequence numbers, as a listener with SYN
    /// cookies may. This field has the sequence number and the window scale of the first answer.
    /// Later segments show which answer the peer accepted.
    other: Option<(u32, Option<u8>)>,
}

/// The checker of one connection.
#[derive(Clone, Debug, Default)]
pub struct WindowChecker {
    ends: [EndState; 2],
    forgets: [bool; 2],
}

/// Returns true if `a` comes after `b`, within half the sequence space.
const fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl WindowChecker {
    /// Notes that the host at `end` sends SYN cookies. After a connection is over, a late duplicate
    /// of the ACK that opened the connection may then open another connection with the same
    /// sequence numbers.
    pub fn may_forget(&mut self, end: usize) {
        self.forgets[end] = true;
    }

    /// Checks a segment that `end` (0 or 1) sends.
    ///
    /// # Errors
    /// Fails if a rule is violated; the error states the rule.
    pub fn segment(&mut self, end: usize, packet: &TcpPacket) -> Result<(), Violation> {
        if packet.has(TcpFlags::RST) {
            // The connection is over. Forget its window, because a segment still in flight may
            // carry a SYN cookie and open another connection.
            (self.ends[end].edge, self.ends[end].syn_window) = (None, None);
            self.ends[1 - end].may_be_over = true;
            return Ok(());
        }
        if packet.has(TcpFlags::SYN) {
            self.syn(end, packet);
        }
        self.payload(end, packet)?;
        if packet.has(TcpFlags::ACK) {
            self.ack(end, packet)?;
        }
        Ok(())
    }

    fn syn(&mut self, end: usize, packet: &TcpPacket) {
        if self.ends[end].iss == Some(packet.header.seq) {
            return;
        }
        // A SYN without ACK begins a new connection, so forget all earlier segments.
        if !packet.has(TcpFlags::ACK) && self.ends[end].iss.is_some() {
            *self = Self::default();
        }
        let before = self.ends[end];
        let other = before.iss.filter(|_| packet.has(TcpFlags::ACK));
        self.ends[end] = EndState {
            other: other.map(|iss| (iss, before.scale)),
            iss: Some(packet.header.seq),
            scale: packet.header.options.window_scale,
            syn_window: Some(packet.header.window),
            sent_end: packet.header.seq,
            ..EndState::default()
        };
    }

    fn payload(&mut self, end: usize, packet: &TcpPacket) -> Result<(), Violation> {
        let payload_end = packet.header.seq.wrapping_add(packet.payload_len);
        if let Some(edge) = self.ends[1 - end].edge
            && packet.payload_len > 0
            && after(payload_end, edge.wrapping_add(1))
        {
            return Err(format!(
                "payload was sent {} bytes beyond the peer's window (SEG.SEQ {}, {} bytes, edge {edge})",
                payload_end.wrapping_sub(edge),
                packet.header.seq,
                packet.payload_len,
            ));
        }
        let said = &mut self.ends[end];
        if let Some((iss, scale)) = said.other.filter(|_| !packet.has(TcpFlags::SYN)) {
            let since = |iss: u32| packet.header.seq.wrapping_sub(iss);
            if said.iss.is_some_and(|last| since(iss) < since(last)) {
                (said.iss, said.scale) = (Some(iss), scale);
            }
            (said.other, said.syn_window) = (None, None);
            // One byte after SEG.SEQ counts as sent: the segment may be a keepalive probe,
            // whose SEG.SEQ is one below SND.NXT.
            said.sent_end = packet.header.seq.wrapping_add(1);
        }
        if said.iss.is_some() && after(packet.seq_end(), said.sent_end) {
            said.sent_end = packet.seq_end();
        }
        if packet.has(TcpFlags::FIN) {
            said.fin = Some(packet.seq_end().wrapping_sub(1));
        }
        Ok(())
    }

    fn ack(&mut self, end: usize, packet: &TcpPacket) -> Result<(), Violation> {
        let peer = self.ends[1 - end];
        let ack = packet.header.ack;
        let Some(peer_iss) = peer.iss else {
            return Ok(());
        };
        if peer.other.is_none() && after(ack, peer.sent_end) {
            return Err(format!(
                "SEG.ACK {ack} acknowledges {} bytes that were never sent",
                ack.wrapping_sub(peer.sent_end)
            ));
        }
        let said = &mut self.ends[end];
        if peer.fin.is_some_and(|fin| after(ack, fin)) {
            said.may_be_over = true;
            return Ok(()); // no more payload can come, so the window means nothing
        }
        if said.other.is_some() {
            return Ok(());
        }
        // If the peer answered the SYN twice, the ACK refers to the answer whose sequence number is
        // closer to the ACK number.
        let since = |iss: u32| ack.wrapping_sub(iss);
        let meant = peer.other.filter(|(iss, _)| since(*iss) < since(peer_iss));
        let peer_scale = meant.map_or(peer.scale, |(_, scale)| scale);
        let shift = match (said.scale, peer_scale, packet.has(TcpFlags::SYN)) {
            (Some(own), Some(_), false) => own.min(14),
            (Some(_), Some(_), true) | (None, _, _) | (_, None, _) => 0,
        };
        if let Some(window) = said.syn_window.take() {
            let origin = match peer.other {
                Some(_) => ack,
                None => peer_iss.wrapping_add(1),
            };
            said.edge = Some(origin.wrapping_add(u32::from(window)));
        }
        let edge = ack.wrapping_add(u32::from(packet.header.window) << shift);
        let unit = 1 << shift;
        let before = said.edge.unwrap_or(edge);
        if after(before, edge.wrapping_add(unit - 1)) {
            if std::mem::take(&mut said.may_be_over) && self.forgets[end] {
                said.edge = Some(edge);
                return Ok(());
            }
            return Err(format!(
                "the right edge of the window retreated by {} bytes (SEG.ACK {ack}, window {} << {shift})",
                before.wrapping_sub(edge),
                packet.header.window,
            ));
        }
        said.edge = Some(if after(before, edge) { before } else { edge });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
