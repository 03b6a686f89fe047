//! The handshake: its options, and the round trips from the tap (the place of the capture) to both
//! ends.
//!
//! Rule: if segments were retransmitted, round trips are taken only from segments that surely
//! answer each other. One round trip begins with the last SYN before the first SYN-ACK, and ends with
//! this SYN-ACK. The other begins with the last SYN-ACK, and ends with the first ACK after it.

use fullpipe_wire::TcpFlags;

use crate::capture::{End, Segment};

/// Options of one SYN.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offer {
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub timestamps: bool,
    pub isn: u32,
    /// True if the capture lacks options of this SYN.
    is_cut: bool,
}

/// The handshake of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handshake {
    /// The end that opened the connection. It sent a SYN without ACK, or received a SYN-ACK.
    pub client: Option<End>,
    /// SYN options of both ends, by [`End::index`].
    pub offers: [Option<Offer>; 2],
    /// Time of the first SYN.
    first_syn: Option<u64>,
    /// Time of the last SYN before the first SYN-ACK.
    syn: Option<u64>,
    /// Time of the first SYN-ACK.
    syn_ack: Option<u64>,
    /// Time of the last SYN-ACK.
    last_syn_ack: Option<u64>,
    /// Time of the ACK that ended the handshake.
    pub done: Option<u64>,
    /// Retransmissions of SYN by the client, and of SYN-ACK by the server.
    pub retransmissions: [u64; 2],
}

impl Handshake {
    /// Takes a segment at `at`. Returns true if it belongs to the handshake.
    pub fn on_segment(&mut self, at: u64, segment: &Segment) -> bool {
        let flags = segment.flags;
        if !flags.contains(TcpFlags::SYN) {
            let is_answer = self.syn_ack.is_some() && Some(segment.from) == self.client;
            if is_answer && self.done.is_none() && flags.contains(TcpFlags::ACK) {
                self.done = Some(at);
            }
            return false;
        }
        let offer = Offer {
            mss: segment.options.mss,
            scale: segment.options.window_scale,
            timestamps: segment.options.timestamps.is_some(),
            isn: segment.seq,
            is_cut: segment.options_cut,
        };
        self.offers[segment.from.index()] = Some(offer);
        if flags.contains(TcpFlags::ACK) {
            self.client.get_or_insert(segment.from.other());
            if self.syn_ack.is_some() {
                self.retransmissions[1] += 1;
            }
            self.syn_ack.get_or_insert(at);
            self.last_syn_ack = Some(at);
        } else {
            self.client.get_or_insert(segment.from);
            self.retransmissions[0] += u64::from(self.syn.is_some());
            self.first_syn.get_or_insert(at);
            if self.syn_ack.is_none() {
                self.syn = Some(at);
            }
        }
        true
    }

    /// Smallest time from the tap to each end and back, by [`End::index`].
    pub fn round_trips(&self) -> [Option<u64>; 2] {
        let Some(client) = self.client else {
            return [None; 2];
        };
        let mut trips = [None; 2];
        let between = |from: Option<u64>, to: Option<u64>| to?.checked_sub(from?);
        trips[client.other().index()] = between(self.syn, self.syn_ack);
        trips[client.index()] = between(self.last_syn_ack, self.done);
        trips
    }

    /// SYN options of `end`; `None` unless its SYN was captured with all its options.
    pub fn whole_offer(&self, end: End) -> Option<Offer> {
        self.offers[end.index()].filter(|offer| !offer.is_cut)
    }

    /// SYN options of both ends, by [`End::index`]; `None` unless both SYNs were captured with all
    /// their options.
    pub fn whole_offers(&self) -> Option<[Offer; 2]> {
        let [a, b] = End::BOTH.map(|end| self.whole_offer(end));
        Some([a?, b?])
    }

    /// Shift of the windows of `end`, at most 14 (RFC 7323 §2.3); `None` if the options of a SYN
    /// were not captured.
    pub fn shift(&self, end: End) -> Option<u8> {
        let [a, b] = self.whole_offers()?;
        let own = if end == End::A { a } else { b };
        let both = a.scale.is_some() && b.scale.is_some();
        Some(if both { own.scale?.min(14) } else { 0 })
    }

    /// Returns true if a SYN-ACK was seen.
    pub const fn was_answered(&self) -> bool {
        self.syn_ack.is_some()
    }

    /// Beginning, end and number of the handshake's retransmissions; `None` if there were none.
    pub fn lost(&self) -> Option<(u64, u64, u64)> {
        let count = self.retransmissions[0] + self.retransmissions[1];
        let begin = self.first_syn.or(self.syn_ack)?;
        let end = self.done.or(self.last_syn_ack).or(self.syn)?;
        (count > 0).then_some((begin, end, count))
    }
}
