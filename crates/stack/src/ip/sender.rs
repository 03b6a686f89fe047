//! IP output: writes and counts the IP header of every packet of this host.
//!
//! Rule: a header is written in place, in front of a payload that is already in the
//! frame. The routing table chooses the next hop, and the caller decides whether to send.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fullpipe_pool::{Count, Instant, Rng};
use fullpipe_wire::{Ipv4Header, MacAddress};

#[cfg(all(feature = "ipv6", feature = "path-mtu"))]
use super::v6::path_mtu::Evidence;
use super::{
    outgoing::Outgoing,
    v4::{
        fragment::{Fragment, Fragmenter},
        identification::Identifications,
    },
    v6,
};
use crate::{
    config::IpConfig,
    counters::Counters,
    device::{Capabilities, TxChecksum},
};

/// A packet that was written to the start of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BuiltPacket {
    /// Length of the packet in bytes, IP header included.
    pub(crate) len: usize,
    /// Destination address, for the routing table.
    pub(crate) dst: IpAddr,
    /// The station whose frame this packet answers; `None` if it answers none. If the neighbour
    /// cache does not know the next hop, the packet goes to this station, so an answer to an
    /// unknown host adds no entry.
    pub(crate) answers: Option<MacAddress>,
    /// State of the packet's transport checksum. `start` is counted from the IP header; the caller
    /// adds the length of a link header.
    pub(crate) checksum: TxChecksum,
}

/// Writer of this host's IP headers.
#[derive(Clone, Debug)]
pub(crate) struct IpSender {
    checksum_tx: bool,
    mtu: usize,
    ttl: u8,
    /// MTU of IPv6 packets and their hop limit, if a router announced them.
    #[cfg(feature = "slaac")]
    announced: (Option<u16>, Option<u8>),
    #[cfg(feature = "ipv6")]
    labels: v6::flow_label::FlowLabels,
    #[cfg(all(feature = "ipv6", feature = "path-mtu"))]
    path_mtus: v6::path_mtu::PathMtus,
    identifications: Identifications,
}

/// Largest number of destinations whose path MTU is known, and the number with a small pool.
#[cfg(all(feature = "ipv6", feature = "path-mtu"))]
const PATHS: [usize; 2] = [32, 4];

