//! Router solicitations and advertisements. RFC 4861 §4.1 and §4.2, RFC 4191, RFC 8106.
//!
//! The one rule: an advertisement is refused if the length field of an option is 0 or reaches beyond
//! the message. An option whose content is too short or not valid for its type is only skipped. The
//! receiver judges lifetimes and prefixes.

use core::fmt;
use core::net::Ipv6Addr;

use super::{HOP_LIMIT, LINK_OPTION_LEN, Options, SOURCE_LINK_ADDRESS};
use crate::checksum::Checksum;
use crate::error::WireError;
use crate::ethernet::MacAddress;
use crate::icmpv6::Icmpv6Message;

/// Type of a router solicitation.
const SOLICITATION: u8 = 133;
/// Type of a router advertisement.
const ADVERTISEMENT: u8 = 134;

const PREFIX_INFORMATION: u8 = 3;
const MTU: u8 = 5;
const DNS_SERVERS: u8 = 25;

const ON_LINK: u8 = 0x80;
const AUTONOMOUS: u8 = 0x40;

/// Bytes of the largest router solicitation.
pub const MOST_SOLICITATION_LEN: usize = Icmpv6Message::LEN + LINK_OPTION_LEN;

/// Writes a router solicitation, ICMPv6 header included, for a packet from `src` to `dst`. Returns
/// its length.
///
/// # Panics
/// If `message` is shorter than [`MOST_SOLICITATION_LEN`].
pub fn write_solicitation(
    message: &mut [u8],
    (src, dst): (Ipv6Addr, Ipv6Addr),
    source_mac: Option<MacAddress>,
) -> usize {
    let (header, body) = message.split_at_mut(Icmpv6Message::LEN);
    let mut len = 0;
    if let Some(mac) = source_mac {
        body[..2].copy_from_slice(&[SOURCE_LINK_ADDRESS, 1]);
        body[2..LINK_OPTION_LEN].copy_from_slice(&mac.0);
        len = LINK_OPTION_LEN;
    }
    let head = Icmpv6Message::Other {
        kind: SOLICITATION,
        code: 0,
        rest: [0; 4],
    };
    head.write(header, (src, dst), Checksum::of(&body[..len]));
    Icmpv6Message::LEN + len
}

/// The preference of a default router, smallest first. RFC 4191 §2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouterPreference {
    /// Below the preference of other routers.
    Low,
    /// The preference of a router that states none.
    Medium,
    /// Above the preference of other routers.
    High,
}

impl fmt::Display for RouterPreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

/// A router advertisement.
#[derive(Debug, Clone, Copy)]
pub struct RouterAdvertisement<'a> {
    /// Hop limit for packets sent; 0 if the router states none.
    pub hop_limit: u8,
    /// Preference of the router as a default router.
    pub preference: RouterPreference,
    /// Time in seconds for which the router is a default router; 0 if it is none.
    pub lifetime_s: u16,
    /// Time in milliseconds for which a neighbour is reachable after a confirmation; 0 if the
    /// router states none.
    pub reachable_ms: u32,
    /// Time in milliseconds between two solicitations; 0 if the router states none.
    pub retransmit_ms: u32,
    options: &'a [u8],
}

impl<'a> RouterAdvertisement<'a> {
    /// Returns true if an ICMPv6 message of type `kind` is a router advertisement, which
    /// [`parse`](Self::parse) reads.
    pub const fn is_kind(kind: u8) -> bool {
        kind == ADVERTISEMENT
    }

    /// Reads a message with `code`. `rest` is the second half of its header, `body` is everything
    /// after the header, and `hop_limit` is the hop limit of its packet.
    ///
    /// # Errors
    /// `BadOperation` for a code other than 0 or a hop limit other than 255; `Truncated` if the
    /// message is too short; `BadOption` for an option without length, or one that reaches beyond
    /// the message.
    pub fn parse(
        code: u8,
        rest: [u8; 4],
        body: &'a [u8],
        hop_limit: u8,
    ) -> Result<Self, WireError> {
        if code != 0 || hop_limit != HOP_LIMIT {
            return Err(WireError::BadOperation);
        }
        let (times, options) = body.split_first_chunk::<8>().ok_or(WireError::Truncated)?;
        for option in Options(options) {
            option?;
        }
        let [of_packets, flags, lifetime @ ..] = rest;
        let [a, b, c, d, e, f, g, h] = *times;
        Ok(Self {
            hop_limit: of_packets,
            preference: match flags >> 3 & 3 {
                0b01 => RouterPreference::High,
                0b11 => RouterPreference::Low,
                _ => RouterPreference::Medium,
            },
            lifetime_s: u16::from_be_bytes(lifetime),
            reachable_ms: u32::from_be_bytes([a, b, c, d]),
            retransmit_ms: u32::from_be_bytes([e, f, g, h]),
            options,
        })
    }

