//! Tests of the wakers of sockets, without an executor.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use fullpipe_host::{TcpListener, TcpStream};

use crate::{at, pair};

/// Longest wait for an expected wake.
const PATIENCE: Duration = Duration::from_secs(120);

/// A waker that counts its wakes.
#[derive(Default)]
struct Counter(AtomicU32);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Counter {
    fn new() -> (Arc<Self>, Waker) {
        let counter = Arc::new(Self::default());
        (Arc::clone(&counter), Waker::from(counter))
    }

    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    fn wait_for_wake(&self) {
        let until = Instant::now() + PATIENCE;
        while self.count() == 0 {
            assert!(Instant::now() < until, "no wake came");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn readers_and_writers_do_not_wake_each_other() {
    let (client, server) = pair();
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let stream = TcpStream::connect(&client, at(2)).expect("the server listens");
    let (peer, _) = listener.accept().expect("a client comes");
    let (reads, reader) = Counter::new();
    let (writes, writer) = Counter::new();
    let mut byte = [0];
    let polled = stream.poll_receive(&mut Context::from_waker(&reader), &mut byte);
    assert!(polled.is_pending(), "nothing was written");
    let payload = [0; 10_000];
    let mut written = 0;
    while let Poll::Ready(count) = stream.poll_send(&mut Context::from_waker(&writer), &payload) {
        written += count.expect("it is open");
    }
    let mut buffer = vec![0; 100_000];
    while written > 0 {
        written -= peer.receive(&mut buffer).expect("it is open");
    }
    writes.wait_for_wake();
    assert_eq!(reads.count(), 0, "room for writing woke the reader");

    // The peer's ACKs make room for the writer until the peer's window is 0.
    let until = Instant::now() + PATIENCE;
    loop {
        let info = stream.info().expect("it is open");
        let is_closed = info.snd_wnd == 0 && info.in_flight == 0 && info.unsent > 0;
        let polled = stream.poll_send(&mut Context::from_waker(&writer), &payload);
        if polled.is_pending() && is_closed {
            break;
        }
        assert!(Instant::now() < until, "the window does not close");
        thread::yield_now();
    }
    // Count with a new waker from now on, because a wake for the last ACK may still arrive at the old
    // one.
    let (late_writes, late_writer) = Counter::new();
    let polled = stream.poll_send(&mut Context::from_waker(&late_writer), &payload);
    assert!(polled.is_pending(), "the window is closed");
    peer.send(&[1]).expect("it is open");
    reads.wait_for_wake();
    assert_eq!(late_writes.count(), 0, "a byte to read woke the writer");
}

#[test]
fn a_handshake_wakes_who_waits_for_it_and_a_listener() {
    let (client, server) = pair();
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let (accepts, accepting) = Counter::new();
    let polled = listener.poll_accept(&mut Context::from_waker(&accepting));
    assert!(polled.is_pending(), "no client came");
    let stream = TcpStream::start_connect(&client, at(2), None).expect("there is a route");
    let (connects, connecting) = Counter::new();
    let mut context = Context::from_waker(&connecting);
    while stream.poll_connect(&mut context).is_pending() {
        connects.wait_for_wake();
    }
    accepts.wait_for_wake();
    let polled = listener.poll_accept(&mut Context::from_waker(&accepting));
    assert!(matches!(polled, Poll::Ready(Ok(_))), "{polled:?}");
}

#[test]
fn the_end_of_a_runtime_wakes_every_waiter() {
    let (client, server) = pair();
    let listener = TcpListener::bind(&server, at(2)).expect("the port is free");
    let (counter, waker) = Counter::new();
    let mut context = Context::from_waker(&waker);
    assert!(listener.poll_accept(&mut context).is_pending());
    drop(server);
    counter.wait_for_wake();
    let polled = listener.poll_accept(&mut context);
    assert!(matches!(polled, Poll::Ready(Err(_))), "{polled:?}");
    drop(client);
}