impl IpSender {
    /// Returns a writer for a device with these capabilities. With `fast_identifications`, 1,152 bytes
    /// are allocated for a cache, so that most identification fields are computed faster, and more
    /// path MTUs are kept.
    pub(crate) fn new(
        device: &Capabilities,
        config: &IpConfig,
        rng: Rng,
        fast_identifications: bool,
    ) -> Self {
        Self {
            checksum_tx: device.checksum_tx,
            mtu: device.mtu,
            ttl: config.ttl.clamp(1, 255) as u8,
            #[cfg(feature = "slaac")]
            announced: (None, None),
            #[cfg(feature = "ipv6")]
            labels: v6::flow_label::FlowLabels::new(rng.fork_named("flow_labels")),
            #[cfg(all(feature = "ipv6", feature = "path-mtu"))]
            path_mtus: v6::path_mtu::PathMtus::new(match fast_identifications {
                true => PATHS[0],
                false => PATHS[1],
            }),
            identifications: Identifications::new(rng, fast_identifications),
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        #[cfg(all(feature = "ipv6", feature = "path-mtu"))]
        return self.identifications.heap_bytes() + self.path_mtus.heap_bytes();
        #[cfg(not(all(feature = "ipv6", feature = "path-mtu")))]
        self.identifications.heap_bytes()
    }

    /// Returns true if the device completes transport checksums of whole packets.
    pub(crate) const fn checksum_tx(&self) -> bool {
        self.checksum_tx
    }

    /// Returns the length of the IP header of a packet to `dst`, in bytes.
    pub(crate) const fn header_len(dst: IpAddr) -> usize {
        match dst {
            IpAddr::V4(_) => Ipv4Header::LEN,
            IpAddr::V6(_) => 40,
        }
    }

    /// Returns the largest payload of one packet to `dst`, in bytes.
    pub(crate) const fn max_payload(&self, dst: IpAddr) -> usize {
        self.mtu_to(dst).saturating_sub(Self::header_len(dst))
    }

    /// Returns the largest datagram of one packet to `dst`, in bytes, which the path carries if
    /// routers have reported its MTU.
    pub(crate) fn max_datagram(&self, dst: IpAddr) -> usize {
        self.path_mtu_to(dst).saturating_sub(Self::header_len(dst))
    }

    /// Returns the largest packet of a datagram to `dst`, in bytes.
    fn path_mtu_to(&self, dst: IpAddr) -> usize {
        #[cfg(all(feature = "ipv6", feature = "path-mtu"))]
        if let IpAddr::V6(ip) = dst
            && let Some(mtu) = self.path_mtus.get(ip)
        {
            return self.mtu_to(dst).min(mtu.into());
        }
        self.mtu_to(dst)
    }

    /// Notes that a link on the path to `dst` carries packets of at most `mtu` bytes, as the
    /// `evidence` shows. An MTU that this host's own link does not exceed is of no use.
    #[cfg(all(feature = "ipv6", feature = "path-mtu"))]
    pub(crate) fn learn_path_mtu(
        &mut self,
        dst: Ipv6Addr,
        mtu: u16,
        evidence: Evidence,
        now: Instant,
    ) {
        if usize::from(mtu) < self.mtu_to(dst.into()) {
            self.path_mtus.learn(dst, mtu, evidence, now);
        }
    }

    /// Forgets the path MTUs whose time is over.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(crate) fn expire_path_mtus(&mut self, now: Instant) {
        #[cfg(all(feature = "ipv6", feature = "path-mtu"))]
        self.path_mtus.expire(now);
        #[cfg(not(all(feature = "ipv6", feature = "path-mtu")))]
        let _ = now;
    }

    /// Returns the largest packet to `dst`, in bytes.
    #[cfg_attr(target_pointer_width = "64", inline)]
    const fn mtu_to(&self, dst: IpAddr) -> usize {
        #[cfg(feature = "slaac")]
        if let (IpAddr::V6(_), Some(mtu)) = (dst, self.announced.0) {
            return mtu as usize;
        }
        let _ = dst;
        self.mtu
    }

    /// Returns the hop limit of IPv6 packets.
    const fn hop_limit(&self) -> u8 {
        #[cfg(feature = "slaac")]
        if let Some(hop_limit) = self.announced.1 {
            return hop_limit;
        }
        self.ttl
    }

    /// Sets the MTU of IPv6 packets, unless it is below 1280 or above the device's MTU. RFC 4861
    /// §6.3.4.
    #[cfg(feature = "slaac")]
    pub(crate) fn set_v6_mtu(&mut self, mtu: u32) {
        let device = u32::try_from(self.mtu).unwrap_or(u32::MAX);
        if (1280..=device).contains(&mtu) {
            self.announced.0 = u16::try_from(mtu).ok();
        }
    }

    /// Sets the hop limit of IPv6 packets.
    #[cfg(feature = "slaac")]
    pub(crate) const fn set_v6_hop_limit(&mut self, hop_limit: u8) {
        self.announced.1 = Some(hop_limit);
    }

    /// Writes the header of a whole datagram in front of its payload, which the caller has written
    /// at [`header_len`](Self::header_len), and returns the length of the packet. Only the payload
    /// of a super-segment (a frame that the device cuts into segments) may exceed `max_payload`.
    ///
    /// # Panics
    /// Panics if `packet` is too short, if the payload is too long for any IP packet, or if source
    /// and destination are of different families.
    pub(crate) fn write_header(
        &mut self,
        packet: &mut [u8],
        outgoing: &Outgoing,
        counters: &mut Counters,
    ) -> usize {
        counters.mib.ip_out_requests += 1;
        let len = match ends(outgoing) {
            Ends::V4(src, dst) => {
                let header = self.v4_header((src, dst), outgoing);
                header.write(packet);
                header.total_len.into()
            }
            Ends::V6(src, dst) => {
                let fields = (self.hop_limit(), self.flow_label((src, dst), outgoing));
                v6::output::write_header(packet, (src, dst), outgoing, fields)
            }
        };
        counters.mib.ip_ext_out_octets += len as Count;
        len
    }

