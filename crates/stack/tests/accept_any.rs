//! Tests of a stack that receives packets to every address, with an application that decides about
//! each SYN.
//!
//! Rule: for any number of destinations, memory stays within the table sizes that the configuration
//! sets.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

mod pair;

use fullpipe::{
    CloseReason, Config, ConnectOptions, ConnectionId, Duration, ListenOptions, ListenerId,
    OpenError, PathError, Read, Refusal, Rng, SocketEvent, TcpError, TcpRequest, UdpError,
    device::{Capabilities, Medium, RxMeta},
};
use fullpipe_wire::{
    Checksum, ChecksumPolicy, Icmpv4Message, Ipv4Header, Protocol, TcpFlags, TcpHeader, TcpOptions,
    UnreachableCode, tcp,
};
use pair::{A, PORT, Pair, Side, config};

/// An address that no host has.
const FAR: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const ANY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

fn gateway_config() -> Config {
    let mut config = config();
    config.set("ip.accept_any", "true").unwrap();
    config.set("icmp.errors_per_source", "1000").unwrap();
    config
}

/// A client A, and a gateway B that receives every packet.
fn pair() -> Pair {
    let tun = Capabilities::plain(Medium::Ip, 1500);
    let mut pair = Pair::with(&config(), &gateway_config(), tun);
    let gateway = pair::B.into();
    pair.a.stack.routes_mut().set_default(gateway).unwrap();
    pair
}

fn listen(pair: &mut Pair, deferred: bool) -> ListenerId {
    let options = ListenOptions {
        all_ports: true,
        deferred,
        ..ListenOptions::default()
    };
    let every = SocketAddr::new(ANY, 0);
    pair.b.stack.tcp_listen(every, options).unwrap()
}

fn accept(pair: &mut Pair, listener: ListenerId) -> Option<(ConnectionId, SocketAddr)> {
    let now = pair.now;
    pair.b.stack.tcp_accept(listener, now).unwrap()
}

fn next_request(pair: &mut Pair, listener: ListenerId) -> Option<TcpRequest> {
    let now = pair.now;
    pair.b.stack.tcp_next_request(listener, now).unwrap()
}

/// Connects A to port 443 of a far host. Returns B's listener, A's connection and the request: the
/// SYN about which B's application decides.
fn asked(pair: &mut Pair) -> (ListenerId, ConnectionId, TcpRequest) {
    let listener = listen(pair, true);
    let client = pair.connect(Side::A, SocketAddr::from((FAR, 443)));
    pair.settle();
    assert_eq!(
        pair.b.stack.next_event(),
        Some(SocketEvent::Accept(listener))
    );
    let request = next_request(pair, listener).expect("a SYN has arrived");
    (listener, client, request)
}

#[test]
fn a_listener_at_all_ports_serves_every_address_and_knows_the_destination() {
    let mut pair = pair();
    let every = listen(&mut pair, false);
    let one = pair.listen(Side::B, ListenOptions::default());
    for (to, expected) in [((FAR, 443), every), ((FAR, PORT), one)] {
        let to = SocketAddr::from(to);
        let client = pair.connect(Side::A, to);
        pair.until("connected", |pair| pair.ready(Side::A, client).connected);
        let (id, _) = accept(&mut pair, expected).expect("it is accepted");
        let (local, remote) = pair.b.stack.tcp_ends(id).unwrap();
        assert_eq!((local, remote.ip()), (to, IpAddr::from(A)));
        assert_eq!(pair.write(Side::A, client, b"ping"), 4);
        pair.settle();
        assert_eq!(pair.read(Side::B, id, &mut [0; 8]), Read::Data(4));
    }
    pair.verify();
}

#[test]
fn an_ordinary_host_ignores_other_addresses() {
    let tun = Capabilities::plain(Medium::Ip, 1500);
    let mut pair = Pair::with(&config(), &config(), tun);
    let at = SocketAddr::from((FAR, 80));
    let options = ListenOptions::default();
    let refused = pair.b.stack.tcp_listen(at, options);
    assert_eq!(refused, Err(OpenError::AddressNotOurs));
    let gateway = pair::B.into();
    pair.a.stack.routes_mut().set_default(gateway).unwrap();
    pair.connect(Side::A, at);
    pair.settle();
    assert_eq!(pair.b.stack.counters().mib.ip_in_delivers, 0);
}

