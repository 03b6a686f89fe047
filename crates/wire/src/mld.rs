//! Multicast listener discovery: queries and reports of groups. RFC 3810.
//!
//! The one rule: a report has records without sources, because hosts listen to every source of
//! their groups. Queries of version 1 are read too. The caller decides when to report.

use core::net::Ipv6Addr;

use crate::checksum::Checksum;
use crate::error::WireError;
use crate::icmpv6::Icmpv6Message;

/// Type of a query.
const QUERY: u8 = 130;
/// Type of a report of version 2.
const REPORT: u8 = 143;

/// Destination of reports: all routers that know version 2. RFC 3810 §5.2.14.
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
/// Hop limit of every message. RFC 3810 §5.
pub const HOP_LIMIT: u8 = 1;
/// The hop-by-hop header of every message: router alert, padding, then ICMPv6. RFC 2711.
pub const ROUTER_ALERT: [u8; 8] = [58, 0, 5, 2, 0, 0, 1, 0];
/// Bytes of a record without sources.
const RECORD_LEN: usize = 20;

/// Statement that a record makes about its group. RFC 3810 §5.2.12.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// The sender listens to the group.
    IsExclude = 2,
    /// The sender no longer listens to the group.
    ChangeToInclude = 3,
    /// The sender begins to listen to the group.
    ChangeToExclude = 4,
}

/// A query: a router or switch asks which groups have listeners on its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// The group; unspecified for all groups.
    pub group: Ipv6Addr,
    /// Longest delay of an answer, in milliseconds.
    pub max_response_ms: u32,
}

impl Query {
    /// Returns true if an ICMPv6 message of type `kind` is a query, which [`parse`](Self::parse)
    /// reads.
    pub const fn is_kind(kind: u8) -> bool {
        kind == QUERY
    }

    /// Reads a query. `rest` is the second half of its header, `body` is everything after the
    /// header, and `hop_limit` is the hop limit of its packet.
    ///
    /// # Errors
    /// `BadOperation` for a code other than 0 or a hop limit other than 1; `Truncated` without a
    /// group; `BadAddressFormat` for a group that is neither unspecified nor a multicast address.
    pub fn parse(code: u8, rest: [u8; 4], body: &[u8], hop_limit: u8) -> Result<Self, WireError> {
        if code != 0 || hop_limit != HOP_LIMIT {
            return Err(WireError::BadOperation);
        }
        let (group, more) = body.split_first_chunk::<16>().ok_or(WireError::Truncated)?;
        let group = Ipv6Addr::from(*group);
        if !group.is_unspecified() && !group.is_multicast() {
            return Err(WireError::BadAddressFormat);
        }
        let code = u32::from(u16::from_be_bytes([rest[0], rest[1]]));
        let max_response_ms = match more.is_empty() || code < 1 << 15 {
            true => code,
            // A mantissa of 12 bits and an exponent of 3 bits. RFC 3810 §5.1.3.
            false => (code & 0xfff | 0x1000) << ((code >> 12 & 7) + 3),
        };
        Ok(Self {
            group,
            max_response_ms,
        })
    }
}

/// Returns the length of a report with this number of records, ICMPv6 header included.
pub const fn report_len(records: usize) -> usize {
    Icmpv6Message::LEN + records * RECORD_LEN
}

/// Writes a report, ICMPv6 header included, for a packet from `src` to [`ALL_ROUTERS`]. Returns
/// its length, which is [`report_len`].
///
/// # Panics
/// If `message` is shorter than the report, or there are 65,536 records or more.
pub fn write_report(
    message: &mut [u8],
    src: Ipv6Addr,
    records: impl Iterator<Item = (RecordKind, Ipv6Addr)>,
) -> usize {
    let (header, body) = message.split_at_mut(Icmpv6Message::LEN);
    let mut len = 0;
    for (kind, group) in records {
        let record = &mut body[len..len + RECORD_LEN];
        record[..4].copy_from_slice(&[kind as u8, 0, 0, 0]);
        record[4..].copy_from_slice(&group.octets());
        len += RECORD_LEN;
    }
    let count = u16::try_from(len / RECORD_LEN).expect("a report has at most 65,535 records");
    let [high, low] = count.to_be_bytes();
    let head = Icmpv6Message::Other {
        kind: REPORT,
        code: 0,
        rest: [0, 0, high, low],
    };
    head.write(header, (src, ALL_ROUTERS), Checksum::of(&body[..len]));
    Icmpv6Message::LEN + len
}

#[cfg(test)]
mod tests;
