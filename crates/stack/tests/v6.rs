//! Tests of two hosts over IPv6: neighbour discovery, TCP, UDP, echo, errors from the path, and
//! addresses that are added and removed.

#![cfg(feature = "ipv6")]

mod pair;

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

use fullpipe::counters::Discard;
use fullpipe::{
    AddressError, CloseReason, Config, ConnectOptions, ConnectionId, Duration, Holder, Interface,
    InterfaceId, ListenOptions, OpenError, Read, Stack, Subnet,
    device::{Capabilities, Medium, RxMeta},
};
use fullpipe_wire::{
    Checksum, ChecksumPolicy, EtherType, EthernetHeader, Icmpv6Message, Ipv6Header, MacAddress,
    Protocol, UdpHeader, Unreachable6Code, ipv6::FragmentHeader, ndp::NeighbourMessage, udp,
};
use pair::{PORT, Pair, Side, config, ethernet};

const A6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const B6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
const MAC_A: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const MAC_B: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const ANY: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT);

fn subnet(ip: Ipv6Addr) -> Subnet {
    Subnet {
        address: ip.into(),
        prefix_len: 64,
    }
}

/// Two hosts with addresses of both families.
fn pair_of(config: &Config, capabilities: Capabilities) -> Pair {
    let mut pair = Pair::with(config, config, capabilities);
    pair.a
        .stack
        .add_address(InterfaceId::FIRST, subnet(A6))
        .unwrap();
    pair.b
        .stack
        .add_address(InterfaceId::FIRST, subnet(B6))
        .unwrap();
    pair
}

fn connected(pair: &mut Pair, to: Ipv6Addr) -> (ConnectionId, ConnectionId) {
    let options = ListenOptions::default();
    let listener = pair.b.stack.tcp_listen(ANY, options).unwrap();
    let client = pair.connect(Side::A, SocketAddr::from((to, PORT)));
    let mut server = None;
    pair.until("accepted", |pair| {
        let accepted = pair.b.stack.tcp_accept(listener, pair.now).unwrap();
        server = server.or(accepted.map(|(id, _)| id));
        server.is_some()
    });
    (client, server.unwrap())
}

/// Transfers `len` bytes from A to B.
fn transfer(pair: &mut Pair, (client, server): (ConnectionId, ConnectionId), len: usize) {
    let payload: Vec<u8> = (0..len).map(|place| (place * 31) as u8).collect();
    let (mut written, mut read) = (0, 0);
    let mut out = [0; 3_000];
    pair.until("everything arrived", |pair| {
        while written < len {
            match pair.write(Side::A, client, &payload[written..]) {
                0 => break,
                taken => written += taken,
            }
        }
        while let Read::Data(count) = pair.read(Side::B, server, &mut out) {
            assert_eq!(out[..count], payload[read..read + count]);
            read += count;
        }
        pair.verify();
        read == len
    });
}

/// A frame from A's station to B's with this packet.
fn frame(header: &Ipv6Header, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 14 + Ipv6Header::LEN];
    EthernetHeader {
        dst: MAC_B,
        src: MAC_A,
        ether_type: EtherType::Ipv6,
    }
    .write(&mut frame);
    header.write(&mut frame[14..]);
    frame.extend(payload);
    frame
}

/// A frame from A to B with this ICMPv6 message.
fn icmp(message: Icmpv6Message, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; Icmpv6Message::LEN];
    message.write(&mut bytes, (A6, B6), Checksum::of(payload));
    bytes.extend(payload);
    let header = Ipv6Header::new(A6, B6, Protocol::Icmpv6, bytes.len());
    frame(&header, &bytes)
}

/// Passes a frame to B, and returns the IPv6 packets that B sends in answer.
fn answers(pair: &mut Pair, frame: &[u8]) -> Vec<(Ipv6Header, Vec<u8>)> {
    let (now, b) = (pair.now, &mut pair.b);
    b.stack.receive(frame, RxMeta::default(), now);
    let mut packets = Vec::new();
    while b.stack.transmit(&mut b.port, now, 1) > 0 {
        let (frame, _) = b.port.last_sent();
        let (ethernet, packet) = EthernetHeader::parse(&frame).unwrap();
        assert_eq!(ethernet.ether_type, EtherType::Ipv6);
        let (header, payload) = Ipv6Header::parse(packet).unwrap();
        packets.push((header, payload.to_vec()));
    }
    packets
}

