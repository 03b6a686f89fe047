//! Captures that a test writes byte by byte: frames, pcap and pcapng files.
//!
//! Rule: nothing here uses the reader, so that reader and test cannot share a mistake.
// Allow unused items, because each program that includes this file uses only a part of it.
#![allow(dead_code)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fullpipe_wire::{Checksum, TcpHeader, tcp};

/// A frame of a capture.
#[derive(Clone)]
pub struct Captured {
    /// Nanoseconds since the Unix epoch.
    pub at_ns: u64,
    /// Bytes of the frame in the file.
    pub bytes: Vec<u8>,
    /// Length of the original frame in bytes.
    pub original: u32,
}

impl Captured {
    pub fn whole(at_ns: u64, bytes: Vec<u8>) -> Self {
        let original = bytes.len() as u32;
        Self {
            at_ns,
            bytes,
            original,
        }
    }

    /// Cuts the frame to at most `snap_len` bytes in the file.
    pub fn cut(mut self, snap_len: usize) -> Self {
        self.bytes.truncate(snap_len);
        self
    }
}

pub const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const CLIENT_6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
pub const SERVER_6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// A TCP header with its options, followed by `payload` zero bytes.
pub fn segment(header: &TcpHeader, payload: usize, ends: (IpAddr, IpAddr)) -> Vec<u8> {
    let mut bytes = vec![0; TcpHeader::MAX_LEN];
    let len = header.write(&mut bytes);
    bytes.truncate(len);
    let zeroes = vec![0; payload];
    tcp::set_checksum(&mut bytes, ends.0, ends.1, Checksum::of(&zeroes));
    bytes.extend(zeroes);
    bytes
}

/// An IPv4 packet from the client to the server, or in the other direction.
pub fn ipv4(id: u16, from_client: bool, body: &[u8]) -> Vec<u8> {
    let (source, destination) = match from_client {
        true => (CLIENT, SERVER),
        false => (SERVER, CLIENT),
    };
    let mut packet = vec![0x45, 0];
    packet.extend(((20 + body.len()) as u16).to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend([0x40, 0, 64, 6, 0, 0]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    let checksum = Checksum::of(&packet).finish();
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(body);
    packet
}

/// An IPv6 packet from the client to the server, with `extensions` before `body`. `first` is the
/// protocol number of the first extension header.
pub fn ipv6(first: u8, extensions: &[u8], body: &[u8]) -> Vec<u8> {
    let len = extensions.len() + body.len();
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(u16::try_from(len).unwrap_or(0).to_be_bytes());
    packet.extend([first, 64]);
    packet.extend(CLIENT_6.octets());
    packet.extend(SERVER_6.octets());
    packet.extend(extensions);
    packet.extend(body);
    packet
}

/// An Ethernet frame.
pub fn ethernet(ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(ether_type.to_be_bytes());
    frame.extend(packet);
    frame
}

/// Writes the numbers of a file in one byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, out: &mut Vec<u8>, value: u16) {
        match self {
            Self::Little => out.extend(value.to_le_bytes()),
            Self::Big => out.extend(value.to_be_bytes()),
        }
    }

    pub fn u32(self, out: &mut Vec<u8>, value: u32) {
        match self {
            Self::Little => out.extend(value.to_le_bytes()),
            Self::Big => out.extend(value.to_be_bytes()),
        }
    }

    pub fn u64(self, out: &mut Vec<u8>, value: u64) {
        match self {
            Self::Little => out.extend(value.to_le_bytes()),
            Self::Big => out.extend(value.to_be_bytes()),
        }
    }
}

/// Variants of pcap files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    Microseconds,
    Nanoseconds,
    Modified,
}

/// A pcap file.
pub fn pcap(order: Order, variant: Variant, link: u32, frames: &[Captured]) -> Vec<u8> {
    let mut out = Vec::new();
    let (magic, unit_ns) = match variant {
        Variant::Microseconds => (0xa1b2_c3d4, 1_000),
        Variant::Nanoseconds => (0xa1b2_3c4d, 1),
        Variant::Modified => (0xa1b2_cd34, 1_000),
    };
    order.u32(&mut out, magic);
    order.u16(&mut out, 2);
    order.u16(&mut out, 4);
    for word in [0, 0, 262_144, link] {
        order.u32(&mut out, word);
    }
    for frame in frames {
        let (seconds, ns) = (frame.at_ns / 1_000_000_000, frame.at_ns % 1_000_000_000);
        let len = frame.bytes.len() as u32;
        for word in [seconds as u32, (ns / unit_ns) as u32, len, frame.original] {
            order.u32(&mut out, word);
        }
        if variant == Variant::Modified {
            out.extend([0; 8]);
        }
        out.extend(&frame.bytes);
    }
    out
}

