//! Events at the sender: an ACK arrives, or a segment leaves.
//!
//! Rule: times are those of the sender, and positions are counted from the first sequence number of
//! the sender.

/// An ACK as the sender receives it.
#[derive(Clone, Copy, Debug)]
pub struct AckIn {
    pub at: u64,
    /// Position up to which everything is acknowledged.
    pub ack: u64,
    /// Bytes beyond `ack` that SACK blocks report.
    pub sacked: u64,
    /// Right edge of the window; `None` while the window scale is unknown.
    pub edge: Option<u64>,
    pub is_zero: bool,
    pub has_payload: bool,
    /// The ACK has SACK blocks.
    pub has_sack: bool,
    /// The ACK reports a congestion mark (ECE).
    pub has_echo: bool,
}

/// A segment with payload or FIN as the sender sends it.
#[derive(Clone, Copy, Debug)]
pub struct SegmentSent {
    pub at: u64,
    pub start: u64,
    pub end: u64,
    /// Payload in bytes.
    pub payload: u32,
    pub has_push: bool,
    pub has_fin: bool,
}

/// The reason of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    Fast,
    Timeout,
    TailProbe,
}