fn message(packet: &(Ipv6Header, Vec<u8>)) -> (Icmpv6Message, &[u8]) {
    let (header, payload) = packet;
    let ends = (header.src, header.dst);
    Icmpv6Message::parse(payload, ends, ChecksumPolicy::Verify).unwrap()
}

#[test]
fn payload_arrives_with_and_without_offloads() {
    let offloads = Capabilities {
        checksum_tx: true,
        super_segment: 60_000,
        ..ethernet()
    };
    for (name, capabilities) in [("plain", ethernet()), ("offloads", offloads)] {
        let mut pair = pair_of(&config(), capabilities);
        let ids = connected(&mut pair, B6);
        transfer(&mut pair, ids, 500_000);
        assert_eq!(pair.a.stack.tcp_counters().retrans_segs, 0, "{name}");
        let info = pair.a.stack.tcp_info(ids.0, pair.now).unwrap();
        assert_eq!(info.mss, 1500 - 40 - 20 - 12, "{name}");
    }
}

#[test]
fn link_local_addresses_reach_each_other() {
    let mut pair = pair_of(&config(), ethernet());
    let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 2);
    let ids = connected(&mut pair, link_local);
    transfer(&mut pair, ids, 20_000);
    let (local, _) = pair.a.stack.tcp_ends(ids.0).unwrap();
    assert_eq!(
        local.ip(),
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 1)
    );
}

#[test]
fn a_connection_ends_with_its_address() {
    let mut pair = pair_of(&config(), ethernet());
    let (client, _) = connected(&mut pair, B6);
    let now = pair.now;
    pair.a.stack.remove_address(A6.into(), now).unwrap();
    let ready = pair.ready(Side::A, client);
    assert_eq!(ready.closed, Some(CloseReason::AddressRemoved));
    let again = pair.a.stack.remove_address(A6.into(), now);
    assert_eq!(again, Err(AddressError::NotOurs));
}

#[test]
fn an_echo_request_is_answered() {
    let mut pair = pair_of(&config(), ethernet());
    let request = icmp(Icmpv6Message::EchoRequest { ident: 7, seq: 9 }, b"data");
    let sent = answers(&mut pair, &request);
    assert_eq!(sent.len(), 1);
    let reply = Icmpv6Message::EchoReply { ident: 7, seq: 9 };
    assert_eq!(message(&sent[0]), (reply, &b"data"[..]));
    assert_eq!((sent[0].0.src, sent[0].0.dst), (B6, A6));
}

const UNWANTED: UdpHeader = UdpHeader {
    src_port: 1000,
    dst_port: 2000,
    len: 8,
};

/// A frame from A to B with an empty datagram to a closed port.
fn to_closed_port() -> Vec<u8> {
    let mut datagram = vec![0; UdpHeader::LEN];
    UNWANTED.write(&mut datagram);
    udp::set_checksum(&mut datagram, A6.into(), B6.into(), Checksum::new());
    frame(&Ipv6Header::new(A6, B6, Protocol::Udp, 8), &datagram)
}

#[test]
fn a_datagram_to_a_closed_port_is_refused_once_in_a_while() {
    let mut pair = pair_of(&config(), ethernet());
    let packet = to_closed_port();
    let sent = answers(&mut pair, &packet);
    let code = Unreachable6Code::Port;
    let (error, quoted) = message(&sent[0]);
    assert_eq!(error, Icmpv6Message::Unreachable { code });
    assert_eq!(quoted, &packet[14..]);
    let count = (0..100)
        .map(|_| answers(&mut pair, &packet).len())
        .sum::<usize>();
    assert!(count < 10, "{count} errors");

    let unsummed = header_without_checksum(&UNWANTED);
    let unsummed = frame(&Ipv6Header::new(A6, B6, Protocol::Udp, 8), &unsummed);
    assert!(answers(&mut pair, &unsummed).is_empty());
    let counters = pair.b.stack.counters();
    assert_eq!(counters.discarded(Discard::UdpBadChecksum), 1);
}

