//! Tests of fullpipe's sockets for tokio: two stacks, connected by a cable in memory.
//!
//! Rule: no privilege is needed, and no assertion is about time.

#[path = "../sockets/hosts.rs"]
mod hosts;
// `Breaker` is not used here: no test of this file breaks a cable.
#[allow(dead_code)]
#[path = "../sockets/wire.rs"]
mod wire;

use std::{io, time::Duration};

use fullpipe_host::{
    Runtime,
    tokio::{TcpListener, TcpStream, UdpSocket},
};
use hosts::{at, pair, pattern, start};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};
use wire::wire;

/// A connected pair: the client's end, and the server's.
async fn connected(client: &Runtime, server: &Runtime) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(server, at(2)).expect("the port is free");
    let stream = TcpStream::connect(client, at(2)).await;
    let (peer, from) = listener.accept().await.expect("a client comes");
    let stream = stream.expect("the server listens");
    assert_eq!((from, peer.peer_addr()), (stream.local_addr(), from));
    (stream, peer)
}

#[tokio::test]
async fn megabytes_are_echoed_through_owned_halves() {
    let (client, server) = pair();
    let (stream, peer) = connected(&client, &server).await;
    let echo = tokio::spawn(async move {
        let (mut reader, mut writer) = peer.into_split();
        tokio::io::copy(&mut reader, &mut writer).await
    });
    let sent = pattern(3_000_000);
    let (mut reader, mut writer) = stream.into_split();
    let payload = sent.clone();
    let writing = tokio::spawn(async move { writer.write_all(&payload).await });
    let mut echoed = Vec::new();
    let read = reader.read_to_end(&mut echoed).await;
    read.expect("the stream is sound");
    assert!(
        echoed == sent,
        "{} bytes arrived, or their values differ",
        echoed.len()
    );
    assert_eq!(echo.await.expect("no panic").expect("sound"), 3_000_000);
    writing.await.expect("no panic").expect("sound");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn borrowed_halves_read_and_write_at_the_same_time() {
    let (client, server) = pair();
    let (mut stream, mut peer) = connected(&client, &server).await;
    let echo = tokio::spawn(async move {
        let (mut reader, mut writer) = peer.split();
        let echoed = tokio::io::copy(&mut reader, &mut writer).await;
        peer.shutdown().await.and(echoed)
    });
    let sent = pattern(1_000_000);
    let mut echoed = vec![0; sent.len()];
    let (mut reader, mut writer) = stream.split();
    let (wrote, read) = tokio::join!(writer.write_all(&sent), reader.read_exact(&mut echoed));
    wrote.and(read).expect("the stream is sound");
    assert!(echoed == sent, "we read what we wrote");
    stream.shutdown().await.expect("it is open");
    assert_eq!(stream.read(&mut [0]).await.expect("the end"), 0);
    assert_eq!(echo.await.expect("no panic").expect("sound"), 1_000_000);
}

/// A writer that was woken may find that other writers have taken the room. Such a writer must be
/// woken again when there is room.
#[tokio::test]
async fn writers_that_compete_for_packet_memory_all_finish() {
    const CONNECTIONS: usize = 60;
    let (one, other) = wire();
    let mut config = fullpipe::Config::default();
    for (knob, value) in [("pool.blocks", "160"), ("pool.block_size", "1548")] {
        config.set(knob, value).expect("it is in range");
    }
    let client = start(one, 1);
    let server = Runtime::builder("10.0.0.2/24".parse().expect("an address"))
        .config(config)
        .start(other)
        .expect("the stack starts");
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("clients come");
            tokio::spawn(async move {
                let (mut reader, mut writer) = stream.into_split();
                tokio::io::copy(&mut reader, &mut writer).await
            });
        }
    });
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let stream = TcpStream::connect(&client, at(2))
            .await
            .expect("it listens");
        let (mut reader, mut writer) = stream.into_split();
        tokio::spawn(async move { writer.write_all(&pattern(30_000)).await });
        clients.push(tokio::spawn(async move {
            let mut echoed = vec![0; 30_000];
            reader.read_exact(&mut echoed).await.map(|_| echoed)
        }));
    }
    for client in clients {
        let echoed = timeout(Duration::from_secs(600), client).await;
        let echoed = echoed.expect("it is not forgotten").expect("no panic");
        assert!(echoed.expect("it is open") == pattern(30_000));
    }
}

