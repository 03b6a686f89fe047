//! SYN cookies: handshakes without state on this host. RFC 4987 §3.6.
//!
//! Rule: the ACK that completes the handshake returns the contents of the SYN. The
//! initial sequence number carries the peer's MSS, masked by a keyed hash of the
//! four-tuple, the peer's sequence number and the time. If the peer offers timestamps,
//! the low bits of TSval carry window scale, SACK and ECN. Time is divided into periods;
//! a cookie is valid in the period in which it was made and in the next one. A SYN-ACK
//! with a cookie advertises a zero window, so it reserves no memory.
//!
//! `dispatch` processes the ACK.

use core::net::IpAddr;

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{Segment, SeqNum};
use fullpipe_wire::{TcpFlags, TcpOptions};

use super::{
    answer_queues::{Answer, AnswerQueues},
    four_tuple::FourTuple,
};
use crate::{
    interface_id::InterfaceId,
    secret::{HashInput, Secret},
};

#[cfg(test)]
mod tests;

/// Length of a period: much longer than a round trip and a few retransmissions.
const PERIOD: Duration = Duration::from_secs(64);
/// MSS values that a cookie can encode in three bits. These values are common with IPv4 hosts and
/// tunnels. A cookie encodes the largest value that does not exceed the peer's MSS. 0 encodes an
/// MSS below 256; the connection then uses `tcp.mss_min` as the peer's MSS.
const SIZES: [u16; 8] = [0, 256, 536, 1_220, 1_400, 1_440, 1_460, 8_960];
/// Position of the three bits in the sequence number. They are the highest, because an ACK of bytes
/// that an earlier connection sent after its cookie differs from that cookie in low bits. Such an
/// old ACK must not be taken for a cookie with another MSS.
const SIZE_SHIFT: u32 = u32::BITS - 3;
/// Bits of the timestamp that carry options.
const STAMP_MASK: u32 = 0x3f;
/// Value of the four scale bits for a SYN without window scale option.
const NO_SCALE: u32 = 0xf;
const SACK: u32 = 0x10;
const ECN: u32 = 0x20;

/// Flags of a SYN that offers ECN. RFC 3168 §6.1.1.
const ECN_SETUP: TcpFlags = TcpFlags::ECE.union(TcpFlags::CWR);

/// The contents of a SYN that a cookie can encode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SynSummary {
    /// Sequence number of the SYN.
    pub(crate) irs: SeqNum,
    /// SYN, and the flags that offer ECN.
    pub(crate) flags: TcpFlags,
    /// The options that can be encoded.
    pub(crate) options: TcpOptions,
    /// Index of the MSS in [`SIZES`].
    size: u32,
}

/// The generator and verifier of cookies, with the SYN-ACKs that wait.
#[derive(Debug)]
pub(crate) struct SynCookies {
    secret: Secret,
    queues: AnswerQueues,
    /// Time of the last cookie. If it is `None` or too long ago, no ACK can carry a valid cookie.
    last_made: Option<Instant>,
}

impl SynSummary {
    /// Returns the contents of `syn` that a cookie can encode. Options other than MSS need
    /// timestamps: the peer must offer them, and this host must use them (`stamping`).
    pub(crate) fn from_syn(syn: &Segment<'_>, stamping: bool) -> Self {
        let mss = syn.options.mss.unwrap_or(fullpipe_tcp::DEFAULT_MSS);
        let size = SIZES.iter().rposition(|size| *size <= mss).unwrap_or(0);
        let timestamps = syn.options.timestamps.filter(|_| stamping);
        let stamped = timestamps.is_some();
        let asks_ecn = stamped && syn.flags.contains(ECN_SETUP);
        Self {
            irs: syn.seq,
            flags: flags(asks_ecn),
            options: TcpOptions {
                mss: Some(SIZES[size]),
                window_scale: syn.options.window_scale.filter(|_| stamped),
                sack_permitted: syn.options.sack_permitted && stamped,
                timestamps,
                ..TcpOptions::NONE
            },
            size: size as u32,
        }
    }

    /// Returns the low bits of TSval.
    fn stamp(&self) -> u32 {
        // A shift count above 14 is encoded as 14, which has the same effect. RFC 7323 §2.3.
        let scale = |shift: u8| u32::from(shift).min(NO_SCALE - 1);
        let scale = self.options.window_scale.map_or(NO_SCALE, scale);
        let sack = if self.options.sack_permitted { SACK } else { 0 };
        let ecn = if self.flags.contains(ECN_SETUP) {
            ECN
        } else {
            0
        };
        scale | sack | ecn
    }

    /// Decodes the contents from `size`, which the sequence number carried, and from the timestamps
    /// of the ACK.
    fn restore(irs: SeqNum, size: u32, ack: &Segment<'_>) -> Self {
        let stamps = ack.options.timestamps;
        let kept = stamps.map_or(NO_SCALE, |stamps| stamps.echo & STAMP_MASK);
        let scale = kept & NO_SCALE;
        Self {
            irs,
            flags: flags(kept & ECN != 0),
            options: TcpOptions {
                mss: Some(SIZES[size as usize]),
                window_scale: (scale != NO_SCALE).then_some(scale as u8),
                sack_permitted: kept & SACK != 0,
                timestamps: stamps,
                ..TcpOptions::NONE
            },
            size,
        }
    }

