//! A host on a link where the test plays every other station, in virtual time.
//!
//! Rule: every message that the host sends is parsed and checked. Messages to the host are written
//! by hand, so that a test can break each rule of a protocol.

#![allow(dead_code, reason = "each test file uses its own part of this")]

use core::net::{IpAddr, Ipv6Addr};

use fullpipe::{Config, Duration, Instant, Interface, Route, Stack, Subnet, device::RxMeta, turn};
use fullpipe_wire::{
    Checksum, ChecksumPolicy, EtherType, EthernetHeader, Icmpv6Message, Ipv6Header, MacAddress,
    Protocol, ipv6::HeaderChain, ndp::NeighbourMessage,
};

use crate::pair::{Port, Side, config, ethernet, interface};

pub const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);
pub const OTHER_ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 10);
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
pub const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 0);
pub const FAR: Ipv6Addr = Ipv6Addr::new(0x2a00, 0, 0, 0, 0, 0, 0, 7);
pub const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
pub const ECHO_REPLY: u8 = 129;
pub const REPORT: u8 = 143;
pub const SOLICITATION: u8 = 135;
pub const ROUTER_SOLICITATION: u8 = 133;

/// An ICMPv6 message that the host sent.
pub struct Sent {
    pub at: Instant,
    pub header: Ipv6Header,
    pub kind: u8,
    pub payload: Vec<u8>,
}

impl Sent {
    /// The target of a solicitation.
    pub fn target(&self) -> Ipv6Addr {
        let octets: [u8; 16] = self.payload[8..24].try_into().unwrap();
        octets.into()
    }
}

/// A host on a link where the test plays every other station.
pub struct Lonely {
    pub stack: Stack,
    pub port: Port,
    pub now: Instant,
    pub sent: Vec<Sent>,
}

impl Lonely {
    pub fn new(settings: &[(&str, &str)], address: Option<Subnet>) -> Self {
        let mut knobs: Config = config();
        knobs.set("ip.autoconfiguration", "true").unwrap();
        for (name, value) in settings {
            knobs.set(name, value).unwrap();
        }
        let mut own = interface(Side::A, ethernet());
        if let Some(Subnet {
            address,
            prefix_len,
        }) = address
        {
            own = Interface {
                address,
                prefix_len,
                ..own
            };
        }
        Self {
            stack: Stack::new(&knobs, own, [7; 16]).unwrap(),
            port: Port::new(ethernet(), 128),
            now: Instant::ZERO,
            sent: Vec::new(),
        }
    }

    /// A host that has a link-local address and has asked for routers.
    pub fn begun() -> Self {
        let mut host = Self::new(&[], None);
        host.pass(Duration::from_secs(3));
        assert!(host.link_local().is_some());
        host
    }