/// RFC 4443 §2.4 c: an error quotes as much of the packet as fits the smallest MTU.
#[cfg(feature = "icmp-errors")]
#[test]
fn an_error_quotes_as_much_as_fits_1280_bytes() {
    for (payload_len, expected) in [(20, 40 + 28), (500, 40 + 508), (1_400, 1_280 - 40 - 8)] {
        let mut pair = pair_of(&config(), ethernet());
        let payload: Vec<u8> = (0..payload_len).map(|place: u32| place as u8).collect();
        let len = UdpHeader::LEN + payload.len();
        let mut datagram = vec![0; UdpHeader::LEN];
        UdpHeader {
            len: len as u16,
            ..UNWANTED
        }
        .write(&mut datagram);
        udp::set_checksum(&mut datagram, A6.into(), B6.into(), Checksum::of(&payload));
        datagram.extend(payload);
        let packet = frame(&Ipv6Header::new(A6, B6, Protocol::Udp, len), &datagram);
        let sent = answers(&mut pair, &packet);
        let (_, quoted) = message(&sent[0]);
        assert_eq!(quoted.len(), expected);
        assert_eq!(quoted, &packet[14..14 + expected]);
        assert_eq!(pair.b.stack.pool().held(Holder::Echo), 0);
    }
}

/// Each case once reached code that assumes that both ends have the same version of IP, or that the
/// MTU is at least 1280.
#[test]
fn ends_of_two_versions_and_small_devices_are_refused() {
    let mut pair = pair_of(&config(), ethernet());
    let now = pair.now;
    let own = pair.a.stack.addresses().next().unwrap().address;
    assert!(own.is_ipv4());
    let local = SocketAddr::new(own, 4_000);
    let remote = SocketAddr::from((B6, PORT));
    for (remote, local) in [(remote, local), (local, SocketAddr::from((A6, 4_000)))] {
        let options = ConnectOptions::default();
        let opened = pair.a.stack.tcp_connect(remote, Some(local), options, now);
        assert_eq!(opened, Err(OpenError::NoRoute));
    }
    let mut gateway = config();
    gateway.set("ip.accept_any", "true").unwrap();
    let mut pair = Pair::with(&config(), &gateway, Capabilities::plain(Medium::Ip, 100));
    let (now, b) = (pair.now, &mut pair.b);
    b.stack
        .receive(&to_closed_port()[14..], RxMeta::default(), now);
    assert_eq!(b.stack.transmit(&mut b.port, now, 1), 0);
}

/// A solicitation over a raw IP device is not answered: an answer would have an Ethernet header.
#[test]
fn a_raw_ip_device_has_no_neighbours() {
    let mut pair = pair_of(&config(), Capabilities::plain(Medium::Ip, 1500));
    let (now, b) = (pair.now, &mut pair.b);
    b.stack.receive(&probe(None)[14..], RxMeta::default(), now);
    assert_eq!(b.stack.transmit(&mut b.port, now, 1), 0);
    assert_eq!(b.stack.counters().discarded(Discard::NdInvalid), 1);
}

/// A port of IPv4 and the same port of IPv6 are two ports: each socket gets only its own datagrams.
#[test]
fn a_datagram_reaches_the_socket_of_its_version_of_ip() {
    let mut pair = pair_of(&config(), ethernet());
    let every_v4 = SocketAddr::from(([0; 4], PORT));
    let own = pair.b.stack.udp_bind(every_v4).unwrap();
    let sender = pair.a.stack.udp_bind(SocketAddr::from((A6, PORT))).unwrap();
    let send = |pair: &mut Pair, payload: &[u8]| {
        let to = SocketAddr::from((B6, PORT));
        pair.a.stack.udp_send(sender, to, payload).unwrap();
        pair.pass(Duration::from_millis(100));
    };
    send(&mut pair, b"to nobody");
    assert!(!pair.b.stack.udp_ready(own).unwrap().readable);
    let other = pair.b.stack.udp_bind(ANY).unwrap();
    send(&mut pair, b"to [::]");
    assert!(!pair.b.stack.udp_ready(own).unwrap().readable);
    assert!(pair.b.stack.udp_ready(other).unwrap().readable);
}

