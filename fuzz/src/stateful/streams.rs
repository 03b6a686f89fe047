//! The bytes of one peer that have arrived and that the stack may have accepted.
//!
//! The one rule: a byte counts as arrived if it was in the stack's window when it arrived. Bytes
//! that differ from those of a true peer (one that follows the protocol) are stored, because the
//! stack cannot distinguish them and may accept them.

use std::collections::HashSet;

use super::tuple::{Tuple, byte_of};

/// The bytes of one stream that have arrived.
pub struct Stream {
    tuple: Tuple,
    irs: u32,
    /// Largest window scale that a SYN of this stream offered.
    pub scale: u8,
    /// Ranges of offsets that have arrived in the window, sorted and disjoint.
    arrived: Vec<(u32, u32)>,
    /// Bytes that differ from the true peer's: sequence number and value.
    forged: HashSet<(u32, u8)>,
}

impl Stream {
    /// Creates the stream that begins with the SYN with sequence number `irs`.
    pub fn new(tuple: Tuple, irs: u32) -> Stream {
        Stream {
            tuple,
            irs,
            scale: 0,
            arrived: Vec::new(),
            forged: HashSet::new(),
        }
    }

    /// Records the window scale of a SYN.
    pub fn offer(&mut self, scale: Option<u8>) {
        self.scale = self.scale.max(scale.unwrap_or(0).min(14));
    }

    /// Records payload of which the stack may accept every byte.
    pub fn arrives(&mut self, seq: u32, payload: &[u8], fin: bool) {
        self.arrives_within(seq, payload, fin, (seq, payload.len() as u32 + 1));
    }

    /// Records payload of which the stack may accept the bytes in its window. The window is given
    /// by its first sequence number and its length.
    pub fn arrives_within(
        &mut self,
        seq: u32,
        payload: &[u8],
        fin: bool,
        (first, window): (u32, u32),
    ) {
        for (at, &byte) in payload.iter().enumerate() {
            let place = seq.wrapping_add(at as u32);
            if place.wrapping_sub(first) >= window {
                continue;
            }
            self.note(place);
            if byte != byte_of(self.tuple, self.irs, place, true) {
                self.forged.insert((place, byte));
            }
        }
        let end = seq.wrapping_add(payload.len() as u32);
        // Also accept a FIN directly after the window, because a FIN needs no window.
        if fin && end.wrapping_sub(first) <= window {
            self.note(end);
        }
    }

    fn note(&mut self, seq: u32) {
        let offset = seq.wrapping_sub(self.irs).wrapping_sub(1);
        if offset >= 1 << 31 {
            return; // a number before the SYN
        }
        let at = self.arrived.partition_point(|range| range.1 < offset);
        match self.arrived.get_mut(at) {
            Some(range) if range.0 <= offset && offset < range.1 => return,
            Some(range) if range.1 == offset => range.1 += 1,
            Some(range) if range.0 == offset + 1 => range.0 = offset,
            _ => self.arrived.insert(at, (offset, offset + 1)),
        }
        if let (Some(&here), Some(&next)) = (self.arrived.get(at), self.arrived.get(at + 1))
            && here.1 == next.0
        {
            self.arrived[at].1 = next.1;
            self.arrived.remove(at + 1);
        }
    }

    /// Returns the number of bytes that have arrived without a hole, from the first byte on.
    fn in_order(&self) -> u32 {
        match self.arrived.first() {
            Some(&(0, end)) => end,
            _ => 0,
        }
    }

    /// Returns true if every byte before `ack` has arrived in the window.
    pub fn has_arrived_to(&self, ack: u32) -> bool {
        ack.wrapping_sub(self.irs).wrapping_sub(1) <= self.in_order()
    }

    /// Checks an acknowledgment number.
    ///
    /// # Panics
    /// Panics if a byte below the acknowledgment number never arrived in the window.
    pub fn check_ack(&self, ack: u32) {
        let acked = ack.wrapping_sub(self.irs).wrapping_sub(1);
        let arrived = self.in_order();
        assert!(
            self.has_arrived_to(ack),
            "the stack acknowledges {acked} bytes, but only {arrived} arrived in order, of {:?} from sequence number {}",
            self.tuple,
            self.irs
        );
    }

    /// Checks a SACK block above the acknowledgment number.
    ///
    /// # Panics
    /// Panics if a byte of the block never arrived in the window.
    pub fn check_sack(&self, left: u32, right: u32) {
        let offset = |seq: u32| seq.wrapping_sub(self.irs).wrapping_sub(1);
        let (from, to) = (offset(left), offset(right));
        let covers = |range: &&(u32, u32)| range.0 <= from && to <= range.1;
        assert!(
            from < to && self.arrived.iter().find(covers).is_some(),
            "the SACK block {from}..{to} is not in the arrived ranges {:?}, of {:?} from sequence number {}",
            self.arrived,
            self.tuple,
            self.irs
        );
    }

    /// Checks bytes that the application read. `first` is the sequence number of the first byte.
    ///
    /// # Panics
    /// Panics if no true peer can have sent one of these bytes.
    pub fn check_read(&self, first: u32, bytes: &[u8]) {
        for (at, &byte) in bytes.iter().enumerate() {
            let seq = first.wrapping_add(at as u32);
            let is_true = byte == byte_of(self.tuple, self.irs, seq, true);
            assert!(
                is_true || self.forged.contains(&(seq, byte)),
                "the application read {byte:#04x} at offset {}, which no true peer of {:?} sent",
                seq.wrapping_sub(self.irs).wrapping_sub(1),
                self.tuple
            );
        }
    }
}
