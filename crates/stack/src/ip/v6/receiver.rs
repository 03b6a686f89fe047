//! IPv6 input: checks a packet's headers.
//!
//! Rule: invalid packets are discarded here, each with a counted reason (see `ip::receiver`). A
//! field that this host cannot process is reported to the sender, within the limits of ICMP errors.

use core::net::{IpAddr, Ipv6Addr};

use fullpipe_pool::{Count, Instant, Pool};
use fullpipe_wire::{
    Ipv6Header, MacAddress, Protocol, WireError,
    ipv6::{ChainError, HeaderChain, ParameterProblemCode, solicited_node},
};

use super::{ALL_NODES, is_unicast};
use crate::{
    counters::{Counters, Discard},
    icmp::ErrorQueue,
    ip::{
        IpReceiver,
        addresses::Addresses,
        audience::Audience,
        packet::{IpHeader, Packet, ReceivedFragment},
        reassembly::Reassembled,
        routes::Routes,
    },
    link::Station,
};

/// Number of "no next header". RFC 8200 §4.7.
const NO_NEXT_HEADER: u8 = 59;

impl IpReceiver {
    /// Processes one packet, which need not be well-formed. Returns the datagram if the packet is a
    /// whole datagram or completes one. `station` sent the packet's frame, and has the interface that
    /// received it; `link_group` is true if the frame was addressed to several stations.
    #[inline(never)]
    pub(crate) fn on_v6_packet<'a>(
        &'a mut self,
        routes: &Routes,
        bytes: &'a [u8],
        (station, link_group): (Station, bool),
        errors: &mut ErrorQueue,
        (pool, now): (&mut Pool, Instant),
        counters: &mut Counters,
    ) -> Option<Packet<'a>> {
        // A host without an IPv6 address behaves as if it did not know IPv6.
        if !routes.addresses(station.interface).speaks_v6() {
            if station.mac != MacAddress::UNSPECIFIED {
                counters.discard(Discard::FrameUnknownType);
                return None;
            }
            counters.mib.ip_in_receives += 1;
            counters.discard(Discard::IpBadVersion);
            return None;
        }
        counters.mib.ip_in_receives += 1;
        let (header, bytes) = match Ipv6Header::parse(bytes) {
            Ok((header, payload)) => (header, &bytes[..Ipv6Header::LEN + payload.len()]),
            Err(error) => {
                counters.discard(discard_for(error));
                return None;
            }
        };
        counters.mib.ip_ext_in_octets += bytes.len() as Count;
        *counters.mib.received_with(header.ecn) += 1;
        let accepted = audience(routes, station, &header, link_group).and_then(|group| {
            let packet = ((header, bytes), (station, group));
            self.accept(packet, errors, (pool, now), counters)
        });
        match accepted {
            Ok(packet) => {
                counters.mib.ip_in_delivers += Count::from(packet.is_some());
                packet
            }
            Err(reason) => {
                counters.discard(reason);
                None
            }
        }
    }

    /// Processes a packet for this host. Returns `None` if the packet is a fragment that completes
    /// no datagram.
    fn accept<'a>(
        &'a mut self,
        ((header, bytes), (station, group)): ((Ipv6Header, &'a [u8]), (Station, bool)),
        errors: &mut ErrorQueue,
        (pool, now): (&mut Pool, Instant),
        counters: &mut Counters,
    ) -> Result<Option<Packet<'a>>, Discard> {
        let chain = HeaderChain::of(bytes).and_then(|chain| check(&chain, bytes).map(|()| chain));
        let chain = match chain {
            Ok(chain) => chain,
            Err(ChainError::Problem { code, pointer, .. }) => {
                // Report nothing about a packet to a group: a report cannot have the group as its
                // source.
                if !group && HeaderChain::may_be_reported(bytes) {
                    let ends = (header.src, header.dst);
                    let station = Some(station.mac);
                    let problem = (code, pointer);
                    errors.report_problem(ends, station, problem, bytes, (pool, now), counters);
                }
                return Err(reason_for(code));
            }
            Err(ChainError::Truncated | ChainError::TooLong | ChainError::Discard) => {
                return Err(Discard::IpExtensionHeader);
            }
        };
        let payload = &bytes[chain.payload_at..];
        let Some(fragment) = chain.fragment else {
            if header.src.is_unspecified() && chain.protocol != Protocol::Icmpv6 {
                return Err(Discard::IpBadSource);
            }
            // Give a packet that has a fragment header, although it is the only fragment, the hop
            // limit 0. A message of neighbour discovery in it is then invalid: such messages must
            // have no fragment header (RFC 6980 §5).
            let hop_limit = match chain.is_only_fragment {
                true => 0,
                false => header.hop_limit,
            };
            let header = Ipv6Header {
                hop_limit,
                ..header
            };
            let whole = packet_of(header, chain.protocol, payload, (station, group));
            return Ok(Some(whole));
        };
        let received = ReceivedFragment {
            header: IpHeader::V6(Ipv6Header {
                next_header: fragment.next_header,
                ..header
            }),
            offset: fragment.offset,
            more: fragment.more,
            identification: fragment.identification,
        };
        let reassembler = &mut self.reassembler;
        match reassembler.on_fragment(&received, payload, pool, now, counters) {
            Some(whole) => whole_packet(whole, (station, group)).map(Some),
            None => Ok(None),
        }
    }
}

/// Returns the packet that carries `payload` of `protocol`.
fn packet_of(
    header: Ipv6Header,
    protocol: Protocol,
    payload: &[u8],
    (station, group): (Station, bool),
) -> Packet<'_> {
    Packet {
        header: IpHeader::V6(Ipv6Header {
            next_header: protocol.into(),
            payload_len: payload.len() as u16,
            ..header
        }),
        broadcast: group,
        station,
        payload,
    }
}