fn header_without_checksum(header: &UdpHeader) -> [u8; 8] {
    let mut bytes = [0; 8];
    header.write(&mut bytes);
    bytes
}

/// A frame that asks if B's address is free.
fn probe(source_mac: Option<MacAddress>) -> Vec<u8> {
    let group = fullpipe_wire::ipv6::solicited_node(B6);
    let message = NeighbourMessage::Solicitation {
        target: B6,
        source_mac,
    };
    let mut bytes = [0; NeighbourMessage::MOST_LEN];
    let len = message.write(&mut bytes, (Ipv6Addr::UNSPECIFIED, group));
    let header = Ipv6Header {
        hop_limit: 255,
        ..Ipv6Header::new(Ipv6Addr::UNSPECIFIED, group, Protocol::Icmpv6, len)
    };
    let mut frame = frame(&header, &bytes[..len]);
    frame[..6].copy_from_slice(&[0x33, 0x33, 0xff, 0, 0, 2]);
    frame
}

#[test]
fn the_question_for_a_free_address_is_answered_to_all() {
    let mut pair = pair_of(&config(), ethernet());
    let sent = answers(&mut pair, &probe(None));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].0.dst, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1));
    assert_eq!(sent[0].0.hop_limit, 255);
    // A probe for a duplicate address must not contain the sender's MAC address. RFC 4861 §7.1.1.
    assert!(answers(&mut pair, &probe(Some(MAC_A))).is_empty());
    assert_eq!(pair.b.stack.counters().discarded(Discard::NdInvalid), 1);
}

/// A packet-too-big message to A about a segment of A, from a router.
fn too_big(pair: &Pair, client: ConnectionId, mtu: u32, seq: u32) -> Vec<u8> {
    let (local, remote) = pair.a.stack.tcp_ends(client).unwrap();
    let mut quoted = vec![0; Ipv6Header::LEN + 8];
    Ipv6Header::new(A6, B6, Protocol::Tcp, 1400).write(&mut quoted);
    quoted[40..42].copy_from_slice(&local.port().to_be_bytes());
    quoted[42..44].copy_from_slice(&remote.port().to_be_bytes());
    quoted[44..48].copy_from_slice(&seq.to_be_bytes());
    let router = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 9);
    let mut bytes = vec![0; Icmpv6Message::LEN];
    Icmpv6Message::PacketTooBig { mtu }.write(&mut bytes, (router, A6), Checksum::of(&quoted));
    bytes.extend(quoted);
    let header = Ipv6Header::new(router, A6, Protocol::Icmpv6, bytes.len());
    let mut frame = frame(&header, &bytes);
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9]);
    frame
}

#[cfg(all(feature = "path-mtu", feature = "icmp-errors"))]
#[test]
fn only_a_report_about_bytes_in_flight_shrinks_the_path() {
    let mut pair = pair_of(&config(), ethernet());
    let ids = connected(&mut pair, B6);
    let now = pair.now;
    // The first segment of this write is lost on the way.
    pair.write(Side::A, ids.0, &[7; 5_000]);
    let Pair { a, .. } = &mut pair;
    assert!(a.stack.transmit(&mut a.port, now, 1) > 0);
    let (sent, _) = a.port.last_sent();
    let seq = u32::from_be_bytes([sent[58], sent[59], sent[60], sent[61]]);
    let mss = |pair: &mut Pair| pair.a.stack.tcp_info(ids.0, pair.now).unwrap().mss;
    let whole = mss(&mut pair);
    for (name, mtu, seq, expected) in [
        ("below the smallest MTU", 1279, seq, whole),
        ("a guessed number", 1280, seq.wrapping_sub(100_000), whole),
        ("a larger MTU", 9000, seq, whole),
        ("a segment in flight", 1280, seq, 1280 - 40 - 20 - 12),
    ] {
        let report = too_big(&pair, ids.0, mtu, seq);
        pair.a.stack.receive(&report, RxMeta::default(), now);
        assert_eq!(mss(&mut pair), expected, "{name}");
    }
}

