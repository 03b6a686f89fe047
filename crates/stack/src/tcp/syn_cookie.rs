//! SYN cookies: handshakes of which this host remembers nothing. RFC 4987 §3.6.
//!
//! Rule: what a SYN said comes back with the ACK that completes the handshake:
//! the peer's MSS in the initial sequence number, which a keyed hash of the
//! four-tuple, the peer's own number and the time makes unguessable; window
//! scale, SACK and ECN in the low bits of the timestamp, if the peer offers
//! timestamps. A cookie is good until the period after the one it was made in
//! ends. It advertises no window, so nothing is promised that is not held.
//!
//! What the ACK becomes is decided in `arrival`.

use alloc::collections::VecDeque;

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{Segment, SegmentOut, SeqNum};
use fullpipe_wire::{TcpFlags, TcpOptions};

use super::four_tuple::FourTuple;
use crate::secret::{HashInput, Secret};

#[cfg(test)]
mod tests;

/// How long the hash of a tuple stays the same. A round trip, and a few
/// retransmissions of a lost ACK, are far shorter.
const PERIOD: Duration = Duration::from_secs(64);
/// Segment sizes that a cookie can name: what ends of IPv4 paths say, and what
/// tunnels make of it. Three bits of the sequence number.
const SIZES: [u16; 8] = [48, 256, 536, 1_220, 1_400, 1_440, 1_460, 8_960];
/// Bits of the timestamp that carry options.
const STAMP_MASK: u32 = 0x3f;
/// In these: no window scale option.
const NO_SCALE: u32 = 0xf;
const SACK: u32 = 0x10;
const ECN: u32 = 0x20;

/// What a SYN asks for when it wants congestion marks. RFC 3168 §6.1.1.
const ECN_SETUP: TcpFlags = TcpFlags::ECE.union(TcpFlags::CWR);

/// What a cookie can keep of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SynSummary {
    /// Sequence number of the SYN.
    pub(crate) irs: SeqNum,
    /// SYN, and the flags that ask for ECN.
    pub(crate) flags: TcpFlags,
    /// Its options, as far as they can be kept.
    pub(crate) options: TcpOptions,
    /// Which of [`SIZES`] its MSS is.
    size: u32,
}

/// The maker and judge of cookies, and the answers that wait to be sent.
#[derive(Debug)]
pub(crate) struct SynCookies {
    secret: Secret,
    /// Never grows beyond its first capacity.
    queue: VecDeque<(FourTuple, SegmentOut)>,
    most: usize,
    /// When the last cookie was made. Without one, no ACK can prove anything.
    last_made: Option<Instant>,
}

impl SynSummary {
    /// What of `syn` can be kept. Without timestamps, which `stamping` says that
    /// this side uses, there is no place for options. `None`: the peer's segments
    /// are smaller than any that can be named.
    pub(crate) fn from_syn(syn: &Segment<'_>, stamping: bool) -> Option<Self> {
        let mss = syn.options.mss.unwrap_or(fullpipe_tcp::DEFAULT_MSS);
        let size = SIZES.iter().rposition(|size| *size <= mss)?;
        let timestamps = syn.options.timestamps.filter(|_| stamping);
        let stamped = timestamps.is_some();
        let asks_ecn = stamped && syn.flags.contains(ECN_SETUP);
        Some(Self {
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
        })
    }

    /// The low bits of the timestamp.
    fn stamp(&self) -> u32 {
        // A larger shift count means the same as the largest. RFC 7323 §2.3.
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

    /// What was kept, from the `size` that the sequence number names and the
    /// timestamps of the ACK.
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

    /// The SYN again. `like` is any segment of the same peer.
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
    /// Keys derived from `secret`; room for `most` answers.
    pub(crate) fn new(secret: &Secret, most: u32) -> Self {
        Self {
            secret: secret.derive(b"syn cookies"),
            queue: VecDeque::with_capacity(most as usize),
            most: most as usize,
            last_made: None,
        }
    }

    /// Whether no further answer can be queued.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() == self.most
    }

    /// The initial sequence number that names `syn`.
    pub(crate) fn sequence(&self, tuple: &FourTuple, syn: &SynSummary, now: Instant) -> SeqNum {
        SeqNum(self.hash(tuple, syn.irs, period(now)) ^ syn.size)
    }

    /// Queues SYN and ACK to `syn`, whose sequence number is a cookie. There is
    /// room.
    pub(crate) fn answer(
        &mut self,
        tuple: FourTuple,
        syn: &SynSummary,
        mut syn_ack: SegmentOut,
        now: Instant,
    ) {
        if let Some(stamps) = &mut syn_ack.options.timestamps {
            // Never later than the clock: what follows must not seem old.
            let stamped = (stamps.value & !STAMP_MASK) | syn.stamp();
            let is_later = stamped & STAMP_MASK > stamps.value & STAMP_MASK;
            let back = if is_later { STAMP_MASK + 1 } else { 0 };
            stamps.value = stamped.wrapping_sub(back);
        }
        self.queue.push_back((tuple, syn_ack));
        self.last_made = Some(now);
    }

    /// Whether cookies that could still come back were made at all.
    pub(crate) fn are_out(&self, now: Instant) -> bool {
        self.last_made
            .is_some_and(|made| now.since(made) < PERIOD * 2)
    }

    /// What the SYN said that `ack` completes a handshake with, if its cookie
    /// is sound. A probe, of a keepalive or of the window, may stand in for a
    /// lost ACK; its sequence number is one lower.
    pub(crate) fn prove(
        &self,
        tuple: &FourTuple,
        ack: &Segment<'_>,
        now: Instant,
    ) -> Option<SynSummary> {
        let cookie = ack.ack - 1;
        let this = period(now);
        for irs in [ack.seq - 1, ack.seq] {
            for period in [Some(this), this.checked_sub(1)].into_iter().flatten() {
                let size = cookie.0 ^ self.hash(tuple, irs, period);
                if (size as usize) < SIZES.len() {
                    return Some(SynSummary::restore(irs, size, ack));
                }
            }
        }
        None
    }

    /// The answer to be sent first.
    pub(crate) fn pop(&mut self) -> Option<(FourTuple, SegmentOut)> {
        self.queue.pop_front()
    }

    /// Whether no answer waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn hash(&self, tuple: &FourTuple, irs: SeqNum, period: u32) -> u32 {
        let mut bytes = HashInput::new();
        tuple.with_bytes(|tuple| bytes.push(tuple));
        bytes.push(&irs.0.to_be_bytes());
        bytes.push(&period.to_be_bytes());
        self.secret.prf(bytes.as_slice()) as u32
    }
}

/// The number of the period in which `now` lies.
fn period(now: Instant) -> u32 {
    (now.as_micros() / PERIOD.as_micros()) as u32
}
