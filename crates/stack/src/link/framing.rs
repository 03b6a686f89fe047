//! Link headers: checked on receipt, written on sending.
//!
//! Rule: a frame is discarded here if it is for another station, if its source address is not the
//! address of a single station, or if its payload is neither IP nor ARP. Frames to groups pass if
//! they carry IPv6; the IPv6 input decides if this host is in the group. On a device without link
//! headers ([`Medium::Ip`]) frames pass unchanged.

use core::net::IpAddr;

#[cfg(feature = "ipv6")]
use fullpipe_wire::Ipv6Header;
use fullpipe_wire::{EtherType, EthernetHeader, MacAddress};

use crate::{
    counters::{Counters, Discard},
    device::Medium,
};

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpVersion {
    V4,
    V6,
}

/// The payload of a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inbound<'a> {
    /// An IP packet, perhaps followed by padding.
    Ip {
        /// The version of IP that the frame announces.
        version: IpVersion,
        /// The packet.
        packet: &'a [u8],
        /// The frame was addressed to every station, or to a group.
        broadcast: bool,
        /// The station that sent the frame; unspecified on [`Medium::Ip`].
        station: MacAddress,
    },
    /// An ARP packet, perhaps followed by padding.
    Arp(&'a [u8]),
}

/// The link layer of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkLayer {
    /// First header of each frame.
    pub(crate) medium: Medium,
    /// MAC address of this host; unused on [`Medium::Ip`].
    pub(crate) mac: MacAddress,
}

impl LinkLayer {
    /// Returns the length of the link header in bytes.
    pub(crate) const fn header_len(&self) -> usize {
        match self.medium {
            Medium::Ethernet => EthernetHeader::LEN,
            Medium::Ip => 0,
        }
    }

    /// Parses a received frame, which need not be well-formed.
    pub(crate) fn on_frame<'a>(
        &self,
        frame: &'a [u8],
        counters: &mut Counters,
    ) -> Option<Inbound<'a>> {
        match self.medium {
            Medium::Ip => Some(Inbound::Ip {
                version: match frame {
                    [first, ..] if cfg!(feature = "ipv6") && *first >> 4 == 6 => IpVersion::V6,
                    _ => IpVersion::V4,
                },
                packet: frame,
                broadcast: false,
                station: MacAddress::UNSPECIFIED,
            }),
            Medium::Ethernet => match self.on_ethernet(frame) {
                Ok(inbound) => Some(inbound),
                Err(reason) => {
                    counters.discard(reason);
                    None
                }
            },
        }
    }

    fn on_ethernet<'a>(&self, frame: &'a [u8]) -> Result<Inbound<'a>, Discard> {
        let (header, packet) = EthernetHeader::parse(frame).map_err(|_| Discard::FrameTruncated)?;
        let broadcast = header.dst.is_broadcast();
        if !broadcast && header.dst != self.mac && !is_v6_group(&header) {
            return Err(Discard::FrameNotForUs);
        }
        let station = header.src;
        if !station.is_unicast() || station == self.mac {
            return Err(Discard::FrameBadSource);
        }
        match header.ether_type {
            EtherType::Ipv4 => Ok(Inbound::Ip {
                version: IpVersion::V4,
                packet,
                broadcast,
                station,
            }),
            EtherType::Arp => Ok(Inbound::Arp(packet)),
            EtherType::Ipv6 if cfg!(feature = "ipv6") => Ok(Inbound::Ip {
                version: IpVersion::V6,
                packet,
                broadcast: header.dst != self.mac,
                station,
            }),
            EtherType::Ipv6 | EtherType::Other(_) => Err(Discard::FrameUnknownType),
        }
    }

    /// Writes the link header in front of an IP packet for `dst`. The caller has
    /// written the packet at [`header_len`](Self::header_len).
    ///
    /// # Panics
    /// Panics if `frame` is shorter than the header.
    pub(crate) fn write_header(&self, frame: &mut [u8], station: MacAddress, dst: IpAddr) {
        match self.medium {
            Medium::Ethernet => {
                let ether_type = ether_type_for(dst);
                EthernetHeader {
                    dst: station,
                    src: self.mac,
                    ether_type,
                }
                .write(frame);
            }
            Medium::Ip => {}
        }
    }
}

/// Returns true if the frame is addressed to the stations of an IPv6 group. RFC 2464 §7.
fn is_v6_group(header: &EthernetHeader) -> bool {
    cfg!(feature = "ipv6")
        && header.ether_type == EtherType::Ipv6
        && header.dst.0[..2] == [0x33, 0x33]
}

/// Returns the EtherType of packets to `dst`.
pub(super) const fn ether_type_for(dst: IpAddr) -> EtherType {
    match dst {
        IpAddr::V4(_) => EtherType::Ipv4,
        IpAddr::V6(_) => EtherType::Ipv6,
    }
}

/// Writes the headers of an IPv6 packet from station `mac` to `station`. The caller has written the
/// packet's payload behind them. Returns the length of the frame.
///
/// # Panics
/// Panics if `frame` is shorter than the headers.
#[cfg(feature = "ipv6")]
pub(crate) fn write_v6_headers(
    frame: &mut [u8],
    (mac, station): (MacAddress, MacAddress),
    header: &Ipv6Header,
) -> usize {
    let (ethernet, packet) = frame.split_at_mut(EthernetHeader::LEN);
    EthernetHeader {
        dst: station,
        src: mac,
        ether_type: EtherType::Ipv6,
    }
    .write(ethernet);
    header.write(packet);
    EthernetHeader::LEN + Ipv6Header::LEN + usize::from(header.payload_len)
}

/// Returns the MAC address of an IP multicast group. RFC 1112 §6.4, RFC 2464 §7.
pub(crate) const fn multicast_station(group: IpAddr) -> MacAddress {
    match group {
        IpAddr::V4(group) => {
            let [_, b, c, d] = group.octets();
            MacAddress([0x01, 0x00, 0x5e, b & 0x7f, c, d])
        }
        IpAddr::V6(group) => {
            let [.., a, b, c, d] = group.octets();
            MacAddress([0x33, 0x33, a, b, c, d])
        }
    }
}
