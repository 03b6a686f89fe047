//! ICMP: answers echo requests, parses errors, reports unreachable ports and protocols.
//!
//! Rule: this module changes no state because of a received error. It turns the error into an
//! [`IcmpEvent`], and the socket or connection that sent the quoted packet decides whether the
//! error can be genuine (RFC 5927). Replies and errors to be sent wait in bounded queues.

pub(crate) mod echo;
pub(crate) mod echo_socket;
#[cfg(feature = "icmp-errors")]
pub(crate) mod error_queue;
#[cfg(not(feature = "icmp-errors"))]
#[path = "error_queue_off.rs"]
pub(crate) mod error_queue;
pub(crate) mod path_error;
#[cfg(feature = "icmp-errors")]
pub(crate) mod quoted;
#[cfg(not(feature = "icmp-errors"))]
#[path = "quoted_off.rs"]
pub(crate) mod quoted;
#[cfg(feature = "ipv6")]
pub(crate) mod v6;

use fullpipe_pool::Pool;
use fullpipe_wire::{ChecksumPolicy, Icmpv4Message, WireError};

pub(crate) use echo::Echo;
pub(crate) use echo_socket::pass_on;
pub(crate) use error_queue::{ErrorQueue, RefusedPacket};
pub(crate) use path_error::IcmpEvent;
pub use path_error::PathError;

use crate::{
    counters::{Counters, Discard},
    ip::{Addresses, Packet},
};

/// A received message that another layer must process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// An error about a packet of this host.
    Event(IcmpEvent),
    /// A message between IPv6 neighbours.
    #[cfg(feature = "ipv6")]
    Neighbour(crate::link::ReceivedMessage),
}

/// Processes one ICMP message of IPv4. An echo request is queued at `echo`; an error
/// about a packet of this host is returned.
pub(crate) fn on_packet(
    packet: &Packet<'_>,
    addresses: &Addresses,
    path_mtu_min: u16,
    echo: &mut Echo,
    pool: &mut Pool,
    counters: &mut Counters,
) -> Option<IcmpEvent> {
    counters.mib.icmp_in_msgs += 1;
    let (message, rest) = match Icmpv4Message::parse(packet.payload, ChecksumPolicy::Verify) {
        Ok(parsed) => parsed,
        Err(WireError::BadChecksum) => {
            counters.discard(Discard::IcmpBadChecksum);
            return None;
        }
        Err(_) => {
            counters.discard(Discard::IcmpTruncated);
            return None;
        }
    };
    match message {
        Icmpv4Message::EchoRequest { ident, seq } => {
            counters.mib.icmp_in_echos += 1;
            echo.on_request(packet, ident, seq, rest, pool, counters);
            None
        }
        Icmpv4Message::EchoReply { .. } => {
            counters.mib.icmp_in_echo_reps += 1;
            counters.discard(Discard::IcmpUnwanted);
            None
        }
        Icmpv4Message::Unreachable { .. } => {
            counters.mib.icmp_in_dest_unreachs += 1;
            event(message, rest, addresses, path_mtu_min, counters)
        }
        Icmpv4Message::TimeExceeded { .. } => {
            counters.mib.icmp_in_time_excds += 1;
            event(message, rest, addresses, path_mtu_min, counters)
        }
        Icmpv4Message::Other { .. } => {
            counters.discard(Discard::IcmpUnwanted);
            None
        }
    }
}

fn event(
    message: Icmpv4Message,
    quoted: &[u8],
    addresses: &Addresses,
    path_mtu_min: u16,
    counters: &mut Counters,
) -> Option<IcmpEvent> {
    match quoted::parse(message, quoted, addresses, path_mtu_min) {
        Ok(event) => Some(event),
        Err(reason) => {
            counters.discard(reason);
            None
        }
    }
}