#[tokio::test]
async fn a_cancelled_read_or_write_loses_no_byte() {
    let (client, server) = pair();
    let (mut stream, mut peer) = connected(&client, &server).await;
    let sent = pattern(400_000);
    let payload = sent.clone();
    let writing = tokio::spawn(async move {
        let mut left = &payload[..];
        while !left.is_empty() {
            if let Ok(written) = timeout(Duration::from_micros(50), peer.write(left)).await {
                left = &left[written.expect("it is open")..];
            }
        }
    });
    let mut received: Vec<u8> = Vec::new();
    let mut buffer = [0; 1_000];
    loop {
        match timeout(Duration::from_micros(50), stream.read(&mut buffer)).await {
            Err(_) => {}
            Ok(Ok(0)) => break,
            Ok(read) => {
                let read = read.expect("it is open");
                received.extend(&buffer[..read]);
            }
        }
    }
    assert!(
        received == sent,
        "{} bytes arrived, or their values differ",
        received.len()
    );
    writing.await.expect("no panic");
}

#[tokio::test]
async fn a_cancelled_accept_takes_no_connection() {
    let (client, server) = pair();
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    for _ in 0..20 {
        let accepted = timeout(Duration::from_micros(50), listener.accept()).await;
        assert!(accepted.is_err(), "no client has come");
    }
    let stream = TcpStream::connect(&client, at(2))
        .await
        .expect("it listens");
    let (_, from) = listener.accept().await.expect("the client waits");
    assert_eq!(from, stream.local_addr());
}

#[tokio::test]
async fn a_connect_fails_when_refused_and_ends_when_dropped() {
    let (client, _server) = pair();
    let refused = TcpStream::connect(&client, at(2)).await;
    let error = refused.expect_err("nothing listens");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
    // No host has the address, so the handshake cannot complete.
    let unanswered = timeout(
        Duration::from_millis(20),
        TcpStream::connect(&client, at(9)),
    )
    .await;
    assert!(unanswered.is_err(), "it waits");
    let open = client.with_stack(|stack, _| stack.tcp_counts().0);
    assert_eq!(open, 0, "the dropped future closed its connection");
}

#[tokio::test]
async fn several_tasks_receive_from_one_udp_socket() {
    let (one, other) = pair();
    let sender = UdpSocket::bind(&one, at(1)).expect("the port is free");
    let receiver = UdpSocket::bind(&other, at(2)).expect("the port is free");
    let receiver = std::sync::Arc::new(receiver);
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let receiver = std::sync::Arc::clone(&receiver);
            tokio::spawn(async move {
                let mut buffer = [0; 100];
                let received = receiver.recv_from(&mut buffer).await;
                let (len, from) = received.expect("it is open");
                assert_eq!(from, at(1));
                buffer[..len].to_vec()
            })
        })
        .collect();
    for number in 0..3 {
        let sent = sender.send_to(&[number; 10], at(2)).await;
        assert_eq!(sent.expect("there is room"), 10);
    }
    let mut received = Vec::new();
    for task in tasks {
        received.push(task.await.expect("no panic"));
    }
    received.sort();
    assert_eq!(received, [vec![0; 10], vec![1; 10], vec![2; 10]]);
}

#[tokio::test]
async fn a_stopped_runtime_ends_every_future() {
    let (client, server) = pair();
    let (mut stream, _peer) = connected(&client, &server).await;
    let reading = tokio::spawn(async move { stream.read(&mut [0]).await });
    tokio::task::yield_now().await;
    drop(client);
    let error = reading.await.expect("no panic").expect_err("it stopped");
    assert_eq!(error.kind(), io::ErrorKind::NotConnected, "{error}");
}

#[tokio::test]
async fn a_peek_leaves_what_a_read_returns_and_a_closed_direction_ends_it() {
    let (client, server) = pair();
    let (mut stream, mut peer) = connected(&client, &server).await;
    let mut buffer = [0; 10];
    let (peeked, written) = tokio::join!(stream.peek(&mut buffer), peer.write_all(b"four"));
    assert_eq!(peeked.expect("the peer writes"), 4);
    written.expect("there is room");
    assert_eq!(stream.read(&mut buffer).await.expect("it is there"), 4);
    assert_eq!(&buffer[..4], b"four");
    stream.shutdown_read().expect("it is open");
    assert_eq!(stream.read(&mut buffer).await.expect("the end"), 0);
}
