//! What the stack asks of a network device, and what a device may offer.
//!
//! Rule: a frame is never owned by two sides. The stack reads a received frame
//! in place, and writes a frame to be sent into memory that the device lends.
//! This file does not know what a frame holds.

use core::fmt;

/// What a frame starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// An Ethernet II header; neighbours are found with ARP.
    Ethernet,
    /// An IP header (TUN devices); there are no neighbours.
    Ip,
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "ethernet",
            Self::Ip => "ip",
        })
    }
}

/// What a device can do, fixed for its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// What frames start with.
    pub medium: Medium,
    /// Largest IP packet in bytes, link header not counted.
    pub mtu: usize,
    /// The device fills in TCP and UDP checksums of frames it sends
    /// ([`TxChecksum::Partial`]).
    pub checksum_tx: bool,
    /// Largest TCP payload in bytes of one frame that the device cuts into
    /// segments itself; 0 when it takes only frames of `mtu`.
    pub super_segment: usize,
    /// [`Device::sent_bytes`] says how much has been sent, and frames leave in
    /// the order in which they were handed over.
    pub reports_sent: bool,
}

impl Capabilities {
    /// A plain device: no offloads.
    pub const fn plain(medium: Medium, mtu: usize) -> Self {
        Self {
            medium,
            mtu,
            checksum_tx: false,
            super_segment: 0,
            reports_sent: false,
        }
    }
}

/// What the device knows of a received frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxMeta {
    /// TCP and UDP checksums were verified below, or the frame never left this
    /// machine: they need not be looked at.
    pub checksum_verified: bool,
    /// How many segments the device merged into this frame; 0 or 1 when none.
    pub merged: u16,
}

/// A received frame, readable until the device is used again.
#[derive(Debug)]
pub struct Received<'a> {
    /// The frame, starting as [`Capabilities::medium`] says.
    pub frame: &'a [u8],
    /// What the device knows of it.
    pub meta: RxMeta,
}

/// The state of the transport checksum of a frame to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TxChecksum {
    /// It is filled in.
    #[default]
    Complete,
    /// The field holds the pseudo-header's sum; the device adds the bytes from
    /// `start` to the end of the frame and writes the result at
    /// `start + offset`. Both in bytes from the start of the frame.
    Partial {
        /// First byte that the checksum covers.
        start: u16,
        /// The field's place, counted from `start`.
        offset: u16,
    },
}

/// What the device must know of a frame to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxMeta {
    /// Who completes the transport checksum.
    pub checksum: TxChecksum,
    /// Payload bytes of each segment the device must cut from this frame; 0
    /// when the frame is sent as it is.
    pub segment_size: u16,
    /// Bytes of headers that the device repeats before each segment it cuts.
    pub header_len: u16,
}

/// A network device, polled.
///
/// The order of calls in a turn: [`receive`](Self::receive) until it returns
/// `None`; then [`lend`](Self::lend), [`send`](Self::send) in pairs until there
/// is nothing to say or `lend` returns `None`; then [`flush`](Self::flush).
pub trait Device {
    /// What the device can do.
    fn capabilities(&self) -> Capabilities;

    /// The next received frame, or `None` when there is none now.
    fn receive(&mut self) -> Option<Received<'_>>;

    /// Memory for one frame of up to `len` bytes, or `None` while the device's
    /// queue is full. Asking twice without sending lends the same memory again.
    fn lend(&mut self, len: usize) -> Option<&mut [u8]>;

    /// Sends the first `len` bytes of what was lent last.
    fn send(&mut self, len: usize, meta: TxMeta);

    /// Bytes of the frames that have left the device since it was made, each
    /// counted as long as it was handed over, once all of it has left. The
    /// difference to what was handed over is what the device still holds.
    /// Asked only of a device that [reports](Capabilities::reports_sent).
    fn sent_bytes(&mut self) -> u64 {
        0
    }

    /// The turn is over: whatever was held back to be sent together leaves now.
    fn flush(&mut self) {}
}
