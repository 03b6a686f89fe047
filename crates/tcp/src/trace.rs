//! The trace: a ring of fixed-size records of what happened, one ring per host.
//!
//! Rule: a record costs one comparison when the trace is off and a 32-byte store when the
//! trace is on. The ring overwrites the oldest record first and counts the records that
//! it overwrote. The trace interprets nothing.

mod display;
#[cfg(not(feature = "trace"))]
mod off;
#[cfg(feature = "trace")]
mod ring;

#[cfg(not(feature = "trace"))]
pub use off::Trace;
#[cfg(feature = "trace")]
pub use ring::Trace;

use fullpipe_pool::{Holder, Instant, Pressure};
use fullpipe_wire::TcpFlags;

use crate::{DiscardReason, Limit, ReceiveLimit, TcpState};

/// Content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// A connection was created; later records with the same connection number belong to it. At
    /// first the connection's limit is `handshake` and its receive limit is `none`.
    Opened {
        /// The peer opened the connection.
        passive: bool,
        /// Initial send sequence number.
        iss: u32,
        /// Initial receive sequence number; 0 for an active open, where it is
        /// not known yet.
        irs: u32,
    },
    /// The connection entered this state.
    State(TcpState),
    /// A segment arrived.
    SegmentIn {
        /// Control flags.
        flags: TcpFlags,
        /// Sequence number of the first byte.
        seq: u32,
        /// Acknowledgment number.
        ack: u32,
        /// Window in bytes, scaled.
        window: u32,
        /// Bytes of payload.
        len: u32,
    },
    /// A segment was sent.
    SegmentOut {
        /// Control flags.
        flags: TcpFlags,
        /// Sequence number of the first byte.
        seq: u32,
        /// Acknowledgment number.
        ack: u32,
        /// Window in bytes.
        window: u32,
        /// Bytes of payload.
        len: u32,
    },
    /// One block of the SACK option of the segment recorded last.
    Sack {
        /// First sequence number.
        left: u32,
        /// One past the last sequence number.
        right: u32,
    },
    /// The segment recorded last was a retransmission.
    Retransmission {
        /// Sequence number of the first byte.
        seq: u32,
        /// Bytes of payload.
        len: u32,
    },
    /// The sender's limit changed.
    Limit(Limit),
    /// The receiver's limit changed.
    ReceiveLimit(ReceiveLimit),
    /// The congestion window after an ACK or a timeout, in bytes.
    Window {
        /// Congestion window.
        cwnd: u32,
        /// Slow-start threshold.
        ssthresh: u32,
        /// Bytes in flight: neither SACKed nor considered lost.
        in_flight: u32,
    },
    /// A round-trip time was measured; all in microseconds.
    Rtt {
        /// The sample.
        sample_us: u32,
        /// Smoothed round-trip time.
        srtt_us: u32,
        /// Round-trip time variation.
        rttvar_us: u32,
        /// Retransmission timeout, backoff included.
        rto_us: u32,
    },
    /// A segment from the peer was discarded.
    Discard(DiscardReason),
    /// The retransmission timer expired; the value counts consecutive timeouts.
    Timeout(u32),
    /// Loss recovery or congestion control changed its state.
    Recovery(RecoveryEvent),
    /// A write was refused or cut short.
    WriterBlocked {
        /// Bytes that the application wanted to write.
        asked: u32,
        /// Bytes accepted.
        taken: u32,
    },
    /// The blocked writer was notified of room; the value is the room in bytes.
    WriterResumed(u32),
    /// A write was blocked for lack of packet memory; the value is the number of bytes that the
    /// writer still wants to write.
    MemoryPressure(u32),
    /// The pressure level of packet memory changed. Concerns the host, not the
    /// connection.
    Pressure(Pressure),
    /// The number of blocks of one holder (kind of buffer) of packet memory changed. Concerns the
    /// host; `connection` is the connection whose call changed them, or `u32::MAX` if it is not
    /// known.
    Pool {
        /// The holder.
        holder: Holder,
        /// Blocks held.
        held: u32,
        /// Blocks reserved.
        promised: u32,
    },
}

/// A change in loss recovery or congestion control other than a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryEvent {
    /// A loss was found: fast recovery began. RFC 5681 §3.2, RFC 8985.
    FastRecovery,
    /// Everything that was outstanding when fast recovery began, or at a timeout, has
    /// arrived.
    Recovered,
    /// The fast recovery or the timeout was spurious: the congestion window has its
    /// earlier value again.
    Undone,
    /// A tail loss probe was sent. RFC 8985 §7.
    TailProbe,
    /// A congestion mark reduced the congestion window. RFC 3168 §6.1.2.
    MarkResponse,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Time of the event.
    pub at: Instant,
    /// Number of the connection on its host.
    pub connection: u32,
    /// The event.
    pub event: TraceEvent,
}

#[cfg(all(test, feature = "trace"))]
mod tests;
