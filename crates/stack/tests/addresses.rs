//! Tests of addresses that are added and removed while the stack runs.
//!
//! Rule: every kind of socket on a removed address ends with a reason, and the address is silent
//! from then on.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

mod pair;

use fullpipe::{
    AddressError, CloseReason, ConnectOptions, InterfaceId, ListenOptions, OpenError, Read,
    SocketEvent, Subnet, TcpError, UdpError,
};
use pair::{B, PORT, Pair, Side, config};

/// A second address of B, in a network of its own.
const C: Ipv4Addr = Ipv4Addr::new(192, 168, 7, 2);
/// An address of A in the network of [`C`].
const D: Ipv4Addr = Ipv4Addr::new(192, 168, 7, 1);

fn subnet(address: Ipv4Addr) -> Subnet {
    Subnet {
        address: address.into(),
        prefix_len: 24,
    }
}

/// Two hosts that share two networks.
fn pair() -> Pair {
    let mut pair = Pair::new(&config());
    pair.b
        .stack
        .add_address(InterfaceId::FIRST, subnet(C))
        .unwrap();
    pair.a
        .stack
        .add_address(InterfaceId::FIRST, subnet(D))
        .unwrap();
    pair
}

fn remove(pair: &mut Pair, address: Ipv4Addr) {
    let now = pair.now;
    pair.b.stack.remove_address(address.into(), now).unwrap();
    pair.verify();
}

#[test]
fn a_host_answers_at_each_address_and_chooses_the_source_by_the_next_hop() {
    let mut pair = pair();
    let listener = pair.listen(Side::B, ListenOptions::default());
    for (to, from) in [(B, pair::A), (C, D)] {
        let client = pair.connect(Side::A, SocketAddr::from((to, PORT)));
        let mut accepted = None;
        pair.until("accepted", |pair| {
            let next = pair.b.stack.tcp_accept(listener, pair.now).unwrap();
            accepted = accepted.or(next);
            accepted.is_some()
        });
        let (local, _) = pair.a.stack.tcp_ends(client).unwrap();
        assert_eq!(local.ip(), IpAddr::from(from));
        let (id, _) = accepted.unwrap();
        let (local, remote) = pair.b.stack.tcp_ends(id).unwrap();
        assert_eq!((local.ip(), remote.ip()), (to.into(), from.into()));
    }
    let routes = pair.a.stack.routes();
    assert_eq!(routes.source(C.into()), Some(D.into()));
    let elsewhere = Ipv4Addr::new(8, 8, 8, 8).into();
    assert_eq!(routes.source(elsewhere), Some(pair::A.into()));
}

#[test]
fn a_removed_address_ends_its_connections_and_sends_no_reset() {
    let mut pair = pair();
    let (kept_client, kept) = pair.connected();
    let to = SocketAddr::from((C, PORT));
    let client = pair.connect(Side::A, to);
    pair.settle();
    let local = Some(SocketAddr::from((C, 0)));
    let back = SocketAddr::from((D, PORT));
    pair.listen(Side::A, ListenOptions::default());
    let now = pair.now;
    let options = ConnectOptions::default();
    let out = pair.b.stack.tcp_connect(back, local, options, now).unwrap();
    pair.settle();
    assert_eq!(pair.write(Side::A, client, b"unread"), 6);
    while pair.b.stack.next_event().is_some() {}
    let resets = pair.b.stack.tcp_counters().out_rsts;
    remove(&mut pair, C);
    assert_eq!(pair.b.stack.next_event(), Some(SocketEvent::Tcp(out)));
    let ready = pair.ready(Side::B, out);
    assert_eq!(ready.closed, Some(CloseReason::AddressRemoved));
    let read = pair.b.stack.tcp_read(out, &mut [0; 8], now);
    let gone = TcpError::Ended(CloseReason::AddressRemoved);
    assert_eq!(read, Err(gone));
    pair.b.stack.tcp_close(out, now).unwrap();
    pair.settle();
    assert_eq!(pair.b.stack.tcp_counters().out_rsts, resets);
    // The connection in the backlog had no user, so its slot is free. Other addresses still work.
    assert_eq!(pair.b.stack.tcp_counts().0, 1);
    assert_eq!(pair.write(Side::A, kept_client, b"kept"), 4);
    pair.settle();
    assert_eq!(pair.read(Side::B, kept, &mut [0; 8]), Read::Data(4));
    let refused = pair.b.stack.tcp_connect(back, local, options, now);
    assert_eq!(refused, Err(OpenError::AddressNotOurs));
}