    /// Rebuilds the SYN. `like` is any segment of the same peer; its fields that a cookie does not
    /// encode are copied.
    pub(crate) fn syn<'a>(&self, like: &Segment<'a>) -> Segment<'a> {
        Segment {
            seq: self.irs,
            flags: self.flags,
            options: self.options,
            payload: &[],
            ..*like
        }
    }
}

fn flags(asks_ecn: bool) -> TcpFlags {
    if asks_ecn {
        TcpFlags::SYN | ECN_SETUP
    } else {
        TcpFlags::SYN
    }
}

impl SynCookies {
    /// Derives the key from `secret`, and allocates the queue of one interface, for `most` SYN-ACKs.
    pub(crate) fn new(secret: &Secret, most: u32) -> Self {
        Self {
            secret: secret.derive(b"syn cookies"),
            queues: AnswerQueues::new(most),
            last_made: None,
        }
    }

    /// Adds the queue of one more interface.
    pub(crate) fn add_interface(&mut self) {
        self.queues.add_interface();
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.queues.heap_bytes()
    }

    /// Drops the SYN-ACKs from `ip`, which was removed from this host.
    pub(crate) fn forget_address(&mut self, ip: IpAddr) {
        self.queues.forget_address(ip);
    }

    /// Returns true if the queue of SYN-ACKs of `interface` is full.
    pub(crate) fn is_full(&self, interface: InterfaceId) -> bool {
        let (taken, most) = self.queues.level(interface);
        taken == most
    }

    /// Returns the initial sequence number that encodes `syn`.
    pub(crate) fn sequence(&self, tuple: &FourTuple, syn: &SynSummary, now: Instant) -> SeqNum {
        SeqNum(self.hash(tuple, syn.irs, period(now)) ^ (syn.size << SIZE_SHIFT))
    }

    /// Queues `answer`, the SYN-ACK to `syn` with a cookie as its sequence number. The
    /// caller has checked that the queue is not full.
    pub(crate) fn answer(&mut self, mut answer: Answer, syn: &SynSummary, now: Instant) {
        if let Some(stamps) = &mut answer.segment.options.timestamps {
            // The timestamp must not be later than the clock, or later segments would
            // seem old to the peer.
            let stamped = (stamps.value & !STAMP_MASK) | syn.stamp();
            let is_later = stamped & STAMP_MASK > stamps.value & STAMP_MASK;
            let back = if is_later { STAMP_MASK + 1 } else { 0 };
            stamps.value = stamped.wrapping_sub(back);
        }
        self.queues.push(answer);
        self.last_made = Some(now);
    }

    /// Returns true if any cookie that was made can still be valid.
    pub(crate) fn may_return(&self, now: Instant) -> bool {
        self.last_made
            .is_some_and(|made| now.since(made) < PERIOD * 2)
    }

    /// Returns the contents of the SYN if `ack` carries a valid cookie. Eight sequence numbers, 2^29
    /// apart, are valid for one SYN, each for another MSS. A peer that returns another of the eight
    /// numbers only changes its own MSS, which it may choose anyway. If the ACK was lost, a
    /// keepalive or window probe is accepted in its place, although its sequence number is one
    /// lower.
    pub(crate) fn verify(
        &self,
        tuple: &FourTuple,
        ack: &Segment<'_>,
        now: Instant,
    ) -> Option<SynSummary> {
        let cookie = ack.ack - 1;
        let this = period(now);
        for irs in [ack.seq - 1, ack.seq] {
            for period in [Some(this), this.checked_sub(1)].into_iter().flatten() {
                let masked = cookie.0 ^ self.hash(tuple, irs, period);
                let size = masked >> SIZE_SHIFT;
                if masked == size << SIZE_SHIFT {
                    return Some(SynSummary::restore(irs, size, ack));
                }
            }
        }
        None
    }

    /// Removes and returns the SYN-ACK to be sent next by `interface`.
    pub(crate) fn take(&mut self, interface: InterfaceId) -> Option<Answer> {
        self.queues.take(interface)
    }

    /// Returns true if a SYN-ACK waits that leaves by `interface`.
    pub(crate) fn has_for(&self, interface: InterfaceId) -> bool {
        self.queues.has_for(interface)
    }

    fn hash(&self, tuple: &FourTuple, irs: SeqNum, period: u32) -> u32 {
        let mut bytes = HashInput::new();
        tuple.with_bytes(|tuple| bytes.push(tuple));
        bytes.push(&irs.0.to_be_bytes());
        bytes.push(&period.to_be_bytes());
        self.secret.prf(bytes.as_slice()) as u32
    }
}

/// Returns the number of the period that contains `now`.
fn period(now: Instant) -> u32 {
    (now.as_micros() / PERIOD.as_micros()) as u32
}
