//! The fixed fields of a TCP segment on the wire, for counts.
//!
//! Rule: a segment is read if and only if [`Packet::parse`](crate::packet::Packet::parse) finds
//! one, and both read the same fields. Options are not read, because most counts do not need them.

use std::net::{IpAddr, SocketAddr};

use fullpipe_wire::{EthernetHeader, Ipv4Header, Ipv6Header, TcpFlags, TcpHeader};

#[cfg(test)]
mod tests;

/// The addresses and ports of a segment: first the sender's, then the receiver's. An IPv4 address
/// is kept as the IPv6 address that maps it (RFC 4291 §2.5.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tuple {
    src: u128,
    dst: u128,
    ports: u32,
}

/// The IPv6 address, as a number, that maps the IPv4 address `bits`.
const fn mapped(bits: u32) -> u128 {
    0xffff << 32 | bits as u128
}

impl Tuple {
    /// The tuple of segments from `src` to `dst`.
    pub fn of(src: SocketAddr, dst: SocketAddr) -> Self {
        let number = |end: SocketAddr| match end.ip() {
            IpAddr::V4(ip) => mapped(ip.to_bits()),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        Self {
            src: number(src),
            dst: number(dst),
            ports: u32::from(src.port()) << 16 | u32::from(dst.port()),
        }
    }

    /// The tuple of segments in the opposite direction.
    pub const fn reversed(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            ports: self.ports.rotate_left(16),
        }
    }
}

/// The fixed fields of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub tuple: Tuple,
    pub seq: u32,
    pub flags: TcpFlags,
    pub payload_len: u32,
}

/// Ethertypes.
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// Protocol number of TCP.
const TCP: u8 = 6;
/// The bits of the IP header's fragment field that are 0 in a whole packet: MF and the offset.
const FRAGMENT: u16 = 0x3fff;

impl Segment {
    /// Reads the segment in `frame`; `None` unless the frame carries an unfragmented segment
    /// directly after an IPv4 header, or after an IPv6 header without extension headers.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (ethernet, packet) = frame.split_first_chunk::<{ EthernetHeader::LEN }>()?;
        let ([src, dst], segment) = match [ethernet[12], ethernet[13]] {
            IPV4 => segment_of_v4(packet)?,
            IPV6 => segment_of_v6(packet)?,
            _ => return None,
        };
        let tcp = segment.first_chunk::<{ TcpHeader::LEN }>()?;
        let tcp_head = usize::from(tcp[12] >> 4) * 4;
        if tcp_head < TcpHeader::LEN {
            return None;
        }
        Some(Self {
            tuple: Tuple {
                src,
                dst,
                ports: u32::from_be_bytes(field(tcp, 0)),
            },
            seq: u32::from_be_bytes(field(tcp, 4)),
            flags: TcpFlags::from_bits(u16::from_be_bytes(field(tcp, 12))),
            payload_len: segment.len().checked_sub(tcp_head)? as u32,
        })
    }

    /// Returns true if all of `flags` are set.
    pub const fn has(&self, flags: TcpFlags) -> bool {
        self.flags.contains(flags)
    }
}

/// The addresses of an IPv4 packet, and its TCP segment; `None` unless the packet carries a whole
/// segment.
fn segment_of_v4(packet: &[u8]) -> Option<([u128; 2], &[u8])> {
    let ip = packet.first_chunk::<{ Ipv4Header::LEN }>()?;
    let ip_head = usize::from(ip[0] & 0x0f) * 4;
    let is_plain = ip[0] >> 4 == 4
        && ip_head >= Ipv4Header::LEN
        && u16::from_be_bytes(field(ip, 6)) & FRAGMENT == 0
        && ip[9] == TCP;
    let total_len = u16::from_be_bytes(field(ip, 2));
    let segment = packet.get(ip_head..total_len.into())?;
    let addresses = [12, 16].map(|at| mapped(u32::from_be_bytes(field(ip, at))));
    is_plain.then_some((addresses, segment))
}

/// The addresses of an IPv6 packet, and its TCP segment; `None` unless the segment directly follows
/// the IPv6 header.
fn segment_of_v6(packet: &[u8]) -> Option<([u128; 2], &[u8])> {
    let (ip, rest) = packet.split_first_chunk::<{ Ipv6Header::LEN }>()?;
    let is_plain = ip[0] >> 4 == 6 && ip[6] == TCP;
    let segment = rest.get(..u16::from_be_bytes(field(ip, 4)).into())?;
    let addresses = [8, 24].map(|at| u128::from_be_bytes(field(ip, at)));
    is_plain.then_some((addresses, segment))
}

/// The `N` bytes of a header at `at`.
#[inline]
fn field<const LEN: usize, const N: usize>(header: &[u8; LEN], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&header[at..at + N]);
    field
}
