//! ICMP: echo requests answered, errors understood, port unreachable told.
//!
//! Rule: an error message touches nothing here. It becomes an [`IcmpEvent`],
//! and whoever owns the socket or connection decides whether it can be true
//! (RFC 5927). Replies and errors wait in bounded queues until they are polled.

pub(crate) mod echo;
pub(crate) mod error_queue;
pub(crate) mod quoted;

use core::{fmt, net::SocketAddr};

use fullpipe_pool::Pool;
use fullpipe_wire::{ChecksumPolicy, Icmpv4Message, Protocol, WireError};

pub(crate) use echo::Echo;
pub(crate) use error_queue::ErrorQueue;

use crate::{
    counters::{Counters, Discard},
    ip::{Packet, Subnet},
};

/// What a router or host reports about a packet that we may have sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// It could not be delivered.
    Unreachable {
        /// It never will be: no such protocol, no such port. RFC 1122 §4.2.3.9.
        hard: bool,
    },
    /// It was too long for a link on the way. RFC 1191.
    FragmentationNeeded {
        /// Bytes that the link takes; never below `ip.path_mtu_min`.
        mtu: u16,
    },
    /// It was on its way for too long.
    TimeExceeded,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { hard: true } => f.write_str("protocol or port unreachable"),
            Self::Unreachable { hard: false } => f.write_str("network or host unreachable"),
            Self::FragmentationNeeded { mtu } => {
                write!(f, "packet too big: the next link takes {mtu} bytes")
            }
            Self::TimeExceeded => f.write_str("time to live exceeded in transit"),
        }
    }
}

impl core::error::Error for PathError {}

/// An ICMP error about one of our packets, to be validated by whoever sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IcmpEvent {
    /// What went wrong.
    pub(crate) error: PathError,
    /// What the packet carried.
    pub(crate) protocol: Protocol,
    /// Our side of the packet.
    pub(crate) local: SocketAddr,
    /// The other side.
    pub(crate) remote: SocketAddr,
    /// The quoted sequence number; means something for TCP only.
    pub(crate) seq: u32,
}

/// Takes one ICMP message. Echo requests go to `echo`; an error that quotes one
/// of our packets is returned.
pub(crate) fn on_packet(
    packet: &Packet<'_>,
    subnet: &Subnet,
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
            event(message, rest, subnet, path_mtu_min, counters)
        }
        Icmpv4Message::TimeExceeded { .. } => {
            counters.mib.icmp_in_time_excds += 1;
            event(message, rest, subnet, path_mtu_min, counters)
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
    subnet: &Subnet,
    path_mtu_min: u16,
    counters: &mut Counters,
) -> Option<IcmpEvent> {
    match quoted::parse(message, quoted, subnet, path_mtu_min) {
        Ok(event) => Some(event),
        Err(reason) => {
            counters.discard(reason);
            None
        }
    }
}
