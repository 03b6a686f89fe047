//! A frame on the wire, parsed for checkers, rules and counts.
//!
//! Rule: parsing never fails; a layer that does not parse is absent. Checksums are
//! not checked here.

use std::net::{IpAddr, SocketAddr};

use fullpipe_pool::Instant;
use fullpipe_wire::{
    ChecksumPolicy, EtherType, EthernetHeader, Ipv4Header, Protocol, TcpFlags, TcpHeader,
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
    ///
    /// # Panics
    /// Panics if an address is not IPv4.
    pub(crate) fn fixed(&self) -> Segment {
        Segment {
            tuple: Tuple::of(self.src, self.dst).expect("only IPv4 is parsed"),
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
        let Ok((
            EthernetHeader {
                ether_type: EtherType::Ipv4,
                ..
            },
            body,
        )) = EthernetHeader::parse(frame)
        else {
            return packet;
        };
        let Ok((ip, body)) = Ipv4Header::parse(body, ChecksumPolicy::Trust) else {
            return packet;
        };
        packet.ip = Some((ip.src.into(), ip.dst.into()));
        if ip.protocol != Protocol::Tcp || ip.is_fragment() {
            return packet;
        }
        if let Ok((header, payload)) = TcpHeader::parse(body) {
            packet.tcp = Some(TcpPacket {
                src: SocketAddr::new(ip.src.into(), header.src_port),
                dst: SocketAddr::new(ip.dst.into(), header.dst_port),
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
