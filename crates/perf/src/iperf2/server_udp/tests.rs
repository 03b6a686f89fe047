//! Tests that the state of a reversed test ends with the test, and that the number of states is
//! bounded.

use std::io;

use super::*;
use crate::iperf2::{header::CLIENT_LEN, options::Amount};

/// Socket that discards all datagrams and receives none.
struct FakeSocket;

impl DatagramSocket for FakeSocket {
    fn send_to(&self, _bytes: &[u8], _to: SocketAddr) -> io::Result<()> {
        Ok(())
    }

    fn receive_from(&self, _buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(address(5_001))
    }

    fn send_buffer(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn receive_buffer(&self) -> io::Result<u64> {
        Ok(0)
    }
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// The request of a reversed test of `amount`.
fn request(amount: Amount) -> Vec<u8> {
    let header = ClientHeader {
        reverse: true,
        amount,
        rate: Some(Rate::Bits(1 << 20)),
        streams: 1,
        port: 5_001,
        length: 0,
        window: 0,
        wants_ack: false,
        wants_dual_test: false,
    };
    let mut request = traffic::datagram(header::DATAGRAM_LEN + CLIENT_LEN, Some(&header));
    traffic::number(&mut request, 1);
    request
}

/// Waits until the sender of the test of `from` has ended.
fn wait_for_end<D, A>(server: &UdpServer<'_, D, A>, from: SocketAddr) -> Instant {
    let Some(ClientState::Reversed { ended_at, .. }) = server.states.get(&from) else {
        panic!("no reversed test of {from}");
    };
    *ended_at.wait()
}

/// Raises the stop flag when it is dropped.
struct Stops<'a>(&'a Stop);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// Runs `body` with a server whose senders are joined afterwards.
fn with_server(
    body: impl for<'scope> FnOnce(
        &mut UdpServer<'scope, FakeSocket, fn(SocketAddr) -> SocketAddr>,
        &'scope Scope<'scope, '_>,
    ),
) {
    let socket = FakeSocket;
    let options = ServerOptions::new(address(5_001));
    let until = StopCondition {
        stop: Stop::new(),
        deadline: None,
        ended_by_peer: None,
    };
    let (reporter, _events) = mpsc::channel();
    thread::scope(|scope| {
        let mut server = UdpServer {
            socket: &socket,
            local_address_for: (|peer| peer) as fn(SocketAddr) -> SocketAddr,
            options: &options,
            until: &until,
            reporter,
            states: HashMap::new(),
            served: 0,
        };
        // Stops the senders even if `body` panics, because the scope waits for them.
        let _stopped = Stops(&until.stop);
        body(&mut server, scope);
    });
}

#[test]
fn a_reversed_test_is_forgotten_some_time_after_its_last_datagram() {
    let from = address(6_000);
    with_server(|server, scope| {
        server.on_datagram(&request(Amount::Bytes(1_000)), from, scope);
        let ended_at = wait_for_end(server, from);
        // A request that was duplicated on the path begins no second test.
        server.on_datagram(&request(Amount::Bytes(1_000)), from, scope);
        server.expire(ended_at + FORGET_AFTER - Duration::from_nanos(1));
        let known = server.states.len();
        server.expire(ended_at + FORGET_AFTER);
        assert_eq!((known, server.states.len(), server.served), (1, 0, 1));
        server.on_datagram(&request(Amount::Bytes(1_000)), from, scope);
        assert_eq!(server.served, 2, "a new test of the same client");
    });
}

#[test]
fn the_last_datagram_of_a_client_ends_its_reversed_test() {
    let (from, other) = (address(6_000), address(6_001));
    with_server(|server, scope| {
        let day = Amount::Time(Duration::from_secs(86_400));
        server.on_datagram(&request(day), from, scope);
        server.on_datagram(&request(day), other, scope);
        let mut last = traffic::datagram(header::DATAGRAM_LEN, None);
        traffic::number(&mut last, -2);
        server.on_datagram(&last, from, scope);
        wait_for_end(server, from);
        let Some(ClientState::Reversed { ended_at, .. }) = server.states.get(&other) else {
            panic!("the other test is gone");
        };
        assert_eq!(ended_at.get(), None, "the other test goes on");
    });
}

#[test]
fn reversed_tests_are_bounded_in_number() {
    with_server(|server, scope| {
        let day = Amount::Time(Duration::from_secs(86_400));
        for client in 0..MOST_REVERSED as u16 + 10 {
            server.on_datagram(&request(day), address(6_000 + client), scope);
        }
        assert_eq!(server.states.len(), MOST_REVERSED);
    });
}
