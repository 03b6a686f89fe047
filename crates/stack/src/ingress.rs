//! Input: takes a received frame through the link layer and IP to its protocol.
//!
//! Rule: processing a frame changes state and sends nothing: answers wait in bounded queues and
//! leave through `egress`. A frame may contain any bytes.

mod batch;
#[cfg(feature = "ipv6")]
mod icmpv6;

pub use batch::ReceiveBatch;

#[cfg(all(feature = "ipv6", feature = "path-mtu"))]
use core::net::IpAddr;

use fullpipe_pool::{Instant, Pool};
use fullpipe_wire::{Protocol, TcpHeader, UnreachableCode};

use crate::{
    counters::Counters,
    device::RxMeta,
    events::EventQueue,
    icmp::{self, Consequence, ErrorQueue, pass_on},
    interface_id::InterfaceId,
    ip::{IpHeader, IpSender, Packet},
    link::{Inbound, IpVersion, Station},
    stack::{Stack, mss_limit},
    tcp::{HostContext, SegmentSender},
    udp::{Delivery, UdpSockets},
};
#[cfg(feature = "ipv6")]
use crate::{counters::Discard, device::Medium};
#[cfg(all(feature = "ipv6", feature = "path-mtu"))]
use crate::{icmp::PathError, ip::v6::path_mtu::Evidence};

impl Stack {
    /// Processes one received frame, which need not be well-formed: malformed and
    /// unwanted frames are discarded and counted (see
    /// [`counters`](Self::counters)). The stack keeps no reference to `frame`.
    ///
    /// # Panics
    /// Panics if this stack has no interface `meta.interface`.
    pub fn receive(&mut self, frame: &[u8], meta: RxMeta, now: Instant) {
        self.receive_frame(frame, meta, now);
    }

    /// Processes one received frame. Returns the connection that received it, if that connection
    /// predicts a next frame with the same headers.
    #[cfg_attr(target_pointer_width = "64", inline(always))] // it is called for each frame
    fn receive_frame(&mut self, frame: &[u8], meta: RxMeta, now: Instant) -> Option<u32> {
        let interface = meta.interface;
        // A frame of an interface that was never added is the mistake of the caller's loop.
        let of = &mut self.interfaces[interface.index()];
        match of.link.on_frame(frame, &mut self.counters) {
            Some(Inbound::Ip {
                version,
                packet,
                broadcast,
                station: mac,
            }) => {
                let station = Station { interface, mac };
                self.on_ip_packet(version, packet, (station, broadcast), meta, now)
            }
            Some(Inbound::Arp(packet)) => {
                let (pool, counters) = (&mut self.pool, &mut self.counters);
                let addresses = self.routes.addresses(interface);
                of.neighbours
                    .on_arp_packet(addresses, packet, now, pool, counters);
                None
            }
            None => None,
        }
    }

    /// Processes an IP packet. Returns the connection that received it, if that connection
    /// predicts a next packet with the same headers.
    fn on_ip_packet(
        &mut self,
        version: IpVersion,
        bytes: &[u8],
        from: (Station, bool),
        meta: RxMeta,
        now: Instant,
    ) -> Option<u32> {
        let interface = meta.interface;
        let of = &mut self.interfaces[interface.index()];
        let (pool, counters, errors) = (&mut self.pool, &mut self.counters, &mut of.errors);
        let addresses = self.routes.addresses(interface);
        let (receiver, routes) = (&mut self.receiver, &self.routes);
        let packet = match version {
            IpVersion::V4 => receiver.on_packet(routes, bytes, from, pool, now, counters)?,
            IpVersion::V6 => {
                receiver.on_v6_packet(routes, bytes, from, errors, (pool, now), counters)?
            }
        };
        let mut udp = (&mut self.udp, &mut self.events);
        let consequence = match packet.protocol() {
            Protocol::Tcp => {
                let sender = SegmentSender {
                    mss_limit: mss_limit(&of.sender, packet.src()),
                    station: packet.station,
                };
                let mut host = HostContext {
                    now,
                    pool,
                    events: udp.1,
                    counters,
                };
                return self.tcp.on_packet(&packet, meta, sender, &mut host);
            }
            Protocol::Udp => {
                let sockets = (udp.0, udp.1, errors);
                on_datagram(&packet, meta, sockets, (pool, now), counters);
                None
            }
            Protocol::Icmp | Protocol::Icmpv6 if pass_on(&packet, &mut udp, pool, counters) => None,
            Protocol::Icmp => {
                let mtu_min = self.path_mtu_min;
                icmp::on_packet(&packet, addresses, mtu_min, &mut of.echo, pool, counters)
                    .map(Consequence::Event)
            }
            // `IpReceiver` has counted the packet as discarded; only the ICMP error is still to be
            // queued. RFC 1122 §3.2.2.1.
            Protocol::Icmpv6 | Protocol::Other(_) => match packet.header {
                IpHeader::V4(_) => {
                    errors.report(&packet, UnreachableCode::Protocol, (pool, now), counters);
                    None
                }
                #[cfg(feature = "ipv6")]
                IpHeader::V6(header) => icmpv6::Changeable {
                    addresses: self.routes.addresses_mut(interface),
                    of,
                    pool,
                    counters,
                    path_mtu_min: self.path_mtu_min,
                    now,
                }
                .on_packet(&packet, &header),
            },
        };
        if let Some(consequence) = consequence {
            self.on_icmp(interface, &consequence, now);
        }
        None
    }

