//! The format of pcapng files (draft-ietf-opsawg-pcapng): sections, interfaces with their own
//! time units, enhanced, simple and obsolete packet blocks, and statistics of drops.
//!
//! Rule: blocks of other types are skipped. A block whose two lengths differ ends the reading,
//! because the beginning of the next block is then unknown.

use super::{
    record::{ByteOrder, CAPTURED_MAX, Placed, Stop},
    refusal::CaptureError,
};
use crate::capture::{
    Passage,
    frame::Frame,
    input::{Input, NEED_MAX},
    link_type::LinkType,
};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Bytes of type and length at the beginning of a block.
const BLOCK_HEAD: usize = 8;
/// Bytes of the repeated length at the end of a block.
const BLOCK_TAIL: usize = 4;
/// Smallest number of bytes of a block.
const BLOCK_MIN: usize = BLOCK_HEAD + BLOCK_TAIL;
const SECTION_MIN: usize = 28;

const END_OF_OPTIONS: u16 = 0;
const INTERFACE_RESOLUTION: u16 = 9;
const INTERFACE_OFFSET: u16 = 14;
const PACKET_FLAGS: u16 = 2;
const PACKET_DROPS: u16 = 4;
const STATISTICS_INTERFACE_DROPS: u16 = 5;
const STATISTICS_SYSTEM_DROPS: u16 = 7;

/// Largest number of interfaces of a section that are remembered.
const INTERFACES_MAX: usize = 4_096;

/// Unit of an interface's times.
#[derive(Clone, Copy)]
enum Unit {
    /// One unit is this number of nanoseconds.
    Nanoseconds(u64),
    /// One nanosecond is this number of units.
    OfNanosecond(u64),
    /// One second is 2^n units, and the value is n.
    Binary(u8),
}

impl Unit {
    /// Microseconds: the unit of an interface that names none.
    const DEFAULT: Self = Self::Nanoseconds(1_000);

    const fn of_option(value: u8) -> Self {
        let power = value & 0x7f;
        if value & 0x80 != 0 {
            // Limit the power to 63, because 2^64 units per second do not fit in a 64-bit number.
            return Self::Binary(if power > 63 { 63 } else { power });
        }
        match power {
            0..=9 => Self::Nanoseconds(10_u64.pow(9 - power as u32)),
            10..=28 => Self::OfNanosecond(10_u64.pow(power as u32 - 9)),
            _ => Self::OfNanosecond(u64::MAX),
        }
    }

    /// Converts `ticks` to nanoseconds, at most `i64::MAX`.
    fn nanoseconds(self, ticks: u64) -> i64 {
        let ns = match self {
            Self::Nanoseconds(unit) => ticks.checked_mul(unit),
            Self::OfNanosecond(units) => Some(ticks / units),
            Self::Binary(power) => u64::try_from((u128::from(ticks) * 1_000_000_000) >> power).ok(),
        };
        ns.map_or(i64::MAX, |ns| i64::try_from(ns).unwrap_or(i64::MAX))
    }
}

/// An interface of the section.
struct Interface {
    link: LinkType,
    /// Largest number of captured bytes of a frame; 0 if the interface captures whole frames.
    snap_len: u32,
    unit: Unit,
    /// Nanoseconds added to every time.
    offset_ns: i64,
    /// Number of drops in the interface's latest statistics.
    dropped: u64,
}

/// A pcapng file after its first section header.
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Number of drops in earlier sections plus the number of drops that packets' options report.
    dropped: u64,
}

/// Returns true if these are the first bytes of a pcapng file.
pub(super) fn begins(ready: &[u8]) -> bool {
    ready.starts_with(&SECTION.to_be_bytes())
}

impl Pcapng {
    /// Reads the first section's header.
    pub(super) fn begin(input: &mut Input) -> Result<Self, CaptureError> {
        let mut pcapng = Self {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            dropped: 0,
        };
        match pcapng.section(input) {
            Ok(()) => Ok(pcapng),
            Err(Stop::End | Stop::Cut) => Err(CaptureError::Header("the file ends inside it")),
            Err(Stop::Damaged(why)) => Err(CaptureError::Header(why)),
            Err(Stop::Failed(error)) => Err(CaptureError::Read(error)),
        }
    }

    /// Packets that the capturing system dropped.
    pub(super) fn dropped(&self) -> u64 {
        let statistics = self.interfaces.iter().map(|interface| interface.dropped);
        statistics.fold(self.dropped, u64::saturating_add)
    }

