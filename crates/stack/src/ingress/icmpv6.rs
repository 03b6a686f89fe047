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
    icmp::{Consequence, Echo, v6, v6::V6Consequence},
    ip::{Autoconfiguration, IpSender, Packet, Routes},
    link::Neighbours,
};

/// The parts of the stack that an ICMPv6 message may change.
#[cfg_attr(
    not(feature = "slaac"),
    allow(dead_code, reason = "only messages of routers change them")
)]
pub(super) struct Changeable<'a> {
    pub(super) routes: &'a mut Routes,
    pub(super) neighbours: &'a mut Neighbours,
    pub(super) autoconfiguration: &'a mut Autoconfiguration,
    pub(super) sender: &'a mut IpSender,
    pub(super) echo: &'a mut Echo,
    pub(super) pool: &'a mut Pool,
    pub(super) counters: &'a mut Counters,
    pub(super) path_mtu_min: u16,
    pub(super) now: Instant,
}

impl Changeable<'_> {
    /// Processes the message in a packet with `header`.
    #[inline(never)]
    pub(super) fn on_packet(self, packet: &Packet<'_>, header: &Ipv6Header) -> Option<Consequence> {
        let Self { echo, pool, .. } = self;
        let own = (self.routes.addresses(), self.path_mtu_min);
        let message = v6::on_packet((packet, header), own, echo, pool, self.counters)?;
        #[cfg(feature = "slaac")]
        let (src, own) = (header.src, self.autoconfiguration);
        match message {
            V6Consequence::Other(consequence) => return Some(consequence),
            #[cfg(feature = "slaac")]
            V6Consequence::Router(message) => {
                let mut around = Surroundings {
                    routes: self.routes,
                    neighbours: self.neighbours,
                    sender: self.sender,
                    pool,
                    counters: self.counters,
                    now: self.now,
                };
                own.on_advertisement(&message, (src, packet.station), &mut around);
            }
            #[cfg(feature = "slaac")]
            V6Consequence::Query(query) => {
                let at = (self.now, self.counters);
                own.on_query(&query, src, self.routes.addresses(), at);
            }
            #[cfg(not(feature = "slaac"))]
            V6Consequence::Router(_) | V6Consequence::Query(_) => {
                let reason = crate::counters::Discard::IcmpUnwanted;
                self.counters.discard(reason);
            }
        }
        None
    }
}
