//! A segment as a connection sees it: no ports, no addresses, no checksum.
//!
//! Rule: a received segment borrows its text from the frame; a segment to be
//! sent names its text by stream offsets, so that the bytes are copied once,
//! into the frame. Neither is ever stored.

use core::ops::Range;

use fullpipe_wire::{Ecn, TcpFlags, TcpHeader, TcpOptions};

use crate::SeqNum;

/// A received segment. RFC 9293 §3.1.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Sequence number of the first byte of text, or of SYN.
    pub seq: SeqNum,
    /// Next byte the sender of this segment expects; meaningful with ACK.
    pub ack: SeqNum,
    /// Control bits.
    pub flags: TcpFlags,
    /// The window field, not scaled.
    pub window: u16,
    /// Urgent pointer; meaningful with URG.
    pub urgent: u16,
    /// Options.
    pub options: TcpOptions,
    /// Text.
    pub payload: &'a [u8],
    /// How many segments a device merged into this one; 0 or 1 when none.
    pub merged: u16,
    /// What routers said about congestion; of merged segments, CE when any was
    /// marked. RFC 3168 §5.
    pub ecn: Ecn,
}

impl<'a> Segment<'a> {
    /// The segment that `header` and `payload` make up, in a packet that does
    /// not take part in congestion notification.
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

    /// SEG.LEN: text plus one each for SYN and FIN.
    pub fn len(&self) -> u32 {
        self.payload.len() as u32
            + u32::from(self.flags.contains(TcpFlags::SYN))
            + u32::from(self.flags.contains(TcpFlags::FIN))
    }

    /// Whether the segment occupies no sequence space.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sequence number after the segment's last byte or flag.
    pub fn end(&self) -> SeqNum {
        self.seq + self.len()
    }

    /// Sequence number of the first byte of text: SYN comes before it.
    pub fn payload_seq(&self) -> SeqNum {
        self.seq + u32::from(self.flags.contains(TcpFlags::SYN))
    }

    /// Whether `flag` is set.
    pub fn has(&self, flag: TcpFlags) -> bool {
        self.flags.contains(flag)
    }
}

/// A segment to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentOut {
    /// Sequence number of the first byte of text, or of SYN.
    pub seq: SeqNum,
    /// Next byte expected; meaningful with ACK.
    pub ack: SeqNum,
    /// Control bits.
    pub flags: TcpFlags,
    /// The window field as it goes on the wire.
    pub window: u16,
    /// Urgent pointer; meaningful with URG.
    pub urgent: u16,
    /// Options.
    pub options: TcpOptions,
    /// Text, as offsets into the connection's send stream.
    pub payload: Range<u64>,
    /// Bytes of text of each segment that the device must cut this one into; 0
    /// when it is sent as it is.
    pub segment_size: u16,
    /// What its packets say about congestion notification.
    pub ecn: Ecn,
}

impl SegmentOut {
    /// Bytes of text.
    pub fn payload_len(&self) -> u32 {
        (self.payload.end - self.payload.start) as u32
    }

    /// How many segments of the wire this is.
    pub fn segments(&self) -> u32 {
        match u32::from(self.segment_size) {
            0 => 1,
            size => self.payload_len().div_ceil(size).max(1),
        }
    }

    /// SEG.LEN: text plus one each for SYN and FIN.
    pub fn len(&self) -> u32 {
        self.payload_len()
            + u32::from(self.flags.contains(TcpFlags::SYN))
            + u32::from(self.flags.contains(TcpFlags::FIN))
    }

    /// Whether the segment occupies no sequence space.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A reset, as RFC 9293 §3.5.2 answers a segment that belongs to nothing.
    /// `None` when the segment is itself a reset.
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

    /// A segment of header only, without options or window.
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
        }
    }
}
