//! Initial sequence numbers and timestamp offsets. RFC 6528, RFC 7323 §5.4.
//!
//! Rule: a number is a clock plus a keyed hash of the four-tuple. The numbers of one connection
//! therefore reveal nothing about another connection's numbers, and the numbers of one four-tuple
//! grow with time. No state is kept here.

use fullpipe_pool::Instant;
use fullpipe_tcp::SeqNum;

use super::four_tuple::FourTuple;
use crate::secret::{HashInput, Secret};

#[cfg(test)]
mod tests;

/// The clock M of RFC 6528 §3 ticks every four microseconds.
const TICK_US: u64 = 4;
/// Smallest distance from the last number of the previous incarnation: more than the largest window
/// without scaling.
const REUSE_GAP: u32 = 0x1_0002;

/// The generator of initial sequence numbers.
#[derive(Debug)]
pub(crate) struct InitialNumbers {
    sequence: Secret,
    timestamps: Secret,
}

impl InitialNumbers {
    /// Derives the keys from `secret`.
    pub(crate) fn new(secret: &Secret) -> Self {
        Self {
            sequence: secret.derive(b"initial sequence numbers"),
            timestamps: secret.derive(b"timestamp offsets"),
        }
    }

    /// Returns ISN = M + F(tuple, key).
    pub(crate) fn sequence(&self, tuple: &FourTuple, now: Instant) -> SeqNum {
        let clock = (now.as_micros() / TICK_US) as u32;
        let offset = tuple.with_bytes(|bytes| self.sequence.prf(bytes)) as u32;
        SeqNum(clock.wrapping_add(offset))
    }

    /// Returns a number for a four-tuple whose previous incarnation has just ended at `snd_nxt`.
    /// The number is beyond every number that the old incarnation sent. RFC 9293 §3.6.1, RFC 6191
    /// §2.
    pub(crate) fn sequence_after(
        &self,
        tuple: &FourTuple,
        snd_nxt: SeqNum,
        now: Instant,
    ) -> SeqNum {
        self.sequence(tuple, now).latest(snd_nxt + REUSE_GAP)
    }

    /// Returns the offset of timestamps sent between two addresses. All connections
    /// between these addresses share the offset, so the timestamps of one tuple never
    /// decrease between incarnations.
    pub(crate) fn timestamp_offset(&self, tuple: &FourTuple) -> u32 {
        let mut bytes = HashInput::new();
        bytes.push_ip(tuple.local_ip());
        bytes.push_ip(tuple.remote_ip());
        self.timestamps.prf(bytes.as_slice()) as u32
    }
}
