//! The sending side of IP: what all packets of this host have in common.
//!
//! Rule: every packet's IP header is written here, and counted here. It is
//! written in place, in front of a payload that is already in the frame. Where
//! the packet goes is for the routes, and whether it may go for the caller.

use core::net::IpAddr;

use fullpipe_pool::Rng;
use fullpipe_wire::{Ecn, Ipv4Header, Protocol};

use super::v4::{
    fragment::{Fragment, Fragmenter},
    identification::Identifications,
};
use crate::{
    config::IpConfig,
    counters::Counters,
    device::{Capabilities, TxChecksum},
};

/// A packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Our address.
    pub(crate) src: IpAddr,
    /// Who it is for; of the same family.
    pub(crate) dst: IpAddr,
    /// What the payload is.
    pub(crate) protocol: Protocol,
    /// Bytes of payload.
    pub(crate) payload_len: usize,
    /// Whether we take part in congestion notification.
    pub(crate) ecn: Ecn,
    /// Routers must report rather than cut it.
    pub(crate) dont_fragment: bool,
}

/// A packet that lies ready at the start of the memory it was built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BuiltPacket {
    /// Its length in bytes, IP header included.
    pub(crate) len: usize,
    /// Who it is for: what to look up a route for.
    pub(crate) dst: IpAddr,
    /// The state of its transport checksum. `start` is counted from the start
    /// of the IP packet: whoever puts a link header in front adds its length.
    pub(crate) checksum: TxChecksum,
}

/// Writes the IP headers of this host.
#[derive(Clone, Debug)]
pub(crate) struct IpSender {
    checksum_tx: bool,
    mtu: usize,
    ttl: u8,
    identifications: Identifications,
}

impl IpSender {
    /// Returns a writer for a device with these capabilities.
    pub(crate) fn new(device: &Capabilities, config: &IpConfig, rng: Rng) -> Self {
        Self {
            checksum_tx: device.checksum_tx,
            mtu: device.mtu,
            ttl: config.ttl.clamp(1, 255) as u8,
            identifications: Identifications::new(rng),
        }
    }

    /// Whether the device completes transport checksums of packets not cut.
    pub(crate) const fn checksum_tx(&self) -> bool {
        self.checksum_tx
    }

    /// Bytes of the IP header in front of a payload to `dst`.
    pub(crate) const fn header_len(dst: IpAddr) -> usize {
        match dst {
            IpAddr::V4(_) => Ipv4Header::LEN,
            IpAddr::V6(_) => 40,
        }
    }

    /// Largest payload of one packet to `dst`.
    pub(crate) const fn max_payload(&self, dst: IpAddr) -> usize {
        self.mtu.saturating_sub(Self::header_len(dst))
    }

    /// Writes the header of a whole datagram in front of its payload, which
    /// the caller puts at [`header_len`](Self::header_len). Returns the length
    /// of the packet. The payload may be longer than `max_payload` only for a
    /// device that cuts segments itself.
    ///
    /// # Panics
    /// If `packet` is too short, the payload too long for any IP packet, or
    /// the families differ.
    pub(crate) fn write_header(
        &mut self,
        packet: &mut [u8],
        outgoing: &Outgoing,
        counters: &mut Counters,
    ) -> usize {
        counters.mib.ip_out_requests += 1;
        let header = self.v4_header(outgoing);
        Self::finish(&header, packet, counters)
    }

    /// Begins to cut a datagram that is longer than [`max_payload`](Self::max_payload).
    pub(crate) fn cut(&mut self, outgoing: &Outgoing, counters: &mut Counters) -> Fragmenter {
        counters.mib.ip_out_requests += 1;
        counters.mib.ip_frag_oks += 1;
        let most = self.max_payload(outgoing.dst);
        let header = self.v4_header(outgoing);
        Fragmenter::new(header.payload_len() as u16, most, header.identification)
    }

    /// Writes the header of one fragment in front of its part of the payload.
    /// Returns the length of the packet.
    pub(crate) fn write_fragment_header(
        &mut self,
        packet: &mut [u8],
        outgoing: &Outgoing,
        cut: &Fragmenter,
        piece: Fragment,
        counters: &mut Counters,
    ) -> usize {
        counters.mib.ip_frag_creates += 1;
        let (src, dst) = v4_pair(outgoing);
        let header = Ipv4Header {
            ecn: outgoing.ecn,
            ttl: self.ttl,
            identification: cut.identification,
            fragment_offset: piece.offset,
            more_fragments: piece.more,
            ..Ipv4Header::new(src, dst, outgoing.protocol, piece.len.into())
        };
        Self::finish(&header, packet, counters)
    }

    fn v4_header(&mut self, outgoing: &Outgoing) -> Ipv4Header {
        let (src, dst) = v4_pair(outgoing);
        Ipv4Header {
            ecn: outgoing.ecn,
            ttl: self.ttl,
            identification: self.identifications.take(src, dst),
            dont_fragment: outgoing.dont_fragment,
            ..Ipv4Header::new(src, dst, outgoing.protocol, outgoing.payload_len)
        }
    }

    fn finish(header: &Ipv4Header, packet: &mut [u8], counters: &mut Counters) -> usize {
        header.write(packet);
        counters.mib.ip_ext_out_octets += u64::from(header.total_len);
        header.total_len.into()
    }
}

fn v4_pair(outgoing: &Outgoing) -> (core::net::Ipv4Addr, core::net::Ipv4Addr) {
    match (outgoing.src, outgoing.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => (src, dst),
        (IpAddr::V4(_), IpAddr::V6(_))
        | (IpAddr::V6(_), IpAddr::V4(_))
        | (IpAddr::V6(_), IpAddr::V6(_)) => {
            unreachable!("no route leads to an address of this family")
        }
    }
}