/// Returns the packet of a reassembled datagram, whose payload may begin with extension headers.
///
/// # Errors
/// Returns the reason to discard the packet. No problem is reported to the sender: a report states
/// the problem's offset in a packet that the sender sent, and the sender sent only fragments.
fn whole_packet(whole: Reassembled<'_>, from: (Station, bool)) -> Result<Packet<'_>, Discard> {
    let IpHeader::V6(header) = whole.header else {
        return Err(Discard::IpBadVersion);
    };
    let chain = HeaderChain::of_fragmentable(header.next_header, whole.payload);
    let chain = chain.map_err(|_| Discard::IpExtensionHeader)?;
    match chain.protocol {
        Protocol::Tcp | Protocol::Udp | Protocol::Icmpv6 => {}
        Protocol::Icmp | Protocol::Other(_) => return Err(Discard::IpUnknownProtocol),
    }
    if header.src.is_unspecified() {
        return Err(Discard::IpBadSource);
    }
    // Give the datagram a hop limit other than 255, so that a message of neighbour discovery in it
    // is invalid: such messages are never fragmented (RFC 6980).
    let header = Ipv6Header {
        hop_limit: 0,
        ..header
    };
    let payload = &whole.payload[chain.payload_at..];
    Ok(packet_of(header, chain.protocol, payload, from))
}

/// Checks the protocol of a whole packet, and that a first fragment has all headers.
fn check(chain: &HeaderChain, bytes: &[u8]) -> Result<(), ChainError> {
    match chain.fragment {
        Some(fragment) if fragment.offset == 0 => {
            let rest = chain.in_first_fragment(bytes)?;
            has_header(rest.protocol, bytes.len() - rest.payload_at)
        }
        Some(_) => Ok(()),
        None => match chain.protocol {
            Protocol::Tcp | Protocol::Udp | Protocol::Icmpv6 => Ok(()),
            Protocol::Other(NO_NEXT_HEADER) => Err(ChainError::Discard),
            Protocol::Icmp | Protocol::Other(_) => Err(ChainError::Problem {
                code: ParameterProblemCode::NextHeader,
                pointer: chain.named_at as u32,
                even_to_group: false,
            }),
        },
    }
}

/// Checks that a first fragment has the whole header of `protocol`. `len` is the number of bytes
/// behind the fragment's extension headers. RFC 7112.
const fn has_header(protocol: Protocol, len: usize) -> Result<(), ChainError> {
    let least = match protocol {
        Protocol::Tcp => fullpipe_wire::TcpHeader::LEN,
        Protocol::Udp => fullpipe_wire::UdpHeader::LEN,
        Protocol::Icmpv6 => fullpipe_wire::Icmpv6Message::LEN,
        Protocol::Icmp | Protocol::Other(_) => 0,
    };
    match len >= least {
        true => Ok(()),
        false => Err(ChainError::Truncated),
    }
}

const fn reason_for(code: ParameterProblemCode) -> Discard {
    match code {
        ParameterProblemCode::NextHeader => Discard::IpUnknownProtocol,
        ParameterProblemCode::HeaderField
        | ParameterProblemCode::Option
        | ParameterProblemCode::IncompleteChain
        | ParameterProblemCode::Other(_) => Discard::IpExtensionHeader,
    }
}

/// Returns true if the packet is addressed to a group of this host, and false if it is addressed
/// to this host alone.
///
/// # Errors
/// Returns the reason to refuse the packet for its addresses.
fn audience(
    routes: &Routes,
    station: Station,
    header: &Ipv6Header,
    link_group: bool,
) -> Result<bool, Discard> {
    let addresses = routes.addresses(station.interface);
    let group = match addresses.audience_of_input(header.dst.into()) {
        Audience::Us if link_group => return Err(Discard::IpUnicastInBroadcast),
        Audience::Us => false,
        Audience::Multicast if hears(addresses, header.dst) => true,
        Audience::Multicast | Audience::Broadcast | Audience::Other => {
            return Err(Discard::IpNotForUs);
        }
    };
    // Duplicate address detection sends neighbour solicitations from the unspecified address. RFC
    // 4862 §5.4.2.
    let is_host = routes.may_send_to_us(station.interface, header.src.into());
    match is_host || (group && header.src.is_unspecified()) {
        true => Ok(group),
        false => Err(Discard::IpBadSource),
    }
}

/// Returns true if this host is a member of `group`.
fn hears(addresses: &Addresses, group: Ipv6Addr) -> bool {
    let is_solicited = |own: IpAddr| match own {
        IpAddr::V6(own) => solicited_node(own) == group,
        IpAddr::V4(_) => false,
    };
    debug_assert!(!is_unicast(group), "the caller has judged {group}");
    #[cfg(feature = "slaac")]
    if addresses
        .tentative()
        .iter()
        .any(|own| solicited_node(own.ip) == group)
    {
        return true;
    }
    group == ALL_NODES
        || addresses
            .as_slice()
            .iter()
            .any(|own| is_solicited(own.address))
}

const fn discard_for(error: WireError) -> Discard {
    match error {
        WireError::BadVersion => Discard::IpBadVersion,
        WireError::Truncated
        | WireError::BadChecksum
        | WireError::BadHeaderLength
        | WireError::BadLength
        | WireError::BadOption
        | WireError::BadAddressFormat
        | WireError::BadOperation => Discard::IpTruncated,
    }
}
