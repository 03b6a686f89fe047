//! The device below the stack. It checks every frame that the stack sends, without knowing the
//! stack's state.
//!
//! The one rule: every frame from the stack is well-formed, regardless of the frames that the stack
//! received.
//!
//! The device delivers no frames to the stack; the script (the fuzzer's input) does that.

use core::net::IpAddr;

use fullpipe::device::{Capabilities, Device, Medium, Received, TxMeta};
use fullpipe_wire::{
    ArpPacket, ChecksumPolicy, EtherType, EthernetHeader, Icmpv4Message, Ipv4Header, Protocol,
    TcpFlags, TcpHeader, tcp, udp,
};

use crate::frames::{Frame, LastSegment};

/// A device that accepts a limited number of frames and stores the last one.
pub struct Wire {
    /// Number of frames that the device accepts before it is full.
    pub room: usize,
    /// The last TCP segment that the stack sent.
    pub last: LastSegment,
    /// The last IP packet that the stack sent.
    packet: Frame,
    packet_len: usize,
    lent: Frame,
}

impl Wire {
    /// Ethernet without offloads.
    pub const CAPABILITIES: Capabilities = Capabilities::plain(Medium::Ethernet, 1500);

    /// Creates a device that is full until `room` is set.
    pub fn new() -> Wire {
        let (packet, lent) = ([0; 2048], [0; 2048]);
        Wire {
            room: 0,
            last: LastSegment::default(),
            packet,
            packet_len: 0,
            lent,
        }
    }

    /// Returns the last IP packet that the stack sent.
    pub fn last_packet(&self) -> &[u8] {
        &self.packet[..self.packet_len]
    }

    fn check_ip(&mut self, len: usize) {
        let packet = &self.lent[EthernetHeader::LEN..len];
        let (header, payload) =
            Ipv4Header::parse(packet, ChecksumPolicy::Verify).expect("a sound IPv4 packet");
        let (src, dst) = (IpAddr::V4(header.src), IpAddr::V4(header.dst));
        if !header.is_fragment() {
            match header.protocol {
                Protocol::Tcp => {
                    tcp::verify_checksum(payload, src, dst).expect("a sound TCP checksum");
                    let (segment, text) = TcpHeader::parse(payload).expect("a sound TCP header");
                    assert!(!segment.options_malformed, "sound TCP options");
                    let markers = [TcpFlags::SYN, TcpFlags::FIN];
                    let marked = markers.iter().filter(|&&flag| segment.flags.contains(flag));
                    self.last = LastSegment {
                        our_port: segment.src_port,
                        peer_port: segment.dst_port,
                        next: segment
                            .seq
                            .wrapping_add((text.len() + marked.count()) as u32),
                        acked: segment.ack,
                    };
                }
                Protocol::Udp => {
                    udp::verify_checksum(payload, src, dst).expect("a sound UDP datagram");
                }
                Protocol::Icmp => {
                    Icmpv4Message::parse(payload, ChecksumPolicy::Verify).expect("sound ICMP");
                }
                Protocol::Icmpv6 => panic!("ICMPv6 over IPv4"),
                Protocol::Other(number) => panic!(
                    "the stack sent a packet of protocol {number}, which it has no reason to send"
                ),
            }
        }
        self.packet[..packet.len()].copy_from_slice(packet);
        self.packet_len = packet.len();
    }
}

impl Device for Wire {
    fn capabilities(&self) -> Capabilities {
        Wire::CAPABILITIES
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        None
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        (self.room > 0).then(|| &mut self.lent[..len])
    }

    fn send(&mut self, len: usize, _meta: TxMeta) {
        self.room -= 1;
        let (header, payload) = EthernetHeader::parse(&self.lent[..len]).expect("a whole header");
        match header.ether_type {
            EtherType::Ipv4 => self.check_ip(len),
            EtherType::Arp => {
                ArpPacket::parse(payload).expect("a sound ARP packet");
            }
            EtherType::Ipv6 | EtherType::Other(_) => {
                panic!("the stack sent a frame that is neither IPv4 nor ARP: {header:?}")
            }
        }
    }
}