#[test]
fn a_syn_is_answered_only_after_the_decision() {
    let mut pair = pair();
    let (listener, client, request) = asked(&mut pair);
    assert_eq!(request.local, SocketAddr::from((FAR, 443)));
    pair.pass(Duration::from_secs(5)); // the SYN is repeated and not asked about again
    assert_eq!(next_request(&mut pair, listener), None);
    assert_eq!(pair.b.stack.tcp_counters().out_segs, 0);
    let now = pair.now;
    pair.b.stack.tcp_admit(request.id, now).unwrap();
    pair.until("connected", |pair| pair.ready(Side::A, client).connected);
    pair.settle();
    let (id, peer) = accept(&mut pair, listener).expect("the handshake is complete");
    assert_eq!(peer, request.remote);
    assert_eq!(pair.b.stack.tcp_ends(id).unwrap().0, request.local);
    let late = pair.b.stack.tcp_admit(request.id, now);
    assert_eq!(late, Err(TcpError::NoSuchHandle));
    pair.verify();
}

#[test]
fn a_refused_syn_gets_the_error_that_the_application_chose() {
    for (refusal, closed) in [
        (Refusal::Port, Some(CloseReason::Refused)),
        (Refusal::Host, None),
        (Refusal::Network, None),
        (Refusal::Silent, None),
    ] {
        let mut pair = pair();
        let (_, client, request) = asked(&mut pair);
        let now = pair.now;
        pair.b.stack.tcp_refuse(request.id, refusal, now).unwrap();
        pair.settle();
        let ready = pair.ready(Side::A, client);
        assert_eq!(ready.closed, closed, "{refusal:?}");
        let errors = pair.a.stack.counters().mib.icmp_in_dest_unreachs;
        let expected = matches!(refusal, Refusal::Host | Refusal::Network);
        assert_eq!(errors, u64::from(expected), "{refusal:?}");
        let discards: u64 = pair.a.stack.counters().discards().map(|(_, n)| n).sum();
        assert_eq!(discards, 0, "{refusal:?}");
        assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
        pair.verify();
    }
}

#[test]
fn a_request_ends_with_its_peer_its_listener_or_its_time() {
    let mut pair = pair();
    let (listener, client, request) = asked(&mut pair);
    let now = pair.now;
    pair.b.stack.tcp_close_listener(listener, now).unwrap();
    let late = pair.b.stack.tcp_admit(request.id, now);
    assert_eq!(late, Err(TcpError::NoSuchHandle));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    pair.a.stack.tcp_abort(client, now).unwrap();
    let listener = listen(&mut pair, true);
    let to = SocketAddr::from((FAR, 80));
    let client = pair.connect(Side::A, to);
    pair.settle();
    let request = next_request(&mut pair, listener).unwrap();
    let now = pair.now;
    pair.a.stack.tcp_abort(client, now).unwrap();
    pair.pass(Duration::from_secs(59));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 1, 0));
    pair.pass(Duration::from_secs(2));
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    let now = pair.now;
    let late = pair.b.stack.tcp_refuse(request.id, Refusal::Port, now);
    assert_eq!(late, Err(TcpError::NoSuchHandle));
    pair.verify();
}

/// Writes a SYN from a random host to a random address and port.
fn random_syn(rng: &mut Rng) -> [u8; 40] {
    let mut address = || {
        let [a, b, c, d] = (rng.next_u64() as u32).to_be_bytes();
        Ipv4Addr::new(1 + a % 100, b, c, d)
    };
    let (src, dst) = (address(), address());
    let mut packet = [0; 40];
    Ipv4Header::new(src, dst, Protocol::Tcp, 20).write(&mut packet);
    TcpHeader {
        src_port: 1 + rng.below(65_535) as u16,
        dst_port: 1 + rng.below(65_535) as u16,
        seq: rng.next_u64() as u32,
        ack: 0,
        flags: TcpFlags::SYN,
        window: 1_000,
        urgent: 0,
        options: TcpOptions::default(),
        options_malformed: false,
    }
    .write(&mut packet[20..]);
    let checksum = fullpipe_wire::Checksum::new();
    tcp::set_checksum(&mut packet[20..], src.into(), dst.into(), checksum);
    packet
}

