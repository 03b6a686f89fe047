//! Neighbour discovery: solicitations and advertisements. RFC 4861 §7.
//!
//! Rule: an advertisement changes only entries that exist, and a solicitation adds only its sender.
//! If a neighbour states its MAC address although this host did not ask, the address is probed at
//! its next use (the RFC's state STALE; here a reachable entry whose probe is due). The cache
//! decides which message is sent and when.

use core::net::{IpAddr, Ipv6Addr};

#[cfg(feature = "slaac")]
use fullpipe_pool::Duration;
use fullpipe_pool::{Instant, Pool};
use fullpipe_wire::{
    EthernetHeader, Ipv6Header, MacAddress, Protocol,
    ipv6::solicited_node,
    ndp::{HOP_LIMIT, NeighbourMessage},
};

use super::{NeighbourReply, NeighbourState, Neighbours, check_sender};
use crate::{
    counters::{Counters, Discard},
    ip::{Addresses, v6},
    link::{framing::write_v6_headers, multicast_station},
};

/// A message between neighbours, with the addresses of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedMessage {
    /// The message.
    pub(crate) message: NeighbourMessage,
    /// Source of the packet.
    pub(crate) src: Ipv6Addr,
    /// Source MAC address of the packet's frame.
    pub(crate) station: MacAddress,
}

/// The contents of a neighbour advertisement.
struct Advertisement {
    target: Ipv6Addr,
    mac: Option<MacAddress>,
    solicited: bool,
    overrides: bool,
}

impl Neighbours {
    /// Processes a message to a host with `addresses`.
    pub(crate) fn on_message(
        &mut self,
        addresses: &Addresses,
        received: &ReceivedMessage,
        now: Instant,
        pool: &mut Pool,
        counters: &mut Counters,
    ) {
        let outcome = match received.message {
            NeighbourMessage::Solicitation { target, source_mac } => {
                let asked = (target, source_mac);
                self.on_solicitation(addresses, received, asked, now, pool, counters)
            }
            NeighbourMessage::Advertisement {
                target,
                target_mac,
                router: _,
                solicited,
                overrides,
            } => {
                let advertisement = Advertisement {
                    target,
                    mac: target_mac,
                    solicited,
                    overrides,
                };
                self.on_advertisement(addresses, &advertisement, now, pool, counters)
            }
        };
        if let Err(reason) = outcome {
            counters.discard(reason);
        }
    }

