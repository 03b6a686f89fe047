//! Neighbour discovery: solicitations, advertisements and their options. RFC 4861. Messages of
//! routers are in `router`.
//!
//! The one rule: a message is read only if its hop limit, its code and the lengths of all its
//! options pass the checks of RFC 4861 §6.1 and §7.1. Checks that need knowledge of the host are
//! left to the caller. Options of unknown types are skipped. The crate `fullpipe` keeps the
//! neighbour cache and judges addresses.

use core::net::Ipv6Addr;

use crate::checksum::Checksum;
use crate::error::WireError;
use crate::ethernet::MacAddress;
use crate::icmpv6::Icmpv6Message;

pub mod router;

/// Type of a neighbour solicitation.
const SOLICITATION: u8 = 135;
/// Type of a neighbour advertisement.
const ADVERTISEMENT: u8 = 136;
/// Hop limit of every message. A message that arrives with this hop limit was not forwarded by a
/// router. RFC 4861 §3.1.
pub const HOP_LIMIT: u8 = 255;

const SOURCE_LINK_ADDRESS: u8 = 1;
const TARGET_LINK_ADDRESS: u8 = 2;

const FROM_ROUTER: u8 = 0x80;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// Bytes of the target address.
const TARGET_LEN: usize = 16;
/// Bytes of an option with an Ethernet address.
const LINK_OPTION_LEN: usize = 8;

/// A message between neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeighbourMessage {
    /// Asks for the MAC address of `target`.
    Solicitation {
        /// The address that is asked for.
        target: Ipv6Addr,
        /// MAC address of the sender; `None` if it has no IP address yet.
        source_mac: Option<MacAddress>,
    },
    /// States the MAC address of `target`.
    Advertisement {
        /// The address whose MAC address is stated.
        target: Ipv6Addr,
        /// MAC address of `target`.
        target_mac: Option<MacAddress>,
        /// The sender is a router.
        router: bool,
        /// The message answers a solicitation of the receiver.
        solicited: bool,
        /// The MAC address replaces an earlier one.
        overrides: bool,
    },
}

impl NeighbourMessage {
    /// Largest number of bytes that [`NeighbourMessage::write`] writes.
    pub const MOST_LEN: usize = Icmpv6Message::LEN + TARGET_LEN + LINK_OPTION_LEN;

    /// Returns true if [`parse`](Self::parse) reads ICMPv6 messages of type `kind`.
    pub const fn is_kind(kind: u8) -> bool {
        matches!(kind, SOLICITATION | ADVERTISEMENT)
    }

    /// Reads a message of type `kind` and `code`. `rest` is the second half of its header, `body`
    /// is everything after the header, and `hop_limit` is the hop limit of its packet.
    ///
    /// # Errors
    /// `BadOperation` for another type, a code other than 0 or a hop limit other than 255;
    /// `Truncated` without a target; `BadOption` for an option without length, or one that reaches
    /// beyond the message; `BadAddressFormat` for a target that is a group.
    pub fn parse(
        (kind, code): (u8, u8),
        rest: [u8; 4],
        body: &[u8],
        hop_limit: u8,
    ) -> Result<Self, WireError> {
        if code != 0 || hop_limit != HOP_LIMIT {
            return Err(WireError::BadOperation);
        }
        let (target, options) = body
            .split_first_chunk::<TARGET_LEN>()
            .ok_or(WireError::Truncated)?;
        let target = Ipv6Addr::from(*target);
        if target.is_multicast() {
            return Err(WireError::BadAddressFormat);
        }
        match kind {
            SOLICITATION => Ok(Self::Solicitation {
                target,
                source_mac: link_address(options, SOURCE_LINK_ADDRESS)?,
            }),
            ADVERTISEMENT => Ok(Self::Advertisement {
                target,
                target_mac: link_address(options, TARGET_LINK_ADDRESS)?,
                router: rest[0] & FROM_ROUTER != 0,
                solicited: rest[0] & SOLICITED != 0,
                overrides: rest[0] & OVERRIDE != 0,
            }),
            _ => Err(WireError::BadOperation),
        }
    }

    /// Writes the message, ICMPv6 header included, for a packet from `src` to `dst`. Returns its
    /// length.
    ///
    /// # Panics
    /// If the buffer `message` is shorter than the written message.
    pub fn write(&self, message: &mut [u8], (src, dst): (Ipv6Addr, Ipv6Addr)) -> usize {
        let (kind, flags, target, option) = match *self {
            Self::Solicitation { target, source_mac } => {
                let option = source_mac.map(|mac| (SOURCE_LINK_ADDRESS, mac));
                (SOLICITATION, 0, target, option)
            }
            Self::Advertisement {
                target,
                target_mac,
                router,
                solicited,
                overrides,
            } => {
                let flag = |bit: u8, is_set: bool| if is_set { bit } else { 0 };
                let flags = flag(FROM_ROUTER, router)
                    | flag(SOLICITED, solicited)
                    | flag(OVERRIDE, overrides);
                let option = target_mac.map(|mac| (TARGET_LINK_ADDRESS, mac));
                (ADVERTISEMENT, flags, target, option)
            }
        };
        let (header, body) = message.split_at_mut(Icmpv6Message::LEN);
        body[..TARGET_LEN].copy_from_slice(&target.octets());
        let mut len = TARGET_LEN;
        if let Some((kind, mac)) = option {
            let place = &mut body[len..len + LINK_OPTION_LEN];
            place[0] = kind;
            place[1] = 1;
            place[2..].copy_from_slice(&mac.0);
            len += LINK_OPTION_LEN;
        }
        let head = Icmpv6Message::Other {
            kind,
            code: 0,
            rest: [flags, 0, 0, 0],
        };
        head.write(header, (src, dst), Checksum::of(&body[..len]));
        Icmpv6Message::LEN + len
    }
}

/// Returns the Ethernet address in the first option of type `wanted`, after a check of the lengths
/// of all options.
fn link_address(options: &[u8], wanted: u8) -> Result<Option<MacAddress>, WireError> {
    let mut found = None;
    for option in Options(options) {
        let (kind, content) = option?;
        if kind == wanted && found.is_none() {
            let mac = content.first_chunk::<6>().ok_or(WireError::BadOption)?;
            found = Some(MacAddress(*mac));
        }
    }
    Ok(found)
}

/// The options of a message: their types and contents. RFC 4861 §4.6. The iteration ends after
/// an error.
struct Options<'a>(&'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = Result<(u8, &'a [u8]), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let all = core::mem::take(&mut self.0);
        let option = match all {
            [kind, units, ..] if *units > 0 => all
                .split_at_checked(8 * usize::from(*units))
                .map(|(option, rest)| (*kind, option, rest)),
            _ => None,
        };
        Some(match option {
            Some((kind, option, rest)) => {
                self.0 = rest;
                Ok((kind, &option[2..]))
            }
            None => Err(WireError::BadOption),
        })
    }
}

#[cfg(test)]
mod tests;
