//! Headers of the IPv6 packets that this host sends.
//!
//! Rule: every packet carries the label of its flow (`flow_label`). Packets carry no extension header except the fragment header. Routers never fragment IPv6
//! packets (RFC 8200 §4.5), so `Outgoing::dont_fragment` has no effect.

use core::net::Ipv6Addr;

use fullpipe_wire::{Ipv6Header, ipv6::FragmentHeader};

use crate::ip::{
    outgoing::Outgoing,
    v4::fragment::{Fragment, Fragmenter},
};

/// Writes the header of a whole packet. Returns the length of the packet.
///
/// # Panics
/// Panics if `packet` is too short, or the payload too long for any packet.
#[inline(never)]
pub(crate) fn write_header(
    packet: &mut [u8],
    (src, dst): (Ipv6Addr, Ipv6Addr),
    outgoing: &Outgoing,
    (hop_limit, flow_label): (u8, u32),
) -> usize {
    let header = Ipv6Header {
        ecn: outgoing.ecn,
        flow_label,
        hop_limit,
        ..Ipv6Header::new(src, dst, outgoing.protocol, outgoing.payload_len)
    };
    header.write(packet);
    Ipv6Header::LEN + outgoing.payload_len
}

/// Writes the headers of one fragment. Returns the length of the packet.
#[inline(never)]
pub(crate) fn write_fragment_header(
    packet: &mut [u8],
    (src, dst): (Ipv6Addr, Ipv6Addr),
    outgoing: &Outgoing,
    (hop_limit, flow_label): (u8, u32),
    (fragmenter, fragment): (&Fragmenter, Fragment),
) -> usize {
    let payload_len = FragmentHeader::LEN + usize::from(fragment.len);
    let header = Ipv6Header {
        ecn: outgoing.ecn,
        flow_label,
        hop_limit,
        next_header: FragmentHeader::NEXT_HEADER,
        ..Ipv6Header::new(src, dst, outgoing.protocol, payload_len)
    };
    header.write(packet);
    FragmentHeader {
        next_header: outgoing.protocol.into(),
        offset: fragment.offset,
        more: fragment.more,
        identification: fragmenter.identification,
    }
    .write(&mut packet[Ipv6Header::LEN..]);
    Ipv6Header::LEN + payload_len
}