    /// Processes a neighbour solicitation. RFC 4861 §7.2.3 and §7.2.4.
    fn on_solicitation(
        &mut self,
        addresses: &Addresses,
        received: &ReceivedMessage,
        (target, source_mac): (Ipv6Addr, Option<MacAddress>),
        now: Instant,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Result<(), Discard> {
        if !addresses.contains(target.into()) {
            return Err(Discard::ArpNotForUs);
        }
        let src = received.src;
        // A host that asks whether its address is free has no address yet. The answer goes to all
        // nodes. RFC 4862 §5.4.3.
        if src.is_unspecified() {
            return self.queue_reply(NeighbourReply {
                mac: multicast_station(v6::ALL_NODES.into()),
                ip: IpAddr::from(src).into(),
                ours: IpAddr::from(target).into(),
            });
        }
        let mac = source_mac.unwrap_or(received.station);
        self.check_mac(mac)?;
        // The hop limit of 255 shows that the sender is on the link. If the sender's address is in
        // no network of the link, the sender gets an answer, but no entry: packets to this address
        // go to a router. RFC 4861 §7.2.3.
        let is_neighbour = match check_sender(addresses, src.into()) {
            Err(Discard::ArpOffLink) => false,
            checked => checked.map(|()| true)?,
        };
        if is_neighbour && source_mac.is_some() && self.mac_of(src) != Some(mac) {
            self.learn((src.into(), mac), true, now, now, pool, counters);
        }
        self.queue_reply(NeighbourReply {
            mac,
            ip: IpAddr::from(src).into(),
            ours: IpAddr::from(target).into(),
        })
    }

    /// Processes a neighbour advertisement. RFC 4861 §7.2.5.
    fn on_advertisement(
        &mut self,
        addresses: &Addresses,
        advertisement: &Advertisement,
        now: Instant,
        pool: &mut Pool,
        counters: &mut Counters,
    ) -> Result<(), Discard> {
        let &Advertisement {
            target,
            mac,
            solicited,
            overrides,
        } = advertisement;
        let target = IpAddr::V6(target);
        check_sender(addresses, target)?;
        let index = self.find(target).ok_or(Discard::ArpNotForUs)?;
        if let Some(mac) = mac {
            self.check_mac(mac)?;
        }
        let known = match self.entries[index].state {
            NeighbourState::Incomplete { .. } => None,
            NeighbourState::Reachable { mac, .. } | NeighbourState::Refreshing { mac, .. } => {
                Some(mac)
            }
            // Nobody has looked the neighbour up since it failed.
            NeighbourState::Failed { .. } => return Ok(()),
        };
        // Believe the flag Solicited only if this host has sent a solicitation, because any sender
        // can set the flag.
        let is_asked = matches!(
            self.entries[index].state,
            NeighbourState::Incomplete { sent, .. } | NeighbourState::Refreshing { sent, .. }
                if sent > 0
        );
        let solicited = solicited && is_asked;
        let mac = mac.or(known).ok_or(Discard::NdInvalid)?;
        let confirmed = now + self.v6_reachable_time;
        let until = match known {
            Some(known) if known != mac && !overrides => {
                // Another station claims to be this neighbour: probe the known MAC address.
                self.on_negative_advice(target, now);
                return Ok(());
            }
            Some(known) if known == mac && !solicited => return Ok(()),
            _ if solicited => confirmed,
            _ => now,
        };
        self.learn((target, mac), false, until, now, pool, counters);
        Ok(())
    }

    /// Stores the MAC address that the router `ip` states in an advertisement.
    #[cfg(feature = "slaac")]
    pub(crate) fn learn_router(
        &mut self,
        (ip, mac): (Ipv6Addr, MacAddress),
        now: Instant,
        pool: &mut Pool,
        counters: &mut Counters,
    ) {
        match self.check_mac(mac) {
            Ok(()) if self.mac_of(ip) == Some(mac) => {}
            Ok(()) => _ = self.learn((ip.into(), mac), true, now, now, pool, counters),
            Err(reason) => counters.discard(reason),
        }
    }

    /// Sets the time between two solicitations for one neighbour.
    #[cfg(feature = "slaac")]
    pub(crate) const fn set_v6_request_interval(&mut self, interval: Duration) {
        self.v6_request_interval = interval;
    }

    /// Sets the time after an answer until this host probes the IPv6 neighbour again.
    #[cfg(feature = "slaac")]
    pub(crate) const fn set_v6_reachable_time(&mut self, time: Duration) {
        self.v6_reachable_time = time;
    }

    /// Returns true if the neighbour `ip` did not answer.
    #[cfg(feature = "slaac")]
    pub(crate) fn has_failed(&self, ip: IpAddr) -> bool {
        let index = self.find(ip);
        index
            .is_some_and(|index| matches!(self.entries[index].state, NeighbourState::Failed { .. }))
    }

    /// Returns true if a neighbour failed since the last call of
    /// [`take_failure`](Self::take_failure).
    #[cfg(feature = "slaac")]
    pub(crate) const fn has_failure(&self) -> bool {
        self.failure
    }

    /// Returns true if a neighbour failed since the last call of this method.
    #[cfg(feature = "slaac")]
    pub(crate) const fn take_failure(&mut self) -> bool {
        core::mem::replace(&mut self.failure, false)
    }

    fn check_mac(&self, mac: MacAddress) -> Result<(), Discard> {
        match mac.is_unicast() && mac != self.mac {
            true => Ok(()),
            false => Err(Discard::ArpBadSender),
        }
    }

    /// Returns the MAC address of a resolved neighbour.
    fn mac_of(&self, ip: Ipv6Addr) -> Option<MacAddress> {
        match self.entries[self.find(ip.into())?].state {
            NeighbourState::Reachable { mac, .. } | NeighbourState::Refreshing { mac, .. } => {
                Some(mac)
            }
            NeighbourState::Incomplete { .. } | NeighbourState::Failed { .. } => None,
        }
    }

    /// Writes a solicitation for `target` to `station`, or to the group of nodes that may have the
    /// address.
    pub(super) fn write_solicitation(
        &self,
        frame: &mut [u8],
        station: Option<MacAddress>,
        source: Ipv6Addr,
        target: Ipv6Addr,
    ) -> usize {
        let (station, dst) = match station {
            Some(station) => (station, target),
            None => {
                let group = solicited_node(target);
                (multicast_station(group.into()), group)
            }
        };
        let message = NeighbourMessage::Solicitation {
            target,
            source_mac: Some(self.mac),
        };
        self.write_message(frame, station, (source, dst), message)
    }

    /// Writes an advertisement of `ours` to a host that asked for it, or to all nodes if the host
    /// has no address.
    pub(super) fn write_advertisement(
        &self,
        frame: &mut [u8],
        (station, ip): (MacAddress, Ipv6Addr),
        ours: Ipv6Addr,
    ) -> usize {
        let solicited = !ip.is_unspecified();
        let dst = if solicited { ip } else { v6::ALL_NODES };
        let message = NeighbourMessage::Advertisement {
            target: ours,
            target_mac: Some(self.mac),
            router: false,
            solicited,
            overrides: true,
        };
        self.write_message(frame, station, (ours, dst), message)
    }

    fn write_message(
        &self,
        frame: &mut [u8],
        station: MacAddress,
        (src, dst): (Ipv6Addr, Ipv6Addr),
        message: NeighbourMessage,
    ) -> usize {
        let body = &mut frame[EthernetHeader::LEN + Ipv6Header::LEN..];
        let len = message.write(body, (src, dst));
        let header = Ipv6Header {
            hop_limit: HOP_LIMIT,
            ..Ipv6Header::new(src, dst, Protocol::Icmpv6, len)
        };
        write_v6_headers(frame, (self.mac, station), &header)
    }
}