    /// Finds the next frame.
    pub(super) fn next_frame(&mut self, input: &mut Input) -> Result<Placed, Stop> {
        loop {
            if !input.need(BLOCK_HEAD)? {
                return Err(match input.ready() {
                    [] => Stop::End,
                    _ => Stop::Cut,
                });
            }
            // Compare before the byte order is known: the type of a section header reads the same
            // in both orders.
            let kind = self.order.u32(input.ready(), 0);
            if kind == SECTION {
                self.section(input)?;
                continue;
            }
            let len = self.order.u32(input.ready(), 4) as usize;
            if len < BLOCK_MIN || !len.is_multiple_of(4) {
                return Err(Stop::Damaged("a block has an impossible length"));
            }
            match kind {
                ENHANCED_PACKET | SIMPLE_PACKET | OBSOLETE_PACKET => {
                    return self.packet(kind, len, input);
                }
                INTERFACE | STATISTICS if len <= NEED_MAX => {
                    self.whole(len, input)?;
                    let body = &input.ready()[BLOCK_HEAD..len - BLOCK_TAIL];
                    match kind {
                        INTERFACE => self.interface(body)?,
                        _ => self.statistics(body),
                    }
                    input.consume(len);
                }
                _ => self.skip(len, input)?,
            }
        }
    }

    /// Makes a block of `len` bytes ready, and compares its two lengths.
    fn whole(&self, len: usize, input: &mut Input) -> Result<(), Stop> {
        if !input.need(len)? {
            return Err(Stop::Cut);
        }
        self.tail(self.order.u32(input.ready(), len - BLOCK_TAIL), len)
    }

    fn tail(&self, again: u32, len: usize) -> Result<(), Stop> {
        if again as usize == len {
            Ok(())
        } else {
            Err(Stop::Damaged(
                "the lengths at the beginning and at the end of a block differ",
            ))
        }
    }

    fn skip(&self, len: usize, input: &mut Input) -> Result<(), Stop> {
        if !input.skip((len - BLOCK_TAIL) as u64)? || !input.need(BLOCK_TAIL)? {
            return Err(Stop::Cut);
        }
        self.tail(self.order.u32(input.ready(), 0), len)?;
        input.consume(BLOCK_TAIL);
        Ok(())
    }

    /// Begins a section: it has its own byte order and its own interfaces.
    fn section(&mut self, input: &mut Input) -> Result<(), Stop> {
        if !input.need(SECTION_MIN)? {
            return Err(Stop::Cut);
        }
        let is_magic = |order: &ByteOrder| order.u32(input.ready(), BLOCK_HEAD) == BYTE_ORDER_MAGIC;
        let orders = [ByteOrder::Little, ByteOrder::Big];
        let order = orders.into_iter().find(is_magic);
        self.order = order.ok_or(Stop::Damaged(
            "the byte-order magic of a section header is unknown",
        ))?;
        if self.order.u16(input.ready(), BLOCK_HEAD + 4) != 1 {
            return Err(Stop::Damaged("a section's major version is not 1"));
        }
        let len = self.order.u32(input.ready(), 4) as usize;
        if len < SECTION_MIN || !len.is_multiple_of(4) {
            return Err(Stop::Damaged("a section header has an impossible length"));
        }
        self.dropped = self.dropped();
        self.interfaces.clear();
        self.skip(len, input)
    }

