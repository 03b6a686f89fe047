//! The format of pcap files (draft-ietf-opsawg-pcap): both byte orders, microseconds and
//! nanoseconds, and the longer record headers of old Linux kernels.
//!
//! Rule: the fields of a record are used only if its captured length is within the limit.

use super::{
    record::{ByteOrder, CAPTURED_MAX, Placed, Stop},
    refusal::CaptureError,
};
use crate::capture::{frame::Frame, input::Input, link_type::LinkType};

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Magic number of files whose record headers have eight more bytes: index of the interface,
/// protocol, packet type.
const MODIFIED: u32 = 0xa1b2_cd34;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const MODIFIED_RECORD_HEADER: usize = 24;

/// A pcap file after its header.
pub(super) struct Pcap {
    order: ByteOrder,
    /// Nanoseconds of one unit of the fraction in a time.
    unit_ns: i64,
    /// Bytes of a record's header.
    record_header: usize,
    lengths: Lengths,
    link: LinkType,
}

/// Order of the captured and the original length in a record.
#[derive(Clone, Copy)]
enum Lengths {
    CapturedFirst,
    /// The original length comes first, as before version 2.3.
    OriginalFirst,
    /// The smaller length is the captured one: files of version 2.3 have either order.
    SmallerIsCaptured,
}

impl Pcap {
    /// Reads the header of a file. Returns `None` if the first bytes are not those of a pcap
    /// file.
    pub(super) fn begin(input: &mut Input) -> Result<Option<Self>, CaptureError> {
        let is_whole = input.need(FILE_HEADER).map_err(CaptureError::from)?;
        let header = input.ready();
        if header.len() < 4 {
            return Ok(None);
        }
        let is_magic = |order: &ByteOrder| {
            [MICROSECONDS, NANOSECONDS, MODIFIED].contains(&order.u32(header, 0))
        };
        let orders = [ByteOrder::Little, ByteOrder::Big];
        let Some(order) = orders.into_iter().find(is_magic) else {
            return Ok(None);
        };
        if !is_whole {
            return Err(CaptureError::Header("it has fewer than 24 bytes"));
        }
        let magic = order.u32(header, 0);
        let (major, minor) = (order.u16(header, 4), order.u16(header, 6));
        if major != 2 {
            return Err(CaptureError::Version { major, minor });
        }
        let pcap = Self {
            order,
            unit_ns: if magic == NANOSECONDS { 1 } else { 1_000 },
            record_header: match magic {
                MODIFIED => MODIFIED_RECORD_HEADER,
                _ => RECORD_HEADER,
            },
            lengths: match minor {
                0..3 => Lengths::OriginalFirst,
                3 => Lengths::SmallerIsCaptured,
                4.. => Lengths::CapturedFirst,
            },
            // Ignore the upper bits: they are the length of the frame check sequence.
            link: LinkType(order.u32(header, 20) as u16),
        };
        input.consume(FILE_HEADER);
        Ok(Some(pcap))
    }

    /// Finds the next frame.
    pub(super) fn next_frame(&mut self, input: &mut Input) -> Result<Placed, Stop> {
        if !input.need(self.record_header)? {
            return Err(match input.ready() {
                [] => Stop::End,
                _ => Stop::Cut,
            });
        }
        let header = input.ready();
        let [seconds, fraction, first, second] = [0, 4, 8, 12].map(|at| self.order.u32(header, at));
        let (captured, original) = match self.lengths {
            Lengths::CapturedFirst => (first, second),
            Lengths::OriginalFirst => (second, first),
            Lengths::SmallerIsCaptured => (first.min(second), first.max(second)),
        };
        if captured > CAPTURED_MAX {
            return Err(Stop::Damaged("a packet has an impossible length"));
        }
        let record = self.record_header + captured as usize;
        if !input.need(record)? {
            return Err(Stop::Cut);
        }
        let at_ns = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.unit_ns;
        Ok(Placed {
            before: self.record_header,
            captured: captured as usize,
            record,
            frame: Frame {
                at_ns: Some(at_ns),
                link: self.link,
                bytes: &[],
                original_len: original.max(captured),
                passage: None,
            },
        })
    }
}
