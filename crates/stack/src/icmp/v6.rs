//! ICMPv6: answers echo requests, parses errors, passes on messages between neighbours. RFC 4443.
//!
//! Rule: as for IPv4. In addition, a message from the unspecified address can only be a neighbour
//! solicitation (RFC 4862 §5.4.2).

use fullpipe_pool::Pool;
use fullpipe_wire::{ChecksumPolicy, Icmpv6Message, Ipv6Header, WireError, ndp::NeighbourMessage};

use super::{Consequence, Echo, quoted};
use crate::{
    counters::{Counters, Discard},
    ip::{Addresses, Packet},
    link::ReceivedMessage,
};

/// Processes one ICMPv6 message in a packet with `header`. An echo request is queued at `echo`.
pub(crate) fn on_packet(
    (packet, header): (&Packet<'_>, &Ipv6Header),
    addresses: &Addresses,
    echo: &mut Echo,
    pool: &mut Pool,
    counters: &mut Counters,
) -> Option<Consequence> {
    counters.mib.icmp_in_msgs += 1;
    let ends = (header.src, header.dst);
    let parsed = Icmpv6Message::parse(packet.payload, ends, ChecksumPolicy::Verify);
    let outcome = match parsed {
        Ok((message, rest)) => on_message(message, rest, (packet, header), addresses, counters),
        Err(WireError::BadChecksum) => Err(Discard::IcmpBadChecksum),
        Err(_) => Err(Discard::IcmpTruncated),
    };
    match outcome {
        Ok(Outcome::Echo { ident, seq, data }) => {
            echo.on_request(packet, ident, seq, data, pool, counters);
            None
        }
        Ok(Outcome::Other(consequence)) => Some(consequence),
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
    Other(Consequence),
}

fn on_message<'a>(
    message: Icmpv6Message,
    rest: &'a [u8],
    (packet, header): (&Packet<'a>, &Ipv6Header),
    addresses: &Addresses,
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
            let event = quoted::parse_v6(message, rest, addresses)?;
            Ok(Outcome::Other(Consequence::Event(event)))
        }
        Icmpv6Message::TimeExceeded { .. } if has_sender => {
            counters.mib.icmp_in_time_excds += 1;
            let event = quoted::parse_v6(message, rest, addresses)?;
            Ok(Outcome::Other(Consequence::Event(event)))
        }
        Icmpv6Message::Other {
            kind,
            code,
            rest: flags,
        } if NeighbourMessage::is_kind(kind) => {
            let message = NeighbourMessage::parse((kind, code), flags, rest, header.hop_limit)
                .map_err(|_| Discard::NdInvalid)?;
            let is_solicitation = matches!(message, NeighbourMessage::Solicitation { .. });
            if !has_sender && !is_solicitation {
                return Err(Discard::NdInvalid);
            }
            Ok(Outcome::Other(Consequence::Neighbour(ReceivedMessage {
                message,
                src: header.src,
                to_group: packet.broadcast,
                station: packet.station,
            })))
        }
        Icmpv6Message::EchoRequest { .. }
        | Icmpv6Message::Unreachable { .. }
        | Icmpv6Message::PacketTooBig { .. }
        | Icmpv6Message::ParameterProblem { .. }
        | Icmpv6Message::TimeExceeded { .. }
        | Icmpv6Message::Other { .. } => Err(Discard::IcmpUnwanted),
    }
}