    #[cold]
    #[cfg_attr(
        not(feature = "ipv6"),
        allow(unused_variables, reason = "only neighbours belong to an interface")
    )]
    fn on_icmp(&mut self, interface: InterfaceId, consequence: &Consequence, now: Instant) {
        match consequence {
            Consequence::Event(event) => self.on_icmp_event(event, now),
            #[cfg(feature = "ipv6")]
            Consequence::Neighbour(message) => {
                let of = &self.interfaces[interface.index()];
                if of.link.medium != Medium::Ethernet {
                    // A raw IP device has no neighbours.
                    return self.counters.discard(Discard::NdInvalid);
                }
                #[cfg(feature = "slaac")]
                if self.configures_with(interface, message, now) {
                    return;
                }
                let (pool, counters) = (&mut self.pool, &mut self.counters);
                let addresses = self.routes.addresses(interface);
                self.interfaces[interface.index()]
                    .neighbours
                    .on_message(addresses, message, now, pool, counters);
            }
        }
    }

    fn on_icmp_event(&mut self, event: &icmp::IcmpEvent, now: Instant) {
        match event.protocol {
            Protocol::Tcp => {
                let headers = IpSender::header_len(event.remote.ip()) + TcpHeader::LEN;
                let (tcp, mut host) = self.tcp_and_host(now);
                tcp.on_icmp(event, headers as u16, &mut host);
            }
            // The packet is an echo reply that was too big.
            Protocol::Icmpv6 => {
                #[cfg(all(feature = "ipv6", feature = "path-mtu"))]
                self.note_path_mtu(event, Evidence::EchoReply, now);
            }
            Protocol::Udp | Protocol::Icmp | Protocol::Other(_) => {
                if let Some(id) = self.udp.on_icmp(event, &mut self.counters) {
                    self.events.udp(id.index());
                    #[cfg(all(feature = "ipv6", feature = "path-mtu"))]
                    self.note_path_mtu(event, Evidence::Datagram, now);
                }
            }
        }
    }
}

#[cfg(all(feature = "ipv6", feature = "path-mtu"))]
impl Stack {
    /// Notes the path MTU that a router reported about a datagram of a socket or an echo reply.
    /// Further ones to the same host leave in packets of at most this length. Routers fragment IPv4
    /// packets, so only paths of IPv6 are noted.
    fn note_path_mtu(&mut self, event: &icmp::IcmpEvent, evidence: Evidence, now: Instant) {
        let (local, remote) = (event.local.ip(), event.remote.ip());
        if let (PathError::FragmentationNeeded { mtu, .. }, IpAddr::V6(dst)) = (event.error, remote)
        {
            let interface = self.routes.interface_between(local, remote);
            let sender = &mut self.interfaces[interface.index()].sender;
            sender.learn_path_mtu(dst, mtu, evidence, now);
        }
    }
}

/// Hands a UDP datagram to its socket, or reports that no socket has its port.
fn on_datagram(
    packet: &Packet<'_>,
    meta: RxMeta,
    (udp, events, errors): (&mut UdpSockets, &mut EventQueue, &mut ErrorQueue),
    (pool, now): (&mut Pool, Instant),
    counters: &mut Counters,
) {
    match udp.on_datagram(packet, meta.checksum_verified, pool, counters) {
        Delivery::Queued(id) => events.udp(id.index()),
        Delivery::NoPort => errors.report(packet, UnreachableCode::Port, (pool, now), counters),
        Delivery::Dropped => {}
    }
}
