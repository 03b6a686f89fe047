//! Merges received segments into one frame, as a network card or its driver does
//! (LRO, GRO).
//!
//! Rule: only segments that a sender could have sent as one are merged. They are valid, carry
//! in-order payload of one connection, have the same acknowledgment, window, options and ECN
//! field, and have no flags other than ACK, PSH and FIN. Any other frame passes at once, after the
//! merged segments of its connection. No segment is kept longer than the model allows.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use fullpipe::device::RxMeta;
use fullpipe_pool::{Duration, Instant};
use fullpipe_wire::{
    ChecksumPolicy, EtherType, EthernetHeader, Ipv4Header, Protocol, TcpFlags, TcpHeader,
    tcp::verify_checksum,
};

use super::segmenter::{number_at, seal, tcp_at};
use crate::packet::IpPacket;

/// Largest number of connections with segments kept for merging.
const MOST_FLOWS: usize = 8;
/// Offset of the IP header in a frame.
const IP_AT: usize = EthernetHeader::LEN;

/// The merging of a device, with two interrupt timers: one restarts with each frame, the
/// other does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// Segments are handed to the stack when no further segment has arrived for this long.
    #[serde(with = "crate::text_forms::duration")]
    pub quiet: Duration,
    /// Segments are handed to the stack when the first of them is this old.
    #[serde(with = "crate::text_forms::duration")]
    pub longest: Duration,
    /// The device reports verified checksums; otherwise the stack verifies them.
    pub verifies: bool,
}

/// Merged segments of one connection, to which further segments may still be added.
#[derive(Debug)]
struct MergedFrame {
    frame: Vec<u8>,
    head_len: usize,
    /// Payload of the first segment in bytes, taken as the size of a full segment.
    size: usize,
    count: u16,
    flags: TcpFlags,
    first_at: Instant,
    last_at: Instant,
}

/// A segment that may be merged.
struct Candidate {
    head_len: usize,
    payload_len: usize,
    flags: TcpFlags,
}

/// The device's receive side.
#[derive(Debug)]
pub struct Merger {
    model: Merge,
    held: Vec<MergedFrame>,
}

/// Frames that were handed to the stack.
pub type ReceivedFrames = VecDeque<(Vec<u8>, RxMeta)>;

impl Merger {
    /// A merger without segments.
    pub fn new(model: Merge) -> Self {
        Self {
            model,
            held: Vec::new(),
        }
    }

    /// Takes an arriving frame. Frames that need not wait go to `arrived`.
    pub fn take(&mut self, frame: Vec<u8>, now: Instant, arrived: &mut ReceivedFrames) {
        let place = self.held.iter().position(|held| held.is_of(&frame));
        let Some(piece) = Candidate::of(&frame) else {
            if let Some(place) = place {
                self.give_up(place, arrived);
            }
            arrived.push_back((frame, RxMeta::default()));
            return;
        };
        let place = match place {
            Some(place) if self.held[place].goes_on(&frame, &piece) => {
                self.held[place].append(&frame, &piece, now);
                place
            }
            Some(place) => {
                self.give_up(place, arrived);
                self.hold(frame, &piece, now, arrived)
            }
            None => self.hold(frame, &piece, now, arrived),
        };
        if self.held[place].is_complete(&piece) {
            self.give_up(place, arrived);
        }
    }

    /// Starts a merged frame with this segment and returns its index. If there is no room, the
    /// oldest merged frame is handed to the stack first.
    fn hold(
        &mut self,
        frame: Vec<u8>,
        piece: &Candidate,
        now: Instant,
        arrived: &mut ReceivedFrames,
    ) -> usize {
        if self.held.len() == MOST_FLOWS {
            self.give_up(0, arrived);
        }
        self.held.push(MergedFrame {
            frame,
            head_len: piece.head_len,
            size: piece.payload_len,
            count: 1,
            flags: piece.flags,
            first_at: now,
            last_at: now,
        });
        self.held.len() - 1
    }

    fn give_up(&mut self, place: usize, arrived: &mut ReceivedFrames) {
        let held = self.held.remove(place);
        let meta = RxMeta {
            checksum_verified: self.model.verifies,
            merged: held.count,
            ..RxMeta::default()
        };
        arrived.push_back((held.whole(), meta));
    }

    /// Hands to the stack the segments whose waiting time has ended at `now`.
    pub fn interrupt(&mut self, now: Instant, arrived: &mut ReceivedFrames) {
        while let Some(place) = self.held.iter().position(|held| self.due(held) <= now) {
            self.give_up(place, arrived);
        }
    }

