//! ICMPv6 messages handed to the parts of the stack that they change.
//!
//! Rule: messages of routers are processed here at once, because they are too long to be kept. All
//! other messages that concern another layer are returned.

use fullpipe_pool::{Instant, Pool};
use fullpipe_wire::Ipv6Header;

#[cfg(feature = "slaac")]
use crate::ip::Surroundings;
use crate::{
    counters::Counters,
    icmp::{Consequence, v6, v6::V6Consequence},
    interface::InterfaceState,
    ip::{Addresses, Packet},
};

/// The parts of the stack that an ICMPv6 message may change.
#[cfg_attr(
    not(feature = "slaac"),
    allow(dead_code, reason = "only messages of routers change them")
)]
pub(super) struct Changeable<'a> {
    /// The addresses of the interface that received the message.
    pub(super) addresses: &'a mut Addresses,
    /// That interface.
    pub(super) of: &'a mut InterfaceState,
    pub(super) pool: &'a mut Pool,
    pub(super) counters: &'a mut Counters,
    pub(super) path_mtu_min: u16,
    pub(super) now: Instant,
}

impl Changeable<'_> {
    /// Processes the message in a packet with `header`.
    #[inline(never)]
    pub(super) fn on_packet(self, packet: &Packet<'_>, header: &Ipv6Header) -> Option<Consequence> {
        let Self {
            of,
            addresses,
            pool,
            counters,
            ..
        } = self;
        let own = (&*addresses, self.path_mtu_min);
        let message = v6::on_packet((packet, header), own, &mut of.echo, pool, counters)?;
        #[cfg(feature = "slaac")]
        let (src, own) = (header.src, &mut of.autoconfiguration);
        match message {
            V6Consequence::Other(consequence) => return Some(consequence),
            #[cfg(feature = "slaac")]
            V6Consequence::Router(message) => {
                let mut around = Surroundings {
                    addresses,
                    neighbours: &mut of.neighbours,
                    sender: &mut of.sender,
                    pool,
                    counters,
                    now: self.now,
                };
                own.on_advertisement(&message, (src, packet.station.mac), &mut around);
            }
            #[cfg(feature = "slaac")]
            V6Consequence::Query(query) => {
                own.on_query(&query, src, addresses, (self.now, counters));
            }
            #[cfg(not(feature = "slaac"))]
            V6Consequence::Router(_) | V6Consequence::Query(_) => {
                let reason = crate::counters::Discard::IcmpUnwanted;
                counters.discard(reason);
            }
        }
        None
    }
}