    /// Lets `time` pass.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        let mut turns = 0;
        loop {
            turns += 1;
            assert!(turns < 100_000, "the host is never idle");
            let turned = turn(&mut self.stack, &mut self.port, self.now);
            self.collect();
            let next = self.stack.next_timeout();
            match next {
                _ if turned.more_work => {}
                Some(at) if at <= self.now => {}
                Some(at) if at <= end => self.now = at,
                Some(_) | None => break,
            }
        }
        self.now = end;
    }

    pub fn collect(&mut self) {
        while self.port.outgoing_len() > 0 {
            let frame = self.port.take_sent();
            let (ethernet, packet) = EthernetHeader::parse(&frame).unwrap();
            if ethernet.ether_type != EtherType::Ipv6 {
                continue;
            }
            let (header, _) = Ipv6Header::parse(packet).unwrap();
            let chain = HeaderChain::of(packet).unwrap();
            if chain.protocol != Protocol::Icmpv6 || chain.fragment.is_some() {
                continue;
            }
            let payload = &packet[chain.payload_at..];
            let ends = (header.src, header.dst);
            Icmpv6Message::parse(payload, ends, ChecksumPolicy::Verify).unwrap();
            if header.dst.is_multicast() {
                assert_eq!(ethernet.dst.0[..2], [0x33, 0x33]);
                assert_eq!(ethernet.dst.0[2..], header.dst.octets()[12..]);
            }
            self.sent.push(Sent {
                at: self.now,
                header,
                kind: payload[0],
                payload: payload.to_vec(),
            });
        }
    }

    /// Passes an ICMPv6 message to the host.
    pub fn receive(&mut self, (src, dst): (Ipv6Addr, Ipv6Addr), message: &[u8]) {
        self.receive_with(255, (src, dst), message);
    }

    pub fn receive_with(
        &mut self,
        hop_limit: u8,
        (src, dst): (Ipv6Addr, Ipv6Addr),
        message: &[u8],
    ) {
        self.arrive(hop_limit, (src, dst), message);
        self.pass(Duration::ZERO);
    }

    /// Passes an ICMPv6 message to the host, without letting the host send an answer yet.
    pub fn arrive(&mut self, hop_limit: u8, (src, dst): (Ipv6Addr, Ipv6Addr), message: &[u8]) {
        let mut frame = vec![0; 14 + Ipv6Header::LEN];
        let station = match dst.is_multicast() {
            true => {
                let [.., a, b, c, d] = dst.octets();
                MacAddress([0x33, 0x33, a, b, c, d])
            }
            false => MacAddress([2, 0, 0, 0, 0, 1]),
        };
        EthernetHeader {
            dst: station,
            src: STATION,
            ether_type: EtherType::Ipv6,
        }
        .write(&mut frame);
        let header = Ipv6Header {
            hop_limit,
            ..Ipv6Header::new(src, dst, Protocol::Icmpv6, message.len())
        };
        header.write(&mut frame[14..]);
        frame.extend(message);
        self.stack.receive(&frame, RxMeta::default(), self.now);
    }

    pub fn advertise(&mut self, advertisement: &Advertisement<'_>) {
        let ends = (advertisement.from, ALL_NODES);
        self.receive(ends, &advertisement.bytes());
    }

    pub fn link_local(&self) -> Option<Ipv6Addr> {
        self.v6().find(Ipv6Addr::is_unicast_link_local)
    }

    /// The global IPv6 addresses.
    pub fn global(&self) -> Vec<Ipv6Addr> {
        self.v6().filter(|ip| !ip.is_unicast_link_local()).collect()
    }

    pub fn v6(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.stack.addresses().filter_map(|own| match own.address {
            IpAddr::V6(ip) => Some(ip),
            IpAddr::V4(_) => None,
        })
    }

    pub fn of_kind(&self, kind: u8) -> Vec<&Sent> {
        self.sent.iter().filter(|sent| sent.kind == kind).collect()
    }

    pub fn source(&self, dst: Ipv6Addr) -> Option<IpAddr> {
        self.stack.routes().source(dst.into())
    }

    pub fn hop(&self, dst: Ipv6Addr) -> Option<Route> {
        let found = self.stack.routes().lookup(dst.into());
        found.map(|(_, route)| route)
    }

    /// Another host claims `target`.
    pub fn claim(&mut self, target: Ipv6Addr) {
        let message = NeighbourMessage::Advertisement {
            target,
            target_mac: Some(STATION),
            router: false,
            solicited: false,
            overrides: true,
        };
        let mut bytes = [0; NeighbourMessage::MOST_LEN];
        let len = message.write(&mut bytes, (target, ALL_NODES));
        self.receive((target, ALL_NODES), &bytes[..len]);
    }

    pub fn tentative(&self) -> Vec<Ipv6Addr> {
        let all = self.stack.tentative_addresses();
        all.filter_map(|own| match own.address {
            IpAddr::V6(ip) => Some(ip),
            IpAddr::V4(_) => None,
        })
        .collect()
    }
}

/// A router advertisement.
#[derive(Clone)]
pub struct Advertisement<'a> {
    pub from: Ipv6Addr,
    pub hop_limit: u8,
    pub preference: u8,
    pub lifetime_s: u16,
    pub reachable_ms: u32,
    pub retransmit_ms: u32,
    pub options: &'a [Vec<u8>],
}

impl Default for Advertisement<'_> {
    fn default() -> Self {
        Self {
            from: ROUTER,
            hop_limit: 0,
            preference: 0,
            lifetime_s: 1_800,
            reachable_ms: 0,
            retransmit_ms: 0,
            options: &[],
        }
    }
}

impl Advertisement<'_> {
    pub fn bytes(&self) -> Vec<u8> {
        let mut body = self.reachable_ms.to_be_bytes().to_vec();
        body.extend(self.retransmit_ms.to_be_bytes());
        body.extend(self.options.concat());
        let [high, low] = self.lifetime_s.to_be_bytes();
        let head = Icmpv6Message::Other {
            kind: 134,
            code: 0,
            rest: [self.hop_limit, self.preference << 3, high, low],
        };
        let mut bytes = vec![0; Icmpv6Message::LEN];
        head.write(&mut bytes, (self.from, ALL_NODES), Checksum::of(&body));
        bytes.extend(body);
        bytes
    }
}

/// An option with a prefix of 64 bits. The flags are L (0x80) and A (0x40).
pub fn prefix(prefix: Ipv6Addr, flags: u8, valid_s: u32, preferred_s: u32) -> Vec<u8> {
    let mut option = vec![3, 4, 64, flags];
    option.extend(valid_s.to_be_bytes());
    option.extend(preferred_s.to_be_bytes());
    option.extend([0; 4]);
    option.extend(prefix.octets());
    option
}

pub fn mtu(bytes: u32) -> Vec<u8> {
    [&[5, 1, 0, 0][..], &bytes.to_be_bytes()].concat()
}

pub fn dns(server: Ipv6Addr, lifetime_s: u32) -> Vec<u8> {
    let head = [&[25, 3, 0, 0][..], &lifetime_s.to_be_bytes()].concat();
    [head, server.octets().to_vec()].concat()
}
