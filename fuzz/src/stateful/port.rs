//! The device below the stack. It stores each frame and checks it, without knowing the stack's
//! state.
//!
//! The one rule: every frame from the stack is valid and within the device's MTU, regardless of
//! the frames that the stack received.
//!
//! Memory for frames is allocated once, so that a later allocation must be one of the stack.

use core::net::IpAddr;

use fullpipe::device::{Capabilities, Device, Medium, Received, TxChecksum, TxMeta};
use fullpipe_wire::{
    ArpPacket, Checksum, ChecksumPolicy, EtherType, EthernetHeader, Icmpv4Message, Ipv4Header,
    Protocol, TcpHeader, UdpHeader, tcp, udp,
};

/// Largest number of bytes of all frames that the device stores.
const ARENA: usize = 1 << 19;

/// A device that accepts a limited number of frames.
pub struct Port {
    capabilities: Capabilities,
    /// Number of frames that the device accepts before it is full.
    pub room: usize,
    /// Bytes of frames that were completed, if the device reports completions.
    pub completed: u64,
    arena: Vec<u8>,
    used: usize,
    frames: Vec<(usize, usize, TxMeta)>,
}

/// The parsed contents of a frame from the stack.
pub enum Seen {
    /// An ARP packet.
    Arp(ArpPacket),
    /// A TCP segment.
    Segment(Ipv4Header, TcpHeader, Vec<u8>),
    /// A fragment, a datagram or an ICMP message.
    Other,
}

impl Port {
    /// Creates a device that is full until `room` is set.
    pub fn new(capabilities: Capabilities) -> Port {
        Port {
            capabilities,
            room: 0,
            completed: 0,
            arena: vec![0; ARENA],
            used: 0,
            frames: Vec::with_capacity(256),
        }
    }

    /// Returns the length of the link header, in bytes.
    pub fn header_len(&self) -> usize {
        match self.capabilities.medium {
            Medium::Ethernet => EthernetHeader::LEN,
            Medium::Ip => 0,
        }
    }

    /// Returns the frames that the stack sent since the last call.
    pub fn take(&mut self) -> Vec<(Vec<u8>, TxMeta)> {
        self.used = 0;
        let arena = &self.arena;
        let frame = |(at, len, meta): (usize, usize, TxMeta)| (arena[at..at + len].to_vec(), meta);
        self.frames.drain(..).map(frame).collect()
    }

    /// Parses and checks a frame.
    ///
    /// # Panics
    /// Panics if the frame is not valid.
    pub fn read(&self, mut frame: Vec<u8>, meta: TxMeta) -> Seen {
        let at = self.header_len();
        if let Medium::Ethernet = self.capabilities.medium {
            let (header, payload) = EthernetHeader::parse(&frame).expect("a whole header");
            match header.ether_type {
                EtherType::Ipv4 => assert!(header.dst.is_unicast(), "{header:?}"),
                EtherType::Arp => {
                    return Seen::Arp(ArpPacket::parse(payload).expect("a sound ARP packet"));
                }
                EtherType::Ipv6 | EtherType::Other(_) => {
                    panic!("the stack sent a frame that is neither IPv4 nor ARP: {header:?}")
                }
            }
        }
        self.check_sizes(frame.len() - at, meta);
        if let TxChecksum::Partial { start, offset } = meta.checksum {
            complete(&mut frame, usize::from(start), usize::from(offset), at);
        }
        let packet = &frame[at..];
        let (header, payload) =
            Ipv4Header::parse(packet, ChecksumPolicy::Verify).expect("a sound IPv4 packet");
        assert_eq!(usize::from(header.total_len), packet.len(), "no padding");
        if header.is_fragment() {
            assert!(
                !header.dont_fragment,
                "the stack sent a fragment with the flag Don't Fragment"
            );
            return Seen::Other;
        }
        let (src, dst) = (IpAddr::V4(header.src), IpAddr::V4(header.dst));
        match header.protocol {
            Protocol::Tcp => {
                tcp::verify_checksum(payload, src, dst).expect("a sound TCP checksum");
                let (segment, bytes) = TcpHeader::parse(payload).expect("a sound TCP header");
                assert!(!segment.options_malformed, "sound TCP options");
                if meta.segment_size > 0 {
                    let headers = at + Ipv4Header::LEN + segment.header_len();
                    assert_eq!(usize::from(meta.header_len), headers, "headers to repeat");
                    assert!(bytes.len() <= self.capabilities.super_segment);
                }
                return Seen::Segment(header, segment, bytes.to_vec());
            }
            Protocol::Udp => {
                udp::verify_checksum(payload, src, dst).expect("a sound UDP checksum");
                UdpHeader::parse(payload).expect("a sound UDP header");
            }
            Protocol::Icmp => {
                Icmpv4Message::parse(payload, ChecksumPolicy::Verify).expect("sound ICMP");
            }
            Protocol::Icmpv6 => panic!("ICMPv6 over IPv4"),
            Protocol::Other(number) => panic!(
                "the stack sent a packet of protocol {number}, which it has no reason to send"
            ),
        }
        Seen::Other
    }

    /// Checks that a packet fits the MTU. For a super-segment, checks the packets into which the
    /// device divides it.
    fn check_sizes(&self, packet_len: usize, meta: TxMeta) {
        let mtu = self.capabilities.mtu;
        let longest = match meta.segment_size {
            0 => packet_len,
            size => usize::from(meta.header_len) - self.header_len() + usize::from(size),
        };
        assert!(
            longest <= mtu,
            "the stack sent a packet of {longest} bytes; the MTU is {mtu}"
        );
        if !self.capabilities.checksum_tx {
            assert_eq!(
                meta.checksum,
                TxChecksum::Complete,
                "the device completes no checksum"
            );
        }
        assert!(meta.segment_size == 0 || self.capabilities.super_segment > 0);
    }
}

/// Checks where a checksum starts, and completes it as a device does.
fn complete(frame: &mut [u8], start: usize, offset: usize, at: usize) {
    assert_eq!(
        start,
        at + Ipv4Header::LEN,
        "the checksum covers the transport"
    );
    let covered = &mut frame[start..];
    let sum = Checksum::of(covered).finish();
    // Replace a checksum of 0, which would mean that a UDP datagram has none (RFC 768).
    let sum = if sum == 0 { u16::MAX } else { sum };
    covered[offset..offset + 2].copy_from_slice(&sum.to_be_bytes());
}

impl Device for Port {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        None
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        let fits = self.room > 0 && self.frames.len() < self.frames.capacity();
        if !fits {
            return None;
        }
        self.arena.get_mut(self.used..self.used + len)
    }

    fn send(&mut self, len: usize, meta: TxMeta) {
        self.room -= 1;
        self.frames.push((self.used, len, meta));
        self.used += len;
    }

    fn sent_bytes(&mut self) -> u64 {
        self.completed
    }
}
