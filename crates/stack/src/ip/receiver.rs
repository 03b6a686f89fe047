//! IP input: checks a packet's header and reassembles fragments.
//!
//! Rule: layers above do not check a length, the IP checksum or an address of the header
//! again. Invalid packets are discarded here, each with a counted reason.

use fullpipe_pool::{Count, Instant, Pool};
use fullpipe_wire::{ChecksumPolicy, Ipv4Header, Protocol, WireError};

use super::{
    audience::Audience,
    packet::{IpHeader, Packet},
    reassembly::Reassembler,
    routes::Routes,
};
use crate::{
    config::IpConfig,
    counters::{Counters, Discard},
    link::Station,
    secret::Secret,
};

/// The IP input of a host.
#[derive(Debug)]
pub(crate) struct IpReceiver {
    pub(super) reassembler: Reassembler,
}

impl IpReceiver {
    /// Allocates all memory that reassembly uses outside the pool.
    pub(crate) fn new(config: &IpConfig, secret: &Secret) -> Self {
        Self {
            reassembler: Reassembler::new(config, secret),
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.reassembler.heap_bytes()
    }

    /// Processes one received packet, which need not be well-formed. Returns the datagram if the
    /// packet is a whole datagram or completes one. `station` sent the packet's frame, and has the
    /// interface that received it. `link_broadcast` is true if the frame was addressed to every
    /// station.
    pub(crate) fn on_packet<'a>(
        &'a mut self,
        routes: &Routes,
        bytes: &'a [u8],
        (station, link_broadcast): (Station, bool),
        pool: &mut Pool,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<Packet<'a>> {
        counters.mib.ip_in_receives += 1;
        let (header, payload) = match Ipv4Header::parse(bytes, ChecksumPolicy::Verify) {
            Ok(parsed) => parsed,
            Err(error) => {
                counters.discard(discard_for(error));
                return None;
            }
        };
        counters.mib.ip_ext_in_octets += Count::from(header.total_len);
        *counters.mib.received_with(header.ecn) += 1;
        let addresses = routes.addresses(station.interface);
        let audience = addresses.audience_of_input(header.dst.into());
        let may_send = || routes.may_send_to_us(station.interface, header.src.into());
        if let Some(reason) = refused(audience, link_broadcast, may_send) {
            counters.discard(reason);
            return None;
        }
        if let Some(reason) = refused_options(&header, bytes) {
            counters.discard(reason);
            return None;
        }
        let broadcast = audience == Audience::Broadcast;
        counters.mib.ip_ext_in_bcast_pkts += Count::from(broadcast);
        if let Protocol::Icmpv6 | Protocol::Other(_) = header.protocol {
            counters.discard(Discard::IpUnknownProtocol);
            // Pass on only the first fragment, because ICMP errors are sent only about first fragments.
            return (header.fragment_offset == 0).then_some(Packet {
                header: IpHeader::V4(header),
                broadcast,
                station,
                payload,
            });
        }
        let (header, payload) = if header.is_fragment() {
            let datagram =
                self.reassembler
                    .on_fragment(&header.into(), payload, pool, now, counters)?;
            (datagram.header, datagram.payload)
        } else {
            (IpHeader::V4(header), payload)
        };
        counters.mib.ip_in_delivers += 1;
        Some(Packet {
            header,
            broadcast,
            station,
            payload,
        })
    }

    /// Drops datagrams whose missing fragments did not arrive in time.
    pub(crate) fn on_timeout(&mut self, pool: &mut Pool, now: Instant, counters: &mut Counters) {
        self.reassembler.on_timeout(pool, now, counters);
    }

    /// Returns the next time at which [`on_timeout`](Self::on_timeout) is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.reassembler.next_timeout()
    }

    /// Returns all packet memory to the pool.
    #[cfg(test)]
    pub(crate) fn release(&mut self, pool: &mut Pool) {
        self.reassembler.release(pool);
    }
}

/// Returns the reason to refuse a packet for its addresses, if there is one. `may_send` returns true
/// if its source can be one other host.
fn refused(
    audience: Audience,
    link_broadcast: bool,
    may_send: impl FnOnce() -> bool,
) -> Option<Discard> {
    match audience {
        Audience::Us if link_broadcast => return Some(Discard::IpUnicastInBroadcast),
        Audience::Us | Audience::Broadcast => {}
        Audience::Multicast | Audience::Other => return Some(Discard::IpNotForUs),
    }
    (!may_send()).then_some(Discard::IpBadSource)
}

/// Returns the reason to refuse a packet for its IP options, if there is one. Options
/// are not used; a source route, which could lead around a filter, is refused as
/// RFC 7126 §4.3 and §4.4 recommend.
fn refused_options(header: &Ipv4Header, bytes: &[u8]) -> Option<Discard> {
    let options = &bytes[Ipv4Header::LEN..header.header_len.into()];
    if options.is_empty() {
        return None;
    }
    match Ipv4Header::has_source_route(options) {
        Ok(false) => None,
        Ok(true) => Some(Discard::IpSourceRoute),
        Err(_) => Some(Discard::IpBadOption),
    }
}

const fn discard_for(error: WireError) -> Discard {
    match error {
        WireError::Truncated => Discard::IpTruncated,
        WireError::BadChecksum => Discard::IpBadChecksum,
        WireError::BadVersion => Discard::IpBadVersion,
        WireError::BadHeaderLength => Discard::IpBadHeaderLength,
        WireError::BadLength => Discard::IpBadLength,
        WireError::BadOption | WireError::BadAddressFormat | WireError::BadOperation => {
            unreachable!()
        }
    }
}
