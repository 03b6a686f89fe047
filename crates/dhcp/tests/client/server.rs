//! A small DHCP server in virtual time, and the link between it and a client.
//!
//! Rule: the server answers as RFC 2131 requires. Tests that need a wrong answer change the message
//! before it is sent.

use std::net::Ipv4Addr;

use dhcproto::{
    Decodable, Decoder, Encodable, Encoder,
    v4::{DhcpOption, HType, Message, MessageType, Opcode, OptionCode},
};
use fullpipe::{Duration, Instant, MacAddress, Rng};
use fullpipe_dhcp::{Client, Event, Settings};
use fullpipe_wire::{
    ArpOperation, ArpPacket, Checksum, ChecksumPolicy, EtherType, EthernetHeader, Ipv4Header,
    Protocol, UdpHeader, udp,
};

pub const CLIENT: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
pub const SERVER: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
pub const SERVER_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const OFFERED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 77);
/// Lease time of the server, in seconds.
pub const LEASE: u32 = 600;

/// A frame of the client.
#[derive(Debug)]
pub enum Sent {
    /// A message, the source and destination of its IP packet, and the destination of its frame.
    Message(Box<Message>, (Ipv4Addr, Ipv4Addr), MacAddress),
    Arp(ArpPacket),
}

impl Sent {
    pub fn of(frame: &[u8]) -> Self {
        let (link, packet) = EthernetHeader::parse(frame).expect("a frame");
        assert_eq!(link.src, CLIENT);
        if link.ether_type == EtherType::Arp {
            return Self::Arp(ArpPacket::parse(packet).expect("an ARP packet"));
        }
        let (ip, datagram) =
            Ipv4Header::parse(packet, ChecksumPolicy::Verify).expect("an IPv4 packet");
        udp::verify_checksum(datagram, ip.src.into(), ip.dst.into()).expect("a checksum");
        let (header, message) = UdpHeader::parse(datagram).expect("a datagram");
        assert_eq!((header.src_port, header.dst_port), (68, 67));
        let message = Message::decode(&mut Decoder::new(message)).expect("a message");
        Self::Message(Box::new(message), (ip.src, ip.dst), link.dst)
    }

    pub fn kind(&self) -> Option<MessageType> {
        match self {
            Self::Message(message, ..) => message.opts().msg_type(),
            Self::Arp(_) => None,
        }
    }

    pub fn message(&self) -> &Message {
        match self {
            Self::Message(message, ..) => message,
            Self::Arp(packet) => panic!("an ARP packet: {packet:?}"),
        }
    }
}

/// The answer to `request` that grants or offers [`OFFERED`] for [`LEASE`] seconds.
pub fn answer(request: &Message, kind: MessageType) -> Message {
    let mut answer = Message::default();
    answer
        .set_opcode(Opcode::BootReply)
        .set_htype(HType::Eth)
        .set_chaddr(request.chaddr())
        .set_xid(request.xid());
    let options = answer.opts_mut();
    options.insert(DhcpOption::MessageType(kind));
    options.insert(DhcpOption::ServerIdentifier(SERVER_IP));
    if kind != MessageType::Nak {
        options.insert(DhcpOption::AddressLeaseTime(LEASE));
        options.insert(DhcpOption::SubnetMask(Ipv4Addr::new(255, 255, 255, 0)));
        options.insert(DhcpOption::Router(vec![SERVER_IP]));
        options.insert(DhcpOption::DomainNameServer(vec![SERVER_IP]));
        options.insert(DhcpOption::InterfaceMtu(1_400));
        answer.set_yiaddr(OFFERED);
    }
    answer
}

/// The frame in which the server sends `message`.
pub fn frame_of(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoded = message.encode(&mut Encoder::new(&mut bytes));
    encoded.expect("it is encoded");
    frame_with(&bytes)
}

