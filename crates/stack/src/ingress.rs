//! Input: a received frame passes the link layer and IP to its protocol.
//!
//! Rule: processing a frame changes state and sends nothing: answers wait in bounded queues and
//! leave through `egress`. A frame may contain any bytes.

mod batch;

pub use batch::ReceiveBatch;

use fullpipe_pool::Instant;
use fullpipe_wire::{MacAddress, Protocol, TcpHeader, UnreachableCode};

#[cfg(feature = "ipv6")]
use crate::{counters::Discard, device::Medium};
use crate::{
    device::RxMeta,
    icmp::{self, Consequence},
    ip::{IpHeader, IpSender},
    link::{Inbound, IpVersion},
    stack::{Stack, mss_limit},
    tcp::{HostContext, SegmentSender},
    udp::Delivery,
};

impl Stack {
    /// Processes one received frame, which need not be well-formed: malformed and
    /// unwanted frames are discarded and counted (see
    /// [`counters`](Self::counters)). The stack keeps no reference to `frame`.
    pub fn receive(&mut self, frame: &[u8], meta: RxMeta, now: Instant) {
        self.receive_frame(frame, meta, now);
    }

    /// Processes one received frame. Returns the connection that received it, if that connection
    /// predicts a next frame with the same headers.
    fn receive_frame(&mut self, frame: &[u8], meta: RxMeta, now: Instant) -> Option<u32> {
        match self.link.on_frame(frame, &mut self.counters) {
            Some(Inbound::Ip {
                version,
                packet,
                broadcast,
                station,
            }) => self.on_ip_packet(version, packet, (station, broadcast), meta, now),
            Some(Inbound::Arp(packet)) => {
                let (pool, counters) = (&mut self.pool, &mut self.counters);
                let addresses = self.routes.addresses();
                self.neighbours
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
        from: (MacAddress, bool),
        meta: RxMeta,
        now: Instant,
    ) -> Option<u32> {
        let (pool, counters, errors) = (&mut self.pool, &mut self.counters, &mut self.errors);
        let addresses = self.routes.addresses();
        let packet = match version {
            IpVersion::V4 => self
                .receiver
                .on_packet(addresses, bytes, from, pool, now, counters)?,
            IpVersion::V6 => {
                self.receiver
                    .on_v6_packet(addresses, bytes, from, errors, (pool, now), counters)?
            }
        };
        let consequence = match packet.protocol() {
            Protocol::Tcp => {
                let sender = SegmentSender {
                    mss_limit: mss_limit(&self.sender, packet.src()),
                    station: packet.station,
                };
                let mut host = HostContext {
                    now,
                    pool,
                    events: &mut self.events,
                    counters,
                };
                return self.tcp.on_packet(&packet, meta, sender, &mut host);
            }
            Protocol::Udp => {
                let verified = meta.checksum_verified;
                match self.udp.on_datagram(&packet, verified, pool, counters) {
                    Delivery::Queued(id) => self.events.udp(id.0.index),
                    Delivery::NoPort => {
                        self.errors
                            .report(&packet, UnreachableCode::Port, now, counters);
                    }
                    Delivery::Dropped => {}
                }
                None
            }
            Protocol::Icmp => {
                let (addresses, mtu_min) = (self.routes.addresses(), self.path_mtu_min);
                icmp::on_packet(&packet, addresses, mtu_min, &mut self.echo, pool, counters)
                    .map(Consequence::Event)
            }
            // `IpReceiver` has counted the packet as discarded; only the ICMP error is still to be
            // queued. RFC 1122 §3.2.2.1.
            Protocol::Icmpv6 | Protocol::Other(_) => match packet.header {
                IpHeader::V4(_) => {
                    let code = UnreachableCode::Protocol;
                    self.errors.report(&packet, code, now, counters);
                    None
                }
                #[cfg(feature = "ipv6")]
                IpHeader::V6(header) => {
                    let (addresses, echo) = (self.routes.addresses(), &mut self.echo);
                    icmp::v6::on_packet((&packet, &header), addresses, echo, pool, counters)
                }
            },
        };
        if let Some(consequence) = consequence {
            self.on_icmp(&consequence, now);
        }
        None
    }

    #[cold]
    fn on_icmp(&mut self, consequence: &Consequence, now: Instant) {
        match consequence {
            Consequence::Event(event) => self.on_icmp_event(event, now),
            #[cfg(feature = "ipv6")]
            Consequence::Neighbour(message) => {
                let (pool, counters) = (&mut self.pool, &mut self.counters);
                let addresses = self.routes.addresses();
                if self.link.medium != Medium::Ethernet {
                    // A raw IP device has no neighbours.
                    return counters.discard(Discard::NdInvalid);
                }
                self.neighbours
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
            Protocol::Udp | Protocol::Icmp | Protocol::Icmpv6 | Protocol::Other(_) => {
                if let Some(id) = self.udp.on_icmp(event, &mut self.counters) {
                    self.events.udp(id.0.index);
                }
            }
        }
    }
}
