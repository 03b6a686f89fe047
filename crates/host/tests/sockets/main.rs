//! Tests of the sockets of two stacks on two threads, over a cable in memory.
//!
//! Rule: no privilege is needed, and no assertion is about time.

#[path = "../apart/mod.rs"]
mod apart;
mod congestion;
mod full;
mod hosts;
mod inspection;
mod interfaces;
mod options;
mod polling;
mod wire;

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    thread,
    time::Duration,
};

use fullpipe::CloseReason;
use fullpipe_host::{DatagramBatch, TcpListener, TcpStream, UdpSocket};
use hosts::{at, pair, pattern, start};
use wire::wire;

#[test]
fn megabytes_are_echoed_byte_for_byte() {
    let (client, server) = pair();
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let sent = pattern(5_000_000);
    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    thread::scope(|scope| {
        scope.spawn(|| {
            let (stream, peer) = listener.accept().expect("a client comes");
            assert_eq!(peer, stream.peer_addr());
            let mut buffer = vec![0; 100_000];
            loop {
                let read = (&stream).read(&mut buffer).expect("the stream is sound");
                if read == 0 {
                    break;
                }
                (&stream)
                    .write_all(&buffer[..read])
                    .expect("the stream is sound");
            }
        });
        stream.set_nodelay(true).expect("it is connected");
        assert_eq!(stream.peer_addr(), at(2));
        assert_eq!(stream.local_addr().ip(), at(1).ip());
        scope.spawn(|| {
            (&stream).write_all(&sent).expect("the stream is sound");
            stream.shutdown(Shutdown::Write).expect("it is connected");
        });
        let mut echoed = Vec::new();
        (&stream)
            .read_to_end(&mut echoed)
            .expect("the stream is sound");
        assert!(
            echoed == sent,
            "{} of {} bytes, or other ones",
            echoed.len(),
            sent.len()
        );
        let info = stream.info().expect("the socket is open");
        assert_eq!(
            (info.bytes_sent, info.bytes_received),
            (5_000_000, 5_000_000)
        );
        assert!(!stream.describe().expect("the socket is open").is_empty());
    });
    drop(listener);
    assert!(
        server.finish(Duration::from_secs(300)),
        "every connection ends"
    );
}

#[test]
fn a_port_without_a_listener_refuses() {
    let (client, _server) = pair();
    let error = TcpStream::connect(&client, at(2)).expect_err("nothing listens");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
    assert!(
        error.to_string().contains(CloseReason::Refused.describe()),
        "{error}"
    );
}

#[test]
fn waits_end_with_their_timeouts() {
    let (client, server) = pair();
    let short = Some(Duration::from_millis(20));
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    listener.set_timeout(short);
    assert_eq!(
        listener.accept().expect_err("no client comes").kind(),
        io::ErrorKind::WouldBlock
    );

    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    stream.set_read_timeout(short);
    stream.set_write_timeout(short);
    assert_eq!(
        stream
            .receive(&mut [0])
            .expect_err("the peer writes nothing")
            .kind(),
        io::ErrorKind::WouldBlock
    );
    let full = (0..1_000).find_map(|_| stream.send(&[0; 10_000]).err());
    assert_eq!(
        full.expect("the peer reads nothing").kind(),
        io::ErrorKind::WouldBlock
    );

    let unanswered =
        TcpStream::connect_with(&client, at(3), None, short).expect_err("there is no such host");
    assert_eq!(unanswered.kind(), io::ErrorKind::TimedOut);
    let socket = UdpSocket::bind(&client, at(1)).expect("the port is free");
    socket.set_read_timeout(short);
    assert_eq!(
        socket
            .recv_from(&mut [0; 10])
            .expect_err("nothing is sent")
            .kind(),
        io::ErrorKind::WouldBlock
    );
}

#[test]
fn addresses_in_use_and_addresses_of_others_are_refused() {
    let (one, _other) = pair();
    let _listener = TcpListener::bind(&one, at(1)).expect("the port is free");
    let _socket = UdpSocket::bind(&one, at(1)).expect("the port is free");
    for (name, error, kind) in [
        (
            "tcp twice",
            TcpListener::bind(&one, at(1)).map(drop),
            io::ErrorKind::AddrInUse,
        ),
        (
            "tcp elsewhere",
            TcpListener::bind(&one, at(9)).map(drop),
            io::ErrorKind::AddrNotAvailable,
        ),
        (
            "udp twice",
            UdpSocket::bind(&one, at(1)).map(drop),
            io::ErrorKind::AddrInUse,
        ),
        (
            "udp elsewhere",
            UdpSocket::bind(&one, at(9)).map(drop),
            io::ErrorKind::AddrNotAvailable,
        ),
    ] {
        assert_eq!(error.expect_err(name).kind(), kind, "{name}");
    }
    drop(_listener);
    TcpListener::bind(&one, at(1)).expect("a dropped listener frees its port");
}

#[test]
fn datagrams_of_every_size_arrive_whole_with_their_sender() {
    let (one, other) = pair();
    let (sender, receiver) = (UdpSocket::bind(&one, at(1)), UdpSocket::bind(&other, at(2)));
    let (sender, receiver) = (
        sender.expect("the port is free"),
        receiver.expect("the port is free"),
    );
    let mut buffer = vec![0; 65_536];
    for len in [0, 1, 1_472, 1_473, 5_888, 30_000] {
        let sent = pattern(len);
        assert_eq!(sender.send_to(&sent, at(2)).expect("there is room"), len);
        let (received, from) = receiver.recv_from(&mut buffer).expect("it comes");
        assert!(
            buffer[..received] == sent[..] && from == at(1),
            "{len} bytes"
        );
    }
    let mut batch = DatagramBatch::new(8);
    for len in 1..=5 {
        sender.send_to(&pattern(len), at(2)).expect("there is room");
    }
    let mut lens = Vec::new();
    while lens.len() < 5 {
        receiver.recv_batch(&mut batch).expect("they come");
        lens.extend(batch.iter().map(|(datagram, from)| {
            assert_eq!((datagram, from), (&pattern(datagram.len())[..], at(1)));
            datagram.len()
        }));
    }
    assert_eq!(lens, [1, 2, 3, 4, 5]);
}

#[test]
fn a_stopped_stack_ends_every_wait() {
    let (client, server) = pair();
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    thread::scope(|scope| {
        let reader = scope.spawn(|| stream.receive(&mut [0]));
        drop(client);
        let error = reader
            .join()
            .expect("no panic")
            .expect_err("the stack is stopped");
        assert_eq!(error.kind(), io::ErrorKind::NotConnected, "{error}");
    });
    drop(listener);
}

#[test]
fn a_device_that_fails_ends_every_wait() {
    let (one, other) = wire();
    let breaks = one.breaker();
    let (client, server) = (start(one, 1), start(other, 2));
    let _listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    breaks.cut();
    let error = stream.receive(&mut [0]).expect_err("the device is gone");
    assert!(
        error.to_string().contains("the network device is gone"),
        "{error}"
    );
}
