//! Windows, as the segments on the wire tell them.
//!
//! Rule: only what has left a host counts. The right edge of an advertised
//! window never retreats (RFC 9293 §3.8.6.2.2 recommends it, here it is a
//! must), but for what the window field cannot say: less than one unit of the
//! scale (RFC 7323 §2.4). Nobody sends text beyond an edge, but for the byte of
//! a window probe; nobody acknowledges what was never sent.

use fullpipe_wire::TcpFlags;

use super::Finding;
use crate::packet::TcpPacket;

/// What one end of a connection has said.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    /// Its initial sequence number.
    iss: Option<u32>,
    /// The scale it offered.
    scale: Option<u8>,
    /// Window of its SYN, until it is known what that counts from.
    syn_window: Option<u16>,
    /// Right edge of the window it advertised.
    edge: Option<u32>,
    /// Behind everything it has sent.
    sent_end: u32,
    /// Sequence number of its FIN.
    fin: Option<u32>,
}

/// The watch over one connection.
#[derive(Clone, Debug, Default)]
pub struct WindowWatch {
    ends: [Said; 2],
}

/// Whether `a` comes after `b`, within half the sequence space.
const fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl WindowWatch {
    /// Looks at a segment that `end` (0 or 1) sends.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn segment(&mut self, end: usize, packet: &TcpPacket) -> Result<(), Finding> {
        if packet.has(TcpFlags::RST) {
            return Ok(());
        }
        if packet.has(TcpFlags::SYN) {
            self.syn(end, packet);
        }
        self.text(end, packet)?;
        if packet.has(TcpFlags::ACK) {
            self.ack(end, packet)?;
        }
        Ok(())
    }

    fn syn(&mut self, end: usize, packet: &TcpPacket) {
        if self.ends[end].iss == Some(packet.header.seq) {
            return;
        }
        // A new incarnation: nothing said before counts.
        if !packet.has(TcpFlags::ACK) && self.ends[end].iss.is_some() {
            *self = Self::default();
        }
        self.ends[end] = Said {
            iss: Some(packet.header.seq),
            scale: packet.header.options.window_scale,
            syn_window: Some(packet.header.window),
            sent_end: packet.header.seq,
            ..Said::default()
        };
    }

    fn text(&mut self, end: usize, packet: &TcpPacket) -> Result<(), Finding> {
        let text_end = packet.header.seq.wrapping_add(packet.text_len);
        if let Some(edge) = self.ends[1 - end].edge
            && packet.text_len > 0
            && after(text_end, edge.wrapping_add(1))
        {
            return Err(format!(
                "text was sent {} bytes beyond the peer's window (SEG.SEQ {}, {} bytes, edge {edge})",
                text_end.wrapping_sub(edge),
                packet.header.seq,
                packet.text_len,
            ));
        }
        let said = &mut self.ends[end];
        if said.iss.is_some() && after(packet.seq_end(), said.sent_end) {
            said.sent_end = packet.seq_end();
        }
        if packet.has(TcpFlags::FIN) {
            said.fin = Some(packet.seq_end().wrapping_sub(1));
        }
        Ok(())
    }

    fn ack(&mut self, end: usize, packet: &TcpPacket) -> Result<(), Finding> {
        let peer = self.ends[1 - end];
        let ack = packet.header.ack;
        let Some(peer_iss) = peer.iss else {
            return Ok(());
        };
        if after(ack, peer.sent_end) {
            return Err(format!(
                "SEG.ACK {ack} acknowledges {} bytes that were never sent",
                ack.wrapping_sub(peer.sent_end)
            ));
        }
        if peer.fin.is_some_and(|fin| after(ack, fin)) {
            return Ok(()); // nothing more can come: the window means nothing
        }
        let said = &mut self.ends[end];
        let shift = match (said.scale, peer.scale, packet.has(TcpFlags::SYN)) {
            (Some(own), Some(_), false) => own.min(14),
            (Some(_), Some(_), true) | (None, _, _) | (_, None, _) => 0,
        };
        if let Some(window) = said.syn_window.take() {
            said.edge = Some(peer_iss.wrapping_add(1).wrapping_add(u32::from(window)));
        }
        let edge = ack.wrapping_add(u32::from(packet.header.window) << shift);
        let unit = 1 << shift;
        let before = said.edge.unwrap_or(edge);
        if after(before, edge.wrapping_add(unit - 1)) {
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
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use fullpipe_wire::{TcpHeader, TcpOptions};

    use super::*;

    fn segment(flags: TcpFlags, seq: u32, ack: u32, window: u16, text_len: u32) -> TcpPacket {
        let nobody = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let scale = flags.contains(TcpFlags::SYN).then_some(2);
        let options = TcpOptions {
            window_scale: scale,
            ..TcpOptions::NONE
        };
        let header = TcpHeader {
            seq,
            ack,
            flags,
            window,
            options,
            ..TcpHeader::default()
        };
        TcpPacket {
            src: nobody,
            dst: nobody,
            header,
            text_len,
        }
    }

    /// A connection whose client starts at 100 and whose server at u32::MAX,
    /// both with windows of 1,000 bytes.
    fn established() -> WindowWatch {
        let mut watch = WindowWatch::default();
        let syn_ack = TcpFlags::SYN.union(TcpFlags::ACK);
        watch
            .segment(0, &segment(TcpFlags::SYN, 100, 0, 1_000, 0))
            .unwrap();
        watch
            .segment(1, &segment(syn_ack, u32::MAX, 101, 1_000, 0))
            .unwrap();
        watch
            .segment(0, &segment(TcpFlags::ACK, 101, 0, 250, 0))
            .unwrap();
        watch
    }

    #[test]
    fn an_edge_may_stand_or_advance_but_not_retreat() {
        for (ack, window, retreats) in [
            (0, 250, false),
            (0, 300, false),
            (400, 150, false),
            (397, 150, false),
            (396, 150, true),
            (400, 149, true),
            (0, 249, true),
        ] {
            let mut watch = established();
            watch
                .segment(1, &segment(TcpFlags::ACK, 0, 101, 250, 400))
                .unwrap();
            let result = watch.segment(0, &segment(TcpFlags::ACK, 101, ack, window, 0));
            assert_eq!(result.is_err(), retreats, "{ack} {window}: {result:?}");
        }
    }

    #[test]
    fn text_beyond_the_edge_is_found_but_a_probe_is_none() {
        for (text_len, wrong) in [(1_000, false), (1_001, false), (1_002, true)] {
            let mut watch = established();
            let result = watch.segment(0, &segment(TcpFlags::ACK, 101, 0, 250, text_len));
            assert_eq!(result.is_err(), wrong, "{text_len} bytes");
        }
    }

    #[test]
    fn an_acknowledgment_of_something_never_sent_is_found() {
        let mut watch = established();
        watch
            .segment(0, &segment(TcpFlags::ACK, 101, 0, 250, 50))
            .unwrap();
        assert!(
            watch
                .segment(1, &segment(TcpFlags::ACK, 0, 151, 500, 0))
                .is_ok()
        );
        assert!(
            watch
                .segment(1, &segment(TcpFlags::ACK, 0, 152, 500, 0))
                .is_err()
        );
    }

    #[test]
    fn after_the_peers_fin_the_window_means_nothing() {
        let mut watch = established();
        let fin_ack = TcpFlags::FIN.union(TcpFlags::ACK);
        watch.segment(1, &segment(fin_ack, 0, 101, 250, 0)).unwrap();
        assert!(
            watch
                .segment(0, &segment(TcpFlags::ACK, 101, 1, 0, 0))
                .is_ok()
        );
    }

    #[test]
    fn a_new_incarnation_starts_anew() {
        let mut watch = established();
        watch
            .segment(0, &segment(TcpFlags::SYN, 7_000, 0, 10, 0))
            .unwrap();
        let syn_ack = TcpFlags::SYN.union(TcpFlags::ACK);
        assert!(watch.segment(1, &segment(syn_ack, 5, 7_001, 20, 0)).is_ok());
    }
}