#[test]
fn a_removed_address_ends_its_listeners_and_handshakes() {
    let mut pair = pair();
    let at = SocketAddr::from((C, PORT));
    let options = ListenOptions::default();
    let listener = pair.b.stack.tcp_listen(at, options).unwrap();
    pair.watch = Some(Box::new(|seen| seen.from == Side::A)); // the SYN-ACK is lost
    pair.connect(Side::A, at);
    pair.settle();
    assert_eq!(pair.b.stack.tcp_counts(), (0, 1, 0));
    remove(&mut pair, C);
    assert_eq!(pair.b.stack.tcp_counts(), (0, 0, 0));
    let now = pair.now;
    let event = pair.b.stack.next_event();
    assert_eq!(event, Some(SocketEvent::Accept(listener)));
    let accepted = pair.b.stack.tcp_accept(listener, now);
    assert_eq!(accepted, Err(TcpError::AddressRemoved));
    pair.b
        .stack
        .add_address(InterfaceId::FIRST, subnet(C))
        .unwrap();
    let again = pair.b.stack.tcp_listen(at, options).unwrap();
    pair.b.stack.tcp_close_listener(listener, now).unwrap();
    pair.b.stack.tcp_close_listener(again, now).unwrap();
    pair.verify();
}

#[test]
fn a_removed_address_ends_its_datagram_sockets() {
    let mut pair = pair();
    let bound = pair.b.stack.udp_bind(SocketAddr::from((C, 7))).unwrap();
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 8));
    let any = pair.b.stack.udp_bind(any).unwrap();
    let sender = pair.a.stack.udp_bind(SocketAddr::from((D, 9))).unwrap();
    let to = |port| SocketAddr::from((C, port));
    pair.a.stack.udp_send(sender, to(7), b"early").unwrap();
    pair.a.stack.udp_send(sender, to(8), b"early").unwrap();
    pair.settle();
    while pair.b.stack.next_event().is_some() {}
    let unsent = SocketAddr::from((D, 9));
    pair.b.stack.udp_send(bound, unsent, b"late").unwrap();
    remove(&mut pair, C);
    assert_eq!(pair.b.stack.next_event(), Some(SocketEvent::Udp(bound)));
    let mut out = [0; 8];
    let received = pair.b.stack.udp_receive(bound, &mut out).unwrap();
    assert_eq!(received.unwrap().len, 5);
    let gone = Err(UdpError::AddressRemoved);
    assert_eq!(pair.b.stack.udp_receive(bound, &mut out), gone);
    let refused = pair.b.stack.udp_send(bound, unsent, b"late");
    assert_eq!(refused, Err(UdpError::AddressRemoved));
    let sent = pair.b.stack.counters().mib.udp_out_datagrams;
    pair.settle();
    assert_eq!(pair.b.stack.counters().mib.udp_out_datagrams, sent);
    assert!(pair.b.stack.udp_receive(any, &mut out).unwrap().is_some());
    assert_eq!(pair.b.stack.udp_receive(any, &mut out), Ok(None));
    pair.b.stack.udp_close(bound).unwrap();
    pair.b.stack.udp_close(any).unwrap();
    pair.verify();
}

#[test]
fn the_last_address_may_go_and_another_may_come() {
    let mut pair = Pair::new(&config());
    remove(&mut pair, B);
    assert_eq!(pair.b.stack.addresses().next(), None);
    let (now, options) = (pair.now, ConnectOptions::default());
    let to = SocketAddr::from((pair::A, PORT));
    let refused = pair.b.stack.tcp_connect(to, None, options, now);
    assert_eq!(refused, Err(OpenError::NoRoute));
    let other = Ipv4Addr::new(10, 0, 0, 77);
    pair.b
        .stack
        .add_address(InterfaceId::FIRST, subnet(other))
        .unwrap();
    let client = pair.b.stack.tcp_connect(to, None, options, now).unwrap();
    pair.listen(Side::A, ListenOptions::default());
    pair.until("connected", |pair| pair.ready(Side::B, client).connected);
}

#[test]
fn an_address_that_no_host_can_have_is_refused() {
    let mut pair = pair();
    let stack = &mut pair.b.stack;
    assert_eq!(
        stack.add_address(InterfaceId::FIRST, subnet(C)),
        Err(AddressError::Exists)
    );
    let broadcast = subnet(Ipv4Addr::new(10, 9, 9, 255));
    let refused = stack.add_address(InterfaceId::FIRST, broadcast);
    assert!(matches!(refused, Err(AddressError::Unusable(_))));
    let now = pair.now;
    let absent = Ipv4Addr::new(10, 9, 9, 9).into();
    let refused = stack.remove_address(absent, now);
    assert_eq!(refused, Err(AddressError::NotOurs));
}