    /// Begins to fragment a datagram that is longer than [`max_datagram`](Self::max_datagram).
    pub(crate) fn fragment(&mut self, outgoing: &Outgoing, counters: &mut Counters) -> Fragmenter {
        counters.mib.ip_out_requests += 1;
        counters.mib.ip_frag_oks += 1;
        let most = self.path_mtu_to(outgoing.dst) - Self::fragment_header_len(outgoing.dst);
        let identification = match outgoing.dst {
            IpAddr::V4(_) => self.identifications.take().into(),
            IpAddr::V6(_) => self.identifications.take_long(),
        };
        Fragmenter::new(outgoing.payload_len as u16, most, identification)
    }

    /// Returns the length of the headers in front of the payload of a fragment to `dst`, in bytes.
    pub(crate) const fn fragment_header_len(dst: IpAddr) -> usize {
        let fragment_header = match dst {
            IpAddr::V4(_) => 0,
            IpAddr::V6(_) => 8,
        };
        Self::header_len(dst) + fragment_header
    }

    /// Writes the header of one fragment in front of its payload, and returns the
    /// length of the packet.
    pub(crate) fn write_fragment_header(
        &mut self,
        packet: &mut [u8],
        outgoing: &Outgoing,
        fragmenter: &Fragmenter,
        fragment: Fragment,
        counters: &mut Counters,
    ) -> usize {
        counters.mib.ip_frag_creates += 1;
        let len = match ends(outgoing) {
            Ends::V4(src, dst) => {
                let header = Ipv4Header {
                    ecn: outgoing.ecn,
                    ttl: self.ttl,
                    identification: fragmenter.identification as u16,
                    fragment_offset: fragment.offset,
                    more_fragments: fragment.more,
                    ..Ipv4Header::new(src, dst, outgoing.protocol, fragment.len.into())
                };
                header.write(packet);
                header.total_len.into()
            }
            Ends::V6(src, dst) => {
                let piece = (fragmenter, fragment);
                let ends = (src, dst);
                let fields = (self.hop_limit(), self.flow_label(ends, outgoing));
                v6::output::write_fragment_header(packet, ends, outgoing, fields, piece)
            }
        };
        counters.mib.ip_ext_out_octets += len as Count;
        len
    }

    /// Returns the flow label of an IPv6 packet.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn flow_label(&mut self, ends: (Ipv6Addr, Ipv6Addr), outgoing: &Outgoing) -> u32 {
        #[cfg(feature = "ipv6")]
        return self.labels.of(v6::flow_label::FlowKey {
            ends,
            protocol: outgoing.protocol,
            ports: outgoing.ports,
        });
        #[cfg(not(feature = "ipv6"))]
        {
            let _ = (ends, outgoing);
            0
        }
    }

    fn v4_header(&mut self, (src, dst): (Ipv4Addr, Ipv4Addr), outgoing: &Outgoing) -> Ipv4Header {
        Ipv4Header {
            ecn: outgoing.ecn,
            ttl: self.ttl,
            identification: match outgoing.dont_fragment {
                true => 0,
                false => self.identifications.take(),
            },
            dont_fragment: outgoing.dont_fragment,
            ..Ipv4Header::new(src, dst, outgoing.protocol, outgoing.payload_len)
        }
    }
}

/// Source and destination of a packet.
enum Ends {
    V4(Ipv4Addr, Ipv4Addr),
    V6(Ipv6Addr, Ipv6Addr),
}

/// Returns source and destination, which are of one family.
#[cfg_attr(target_pointer_width = "64", inline)]
fn ends(outgoing: &Outgoing) -> Ends {
    match (outgoing.src, outgoing.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => Ends::V4(src, dst),
        (IpAddr::V6(src), IpAddr::V6(dst)) => Ends::V6(src, dst),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
            unreachable!("a source is chosen for its destination")
        }
    }
}
