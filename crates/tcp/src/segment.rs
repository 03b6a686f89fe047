//! A segment as a connection sees it: without ports, addresses and checksum.
//!
//! Rule: a received segment borrows its payload from the frame. A segment to be
//! sent names its payload by stream offsets, so that the bytes are copied once,
//! into the frame. A connection stores neither.

use core::ops::Range;

use fullpipe_wire::{Ecn, TcpFlags, TcpHeader, TcpOptions};

use crate::SeqNum;

/// MSS of a peer whose SYN has no MSS option. RFC 9293 §3.7.1.
pub const DEFAULT_MSS: u16 = 536;

/// A received segment. RFC 9293 §3.1.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Sequence number of the SYN, or else of the first byte of payload.
    pub seq: SeqNum,
    /// Next sequence number that the segment's sender expects; meaningful with
    /// ACK.
    pub ack: SeqNum,
    /// Control flags.
    pub flags: TcpFlags,
    /// The window field, not scaled.
    pub window: u16,
    /// Urgent pointer; meaningful with URG.
    pub urgent: u16,
    /// Options.
    pub options: TcpOptions,
    /// Payload.
    pub payload: &'a [u8],
    /// Number of segments that the device merged into this one; 0 or 1 if none.
    pub merged: u16,
    /// ECN field of the packet; of merged segments, CE if any had it. RFC 3168
    /// §5.
    pub ecn: Ecn,
}

impl<'a> Segment<'a> {
    /// Creates a segment from `header` and `payload` with an ECN field of
    /// Not-ECT.
    pub fn from_header(header: &TcpHeader, payload: &'a [u8], merged: u16) -> Self {
        Self {
            seq: SeqNum(header.seq),
            ack: SeqNum(header.ack),
            flags: header.flags,
            window: header.window,
            urgent: header.urgent,
            options: header.options,
            payload,
            merged,
            ecn: Ecn::NotEct,
        }
    }

    /// Returns SEG.LEN: bytes of payload plus one each for SYN and FIN.
    pub fn len(&self) -> u32 {
        self.payload.len() as u32
            + u32::from(self.flags.contains(TcpFlags::SYN))
            + u32::from(self.flags.contains(TcpFlags::FIN))
    }

    /// Returns true if the segment occupies no sequence space.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sequence number after the segment's last byte or flag.
    pub fn end(&self) -> SeqNum {
        self.seq + self.len()
    }

    /// Returns the sequence number of the first byte of payload, which follows
    /// the SYN.
    pub fn payload_seq(&self) -> SeqNum {
        self.seq + u32::from(self.flags.contains(TcpFlags::SYN))
    }

    /// Returns true if `flag` is set.
    pub fn has(&self, flag: TcpFlags) -> bool {
        self.flags.contains(flag)
    }
}

/// A segment to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentOut {
    /// Sequence number of the SYN, or else of the first byte of payload.
    pub seq: SeqNum,
    /// Next sequence number expected; meaningful with ACK.
    pub ack: SeqNum,
    /// Control flags.
    pub flags: TcpFlags,
    /// The window field, scaled.
    pub window: u16,
    /// Urgent pointer; meaningful with URG.
    pub urgent: u16,
    /// Options.
    pub options: TcpOptions,
    /// Payload, as offsets into the connection's send stream.
    pub payload: Range<u64>,
    /// Bytes of payload in each segment into which the device must cut this
    /// one; 0 if it is not cut.
    pub segment_size: u16,
    /// ECN field of the packets that carry the segment.
    pub ecn: Ecn,
    /// Routers must not fragment the packets that carry the segment (DF). RFC 1191 §3.
    pub dont_fragment: bool,
}

impl SegmentOut {
    /// Returns the bytes of payload.
    pub fn payload_len(&self) -> u32 {
        (self.payload.end - self.payload.start) as u32
    }

    /// Returns the number of segments on the wire.
    pub fn segments(&self) -> u32 {
        match u32::from(self.segment_size) {
            0 => 1,
            size => self.payload_len().div_ceil(size).max(1),
        }
    }

    /// Returns SEG.LEN: bytes of payload plus one each for SYN and FIN.
    pub fn len(&self) -> u32 {
        self.payload_len()
            + u32::from(self.flags.contains(TcpFlags::SYN))
            + u32::from(self.flags.contains(TcpFlags::FIN))
    }

    /// Returns true if the segment occupies no sequence space.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Creates the reset that RFC 9293 §3.5.2 sends in answer to a segment for
    /// which no connection exists. `None` if the segment is itself a reset.
    pub fn reset_for(segment: &Segment<'_>) -> Option<Self> {
        if segment.has(TcpFlags::RST) {
            return None;
        }
        let (seq, ack, flags) = if segment.has(TcpFlags::ACK) {
            (segment.ack, SeqNum(0), TcpFlags::RST)
        } else {
            (SeqNum(0), segment.end(), TcpFlags::RST | TcpFlags::ACK)
        };
        Some(Self::bare(seq, ack, flags))
    }

    /// Creates a segment without payload and options, and with a window of 0.
    pub fn bare(seq: SeqNum, ack: SeqNum, flags: TcpFlags) -> Self {
        Self {
            seq,
            ack,
            flags,
            window: 0,
            urgent: 0,
            options: TcpOptions::default(),
            payload: 0..0,
            segment_size: 0,
            ecn: Ecn::NotEct,
            dont_fragment: true,
        }
    }
}