#[test]
fn a_device_with_a_small_mtu_has_no_ipv6_address() {
    let small = Capabilities::plain(Medium::Ethernet, 1279);
    let interface = Interface {
        mac: MAC_A,
        address: A6.into(),
        prefix_len: 64,
        gateway: None,
        capabilities: small,
    };
    assert!(Stack::new(&config(), interface, [1; 16]).is_err());
    let mut pair = Pair::with(&config(), &config(), small);
    let refused = pair.a.stack.add_address(InterfaceId::FIRST, subnet(A6));
    assert!(
        matches!(refused, Err(AddressError::Unusable(_))),
        "{refused:?}"
    );
}

#[test]
fn a_host_of_every_address_accepts_connections_to_any_ipv6_address() {
    let mut gateway = config();
    gateway.set("ip.accept_any", "true").unwrap();
    let device = Capabilities::plain(Medium::Ip, 1500);
    let mut pair = Pair::with(&config(), &gateway, device);
    pair.a
        .stack
        .add_address(InterfaceId::FIRST, subnet(A6))
        .unwrap();
    pair.a.stack.routes_mut().set_default(B6.into()).unwrap();
    let listener = pair
        .b
        .stack
        .tcp_listen(ANY, ListenOptions::default())
        .unwrap();
    let to = SocketAddr::from((Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 77), PORT));
    let now = pair.now;
    let client = pair
        .a
        .stack
        .tcp_connect(to, None, ConnectOptions::default(), now);
    let mut server = None;
    pair.until("accepted", |pair| {
        let accepted = pair.b.stack.tcp_accept(listener, pair.now).unwrap();
        server = server.or(accepted.map(|(id, _)| id));
        server.is_some()
    });
    let (local, _) = pair.b.stack.tcp_ends(server.unwrap()).unwrap();
    assert_eq!(local, to);
    transfer(&mut pair, (client.unwrap(), server.unwrap()), 20_000);
}

/// A fragment of a packet from A to B, with the fragment header and `piece`.
#[cfg(feature = "fragments")]
fn fragment(identification: u32, offset: usize, more: bool, piece: &[u8]) -> Vec<u8> {
    let mut payload = vec![0; FragmentHeader::LEN];
    FragmentHeader {
        next_header: Protocol::Icmpv6.into(),
        offset: offset as u16,
        more,
        identification,
    }
    .write(&mut payload);
    payload.extend(piece);
    let header = Ipv6Header {
        next_header: FragmentHeader::NEXT_HEADER,
        ..Ipv6Header::new(A6, B6, Protocol::Icmpv6, payload.len())
    };
    frame(&header, &payload)
}

/// An echo request with `len` bytes of data, without its IP header.
#[cfg(feature = "fragments")]
fn request(len: usize) -> Vec<u8> {
    let data = vec![7; len];
    let mut bytes = vec![0; Icmpv6Message::LEN];
    let message = Icmpv6Message::EchoRequest { ident: 1, seq: 2 };
    message.write(&mut bytes, (A6, B6), Checksum::of(&data));
    bytes.extend(data);
    bytes
}

#[cfg(feature = "fragments")]
#[test]
fn a_request_in_fragments_is_answered_in_fragments() {
    let mut pair = pair_of(&config(), ethernet());
    let request = request(4_000);
    let mut sent = Vec::new();
    // The last fragment arrives first.
    for (at, end, more) in [
        (2_000, 4_008, false),
        (0, 1_000, true),
        (1_000, 2_000, true),
    ] {
        assert!(sent.is_empty());
        sent = answers(&mut pair, &fragment(9, at, more, &request[at..end]));
    }
    assert_eq!(sent.len(), 3);
    let mut whole = Vec::new();
    for (header, payload) in &sent {
        assert_eq!(header.next_header, FragmentHeader::NEXT_HEADER);
        assert!(Ipv6Header::LEN + payload.len() <= 1500);
        whole.extend(&payload[FragmentHeader::LEN..]);
    }
    let header = Ipv6Header::new(B6, A6, Protocol::Icmpv6, whole.len());
    let reply = (header, whole);
    let expected = Icmpv6Message::EchoReply { ident: 1, seq: 2 };
    assert_eq!(message(&reply), (expected, &[7; 4_000][..]));
}

