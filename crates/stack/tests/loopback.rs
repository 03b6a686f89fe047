//! Tests of packets that a host sends to itself.
//!
//! Rule: nothing that belongs to the host itself appears on its device.

use core::net::SocketAddr;

mod port;

use fullpipe::{
    Config, ConnectionId, Instant, Interface, ListenOptions, MacAddress, OpenError, PathError,
    Read, Stack, Subnet,
    device::{Capabilities, Medium},
    turn,
};
use port::Port;

const NOW: Instant = Instant::from_secs(5);

/// A host with 10.0.0.1 and fd00::1.
struct Host {
    stack: Stack,
    port: Port,
}

impl Host {
    fn new(loopback: bool) -> Self {
        let mut config = Config::default();
        for (name, value) in [
            ("stack.connections", "8"),
            ("pool.blocks", "256"),
            ("pool.block_size", "2048"),
        ] {
            config.set(name, value).unwrap();
        }
        config.ip.loopback = loopback;
        let capabilities = Capabilities::plain(Medium::Ethernet, 1_500);
        let interface = Interface {
            mac: MacAddress([2, 0, 0, 0, 0, 1]),
            address: [10, 0, 0, 1].into(),
            prefix_len: 24,
            gateway: Some([10, 0, 0, 254].into()),
            capabilities,
        };
        let mut stack = Stack::new(&config, interface, [3; 16]).unwrap();
        let first = stack.interface_ids().next().unwrap();
        let v6 = Subnet {
            address: "fd00::1".parse().unwrap(),
            prefix_len: 64,
        };
        stack.add_address(first, v6).unwrap();
        let port = Port::new(capabilities);
        Self { stack, port }
    }

    fn settle(&mut self) {
        while turn(&mut self.stack, &mut self.port, NOW).more_work {}
        self.stack.verify(NOW);
    }

    fn connect(&mut self, to: SocketAddr) -> Result<ConnectionId, OpenError> {
        self.stack.tcp_connect(to, None, Default::default(), NOW)
    }
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn a_connection_to_this_host_carries_bytes_in_both_directions() {
    let mut host = Host::new(true);
    for any in ["0.0.0.0:80", "[::]:80"] {
        let listener = host.stack.tcp_listen(at(any), ListenOptions::default());
        let listener = listener.unwrap();
        let targets = match at(any) {
            SocketAddr::V4(_) => ["127.0.0.1:80", "127.9.9.9:80", "10.0.0.1:80"],
            SocketAddr::V6(_) => ["[::1]:80", "[fd00::1]:80", "[fd00::1]:80"],
        };
        for to in targets {
            let client = host.connect(at(to)).unwrap();
            host.settle();
            let accepted = host.stack.tcp_accept(listener, NOW).unwrap();
            let (server, _) = accepted.unwrap_or_else(|| panic!("{to} is not reached"));
            let bytes = [7; 20_000];
            for (from, to) in [(client, server), (server, client)] {
                let written = host.stack.tcp_write(from, &bytes, NOW).unwrap();
                let mut read = 0;
                while read < written {
                    host.settle();
                    match host.stack.tcp_read(to, &mut [0; 4_096], NOW).unwrap() {
                        Read::Data(len) => read += len,
                        other => panic!("{other:?} after {read} bytes"),
                    }
                }
            }
            host.stack.tcp_abort(client, NOW).unwrap();
            host.settle();
        }
    }
    assert_eq!(host.port.sent.len(), 0, "nothing leaves the host");
}

#[test]
fn a_datagram_longer_than_a_packet_reaches_a_socket_of_this_host() {
    let mut host = Host::new(true);
    let receiver = host.stack.udp_bind(at("127.0.0.1:9")).unwrap();
    let sender = host.stack.udp_bind(at("0.0.0.0:0")).unwrap();
    let sent = host.stack.udp_send(sender, at("127.0.0.1:9"), &[1; 4_000]);
    assert_eq!(sent, Ok(true));
    host.settle();
    let received = host.stack.udp_receive(receiver, &mut [0; 5_000]).unwrap();
    let received = received.expect("it was put together");
    assert_eq!(
        (received.len, received.from.ip()),
        (4_000, at("127.0.0.1:0").ip())
    );
    let closed = at("10.0.0.1:10");
    assert_eq!(host.stack.udp_send(sender, closed, b"anyone?"), Ok(true));
    host.settle();
    let error = host.stack.udp_take_error(sender).unwrap();
    assert_eq!(error, Some((closed, PathError::Unreachable { hard: true })));
    assert_eq!(host.port.sent.len(), 0, "nothing leaves the host");
}

/// A connection that always has something to send must not stop other protocols.
#[test]
fn a_datagram_does_not_wait_until_connections_pause() {
    let mut host = Host::new(true);
    let listener = host
        .stack
        .tcp_listen(at("127.0.0.1:80"), ListenOptions::default())
        .unwrap();
    let client = host.connect(at("127.0.0.1:80")).unwrap();
    host.settle();
    let (server, _) = host.stack.tcp_accept(listener, NOW).unwrap().unwrap();
    let receiver = host.stack.udp_bind(at("127.0.0.1:9")).unwrap();
    let sender = host.stack.udp_bind(at("0.0.0.0:0")).unwrap();
    let sent = host.stack.udp_send(sender, at("127.0.0.1:9"), b"waits");
    assert_eq!(sent, Ok(true));
    let mut turns = 0;
    while host
        .stack
        .udp_receive(receiver, &mut [0; 9])
        .unwrap()
        .is_none()
    {
        host.stack.tcp_write(client, &[7; 20_000], NOW).unwrap();
        host.stack.loop_back(NOW, 1);
        host.stack.tcp_read(server, &mut [0; 20_000], NOW).unwrap();
        turns += 1;
        assert!(turns < 10, "the connection does not pause");
    }
}

#[test]
fn a_host_without_loopback_does_not_reach_itself() {
    let mut host = Host::new(false);
    assert_eq!(host.stack.loopback(), None);
    for to in ["127.0.0.1:80", "10.0.0.1:80", "[::1]:80"] {
        assert_eq!(host.connect(at(to)), Err(OpenError::NoRoute), "{to}");
    }
}

#[test]
fn a_loopback_address_does_not_reach_other_hosts() {
    let mut host = Host::new(true);
    let (to, from) = (at("192.0.2.1:80"), Some(at("127.0.0.1:0")));
    let refused = host.stack.tcp_connect(to, from, Default::default(), NOW);
    assert_eq!(refused, Err(OpenError::NoRoute));
}
