//! Tests of socket options, and of calls that change the outcome of a read or a write.
//!
//! Rule: the conformance scripts of `fullpipe` test what an option changes on the wire. The tests
//! here only check that every socket passes the option on.

use std::{
    io,
    net::Shutdown,
    task::{Context, Poll, Waker},
    thread,
};

use fullpipe::{Duration, SocketOption, Tuning, config::CongestionAlgorithm};
use fullpipe_host::{TcpListener, TcpStream};

use crate::{at, pair};

#[test]
fn every_socket_option_is_kept() {
    let (client, server) = pair();
    let _listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    let secs = Duration::from_secs;
    for option in [
        SocketOption::NoDelay(true),
        SocketOption::Cork(true),
        SocketOption::QuickAck(true),
        SocketOption::SendBuffer(20_000),
        SocketOption::SendLowWater(1_000),
        SocketOption::UnsentLowWater(2_000),
        SocketOption::ReceiveBuffer(30_000),
        SocketOption::ReceiveLowWater(3_000),
        SocketOption::MaxSegment(500),
        SocketOption::Unacknowledged(15_000),
        SocketOption::OutOfOrder(25_000),
        SocketOption::Keepalive(secs(10)),
        SocketOption::KeepaliveInterval(secs(2)),
        SocketOption::KeepaliveProbes(3),
        SocketOption::SynRetries(4),
        SocketOption::UserTimeout(secs(5)),
        SocketOption::Congestion(CongestionAlgorithm::NewReno.into()),
    ] {
        stream.set(option).expect("a legal value");
    }
    let expected = Tuning {
        send_buffer: 20_000,
        send_buffer_max: 0,
        receive_buffer: 30_000,
        receive_buffer_max: 0,
        send_low_water: 1_000,
        unsent_low_water: 2_000,
        receive_low_water: 3_000,
        mss_max: 500,
        unacknowledged: 15_000,
        out_of_order: 25_000,
        nagle: false,
        corked: true,
        quick_ack: true,
        keepalive_time: secs(10),
        keepalive_interval: secs(2),
        keepalive_probes: 3,
        syn_retries: 4,
        user_timeout: secs(5),
        congestion: Some(CongestionAlgorithm::NewReno.into()),
    };
    assert_eq!(stream.info().expect("it is open").tuning, expected);
}

#[test]
fn a_value_out_of_range_is_refused_and_changes_nothing() {
    let (client, server) = pair();
    let _listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    let kept = || stream.info().expect("it is open").tuning;
    let before = kept();
    for (option, text) in [
        (
            SocketOption::SendBuffer(1),
            "tcp.send_buffer is outside 128 to 1073741824 bytes",
        ),
        (
            SocketOption::UnsentLowWater(u32::MAX),
            "unsent_low_water is outside 0 to 1073741824 bytes",
        ),
        (
            SocketOption::MaxSegment(63),
            "tcp.mss_max is outside 64 to 65495 bytes",
        ),
        (
            SocketOption::KeepaliveInterval(Duration::from_millis(9)),
            "tcp.keepalive_interval is outside 10 to 86400000 ms",
        ),
        (
            SocketOption::KeepaliveProbes(256),
            "tcp.keepalive_probes is outside 1 to 255 probes",
        ),
        (
            SocketOption::SynRetries(0),
            "tcp.syn_retries is outside 1 to 255 timeouts",
        ),
    ] {
        let error = stream.set(option).expect_err(text);
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::InvalidInput, text)
        );
    }
    assert_eq!(kept(), before);
    let tuning = Tuning {
        keepalive_probes: 0,
        ..before
    };
    let refused = TcpStream::start_connect(&client, at(2), Some(tuning));
    assert_eq!(
        refused.expect_err("no probe at all").kind(),
        io::ErrorKind::InvalidInput
    );
}

#[test]
fn a_peek_leaves_what_a_read_returns() {
    let (client, server) = pair();
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    let (peer, _) = listener.accept().expect("a client comes");
    let mut context = Context::from_waker(Waker::noop());
    let mut buffer = [0; 10];
    assert!(stream.poll_peek(&mut context, &mut buffer).is_pending());
    thread::scope(|scope| {
        let peeker = scope.spawn(|| {
            let mut buffer = [0; 10];
            let peeked = stream.peek(&mut buffer).expect("the peer writes");
            buffer[..peeked].to_vec()
        });
        peer.send(b"four").expect("there is room");
        assert_eq!(peeker.join().expect("no panic"), b"four");
    });
    let polled = stream.poll_peek(&mut context, &mut buffer);
    assert!(matches!(polled, Poll::Ready(Ok(4))), "{polled:?}");
    assert_eq!(stream.receive(&mut buffer).expect("it is there"), 4);
    assert_eq!(&buffer[..4], b"four");
}

#[test]
fn a_reader_waits_for_the_low_water() {
    let (client, server) = pair();
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    let (peer, _) = listener.accept().expect("a client comes");
    stream
        .set(SocketOption::ReceiveLowWater(8))
        .expect("a legal value");
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut buffer = [0; 100];
            stream.receive(&mut buffer).expect("the peer writes")
        });
        for _ in 0..2 {
            peer.send(b"four").expect("there is room");
        }
        assert_eq!(reader.join().expect("no panic"), 8);
    });
}

#[test]
fn closing_the_reading_direction_ends_a_read_and_discards_the_rest() {
    let (client, server) = pair();
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    let (peer, _) = listener.accept().expect("a client comes");
    thread::scope(|scope| {
        let reader = scope.spawn(|| stream.receive(&mut [0; 10]).expect("the end of the stream"));
        stream.shutdown(Shutdown::Read).expect("it is open");
        assert_eq!(reader.join().expect("no panic"), 0);
    });
    // The payload is larger than both buffers, so it can be sent only if the receiver discards it.
    let sent = vec![7; 1_000_000];
    let mut left = &sent[..];
    while !left.is_empty() {
        left = &left[peer.send(left).expect("it is open")..];
    }
    assert_eq!(stream.receive(&mut [0; 10]).expect("still the end"), 0);
    assert_eq!(stream.info().expect("it is open").receive_queue, 0);
}
