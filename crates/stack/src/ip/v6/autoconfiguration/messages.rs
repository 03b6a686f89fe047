//! Messages that autoconfiguration sends: reports of groups, neighbour solicitations for tentative
//! addresses, router solicitations.
//!
//! Rule: a report leaves before the neighbour solicitations, so that switches deliver the answers
//! (RFC 4862 §5.4.2). The state of autoconfiguration decides which message is due; this file writes
//! the message.

use core::net::Ipv6Addr;

use fullpipe_pool::Instant;
use fullpipe_wire::{
    EthernetHeader, Ipv6Header, MacAddress, Protocol,
    ipv6::solicited_node,
    mld::{self, RecordKind},
    ndp::{self, NeighbourMessage, router},
};

use super::{State, groups::MOST_RECORDS};
use crate::{
    ip::addresses::Addresses,
    link::{multicast_station, write_v6_headers},
};

/// The group of all routers of a link. RFC 4291 §2.7.1.
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// Offset of the payload of IPv6 in a frame.
const BODY: usize = EthernetHeader::LEN + Ipv6Header::LEN;

impl State {
    /// Writes the message that is due. Returns its length.
    pub(super) fn write_due(
        &mut self,
        addresses: &mut Addresses,
        now: Instant,
        frame: &mut [u8],
    ) -> Option<usize> {
        if self.groups.due().is_some_and(|at| at <= now) {
            return Some(self.write_report(addresses, now, frame));
        }
        let (probes, retransmit) = (self.probes, self.retransmit);
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let mut tentative = addresses.tentative_mut().iter_mut();
        if let Some(own) = tentative.find(|own| own.sent < probes && is_due(own.due)) {
            own.sent += 1;
            own.due = Some(now + retransmit);
            return Some(write_question(frame, self.identifiers.mac, own.ip));
        }
        if !is_due(self.solicitation.due()) {
            return None;
        }
        self.solicitation.on_sent(&mut self.rng, now);
        let source = addresses.link_local()?;
        Some(write_solicitation(frame, self.identifiers.mac, source))
    }

    fn write_report(&mut self, addresses: &Addresses, now: Instant, frame: &mut [u8]) -> usize {
        let mut records = [(RecordKind::IsExclude, Ipv6Addr::UNSPECIFIED); MOST_RECORDS];
        let mut count = 0;
        self.groups
            .poll(addresses, &mut self.rng, now, |kind, group| {
                records[count] = (kind, group);
                count += 1;
            });
        // Without a link-local address the source is unspecified. RFC 3810 §5.2.13.
        let source = addresses.link_local().unwrap_or(Ipv6Addr::UNSPECIFIED);
        let (alert, message) = frame[BODY..].split_at_mut(mld::ROUTER_ALERT.len());
        alert.copy_from_slice(&mld::ROUTER_ALERT);
        let len = mld::write_report(message, source, records[..count].iter().copied());
        let header = Ipv6Header {
            hop_limit: mld::HOP_LIMIT,
            next_header: 0,
            ..Ipv6Header::new(
                source,
                mld::ALL_ROUTERS,
                Protocol::Icmpv6,
                mld::ROUTER_ALERT.len() + len,
            )
        };
        finish(frame, self.identifiers.mac, &header)
    }
}

/// Writes the neighbour solicitation that asks if another host has `ip`. RFC 4862 §5.4.2.
fn write_question(frame: &mut [u8], mac: MacAddress, ip: Ipv6Addr) -> usize {
    let message = NeighbourMessage::Solicitation {
        target: ip,
        source_mac: None,
    };
    let ends = (Ipv6Addr::UNSPECIFIED, solicited_node(ip));
    let len = message.write(&mut frame[BODY..], ends);
    finish(frame, mac, &discovery(ends, len))
}

/// Writes a router solicitation. RFC 4861 §6.3.7.
fn write_solicitation(frame: &mut [u8], mac: MacAddress, source: Ipv6Addr) -> usize {
    let ends = (source, ALL_ROUTERS);
    let len = router::write_solicitation(&mut frame[BODY..], ends, Some(mac));
    finish(frame, mac, &discovery(ends, len))
}

/// Returns the header of a message of neighbour discovery.
fn discovery((src, dst): (Ipv6Addr, Ipv6Addr), len: usize) -> Ipv6Header {
    let header = Ipv6Header::new(src, dst, Protocol::Icmpv6, len);
    Ipv6Header {
        hop_limit: ndp::HOP_LIMIT,
        ..header
    }
}

/// Writes the headers in front of a message to a group. Returns the length of the frame.
fn finish(frame: &mut [u8], mac: MacAddress, header: &Ipv6Header) -> usize {
    let station = multicast_station(header.dst.into());
    write_v6_headers(frame, (mac, station), header)
}