#[cfg(feature = "fragments")]
#[test]
fn hostile_fragments_complete_no_packet() {
    let request = request(2_000);
    let (first, last) = (&request[..1_008], &request[1_000..]);
    for (name, pieces, reason) in [
        (
            "an overlap of other bytes",
            [(0, true, first), (1_000, false, &[9; 1_008][..])],
            Discard::FragmentOverlap,
        ),
        (
            "a first fragment without a whole header",
            [(0, true, &request[..0]), (8, false, last)],
            Discard::IpExtensionHeader,
        ),
        (
            "a length that is no multiple of 8",
            [(0, true, &request[..1_001]), (1_008, false, last)],
            Discard::FragmentMisaligned,
        ),
        (
            "two ends",
            [(8, false, &request[8..16]), (16, false, last)],
            Discard::FragmentBadEnd,
        ),
    ] {
        let mut pair = pair_of(&config(), ethernet());
        for (at, more, piece) in pieces {
            let sent = answers(&mut pair, &fragment(5, at, more, piece));
            assert!(sent.is_empty(), "{name}");
        }
        assert_eq!(pair.b.stack.counters().discarded(reason), 1, "{name}");
    }
}

#[cfg(feature = "fragments")]
#[test]
fn an_only_fragment_is_a_packet_of_its_own() {
    let mut pair = pair_of(&config(), ethernet());
    let request = request(100);
    let (first, _) = request.split_at(56);
    assert!(answers(&mut pair, &fragment(3, 0, true, first)).is_empty());
    // RFC 6946: a fragment that is a whole packet is answered at once, and does not disturb the
    // fragment above, which has the same identification.
    let sent = answers(&mut pair, &fragment(3, 0, false, &request));
    assert_eq!(sent.len(), 1);
    let sent = answers(&mut pair, &fragment(3, 56, false, &request[56..]));
    assert_eq!(sent.len(), 1);
}

/// The hop limit shows that the sender is on the link. RFC 4861 §7.2.3.
#[test]
fn a_neighbour_outside_our_prefixes_gets_an_answer_and_no_entry() {
    let mut pair = pair_of(&config(), ethernet());
    let stranger = Ipv6Addr::new(0x2001, 0xdb8, 7, 7, 0, 0, 0, 1);
    let message = NeighbourMessage::Solicitation {
        target: B6,
        source_mac: Some(MAC_A),
    };
    let mut bytes = [0; NeighbourMessage::MOST_LEN];
    let len = message.write(&mut bytes, (stranger, B6));
    let header = Ipv6Header {
        hop_limit: 255,
        ..Ipv6Header::new(stranger, B6, Protocol::Icmpv6, len)
    };
    let sent = answers(&mut pair, &frame(&header, &bytes[..len]));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].0.dst, stranger);
}

#[test]
fn neighbour_messages_to_wrong_groups_are_refused() {
    let mut pair = pair_of(&config(), ethernet());
    let nobody = Ipv6Addr::UNSPECIFIED;
    let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let probe = NeighbourMessage::Solicitation {
        target: B6,
        source_mac: None,
    };
    let advertisement = NeighbourMessage::Advertisement {
        target: A6,
        target_mac: Some(MAC_A),
        router: false,
        solicited: true,
        overrides: true,
    };
    for (message, src) in [(probe, nobody), (advertisement, A6)] {
        let mut bytes = [0; NeighbourMessage::MOST_LEN];
        let len = message.write(&mut bytes, (src, all));
        let header = Ipv6Header {
            hop_limit: 255,
            ..Ipv6Header::new(src, all, Protocol::Icmpv6, len)
        };
        let mut frame = frame(&header, &bytes[..len]);
        frame[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 1]);
        assert!(answers(&mut pair, &frame).is_empty());
    }
    assert_eq!(pair.b.stack.counters().discarded(Discard::NdInvalid), 2);
}

#[test]
fn the_link_local_address_goes_with_the_last_other_one() {
    let mut pair = pair_of(&config(), ethernet());
    let (now, a) = (pair.now, &mut pair.a.stack);
    assert_eq!(a.addresses().count(), 3);
    a.remove_address(A6.into(), now).unwrap();
    assert_eq!(a.addresses().count(), 1);
    a.add_address(InterfaceId::FIRST, subnet(A6)).unwrap();
    assert_eq!(a.addresses().count(), 3);
}

