//! The fixed fields of a TCP segment on the wire, for counts.
//!
//! Rule: a segment is read exactly if [`Packet::parse`](crate::packet::Packet::parse) finds a
//! segment, and with the same fields. Options are not read, because most counts do not need
//! them.

use std::net::SocketAddr;

use fullpipe_wire::{EthernetHeader, Ipv4Header, TcpFlags, TcpHeader};

#[cfg(test)]
mod tests;

/// The addresses and ports of a segment: first the sender's, then the receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tuple {
    addresses: u64,
    ports: u32,
}

impl Tuple {
    /// The tuple of segments from `src` to `dst`; `None` if one of the addresses is not IPv4.
    pub fn of(src: SocketAddr, dst: SocketAddr) -> Option<Self> {
        let (SocketAddr::V4(src), SocketAddr::V4(dst)) = (src, dst) else {
            return None;
        };
        let [src_ip, dst_ip] = [src, dst].map(|end| u64::from(end.ip().to_bits()));
        Some(Self {
            addresses: src_ip << 32 | dst_ip,
            ports: u32::from(src.port()) << 16 | u32::from(dst.port()),
        })
    }

    /// The tuple of segments in the opposite direction.
    pub const fn reversed(self) -> Self {
        Self {
            addresses: self.addresses.rotate_left(32),
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

/// Ethertype of IPv4.
const IPV4: [u8; 2] = [0x08, 0x00];
/// Protocol number of TCP.
const TCP: u8 = 6;
/// The bits of the IP header's fragment field that are 0 in a whole packet: MF and the offset.
const FRAGMENT: u16 = 0x3fff;

impl Segment {
    /// Reads the segment in `frame`; `None` if the frame carries no segment, or a fragment of
    /// one.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (ethernet, packet) = frame.split_first_chunk::<{ EthernetHeader::LEN }>()?;
        let ip = packet.first_chunk::<{ Ipv4Header::LEN }>()?;
        let ip_head = usize::from(ip[0] & 0x0f) * 4;
        let is_plain = ethernet[12..] == IPV4
            && ip[0] >> 4 == 4
            && ip_head >= Ipv4Header::LEN
            && u16::from_be_bytes(field(ip, 6)) & FRAGMENT == 0
            && ip[9] == TCP;
        if !is_plain {
            return None;
        }
        let total_len = u16::from_be_bytes(field(ip, 2));
        let segment = packet.get(ip_head..total_len.into())?;
        let tcp = segment.first_chunk::<{ TcpHeader::LEN }>()?;
        let tcp_head = usize::from(tcp[12] >> 4) * 4;
        if tcp_head < TcpHeader::LEN {
            return None;
        }
        Some(Self {
            tuple: Tuple {
                addresses: u64::from_be_bytes(field(ip, 12)),
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

/// The `N` bytes of a header at `at`.
#[inline]
fn field<const LEN: usize, const N: usize>(header: &[u8; LEN], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&header[at..at + N]);
    field
}