/// The frame in which the server sends these bytes.
pub fn frame_with(bytes: &[u8]) -> Vec<u8> {
    let len = UdpHeader::LEN + bytes.len();
    let mut frame = vec![0; EthernetHeader::LEN + Ipv4Header::LEN + len];
    frame[42..].copy_from_slice(bytes);
    UdpHeader {
        src_port: 67,
        dst_port: 68,
        len: len as u16,
    }
    .write(&mut frame[34..]);
    let ends = (SERVER_IP.into(), OFFERED.into());
    udp::set_checksum(&mut frame[34..], ends.0, ends.1, Checksum::of(bytes));
    Ipv4Header::new(SERVER_IP, OFFERED, Protocol::Udp, len).write(&mut frame[14..]);
    EthernetHeader {
        dst: CLIENT,
        src: SERVER,
        ether_type: EtherType::Ipv4,
    }
    .write(&mut frame);
    frame
}

/// An ARP packet of another host.
pub fn arp(operation: ArpOperation, sender_ip: Ipv4Addr, target_ip: Ipv4Addr) -> Vec<u8> {
    let mut frame = vec![0; EthernetHeader::LEN + ArpPacket::LEN];
    EthernetHeader {
        dst: MacAddress::BROADCAST,
        src: MacAddress([2, 0, 0, 0, 0, 5]),
        ether_type: EtherType::Arp,
    }
    .write(&mut frame);
    ArpPacket {
        operation,
        sender_mac: MacAddress([2, 0, 0, 0, 0, 5]),
        sender_ip,
        target_mac: MacAddress::UNSPECIFIED,
        target_ip,
    }
    .write(&mut frame[EthernetHeader::LEN..]);
    frame
}

/// A client on a link without delay, and the time.
pub struct Link {
    pub client: Client,
    pub now: Instant,
    /// Everything that the client sent, with its time.
    pub sent: Vec<(Instant, Sent)>,
    pub events: Vec<Event>,
    /// Returns the server's answers to a message.
    pub server: fn(&Message) -> Vec<Message>,
}

/// The answer of a server that grants everything.
pub fn granting(request: &Message) -> Vec<Message> {
    match request.opts().msg_type() {
        Some(MessageType::Discover) => vec![answer(request, MessageType::Offer)],
        Some(MessageType::Request) => vec![answer(request, MessageType::Ack)],
        _ => Vec::new(),
    }
}

/// A server that is off.
pub fn silent(_: &Message) -> Vec<Message> {
    Vec::new()
}

impl Link {
    pub fn new(server: fn(&Message) -> Vec<Message>) -> Self {
        Self::with(Settings::new(CLIENT), server)
    }

    pub fn with(settings: Settings, server: fn(&Message) -> Vec<Message>) -> Self {
        let now = Instant::from_secs(1);
        Self {
            client: Client::new(settings, Rng::seeded(16), now),
            now,
            sent: Vec::new(),
            events: Vec::new(),
            server,
        }
    }

    /// Carries frames both ways until neither end has one.
    pub fn exchange(&mut self) {
        self.client.on_timeout(self.now);
        while let Some(frame) = self.client.poll_frame() {
            let sent = Sent::of(&frame);
            if let Sent::Message(message, ..) = &sent {
                for answer in (self.server)(message) {
                    self.client.on_frame(&frame_of(&answer), false, self.now);
                }
            }
            self.sent.push((self.now, sent));
            self.client.on_timeout(self.now);
        }
        self.events
            .extend(std::iter::from_fn(|| self.client.poll_event()));
    }

    /// Runs for `length`.
    pub fn run(&mut self, length: Duration) {
        let end = self.now + length;
        loop {
            self.exchange();
            match self.client.next_timeout() {
                Some(at) if at <= end => self.now = at.max(self.now),
                Some(_) | None => break,
            }
        }
        self.now = end;
    }

    /// Runs until the client has a lease.
    pub fn bind(&mut self) {
        self.run(Duration::from_secs(3));
        assert!(self.client.lease().is_some(), "{:?}", self.sent);
    }

    /// The number of messages of this kind that the client sent.
    pub fn count(&self, kind: MessageType) -> usize {
        let kinds = self
            .sent
            .iter()
            .filter(|(_, sent)| sent.kind() == Some(kind));
        kinds.count()
    }

    /// The last message that the client sent.
    pub fn last_message(&self) -> &Sent {
        let messages = self.sent.iter().rev().map(|(_, sent)| sent);
        let mut messages = messages.filter(|sent| sent.kind().is_some());
        messages.next().expect("a message")
    }
}

/// The option `code` of a message.
pub fn option(message: &Message, code: OptionCode) -> Option<&DhcpOption> {
    message.opts().get(code)
}
