//! What happened, in order: a ring of fixed-size records, one ring a host.
//!
//! Rule: recording costs one comparison when it is off, a 32-byte store when it
//! is on, and never anything else. The ring forgets the oldest first and says
//! how many it forgot. It interprets nothing.

use alloc::{boxed::Box, vec};

use fullpipe_pool::{Holder, Instant, Pressure};
use fullpipe_wire::TcpFlags;

use crate::{DiscardReason, Limit, ReceiveLimit, TcpState};

/// What a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// The connection came to be; from here on its number means this one.
    /// Its sender's limit is the handshake, and its receiver has none.
    Opened {
        /// Whether the peer asked for it.
        passive: bool,
        /// Initial send sequence number.
        iss: u32,
        /// Initial receive sequence number; 0 while only the peer knows it,
        /// which is so unless the peer asked.
        irs: u32,
    },
    /// The connection changed its state.
    State(TcpState),
    /// A segment arrived: sequence number, acknowledgment, scaled window, bytes of text.
    SegmentIn {
        /// Control bits.
        flags: TcpFlags,
        /// Sequence number of the first byte.
        seq: u32,
        /// Acknowledgment number.
        ack: u32,
        /// Window in bytes.
        window: u32,
        /// Bytes of text.
        len: u32,
    },
    /// A segment left: sequence number, acknowledgment, window in bytes, bytes of text.
    SegmentOut {
        /// Control bits.
        flags: TcpFlags,
        /// Sequence number of the first byte.
        seq: u32,
        /// Acknowledgment number.
        ack: u32,
        /// Window in bytes.
        window: u32,
        /// Bytes of text.
        len: u32,
    },
    /// One block of the SACK option of the segment recorded last.
    Sack {
        /// Its first byte.
        left: u32,
        /// Behind its last byte.
        right: u32,
    },
    /// The same, for a segment that left before.
    Retransmission {
        /// Sequence number of the first byte.
        seq: u32,
        /// Bytes of text.
        len: u32,
    },
    /// Another bound became the tightest for the sender.
    Limit(Limit),
    /// The receiver does something else to its sender.
    ReceiveLimit(ReceiveLimit),
    /// What the congestion window is after an ACK or a timeout; all in bytes.
    Window {
        /// Congestion window.
        cwnd: u32,
        /// Slow-start threshold.
        ssthresh: u32,
        /// On their way: neither SACKed nor taken for lost.
        in_flight: u32,
    },
    /// A round-trip time was measured; all in microseconds.
    Rtt {
        /// The sample.
        sample_us: u32,
        /// Smoothed round-trip time.
        srtt_us: u32,
        /// Its variation.
        rttvar_us: u32,
        /// Retransmission timeout without backoff.
        rto_us: u32,
    },
    /// A segment from the peer went no further.
    Discard(DiscardReason),
    /// A retransmission timeout; how many in a row.
    Timeout(u32),
    /// A write was refused or cut short: bytes asked, bytes taken.
    WriterBlocked {
        /// Bytes the application wanted to write.
        asked: u32,
        /// Bytes taken.
        taken: u32,
    },
    /// The blocked writer was told that there is room again; bytes of room.
    WriterResumed(u32),
    /// Packet memory had no block: bytes asked for.
    MemoryPressure(u32),
    /// Packet memory came under pressure, or out of it; it is the host's.
    Pressure(Pressure),
    /// What a holder has of packet memory changed; in blocks. It is the host's,
    /// whichever connection brought it about.
    Pool {
        /// Whose account.
        holder: Holder,
        /// Blocks held.
        held: u32,
        /// Blocks promised.
        promised: u32,
    },
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// When.
    pub at: Instant,
    /// Which connection, as the host numbers them.
    pub connection: u32,
    /// What.
    pub event: TraceEvent,
}

/// A ring of records. Off when it has no room.
#[derive(Debug)]
pub struct Trace {
    ring: Box<[Option<TraceRecord>]>,
    /// Records ever written; the next one goes to this index modulo the size.
    written: u64,
}

impl Trace {
    /// A ring of `records` records; 0 is off. Allocates here and only here.
    pub fn new(records: usize) -> Self {
        Self {
            ring: vec![None; records].into_boxed_slice(),
            written: 0,
        }
    }

    /// Whether anything is recorded.
    pub fn is_on(&self) -> bool {
        !self.ring.is_empty()
    }

    /// Records `event`.
    pub fn record(&mut self, at: Instant, connection: u32, event: TraceEvent) {
        if self.ring.is_empty() {
            return;
        }
        let slot = (self.written % self.ring.len() as u64) as usize;
        self.ring[slot] = Some(TraceRecord {
            at,
            connection,
            event,
        });
        self.written += 1;
    }

    /// How many records have been overwritten.
    pub fn overwritten(&self) -> u64 {
        self.written.saturating_sub(self.ring.len() as u64)
    }

    /// The records held, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &TraceRecord> {
        let held = self.written.min(self.ring.len() as u64) as usize;
        let oldest = if self.overwritten() == 0 {
            0
        } else {
            (self.written % self.ring.len() as u64) as usize
        };
        self.ring[oldest..held]
            .iter()
            .chain(&self.ring[..oldest])
            .flatten()
    }

    /// Forgets every record.
    pub fn clear(&mut self) {
        self.written = 0;
    }
}

#[cfg(test)]
mod tests;