#[cfg(all(feature = "path-mtu", feature = "icmp-errors"))]
#[test]
fn the_smallest_path_mtu_holds_for_ipv6() {
    let mut knobs = config();
    knobs.set("ip.path_mtu_min", "1400").unwrap();
    let mut pair = pair_of(&knobs, ethernet());
    let (client, _) = connected(&mut pair, B6);
    let now = pair.now;
    pair.write(Side::A, client, &[7; 5_000]);
    let Pair { a, .. } = &mut pair;
    assert!(a.stack.transmit(&mut a.port, now, 1) > 0);
    let (sent, _) = a.port.last_sent();
    let seq = u32::from_be_bytes([sent[58], sent[59], sent[60], sent[61]]);
    let report = too_big(&pair, client, 1_300, seq);
    pair.a.stack.receive(&report, RxMeta::default(), now);
    let info = pair.a.stack.tcp_info(client, now).unwrap();
    assert_eq!(info.mss, 1_400 - 40 - 20 - 12);
}

/// The IPv6 packets that A sends now.
fn sent_by_a(pair: &mut Pair) -> Vec<(Ipv6Header, Vec<u8>)> {
    let (now, a) = (pair.now, &mut pair.a);
    let mut packets = Vec::new();
    while a.stack.transmit(&mut a.port, now, 1) > 0 {
        let (frame, _) = a.port.last_sent();
        let (header, payload) = Ipv6Header::parse(&frame[14..]).unwrap();
        packets.push((header, payload.to_vec()));
    }
    packets
}

/// RFC 6437 §3: every packet of a flow has the label of the flow, retransmissions and fragments
/// included, and another flow has another label.
#[test]
fn packets_have_the_label_of_their_flow() {
    let mut pair = pair_of(&config(), ethernet());
    let (client, _) = connected(&mut pair, B6);
    let label = |packets: &[(Ipv6Header, Vec<u8>)]| {
        let mut labels: Vec<_> = packets.iter().map(|(of, _)| of.flow_label).collect();
        labels.dedup();
        let [label] = labels[..] else {
            panic!("{labels:?}")
        };
        label
    };
    pair.write(Side::A, client, &[7; 5_000]);
    let of_connection = label(&sent_by_a(&mut pair));
    assert_ne!(of_connection, 0);
    pair.pass(Duration::from_secs(2));
    pair.write(Side::A, client, &[7; 5_000]);
    assert_eq!(label(&sent_by_a(&mut pair)), of_connection);
    let socket = pair
        .a
        .stack
        .udp_bind(SocketAddr::from((A6, 4_000)))
        .unwrap();
    let send = |pair: &mut Pair, port, len: usize| {
        let to = SocketAddr::from((B6, port));
        assert!(pair.a.stack.udp_send(socket, to, &vec![1; len]).unwrap());
        label(&sent_by_a(pair))
    };
    let of_datagrams = send(&mut pair, 7, 100);
    assert_eq!(send(&mut pair, 7, 4_000), of_datagrams, "fragments");
    assert_ne!(send(&mut pair, 8, 100), of_datagrams);
    assert_ne!(of_datagrams, of_connection);
}

/// A packet-too-big message to A about a datagram from its port 4000 to port 7 of B.
#[cfg(all(feature = "path-mtu", feature = "icmp-errors"))]
fn too_big_datagram(mtu: u32, port: u16) -> Vec<u8> {
    let mut payload = [0; 8];
    payload[..2].copy_from_slice(&port.to_be_bytes());
    payload[2..4].copy_from_slice(&7_u16.to_be_bytes());
    too_big_packet(mtu, Protocol::Udp, &payload)
}

/// A packet-too-big message to A about a packet to B that begins with `payload`.
#[cfg(all(feature = "path-mtu", feature = "icmp-errors"))]
fn too_big_packet(mtu: u32, protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    let mut quoted = vec![0; Ipv6Header::LEN];
    Ipv6Header::new(A6, B6, protocol, 1_400).write(&mut quoted);
    quoted.extend(payload);
    let router = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 9);
    let mut bytes = vec![0; Icmpv6Message::LEN];
    Icmpv6Message::PacketTooBig { mtu }.write(&mut bytes, (router, A6), Checksum::of(&quoted));
    bytes.extend(quoted);
    let header = Ipv6Header::new(router, A6, Protocol::Icmpv6, bytes.len());
    let mut frame = frame(&header, &bytes);
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9]);
    frame
}

