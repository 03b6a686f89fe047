//! ICMPv6: answers echo requests, parses errors, passes on messages between neighbours. RFC 4443.
//!
//! Rule: this file changes no state because of a received error (see `icmp`). A message from the
//! unspecified address can only be a neighbour solicitation (RFC 4862 §5.4.2).

use fullpipe_pool::Pool;
use fullpipe_wire::{
    ChecksumPolicy, Icmpv6Message, Ipv6Header, WireError,
    ipv6::solicited_node,
    mld::Query,
    ndp::{NeighbourMessage, router::RouterAdvertisement},
};

use super::{Consequence, Echo, quoted};
use crate::{
    counters::{Counters, Discard},
    ip::{Addresses, Packet},
    link::ReceivedMessage,
};

/// A received ICMPv6 message that another part of the stack must process.
#[cfg_attr(
    not(feature = "slaac"),
    allow(dead_code, reason = "messages of routers are discarded")
)]
pub(crate) enum V6Consequence<'a> {
    /// An ICMP error, or a message between neighbours.
    Other(Consequence),
    /// An advertisement of a router.
    Router(RouterAdvertisement<'a>),
    /// A query for the multicast groups of this host.
    Query(Query),
}

/// Processes one ICMPv6 message in a packet with `header`. An echo request is queued at `echo`.
pub(crate) fn on_packet<'a>(
    (packet, header): (&Packet<'a>, &Ipv6Header),
    (addresses, path_mtu_min): (&Addresses, u16),
    echo: &mut Echo,
    pool: &mut Pool,
    counters: &mut Counters,
) -> Option<V6Consequence<'a>> {
    counters.mib.icmp_in_msgs += 1;
    let ends = (header.src, header.dst);
    let parsed = Icmpv6Message::parse(packet.payload, ends, ChecksumPolicy::Verify);
    let outcome = match parsed {
        Ok((message, rest)) => {
            let from = (packet, header);
            on_message(message, rest, from, (addresses, path_mtu_min), counters)
        }
        Err(WireError::BadChecksum) => Err(Discard::IcmpBadChecksum),
        Err(_) => Err(Discard::IcmpTruncated),
    };
    match outcome {
        Ok(Outcome::Echo { ident, seq, data }) => {
            echo.on_request(packet, ident, seq, data, pool, counters);
            None
        }
        Ok(Outcome::Consequence(consequence)) => Some(consequence),
        Err(reason) => {
            counters.discard(reason);
            None
        }
    }
}

enum Outcome<'a> {
    Echo {
        ident: u16,
        seq: u16,
        data: &'a [u8],
    },
    Consequence(V6Consequence<'a>),
}

fn on_message<'a>(
    message: Icmpv6Message,
    rest: &'a [u8],
    (packet, header): (&Packet<'a>, &Ipv6Header),
    (addresses, path_mtu_min): (&Addresses, u16),
    counters: &mut Counters,
) -> Result<Outcome<'a>, Discard> {
    let has_sender = !header.src.is_unspecified();
    match message {
        Icmpv6Message::EchoRequest { ident, seq } if has_sender => {
            counters.mib.icmp_in_echos += 1;
            let data = rest;
            Ok(Outcome::Echo { ident, seq, data })
        }
        Icmpv6Message::EchoReply { .. } => {
            counters.mib.icmp_in_echo_reps += 1;
            Err(Discard::IcmpUnwanted)
        }
        Icmpv6Message::Unreachable { .. }
        | Icmpv6Message::PacketTooBig { .. }
        | Icmpv6Message::ParameterProblem { .. }
            if has_sender =>
        {
            counters.mib.icmp_in_dest_unreachs += 1;
            let event = quoted::parse_v6(message, rest, addresses, path_mtu_min)?;
            Ok(other(Consequence::Event(event)))
        }
        Icmpv6Message::TimeExceeded { .. } if has_sender => {
            counters.mib.icmp_in_time_excds += 1;
            let event = quoted::parse_v6(message, rest, addresses, path_mtu_min)?;
            Ok(other(Consequence::Event(event)))
        }
        Icmpv6Message::Other {
            kind,
            code,
            rest: fields,
        } => of_link((kind, code), fields, rest, (packet, header)),
        Icmpv6Message::EchoRequest { .. }
        | Icmpv6Message::Unreachable { .. }
        | Icmpv6Message::PacketTooBig { .. }
        | Icmpv6Message::ParameterProblem { .. }
        | Icmpv6Message::TimeExceeded { .. } => Err(Discard::IcmpUnwanted),
    }
}

/// Parses a message with type `kind` and the code `code`. It must be of a kind that no router
/// forwards: a message of neighbour discovery, or a query for multicast groups.
fn of_link<'a>(
    (kind, code): (u8, u8),
    fields: [u8; 4],
    rest: &'a [u8],
    (packet, header): (&Packet<'a>, &Ipv6Header),
) -> Result<Outcome<'a>, Discard> {
    if NeighbourMessage::is_kind(kind) {
        let message = NeighbourMessage::parse((kind, code), fields, rest, header.hop_limit)
            .map_err(|_| Discard::NdInvalid)?;
        check_neighbour_message(&message, header)?;
        return Ok(other(Consequence::Neighbour(ReceivedMessage {
            message,
            src: header.src,
            station: packet.station.mac,
        })));
    }
    if header.src.is_unspecified() {
        return Err(Discard::IcmpUnwanted);
    }
    let consequence = if RouterAdvertisement::is_kind(kind) {
        let message = RouterAdvertisement::parse(code, fields, rest, header.hop_limit);
        V6Consequence::Router(message.map_err(|_| Discard::NdInvalid)?)
    } else if Query::is_kind(kind) {
        let query = Query::parse(code, fields, rest, header.hop_limit);
        V6Consequence::Query(query.map_err(|_| Discard::IcmpUnwanted)?)
    } else {
        return Err(Discard::IcmpUnwanted);
    };
    Ok(Outcome::Consequence(consequence))
}

const fn other(consequence: Consequence) -> Outcome<'static> {
    Outcome::Consequence(V6Consequence::Other(consequence))
}

/// Checks the addresses of a message between neighbours. RFC 4861 §7.1.
fn check_neighbour_message(message: &NeighbourMessage, header: &Ipv6Header) -> Result<(), Discard> {
    let is_valid = match message {
        NeighbourMessage::Solicitation { target, source_mac } => {
            let asks_all = header.dst == solicited_node(*target);
            !header.src.is_unspecified() || (asks_all && source_mac.is_none())
        }
        NeighbourMessage::Advertisement { solicited, .. } => {
            !header.src.is_unspecified() && (!*solicited || !header.dst.is_multicast())
        }
    };
    match is_valid {
        true => Ok(()),
        false => Err(Discard::NdInvalid),
    }
}