    fn interface(&mut self, body: &[u8]) -> Result<(), Stop> {
        if body.len() < 8 {
            return Err(Stop::Damaged("an interface description is too short"));
        }
        if self.interfaces.len() == INTERFACES_MAX {
            return Err(Stop::Damaged("a section has more than 4,096 interfaces"));
        }
        let mut interface = Interface {
            link: LinkType(self.order.u16(body, 0)),
            snap_len: self.order.u32(body, 4),
            unit: Unit::DEFAULT,
            offset_ns: 0,
            dropped: 0,
        };
        for (code, value) in (PacketOptions {
            order: self.order,
            rest: &body[8..],
        }) {
            match (code, value) {
                (INTERFACE_RESOLUTION, [resolution, ..]) => {
                    interface.unit = Unit::of_option(*resolution);
                }
                (INTERFACE_OFFSET, value) => {
                    let seconds = self.order.u64(value).unwrap_or(0) as i64;
                    interface.offset_ns = seconds.saturating_mul(1_000_000_000);
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// Reads the number of packets that an interface dropped since the section began. The latest
    /// number therefore replaces earlier ones.
    fn statistics(&mut self, body: &[u8]) {
        if body.len() < 12 {
            return;
        }
        let place = self.order.u32(body, 0) as usize;
        let drops = PacketOptions {
            order: self.order,
            rest: &body[12..],
        }
        .filter(|(code, _)| [STATISTICS_INTERFACE_DROPS, STATISTICS_SYSTEM_DROPS].contains(code))
        .filter_map(|(_, value)| self.order.u64(value))
        .fold(0, u64::saturating_add);
        if let Some(interface) = self.interfaces.get_mut(place) {
            interface.dropped = drops;
        }
    }

    fn packet(&mut self, kind: u32, len: usize, input: &mut Input) -> Result<Placed, Stop> {
        // Refuse blocks longer than `NEED_MAX`, which has room for the longest captured frame and
        // every option.
        if len > NEED_MAX {
            return Err(Stop::Damaged("a packet has an impossible length"));
        }
        self.whole(len, input)?;
        let body = &input.ready()[BLOCK_HEAD..len - BLOCK_TAIL];
        let head = match kind {
            SIMPLE_PACKET => 4,
            _ => 20,
        };
        if body.len() < head {
            return Err(Stop::Damaged("a packet block is too short"));
        }
        let order = self.order;
        let place = match kind {
            ENHANCED_PACKET => order.u32(body, 0) as usize,
            OBSOLETE_PACKET => order.u16(body, 0).into(),
            _ => 0,
        };
        let interface = self.interfaces.get(place);
        let interface = interface.ok_or(Stop::Damaged(
            "a packet names an interface that its section does not describe",
        ))?;
        let room = (body.len() - head) as u32;
        let (captured, original) = match kind {
            SIMPLE_PACKET => {
                let original = order.u32(body, 0);
                let snap_len = match interface.snap_len {
                    0 => u32::MAX,
                    snap_len => snap_len,
                };
                (original.min(snap_len).min(room), original)
            }
            _ => (order.u32(body, 12), order.u32(body, 16)),
        };
        if captured > room || captured > CAPTURED_MAX {
            return Err(Stop::Damaged(
                "a packet is longer than the block that contains it",
            ));
        }
        let at_ns = (kind != SIMPLE_PACKET).then(|| {
            let ticks = u64::from(order.u32(body, 4)) << 32 | u64::from(order.u32(body, 8));
            let ns = interface.unit.nanoseconds(ticks);
            ns.saturating_add(interface.offset_ns)
        });
        let mut frame = Frame {
            at_ns,
            link: interface.link,
            bytes: &[],
            original_len: original.max(captured),
            passage: None,
        };
        if kind != SIMPLE_PACKET {
            let options_at = head + (captured as usize).next_multiple_of(4);
            let rest = body.get(options_at..).unwrap_or_default();
            let (passage, dropped) = packet_options(PacketOptions { order, rest });
            frame.passage = passage;
            if kind == ENHANCED_PACKET {
                self.dropped = self.dropped.saturating_add(dropped);
            }
        }
        Ok(Placed {
            before: BLOCK_HEAD + head,
            captured: captured as usize,
            record: len,
            frame,
        })
    }
}

/// The direction of a packet, and the number of packets dropped before it.
fn packet_options(options: PacketOptions<'_>) -> (Option<Passage>, u64) {
    let order = options.order;
    let (mut found, mut dropped) = (None, 0);
    for (code, value) in options {
        match code {
            PACKET_FLAGS if value.len() >= 4 => found = passage(order.u32(value, 0)),
            PACKET_DROPS => dropped = order.u64(value).unwrap_or(0),
            _ => {}
        }
    }
    (found, dropped)
}

/// The direction in a packet's flags.
const fn passage(flags: u32) -> Option<Passage> {
    const PROMISCUOUS: u32 = 0b100;
    match (flags & 0b11, flags >> 2 & 0b111) {
        (1, PROMISCUOUS) => Some(Passage::Overheard),
        (1, _) => Some(Passage::Received),
        (2, _) => Some(Passage::Sent),
        _ => None,
    }
}

/// The options of a block, as pairs of code and value. The iteration ends at an option that is
/// longer than the rest of the block.
struct PacketOptions<'a> {
    order: ByteOrder,
    rest: &'a [u8],
}

impl<'a> Iterator for PacketOptions<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.len() < 4 {
            return None;
        }
        let code = self.order.u16(self.rest, 0);
        let len = usize::from(self.order.u16(self.rest, 2));
        if code == END_OF_OPTIONS {
            return None;
        }
        let value = self.rest[4..].get(..len)?;
        self.rest = self
            .rest
            .get(4 + len.next_multiple_of(4)..)
            .unwrap_or_default();
        Some((code, value))
    }
}
