//! The loops that send or receive the bytes of one stream and count them.
//!
//! Rule: a loop ends when its amount is reached, when the peer closes, or when its
//! [`StopCondition`] is met. The loop checks this condition at least every
//! [`POLL`](crate::stop::POLL). It updates the stream's [`Flow`] at once, so that the reporter can
//! read the counts at any time. A loop prints nothing.

use std::{
    io,
    net::SocketAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use super::{
    header::{CLIENT_LEN, ClientHeader, DATAGRAM_LEN, DatagramHeader},
    options::Amount,
    pacer::WritePacer,
    tally::Tally,
};
use crate::{
    Stop,
    sockets::{DatagramSocket, Stream, would_block},
};

/// Protocol and direction of a stream, which select its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Bytes of a TCP stream, sent or received.
    Bytes,
    /// Datagrams sent.
    DatagramsSent,
    /// Datagrams received.
    DatagramsReceived,
}

/// One stream of a test. The thread that transfers its bytes and the reporter share it.
#[derive(Debug)]
pub struct Flow {
    /// The stream's number.
    pub id: u32,
    /// Protocol and direction.
    pub kind: StreamKind,
    /// True for the stream of a client's reversed test, whose number iperf marks with a star.
    pub starred: bool,
    /// Start time.
    pub start: Instant,
    tally: Mutex<Tally>,
}

impl Flow {
    /// Returns a stream that starts at `start`.
    pub fn new(id: u32, kind: StreamKind, starred: bool, start: Instant) -> Self {
        Self {
            id,
            kind,
            starred,
            start,
            tally: Mutex::default(),
        }
    }

