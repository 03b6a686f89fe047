//! Initial sequence numbers and timestamp offsets. RFC 6528, RFC 7323 §5.4.
//!
//! Rule: a number is a clock plus a keyed hash of the connection's name. So
//! one connection's numbers say nothing of another's, and those of the same
//! four-tuple still grow with time. Nothing is remembered here.

use fullpipe_pool::Instant;
use fullpipe_tcp::SeqNum;

use super::four_tuple::FourTuple;
use crate::secret::{HashInput, Secret};

#[cfg(test)]
mod tests;

/// The clock M of RFC 6528 §3 ticks every four microseconds.
const TICK_US: u64 = 4;
/// How far beyond the last number of a dead incarnation the next one starts at
/// least: more than a window without scaling.
const REUSE_GAP: u32 = 0x1_0002;

/// Chooses initial sequence numbers.
#[derive(Debug)]
pub(crate) struct InitialNumbers {
    sequence: Secret,
    timestamps: Secret,
}

impl InitialNumbers {
    /// Keys derived from `secret`.
    pub(crate) fn new(secret: &Secret) -> Self {
        Self {
            sequence: secret.derive(b"initial sequence numbers"),
            timestamps: secret.derive(b"timestamp offsets"),
        }
    }

    /// ISN = M + F(tuple, key).
    pub(crate) fn sequence(&self, tuple: &FourTuple, now: Instant) -> SeqNum {
        let clock = (now.as_micros() / TICK_US) as u32;
        let offset = tuple.with_bytes(|bytes| self.sequence.prf(bytes)) as u32;
        SeqNum(clock.wrapping_add(offset))
    }

    /// The same for a tuple whose last incarnation ended at `snd_nxt` a moment
    /// ago: beyond everything that one sent. RFC 9293 §3.6.1, RFC 6191 §2.
    pub(crate) fn sequence_after(
        &self,
        tuple: &FourTuple,
        snd_nxt: SeqNum,
        now: Instant,
    ) -> SeqNum {
        self.sequence(tuple, now).latest(snd_nxt + REUSE_GAP)
    }

    /// What is added to the clock in timestamps sent between two addresses.
    /// The same for all their connections, so that timestamps of one tuple
    /// never go back between incarnations.
    pub(crate) fn timestamp_offset(&self, tuple: &FourTuple) -> u32 {
        let mut bytes = HashInput::new();
        bytes.push_ip(tuple.local_ip);
        bytes.push_ip(tuple.remote_ip);
        self.timestamps.prf(bytes.as_slice()) as u32
    }
}
