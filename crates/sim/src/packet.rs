//! A frame on the wire, parsed for checkers, rules and counts.
//!
//! Rule: parsing never fails; a layer that does not parse is absent. Checksums are
//! not checked here.

use std::net::{IpAddr, SocketAddr};

use fullpipe_pool::Instant;
use fullpipe_wire::{
    ChecksumPolicy, EtherType, EthernetHeader, Ipv4Header, Ipv6Header, Protocol, TcpFlags,
    TcpHeader,
};

use crate::segment::{Segment, Tuple};

/// A TCP segment on the wire.
#[derive(Clone, Copy, Debug)]
pub struct TcpPacket {
    /// Address of the sender.
    pub src: SocketAddr,
    /// Address of the receiver.
    pub dst: SocketAddr,
    /// The TCP header, options included.
    pub header: TcpHeader,
    /// Bytes of payload.
    pub payload_len: u32,
}

impl TcpPacket {
    /// Returns true if all of `flags` are set.
    pub const fn has(&self, flags: TcpFlags) -> bool {
        self.header.flags.contains(flags)
    }

    /// The fixed fields.
    pub(crate) fn fixed(&self) -> Segment {
        Segment {
            tuple: Tuple::of(self.src, self.dst),
            seq: self.header.seq,
            flags: self.header.flags,
            payload_len: self.payload_len,
        }
    }

    /// The sequence number after the segment, SYN and FIN included.
    pub const fn seq_end(&self) -> u32 {
        let syn = self.has(TcpFlags::SYN) as u32;
        let fin = self.has(TcpFlags::FIN) as u32;
        self.header
            .seq
            .wrapping_add(self.payload_len)
            .wrapping_add(syn)
            .wrapping_add(fin)
    }
}

/// The fields of an IP packet, of either version, that links, devices and checkers need.
pub(crate) struct IpPacket<'a> {
    pub src: IpAddr,
    pub dst: IpAddr,
    /// The protocol that the header names. An IPv6 header may name an extension header instead.
    /// Extension headers are not read; only fragments have them.
    pub protocol: Protocol,
    /// The packet is a fragment of an IPv4 packet.
    pub is_fragment: bool,
    /// Everything after the header.
    pub payload: &'a [u8],
}

impl<'a> IpPacket<'a> {
    /// Reads the IP header in `frame`, but does not check its checksum; `None` if there is no
    /// header.
    pub fn parse(frame: &'a [u8]) -> Option<Self> {
        let (ethernet, packet) = EthernetHeader::parse(frame).ok()?;
        match ethernet.ether_type {
            EtherType::Ipv4 => {
                let (ip, payload) = Ipv4Header::parse(packet, ChecksumPolicy::Trust).ok()?;
                Some(Self {
                    src: ip.src.into(),
                    dst: ip.dst.into(),
                    protocol: ip.protocol,
                    is_fragment: ip.is_fragment(),
                    payload,
                })
            }
            EtherType::Ipv6 => {
                let (ip, payload) = Ipv6Header::parse(packet).ok()?;
                Some(Self {
                    src: ip.src.into(),
                    dst: ip.dst.into(),
                    protocol: ip.protocol(),
                    is_fragment: false,
                    payload,
                })
            }
            EtherType::Arp | EtherType::Other(_) => None,
        }
    }
}

/// A frame as it leaves a host.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Time at which the frame leaves.
    pub at: Instant,
    /// The whole frame, link header included.
    pub frame: &'a [u8],
    /// Source and destination address, if the frame carries IP.
    pub ip: Option<(IpAddr, IpAddr)>,
    /// The TCP segment, if the frame carries an unfragmented segment.
    pub tcp: Option<TcpPacket>,
}

impl<'a> Packet<'a> {
    /// Reads the headers of `frame`.
    pub fn parse(at: Instant, frame: &'a [u8]) -> Self {
        let mut packet = Self {
            at,
            frame,
            ip: None,
            tcp: None,
        };
        let Some(ip) = IpPacket::parse(frame) else {
            return packet;
        };
        packet.ip = Some((ip.src, ip.dst));
        if ip.protocol != Protocol::Tcp || ip.is_fragment {
            return packet;
        }
        if let Ok((header, payload)) = TcpHeader::parse(ip.payload) {
            packet.tcp = Some(TcpPacket {
                src: SocketAddr::new(ip.src, header.src_port),
                dst: SocketAddr::new(ip.dst, header.dst_port),
                header,
                payload_len: payload.len() as u32,
            });
        }
        packet
    }

    /// Returns true if the frame is a TCP segment with payload.
    pub fn is_data(&self) -> bool {
        self.tcp.is_some_and(|tcp| tcp.payload_len > 0)
    }
}