    /// Returns the counts so far.
    pub fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the counts with `count`.
    pub fn count<T>(&self, count: impl FnOnce(&mut Tally) -> T) -> T {
        count(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// External conditions that end a test.
#[derive(Clone, Debug)]
pub struct StopCondition {
    /// Flag raised by the user, for example with Ctrl-C.
    pub stop: Stop,
    /// Time at which a server started with `-t` ends; `None` for other servers and for clients.
    pub deadline: Option<Instant>,
    /// Flag that the peer's end of the test raises; it ends this test only.
    pub ended_by_peer: Option<Stop>,
}

impl StopCondition {
    /// Returns true if the test must end.
    pub fn is_met(&self) -> bool {
        self.stop.is_raised()
            || self.ended_by_peer.as_ref().is_some_and(Stop::is_raised)
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// The unsent part of an amount.
#[derive(Debug)]
struct Remaining {
    bytes: u64,
    end: Option<Instant>,
}

impl Remaining {
    fn new(amount: Amount, start: Instant) -> Self {
        match amount {
            Amount::Bytes(bytes) => Self { bytes, end: None },
            Amount::Time(time) => Self {
                bytes: u64::MAX,
                end: Some(start + time),
            },
        }
    }

    /// Returns the size of the next write, at most `length`; 0 at the end.
    fn next_length(&self, length: usize) -> usize {
        if self.end.is_some_and(|end| Instant::now() >= end) {
            return 0;
        }
        usize::try_from(self.bytes).map_or(length, |bytes| bytes.min(length))
    }

    fn subtract(&mut self, bytes: usize) {
        if self.end.is_none() {
            self.bytes = self.bytes.saturating_sub(bytes as u64);
        }
    }
}

/// Returns `length` bytes of iperf's payload, `0123456789` repeated.
pub fn filler(length: usize) -> Vec<u8> {
    b"0123456789".iter().copied().cycle().take(length).collect()
}

/// Parameters of a sender.
#[derive(Debug)]
pub struct SendPlan {
    /// Amount to send.
    pub amount: Amount,
    /// Spacing of the writes.
    pub pacer: WritePacer,
    /// Bytes of a write or a datagram.
    pub length: usize,
}

/// Sends a TCP stream that begins with `header`, and closes this side's direction.
///
/// A stream shorter than a header is sent without a header, because a server would wait
/// for the rest of the header.
///
/// # Errors
/// Fails if the connection ends first.
pub fn send_stream(
    stream: &impl Stream,
    flow: &Flow,
    header: Option<&ClientHeader>,
    mut plan: SendPlan,
    until: &StopCondition,
) -> io::Result<()> {
    let mut buffer = filler(plan.length.max(CLIENT_LEN) + CLIENT_LEN);
    let mut remaining = Remaining::new(plan.amount, flow.start);
    let fits = remaining.next_length(CLIENT_LEN) == CLIENT_LEN;
    let mut head_left = 0;
    if let Some(header) = header.filter(|_| fits) {
        let mut head = [0; CLIENT_LEN];
        header.write_tcp(&mut head);
        buffer[..CLIENT_LEN].copy_from_slice(&head);
        head_left = CLIENT_LEN;
    }
    while !until.is_met() {
        let length = remaining.next_length(plan.length.max(head_left));
        if length == 0 {
            break;
        }
        if !plan.pacer.wait() {
            continue;
        }
        // After a partial write of the header, the next write sends the remaining bytes. Every
        // later write begins with the whole header again, as in stock iperf.
        let from = if head_left > 0 {
            CLIENT_LEN - head_left
        } else {
            0
        };
        match stream.write(&buffer[from..from + length]) {
            Ok(written) => {
                head_left = head_left.saturating_sub(written);
                flow.count(|tally| tally.moved(written));
                remaining.subtract(written);
                plan.pacer.wrote(written);
            }
            Err(error) if would_block(&error) => {}
            Err(error) => return Err(error),
        }
    }
    stream.shutdown_write()
}

/// Reads and discards payload until the peer closes its direction.
///
/// # Errors
/// Returns `TimedOut` if the peer is silent for `silence_timeout`. A reset of the connection is no
/// error, because the caller has already sent and counted its payload.
pub fn drain(
    stream: &impl Stream,
    silence_timeout: Duration,
    until: &StopCondition,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    let mut last_arrival = Instant::now();
    while !until.is_met() {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(_) => last_arrival = Instant::now(),
            Err(error) if would_block(&error) => {
                if last_arrival.elapsed() >= silence_timeout {
                    return Err(silent_peer_error("did not close its half", silence_timeout));
                }
            }
            Err(_) => break,
        }
    }
    Ok(())
}

fn silent_peer_error(did: &str, silence: Duration) -> io::Error {
    let why = format!(
        "the peer {did} and sent nothing for {} s after the end of the test: gave up",
        silence.as_secs_f64()
    );
    io::Error::new(io::ErrorKind::TimedOut, why)
}

/// The amount that a sending peer has announced, and the longest silence of the peer after this
/// amount.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedEnd {
    /// Amount after which the peer ends its stream.
    pub amount: Amount,
    /// Longest silence after the end of the announced amount.
    pub silence_timeout: Duration,
}

impl ExpectedEnd {
    /// Returns an error once the peer has been silent for too long after the announced
    /// end. `last_arrival` is the time of the last byte.
    ///
    /// A test of an amount in bytes has no announced end time. Before the last byte of this amount,
    /// a silence of at least [`STALL_TIMEOUT`] aborts the test.
    fn check_silence(&self, flow: &Flow, last_arrival: Instant) -> io::Result<()> {
        let (end, silence_timeout) = match self.amount {
            Amount::Time(time) => (flow.start + time, self.silence_timeout),
            Amount::Bytes(bytes) if flow.tally().bytes >= bytes => {
                (last_arrival, self.silence_timeout)
            }
            Amount::Bytes(_) => (last_arrival, self.silence_timeout.max(STALL_TIMEOUT)),
        };
        if last_arrival.max(end).elapsed() < silence_timeout {
            return Ok(());
        }
        Err(silent_peer_error("did not end its stream", silence_timeout))
    }
}

/// Longest silence before the last byte of an announced amount, unless
/// [`ExpectedEnd::silence_timeout`] is longer. A longer silence aborts the test.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Receives a TCP stream until the peer closes its direction.
///
/// # Errors
/// Fails if the connection was reset or failed; `TimedOut` if the peer is silent for too long
/// after the amount that it has announced, or before the last byte of an amount in bytes.
pub fn receive_stream(
    stream: &impl Stream,
    flow: &Flow,
    length: usize,
    expected: Option<ExpectedEnd>,
    until: &StopCondition,
) -> io::Result<()> {
    let mut buffer = vec![0; length];
    let mut last_arrival = Instant::now();
    while !until.is_met() {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                last_arrival = Instant::now();
                flow.count(|tally| tally.moved(read));
            }
            Err(error) if would_block(&error) => {
                if let Some(expected) = expected {
                    expected.check_silence(flow, last_arrival)?;
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the time since the Unix epoch, for the timestamps of datagrams.
pub fn wall_clock() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Sends all datagrams except the last one, each with `header`. Returns the last one, which is
/// already counted. The caller sends the last datagram, repeatedly if there is no answer.
///
/// # Errors
/// Returns the error of the socket.
pub fn send_datagrams(
    socket: &impl DatagramSocket,
    to: SocketAddr,
    flow: &Flow,
    header: Option<&ClientHeader>,
    mut plan: SendPlan,
    until: &StopCondition,
) -> io::Result<Vec<u8>> {
    let mut datagram = datagram(plan.length, header);
    let mut remaining = Remaining::new(plan.amount, flow.start);
    let mut id = 1;
    while !until.is_met() {
        // If at most `length` bytes remain, this is the last datagram. The first datagram is never
        // the last, because a server would discard it as the end of an unknown test.
        let wanted = remaining.next_length(plan.length + 1);
        if id > 1 && wanted <= plan.length {
            break;
        }
        if !plan.pacer.wait() {
            continue;
        }
        // A datagram is at least as long as its header.
        let length = wanted.min(plan.length).max(DATAGRAM_LEN);
        number(&mut datagram, id);
        match socket.send_to(&datagram[..length], to) {
            Ok(()) => {
                id += 1;
                flow.count(|tally| tally.moved(length));
                remaining.subtract(length);
                plan.pacer.wrote(length);
            }
            Err(error) if would_block(&error) => {}
            // An ICMP error for an earlier datagram does not end the test.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(error),
        }
    }
    while !until.is_met() && !plan.pacer.wait() {}
    number(&mut datagram, -id);
    if remaining.end.is_none() {
        datagram.truncate(remaining.next_length(plan.length).max(DATAGRAM_LEN));
    }
    flow.count(|tally| tally.moved(datagram.len()));
    Ok(datagram)
}

/// Returns a datagram of `length` bytes without number and timestamp.
pub fn datagram(length: usize, header: Option<&ClientHeader>) -> Vec<u8> {
    let mut datagram = filler(length.max(DATAGRAM_LEN));
    if let (Some(header), Some(place)) = (
        header,
        datagram.get_mut(DATAGRAM_LEN..DATAGRAM_LEN + CLIENT_LEN),
    ) {
        let mut head = [0; CLIENT_LEN];
        header.write_udp(&mut head);
        place.copy_from_slice(&head);
    }
    datagram
}

/// Writes a datagram's number and timestamp.
pub fn number(datagram: &mut [u8], id: i64) {
    if let Some(head) = datagram.first_chunk_mut() {
        DatagramHeader {
            id,
            sent: wall_clock(),
        }
        .write(head);
    }
}

/// Counts a datagram that arrived at `now` on the wall clock. Returns true for the
/// last datagram of a test.
pub fn count_datagram(flow: &Flow, datagram: &[u8], now: Duration) -> bool {
    let Some(header) = DatagramHeader::parse(datagram) else {
        flow.count(|tally| tally.moved(datagram.len()));
        return false;
    };
    // Peers without a synchronised clock send a timestamp of zero or of any value.
    let stamped = header.sent.as_secs().abs_diff(now.as_secs()) < 1_000_000_000;
    let transit_s = stamped.then_some(now.as_secs_f64() - header.sent.as_secs_f64());
    // The last datagram is counted like the others, as in stock iperf.
    flow.count(|tally| tally.received(header.id.saturating_abs(), datagram.len(), transit_s));
    header.id < 0
}
