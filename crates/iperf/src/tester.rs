//! The interface of every tester, and the parts that clients share.
//!
//! Rule: `poll` does all that can be done at `now`, and returns the time at which it must be called
//! again even if no frame arrives.

use core::net::SocketAddr;

use fullpipe::{Duration, Instant, Stack};

use crate::{
    amount::{Amount, Rate},
    header::ClientHeader,
    report::Report,
};

/// Silence of a peer after which its test is aborted.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

/// A client or a server, called by a program after each turn of its stack.
pub trait Tester {
    /// Reads, writes and checks the time. Call it after each turn of the stack, and again at
    /// once after [`Event::Ended`].
    fn poll(&mut self, stack: &mut Stack, now: Instant) -> Event;
}

/// The outcome of [`Tester::poll`].
#[derive(Debug)]
// Allow a large variant: a report is made only once per test, and without an allocator it cannot be
// boxed.
#[allow(clippy::large_enum_variant)]
pub enum Event {
    /// A test has ended.
    Ended(Report),
    /// There is nothing more to do until the next frame or until this time.
    Waits(Option<Instant>),
}

/// The options of a client's test.
#[derive(Clone, Copy, Debug)]
pub struct TestPlan {
    /// Address and port of the server.
    pub remote: SocketAddr,
    /// Length of the test.
    pub amount: Amount,
    /// Bytes of a write or a datagram.
    pub length: usize,
    /// Rate of a sender of datagrams. TCP ignores it.
    pub rate: Rate,
    /// True if the server sends. UDP ignores this field.
    pub reverse: bool,
    /// A TCP client announces its test in a header. A reversed test always has a header.
    ///
    /// Without a header, more packet memory is left for sending. The stock server answers a header
    /// with 28 bytes. A connection that has received payload may reserve half of the free blocks
    /// for its receive window (`tcp.window_share`). In a pool of 36 blocks of 196 bytes, the client
    /// then reserves 17 blocks, and cannot use them for sending. The iperf of NuttX sends no header
    /// either. The stock server does not count the first four bytes of a test without a header.
    pub sends_header: bool,
}

impl TestPlan {
    /// Returns the header that announces the test to the server.
    pub(crate) fn header(&self, is_udp: bool) -> ClientHeader {
        ClientHeader {
            streams: 1,
            port: self.remote.port(),
            length: self.length as u32,
            window: 0,
            amount: self.amount,
            rate: is_udp.then_some(self.rate),
            reverse: self.reverse && !is_udp,
            wants_ack: false,
            wants_dual_test: false,
        }
    }
}

/// The unsent part of an amount.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaining {
    bytes: u64,
    /// End of a test of a given time.
    pub(crate) end: Option<Instant>,
}

impl Remaining {
    pub(crate) fn new(amount: Amount, start: Instant) -> Self {
        match amount {
            Amount::Bytes(bytes) => Self { bytes, end: None },
            Amount::Time(time) => Self {
                bytes: u64::MAX,
                end: Some(start + time.into()),
            },
        }
    }

    /// Returns the size of the next write, at most `length`; 0 if nothing remains.
    pub(crate) fn next_length(&self, length: usize, now: Instant) -> usize {
        if self.end.is_some_and(|end| now >= end) {
            return 0;
        }
        usize::try_from(self.bytes).map_or(length, |bytes| bytes.min(length))
    }

    pub(crate) fn subtract(&mut self, bytes: usize) {
        if self.end.is_none() {
            self.bytes = self.bytes.saturating_sub(bytes as u64);
        }
    }
}