/// A hundred thousand SYNs between random addresses fill only the table of handshakes, and nothing
/// is sent. A client connects as soon as the application has refused the SYNs of the flood.
#[test]
fn a_flood_of_syns_to_all_addresses_stays_within_the_table() {
    let mut pair = pair();
    let listener = listen(&mut pair, true);
    let mut rng = Rng::seeded(11);
    let free = pair.b.stack.pool().free_blocks();
    let now = pair.now;
    for _ in 0..100_000 {
        let syn = random_syn(&mut rng);
        pair.b.stack.receive(&syn, RxMeta::default(), now);
        assert!(pair.b.stack.tcp_counts().1 <= 8); // stack.half_open
    }
    assert_eq!(pair.b.stack.tcp_counts().1, 8);
    assert_eq!(pair.b.stack.pool().free_blocks(), free);
    pair.settle();
    assert_eq!(pair.b.stack.tcp_counters().out_segs, 0);
    pair.verify();
    let client = pair.connect(Side::A, SocketAddr::from((FAR, 443)));
    pair.until("connected", |pair| {
        let now = pair.now;
        while let Some(request) = next_request(pair, listener) {
            match request.remote.ip() == IpAddr::from(A) {
                true => pair.b.stack.tcp_admit(request.id, now).unwrap(),
                false => pair
                    .b
                    .stack
                    .tcp_refuse(request.id, Refusal::Silent, now)
                    .unwrap(),
            }
        }
        pair.ready(Side::A, client).connected
    });
    pair.verify();
}

#[test]
fn a_datagram_socket_at_all_ports_tells_the_destination_and_answers_from_it() {
    let mut pair = pair();
    let every = pair.b.stack.udp_bind_all_ports(ANY).unwrap();
    let again = pair.b.stack.udp_bind_all_ports(ANY);
    assert_eq!(again, Err(UdpError::AddressInUse));
    let one = SocketAddr::new(ANY, 53);
    let one = pair.b.stack.udp_bind(one).unwrap();
    let client = pair.a.stack.udp_bind(SocketAddr::new(ANY, 5_000)).unwrap();
    let mut out = [0; 16];
    for (port, socket) in [(443, every), (53, one)] {
        let to = SocketAddr::from((FAR, port));
        pair.a.stack.udp_send(client, to, b"question").unwrap();
        pair.settle();
        let got = pair.b.stack.udp_receive(socket, &mut out).unwrap();
        let got = got.expect("it has arrived");
        assert_eq!((got.len, got.to), (8, to));
        let sent = pair.b.stack.udp_send_from(socket, to, got.from, b"answer");
        assert_eq!(sent, Ok(true));
        pair.settle();
        let got = pair.a.stack.udp_receive(client, &mut out).unwrap();
        let got = got.expect("it is answered");
        assert_eq!((got.len, got.from), (6, to));
    }
    let (from, to) = (SocketAddr::from((FAR, 443)), SocketAddr::from((A, 5_000)));
    let wrong = pair.b.stack.udp_send_from(one, from, to, b"");
    assert_eq!(wrong, Err(UdpError::BadSource));
    let wrong = pair.b.stack.udp_send(every, to, b"");
    assert_eq!(wrong, Err(UdpError::BadSource));
    let now = pair.now;
    pair.b.stack.udp_refuse(to, from, Refusal::Port, now);
    pair.settle();
    let error = pair.a.stack.udp_take_error(client).unwrap();
    let refused = PathError::Unreachable { hard: true };
    assert_eq!(error, Some((from, refused)));
}

#[test]
fn connections_from_any_address_can_be_opened() {
    let mut pair = pair();
    pair.listen(Side::A, ListenOptions::default());
    let now = pair.now;
    let from = Some(SocketAddr::from((FAR, 0)));
    let to = SocketAddr::from((A, PORT));
    let options = ConnectOptions::default();
    let client = pair.b.stack.tcp_connect(to, from, options, now).unwrap();
    pair.until("connected", |pair| pair.ready(Side::B, client).connected);
}

/// An echo request from A to a far host, with identifier 0 and sequence number 9.
fn echo_request() -> Vec<u8> {
    echo_request_as(Protocol::Icmp)
}

/// An echo request of ICMP in a packet that names `protocol`.
fn echo_request_as(protocol: Protocol) -> Vec<u8> {
    let mut packet = vec![0; Ipv4Header::LEN + 8];
    Ipv4Header::new(A, FAR, protocol, 8 + 4).write(&mut packet);
    let message = Icmpv4Message::EchoRequest { ident: 0, seq: 9 };
    message.write(&mut packet[Ipv4Header::LEN..], Checksum::of(b"data"));
    packet.extend(b"data");
    packet
}