/// RFC 8201 §4: routers do not fragment, so a datagram must leave in fragments that fit the path.
#[cfg(all(feature = "path-mtu", feature = "icmp-errors"))]
#[test]
fn datagrams_leave_in_packets_that_the_path_carries() {
    let mut pair = pair_of(&config(), ethernet());
    let socket = pair
        .a
        .stack
        .udp_bind(SocketAddr::from((A6, 4_000)))
        .unwrap();
    let longest = |pair: &mut Pair| {
        let to = SocketAddr::from((B6, 7));
        assert!(pair.a.stack.udp_send(socket, to, &[1; 1_400]).unwrap());
        let sent = sent_by_a(pair);
        let lens = sent.iter().map(|(_, payload)| 40 + payload.len());
        (sent.len(), lens.max().unwrap_or(0))
    };
    longest(&mut pair); // asks for B's MAC address
    pair.pass(Duration::from_secs(1));
    assert_eq!(longest(&mut pair), (1, 1_448));
    for (name, report) in [
        ("a port without a socket", too_big_datagram(1_300, 4_001)),
        ("below the smallest MTU", too_big_datagram(1_200, 4_000)),
    ] {
        pair.a.stack.receive(&report, RxMeta::default(), pair.now);
        assert_eq!(longest(&mut pair), (1, 1_448), "{name}");
    }
    let report = too_big_datagram(1_300, 4_000);
    pair.a.stack.receive(&report, RxMeta::default(), pair.now);
    let (count, len) = longest(&mut pair);
    assert_eq!(count, 2);
    assert!((1_280..=1_300).contains(&len), "{len}");
    pair.pass(Duration::from_secs(601));
    longest(&mut pair); // the MAC address is old
    pair.pass(Duration::from_secs(1));
    assert_eq!(
        longest(&mut pair),
        (1, 1_448),
        "larger packets are tried again"
    );
}

/// RFC 8201 §4: the path of echo replies is no other than that of datagrams. Their MTU is forgotten
/// after ten minutes, although no datagram is sent.
#[cfg(all(feature = "path-mtu", feature = "icmp-errors"))]
#[test]
fn echo_replies_leave_in_packets_that_the_path_carries() {
    let mut pair = pair_of(&config(), ethernet());
    let longest = |pair: &mut Pair| {
        let mut bytes = vec![0; Icmpv6Message::LEN];
        let message = Icmpv6Message::EchoRequest { ident: 1, seq: 2 };
        message.write(&mut bytes, (B6, A6), Checksum::of(&[1; 1_400]));
        bytes.extend([1; 1_400]);
        let header = Ipv6Header::new(B6, A6, Protocol::Icmpv6, bytes.len());
        let mut request = frame(&header, &bytes);
        request[..12].copy_from_slice(&[MAC_A.0, MAC_B.0].concat());
        pair.a.stack.receive(&request, RxMeta::default(), pair.now);
        let sent = sent_by_a(pair);
        let lens = sent.iter().map(|(_, payload)| 40 + payload.len());
        (sent.len(), lens.max().unwrap_or(0))
    };
    assert_eq!(longest(&mut pair), (1, 1_448));
    let request = too_big_packet(1_300, Protocol::Icmpv6, &[128, 0, 0, 0, 0, 1, 0, 2]);
    pair.a.stack.receive(&request, RxMeta::default(), pair.now);
    assert_eq!(longest(&mut pair), (1, 1_448), "A sent no request");
    let reply = too_big_packet(1_300, Protocol::Icmpv6, &[129, 0, 0, 0, 0, 1, 0, 2]);
    pair.a.stack.receive(&reply, RxMeta::default(), pair.now);
    let (count, len) = longest(&mut pair);
    assert_eq!(count, 2);
    assert!((1_280..=1_300).contains(&len), "{len}");
    pair.pass(Duration::from_secs(601));
    assert_eq!(longest(&mut pair), (1, 1_448));
}
