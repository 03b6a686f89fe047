//! Echo requests that a socket of the application receives in place of the stack.
//!
//! Rule: a request is a datagram of the socket: from the peer with the identifier as its port, to
//! the destination with the sequence number as its port. Requests to a group or a broadcast address,
//! and malformed ones, go the way that they go without such a socket. RFC 792, RFC 4443 §4.1.

use core::net::SocketAddr;

use fullpipe_pool::Pool;
#[cfg(feature = "ipv6")]
use fullpipe_wire::Icmpv6Message;
use fullpipe_wire::{ChecksumPolicy, Icmpv4Message, Protocol};

use crate::{
    counters::{Counters, Discard},
    events::EventQueue,
    ip::{IpHeader, Packet},
    udp::UdpSockets,
};

/// Passes `packet`, an ICMP message, to the socket that receives echo requests. Returns false if the
/// packet is no request, or no socket receives requests.
pub(crate) fn pass_on(
    packet: &Packet<'_>,
    (udp, events): &mut (&mut UdpSockets, &mut EventQueue),
    pool: &mut Pool,
    counters: &mut Counters,
) -> bool {
    let Some(index) = udp.echo_socket(packet.dst()).filter(|_| !packet.broadcast) else {
        return false;
    };
    let Some((ident, seq, data)) = request(packet) else {
        return false;
    };
    counters.mib.icmp_in_msgs += 1;
    counters.mib.icmp_in_echos += 1;
    let from = SocketAddr::new(packet.src(), ident);
    let to = SocketAddr::new(packet.dst(), seq);
    match udp.queue_request(index, (from, to), data, pool) {
        true => events.udp(index),
        false => counters.discard(Discard::IcmpEchoQueueFull),
    }
    true
}

/// Returns identifier, sequence number and data of an echo request; `None` for another or a
/// malformed message, and for a message of ICMPv6 in a packet of IPv4. `IpReceiver` discards ICMP in
/// a packet of IPv6.
fn request<'a>(packet: &Packet<'a>) -> Option<(u16, u16, &'a [u8])> {
    let verify = ChecksumPolicy::Verify;
    match packet.header {
        IpHeader::V4(_) if packet.protocol() != Protocol::Icmp => None,
        IpHeader::V4(_) => match Icmpv4Message::parse(packet.payload, verify).ok()? {
            (Icmpv4Message::EchoRequest { ident, seq }, data) => Some((ident, seq, data)),
            _ => None,
        },
        #[cfg(feature = "ipv6")]
        IpHeader::V6(header) => {
            let ends = (header.src, header.dst);
            match Icmpv6Message::parse(packet.payload, ends, verify).ok()? {
                (Icmpv6Message::EchoRequest { ident, seq }, data) => Some((ident, seq, data)),
                _ => None,
            }
        }
    }
}