    /// Returns the options whose types [`RouterOption`] has, in the order of the message.
    pub fn options(&self) -> impl Iterator<Item = RouterOption<'a>> + use<'a> {
        let options = Options(self.options).filter_map(Result::ok);
        options.filter_map(|(kind, content)| RouterOption::read(kind, content))
    }
}

/// A prefix of the link. RFC 4861 §4.6.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixInformation {
    /// The prefix; bits beyond its length are 0.
    pub prefix: Ipv6Addr,
    /// Length of the prefix in bits, at most 128.
    pub prefix_len: u8,
    /// Addresses with the prefix are neighbours.
    pub on_link: bool,
    /// Hosts may form addresses with the prefix.
    pub autonomous: bool,
    /// Time in seconds for which the prefix is valid; `u32::MAX` is for ever.
    pub valid_s: u32,
    /// Time in seconds for which addresses with the prefix are preferred; `u32::MAX` is for ever.
    pub preferred_s: u32,
}

/// An option of a router advertisement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouterOption<'a> {
    /// MAC address of the router.
    SourceMac(MacAddress),
    /// MTU of the link in bytes.
    Mtu(u32),
    /// A prefix of the link.
    Prefix(PrefixInformation),
    /// DNS servers. RFC 8106 §5.1.
    DnsServers {
        /// Time in seconds for which the servers may be asked; `u32::MAX` stands for ever. With 0
        /// they may not be asked any more.
        lifetime_s: u32,
        /// The servers' addresses.
        servers: DnsServers<'a>,
    },
}

impl<'a> RouterOption<'a> {
    /// Reads the option of type `kind`; `None` if [`RouterOption`] does not have this type, or if
    /// `content` is not valid for it.
    fn read(kind: u8, content: &'a [u8]) -> Option<Self> {
        match kind {
            SOURCE_LINK_ADDRESS => {
                let mac = content.first_chunk::<6>()?;
                Some(Self::SourceMac(MacAddress(*mac)))
            }
            MTU => Some(Self::Mtu(word(content, 2)?)),
            PREFIX_INFORMATION => {
                let &[prefix_len, flags] = content.first_chunk::<2>()?;
                let prefix: [u8; 16] = *content.get(14..)?.first_chunk()?;
                if prefix_len > 128 {
                    return None;
                }
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(prefix_len))
                    .unwrap_or(0);
                Some(Self::Prefix(PrefixInformation {
                    prefix: Ipv6Addr::from_bits(u128::from_be_bytes(prefix) & mask),
                    prefix_len,
                    on_link: flags & ON_LINK != 0,
                    autonomous: flags & AUTONOMOUS != 0,
                    valid_s: word(content, 2)?,
                    preferred_s: word(content, 6)?,
                }))
            }
            DNS_SERVERS => {
                let servers = content.get(6..)?;
                Some(Self::DnsServers {
                    lifetime_s: word(content, 2)?,
                    servers: DnsServers(servers),
                })
            }
            _ => None,
        }
    }
}

/// Returns the big-endian number at `at`.
fn word(content: &[u8], at: usize) -> Option<u32> {
    let bytes = content.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// The addresses of an option with DNS servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DnsServers<'a>(&'a [u8]);

impl Iterator for DnsServers<'_> {
    type Item = Ipv6Addr;

    fn next(&mut self) -> Option<Self::Item> {
        let (server, rest) = self.0.split_first_chunk::<16>()?;
        self.0 = rest;
        Some(Ipv6Addr::from(*server))
    }
}

#[cfg(test)]
mod tests;
