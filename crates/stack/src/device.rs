//! The interface of a network device, and the offloads that it may offer.
//!
//! Rule: at any time a frame belongs either to the stack or to the device. The stack reads a
//! received frame in place and writes a frame to be sent into memory that the device lends. This
//! file does not depend on the contents of a frame.

use core::fmt;

use crate::interface_id::InterfaceId;

/// The first header of each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// An Ethernet II header; ARP resolves neighbours.
    Ethernet,
    /// An IP header, on TUN devices; there are no neighbours.
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

/// Capabilities of a device, fixed for its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// First header of each frame.
    pub medium: Medium,
    /// Largest IP packet in bytes, link header not counted.
    pub mtu: usize,
    /// The device fills in the TCP or UDP checksum of the frames that it sends
    /// ([`TxChecksum::Partial`]).
    pub checksum_tx: bool,
    /// Largest TCP payload in bytes of a super-segment, which is a frame that the device
    /// cuts into segments (TSO). 0 if the device sends only frames of up to `mtu`. Needs
    /// `checksum_tx`.
    pub super_segment: usize,
    /// The device reports completions through [`Device::sent_bytes`], and frames leave in the order
    /// in which they were handed over. The stack then limits the payload that each connection may
    /// have in the device (knob `tcp.small_queue`).
    pub reports_sent: bool,
}

impl Capabilities {
    /// Returns the capabilities of a device without offloads.
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

/// Metadata of a received frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxMeta {
    /// The device has verified the TCP or UDP checksum, or the frame never left this machine. In
    /// both cases the stack does not verify the checksum.
    pub checksum_verified: bool,
    /// Number of segments that the device merged into this frame (GRO, LRO); 0 or 1 if it
    /// merged none.
    pub merged: u16,
    /// The interface that received the frame; the first by default.
    pub interface: InterfaceId,
}

/// A received frame, readable until the next call on the device.
#[derive(Debug)]
pub struct Received<'a> {
    /// The frame, which begins with the header of [`Capabilities::medium`].
    pub frame: &'a [u8],
    /// Metadata of the frame.
    pub meta: RxMeta,
}

/// The state of the transport checksum of a frame to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TxChecksum {
    /// The stack has computed the checksum.
    #[default]
    Complete,
    /// The checksum field holds the sum of the pseudo-header. The device adds the
    /// bytes from `start` to the end of the frame and writes the result at
    /// `start + offset`.
    Partial {
        /// First byte that the checksum covers, from the start of the frame.
        start: u16,
        /// Offset of the checksum field, from `start`.
        offset: u16,
    },
}

impl fmt::Display for TxChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("complete"),
            Self::Partial { start, offset } => {
                write!(f, "partial, start {start}, offset {offset}")
            }
        }
    }
}

/// Metadata of a frame to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxMeta {
    /// State of the transport checksum.
    pub checksum: TxChecksum,
    /// Payload bytes of each segment that the device cuts from this
    /// super-segment; 0 if the frame is sent unchanged.
    pub segment_size: u16,
    /// Bytes of headers that the device repeats in front of each segment.
    pub header_len: u16,
}

/// A network device, polled.
///
/// [`turn`](crate::turn()) makes these calls; the knob `stack.turn_budget` is its budget of frames
/// for each direction:
///
/// 1. [`receive`](Self::receive), until it returns `None` or the budget is used up;
/// 2. [`lend`](Self::lend) and [`send`](Self::send) in pairs, until nothing is left to send, `lend`
///    returns `None` or the budget is used up;
/// 3. [`flush`](Self::flush), once.
///
/// No call blocks. A device that loses a frame reports nothing: transports repair losses.
pub trait Device {
    /// Returns the capabilities of the device; the same at each call.
    fn capabilities(&self) -> Capabilities;

    /// Returns the stack's interface that this device serves; the same at each call. By default
    /// that is the interface given to [`Stack::new`](crate::Stack::new).
    fn interface(&self) -> InterfaceId {
        InterfaceId::FIRST
    }

    /// Returns the next received frame, or `None` if there is none now.
    fn receive(&mut self) -> Option<Received<'_>>;

    /// Lends memory of exactly `len` bytes for one frame. Returns `None` while the
    /// device's queue is full. Two calls without [`send`](Self::send) between
    /// them lend the same memory.
    fn lend(&mut self, len: usize) -> Option<&mut [u8]>;

    /// Sends the first `len` bytes of the memory lent last.
    fn send(&mut self, len: usize, meta: TxMeta);

    /// Returns the total length of the frames that the device has completed since it was
    /// created: a frame counts with the length passed to [`send`](Self::send) once all of
    /// it has left. Called only if [`Capabilities::reports_sent`] is set.
    fn sent_bytes(&mut self) -> u64 {
        0
    }

    /// Sends all frames that the device has collected for one batch. Called at the end of a turn.
    fn flush(&mut self) {}
}