/// A pcapng file that grows block by block.
pub struct Blocks {
    pub order: Order,
    pub bytes: Vec<u8>,
}

impl Blocks {
    /// Begins a file with a section header.
    pub fn new(order: Order) -> Self {
        let bytes = Vec::new();
        let mut blocks = Self { order, bytes };
        blocks.section();
        blocks
    }

    pub fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let len = (body.len().next_multiple_of(4) + 12) as u32;
        self.order.u32(&mut self.bytes, kind);
        self.order.u32(&mut self.bytes, len);
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.order.u32(&mut self.bytes, len);
        self
    }

    pub fn section(&mut self) -> &mut Self {
        let mut body = Vec::new();
        self.order.u32(&mut body, 0x1a2b_3c4d);
        self.order.u16(&mut body, 1);
        self.order.u16(&mut body, 0);
        self.order.u64(&mut body, u64::MAX);
        self.block(0x0a0d_0d0a, &body)
    }

    pub fn option(&self, body: &mut Vec<u8>, code: u16, value: &[u8]) {
        self.order.u16(body, code);
        self.order.u16(body, value.len() as u16);
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }

    /// Adds an interface whose times have the unit `resolution` and the offset `offset` in seconds.
    pub fn interface(&mut self, link: u16, resolution: Option<u8>, offset: i64) -> &mut Self {
        let mut body = Vec::new();
        self.order.u16(&mut body, link);
        self.order.u16(&mut body, 0);
        self.order.u32(&mut body, 0);
        self.option(&mut body, 2, b"eth0");
        if let Some(resolution) = resolution {
            self.option(&mut body, 9, &[resolution]);
        }
        if offset != 0 {
            let mut value = Vec::new();
            self.order.u64(&mut value, offset as u64);
            self.option(&mut body, 14, &value);
        }
        self.option(&mut body, 0, &[]);
        self.block(1, &body)
    }

    /// Adds an enhanced packet block. `ticks` is its time in the interface's unit. If `flags` is 0,
    /// the block has no option.
    pub fn enhanced(
        &mut self,
        interface: u32,
        ticks: u64,
        frame: &Captured,
        flags: u32,
    ) -> &mut Self {
        let mut body = Vec::new();
        let words = [interface, (ticks >> 32) as u32, ticks as u32];
        for word in words
            .into_iter()
            .chain([frame.bytes.len() as u32, frame.original])
        {
            self.order.u32(&mut body, word);
        }
        body.extend(&frame.bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        if flags != 0 {
            let mut value = Vec::new();
            self.order.u32(&mut value, flags);
            self.option(&mut body, 2, &value);
            self.option(&mut body, 0, &[]);
        }
        self.block(6, &body)
    }

    pub fn simple(&mut self, frame: &Captured) -> &mut Self {
        let mut body = Vec::new();
        self.order.u32(&mut body, frame.original);
        body.extend(&frame.bytes);
        self.block(3, &body)
    }

    pub fn obsolete(&mut self, ticks: u64, frame: &Captured) -> &mut Self {
        let mut body = Vec::new();
        self.order.u16(&mut body, 0);
        self.order.u16(&mut body, 0);
        let words = [(ticks >> 32) as u32, ticks as u32, frame.bytes.len() as u32];
        for word in words.into_iter().chain([frame.original]) {
            self.order.u32(&mut body, word);
        }
        body.extend(&frame.bytes);
        self.block(2, &body)
    }

    pub fn statistics(&mut self, interface: u32, dropped: u64) -> &mut Self {
        let mut body = Vec::new();
        for word in [interface, 0, 0] {
            self.order.u32(&mut body, word);
        }
        let mut value = Vec::new();
        self.order.u64(&mut value, dropped);
        self.option(&mut body, 5, &value);
        self.option(&mut body, 0, &[]);
        self.block(5, &body)
    }
}