/// The packets that B sends in answer to an echo request.
fn answers(pair: &mut Pair) -> Vec<Vec<u8>> {
    let (now, b) = (pair.now, &mut pair.b);
    b.stack.receive(&echo_request(), RxMeta::default(), now);
    sent_by_b(pair)
}

fn sent_by_b(pair: &mut Pair) -> Vec<Vec<u8>> {
    let (now, b) = (pair.now, &mut pair.b);
    let mut packets = Vec::new();
    while b.stack.transmit(&mut b.port, now, 1) > 0 {
        packets.push(b.port.last_sent().0);
    }
    packets
}

#[test]
fn an_echo_socket_receives_requests_in_place_of_the_stack() {
    let mut pair = pair();
    let reply = answers(&mut pair);
    assert_eq!(reply.len(), 1, "the stack answers");
    let socket = pair.b.stack.udp_bind_echo(ANY).unwrap();
    assert_eq!(pair.b.stack.udp_bind_echo(ANY), Err(UdpError::AddressInUse));
    assert_eq!(answers(&mut pair), [] as [Vec<u8>; 0]);
    assert_eq!(pair.b.stack.next_event(), Some(SocketEvent::Udp(socket)));
    let mut data = [0; 9];
    let received = pair
        .b
        .stack
        .udp_receive(socket, &mut data)
        .unwrap()
        .unwrap();
    assert_eq!(&data[..received.copied], b"data");
    let (from, to) = (SocketAddr::from((A, 0)), SocketAddr::from((FAR, 9)));
    assert_eq!((received.from, received.to), (from, to));
    let sent = pair.b.stack.udp_send_from(socket, to, from, b"data");
    assert_eq!(sent, Ok(true));
    let replies = sent_by_b(&mut pair);
    assert_eq!(
        replies[0][Ipv4Header::LEN..],
        reply[0][Ipv4Header::LEN..],
        "the reply is the one of the stack"
    );
    assert_eq!(replies[0][12..20], reply[0][12..20]);
    // A datagram to port 9 is not for this socket.
    assert_eq!(pair.b.stack.udp_local(socket).unwrap().port(), 0);
    pair.b.stack.udp_close(socket).unwrap();
    assert_eq!(answers(&mut pair).len(), 1, "the stack answers again");
    pair.verify();
}

/// IPv4 does not carry ICMPv6.
#[test]
fn an_echo_socket_receives_requests_of_its_own_protocol_only() {
    let mut pair = pair();
    let socket = pair.b.stack.udp_bind_echo(ANY).unwrap();
    let (now, stack) = (pair.now, &mut pair.b.stack);
    for (protocol, is_received) in [(Protocol::Icmpv6, false), (Protocol::Icmp, true)] {
        stack.receive(&echo_request_as(protocol), RxMeta::default(), now);
        let received = stack.udp_receive(socket, &mut [0; 9]).unwrap();
        assert_eq!(received.is_some(), is_received, "{protocol:?}");
    }
}

#[cfg(feature = "icmp-errors")]
#[test]
fn a_refused_echo_request_gets_an_error_that_quotes_it() {
    let mut pair = pair();
    pair.b.stack.udp_bind_echo(ANY).unwrap();
    answers(&mut pair);
    let (from, to) = (SocketAddr::from((A, 0)), SocketAddr::from((FAR, 9)));
    let now = pair.now;
    pair.b.stack.echo_refuse(from, to, Refusal::Host, now);
    let sent = sent_by_b(&mut pair);
    let verify = ChecksumPolicy::Verify;
    let (message, quoted) = Icmpv4Message::parse(&sent[0][Ipv4Header::LEN..], verify).unwrap();
    assert!(
        matches!(
            message,
            Icmpv4Message::Unreachable {
                code: UnreachableCode::Host,
                ..
            }
        ),
        "{message:?}"
    );
    assert_eq!(quoted[12..20], echo_request()[12..20], "the addresses");
    let quoted = &quoted[Ipv4Header::LEN..];
    assert_eq!((quoted[0], &quoted[4..8]), (8, &[0, 0, 0, 9][..]));
}