    /// Time at which segments are next handed to the stack.
    pub fn next_interrupt(&self) -> Option<Instant> {
        self.held.iter().map(|held| self.due(held)).min()
    }

    fn due(&self, held: &MergedFrame) -> Instant {
        (held.last_at + self.model.quiet).min(held.first_at + self.model.longest)
    }
}

impl Candidate {
    /// The part of `frame` that can be merged; `None` if the frame passes
    /// unchanged.
    fn of(frame: &[u8]) -> Option<Self> {
        let (ethernet, packet) = EthernetHeader::parse(frame).ok()?;
        let is_valid = match ethernet.ether_type {
            EtherType::Ipv4 => Ipv4Header::parse(packet, ChecksumPolicy::Verify).is_ok(),
            EtherType::Ipv6 | EtherType::Arp | EtherType::Other(_) => true,
        };
        let ip = IpPacket::parse(frame).filter(|_| is_valid)?;
        let segment = ip.payload;
        let plain = ethernet.dst.is_unicast()
            && ip.protocol == Protocol::Tcp
            && !ip.is_fragment
            && frame.len() == tcp_at(frame) + segment.len();
        if !plain || verify_checksum(segment, ip.src, ip.dst).is_err() {
            return None;
        }
        let (header, payload) = TcpHeader::parse(segment).ok()?;
        let mild = TcpFlags::ACK.union(TcpFlags::PSH).union(TcpFlags::FIN);
        let mergeable = header.flags.contains(TcpFlags::ACK)
            && header.flags.without(mild).is_empty()
            && !payload.is_empty();
        mergeable.then_some(Self {
            head_len: frame.len() - payload.len(),
            payload_len: payload.len(),
            flags: header.flags,
        })
    }
}

impl MergedFrame {
    /// Returns true if `frame` has the same IP version, addresses and ports as the merged frame.
    fn is_of(&self, frame: &[u8]) -> bool {
        let tcp = tcp_at(&self.frame);
        let addresses = match tcp - IP_AT {
            Ipv4Header::LEN => IP_AT + 12..tcp + 4,
            _ => IP_AT + 8..tcp + 4,
        };
        let same =
            |place: std::ops::Range<usize>| frame.get(place.clone()) == Some(&self.frame[place]);
        same(IP_AT - 2..IP_AT) && same(addresses)
    }

    /// Returns true if a segment of this connection continues the merged payload.
    fn goes_on(&self, frame: &[u8], piece: &Candidate) -> bool {
        let tcp = tcp_at(&self.frame);
        let next =
            number_at(&self.frame, tcp + 4).wrapping_add((self.frame.len() - self.head_len) as u32);
        let same = |place: std::ops::Range<usize>| self.frame[place.clone()] == frame[place];
        // Compare the ECN field, the DF flag, the TTL or hop limit, and in IPv6 the flow label.
        let is_same_ip = match tcp - IP_AT {
            Ipv4Header::LEN => same(0..IP_AT + 2) && same(IP_AT + 6..IP_AT + 9),
            _ => same(0..IP_AT + 4) && same(IP_AT + 6..IP_AT + 8),
        };
        piece.head_len == self.head_len
            && number_at(frame, tcp + 4) == next
            && piece.payload_len <= self.size
            && self.frame.len() - IP_AT + piece.payload_len <= usize::from(u16::MAX)
            && is_same_ip
            // Compare the acknowledgment, the window and the options.
            && same(tcp + 8..tcp + 12)
            && same(tcp + 14..tcp + 16)
            && same(tcp + TcpHeader::LEN..self.head_len)
    }

    fn append(&mut self, frame: &[u8], piece: &Candidate, now: Instant) {
        self.frame.extend_from_slice(&frame[piece.head_len..]);
        self.flags = self.flags.union(piece.flags);
        self.count += 1;
        self.last_at = now;
    }

    /// Returns true if no segment may be added after `piece`, the segment merged last.
    fn is_complete(&self, piece: &Candidate) -> bool {
        piece.payload_len < self.size || self.flags.intersects(TcpFlags::PSH.union(TcpFlags::FIN))
    }

    /// The merged frame.
    fn whole(mut self) -> Vec<u8> {
        if self.count > 1 {
            let tcp = tcp_at(&self.frame);
            self.frame[tcp + 13] = self.flags.bits() as u8;
            let identification = (number_at(&self.frame, IP_AT + 2) & 0xffff) as u16;
            seal(&mut self.frame, identification);
        }
        self.frame
    }
}

#[cfg(test)]
mod tests;
