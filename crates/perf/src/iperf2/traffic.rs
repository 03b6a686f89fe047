//! Moving the bytes of one stream, and counting them.
//!
//! Rule: a loop ends with its amount, with the peer, or with [`Until`]; it
//! never waits longer than a stop may go unnoticed. What is counted goes into
//! the stream's [`Flow`] at once, so that a report may be drawn at any moment.

use std::{
    io,
    net::SocketAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use super::{
    header::{CLIENT_LEN, ClientHeader, DATAGRAM_LEN, DatagramHeader},
    options::Amount,
    pacer::Pacer,
    tally::Tally,
};
use crate::{
    Stop,
    sockets::{Datagrams, Stream, is_idle},
};

/// What a stream's numbers are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of a TCP stream.
    Bytes,
    /// Datagrams sent.
    DatagramsSent,
    /// Datagrams received.
    DatagramsReceived,
}

/// One stream of a test, shared by who moves its bytes and who reports them.
#[derive(Debug)]
pub struct Flow {
    /// The stream's number.
    pub id: u32,
    /// What its numbers are about.
    pub kind: Kind,
    /// A client's stream whose data flows towards it.
    pub starred: bool,
    /// When its first byte moved.
    pub start: Instant,
    tally: Mutex<Tally>,
}

impl Flow {
    /// A stream that starts at `start`.
    pub fn new(id: u32, kind: Kind, starred: bool, start: Instant) -> Self {
        Self {
            id,
            kind,
            starred,
            start,
            tally: Mutex::default(),
        }
    }

    /// What was counted until now.
    pub fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts.
    pub fn count<T>(&self, count: impl FnOnce(&mut Tally) -> T) -> T {
        count(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What ends a test from outside.
#[derive(Clone, Debug)]
pub struct Until {
    /// The user's wish.
    pub stop: Stop,
    /// The end of the time given to the whole program.
    pub deadline: Option<Instant>,
}

impl Until {
    /// Whether to end now.
    pub fn over(&self) -> bool {
        self.stop.is_raised()
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// What remains of an amount.
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

    /// How much of a write of `length` bytes is still wanted; 0 at the end.
    fn of(&self, length: usize) -> usize {
        if self.end.is_some_and(|end| Instant::now() >= end) {
            return 0;
        }
        usize::try_from(self.bytes).map_or(length, |bytes| bytes.min(length))
    }

    fn used(&mut self, bytes: usize) {
        if self.end.is_none() {
            self.bytes = self.bytes.saturating_sub(bytes as u64);
        }
    }
}

/// `length` bytes of iperf's filler.
pub fn filler(length: usize) -> Vec<u8> {
    b"0123456789".iter().copied().cycle().take(length).collect()
}

/// How one side of a test sends.
#[derive(Debug)]
pub struct Sending {
    /// When it is over.
    pub amount: Amount,
    /// How fast.
    pub pacer: Pacer,
    /// Bytes of a write or a datagram.
    pub length: usize,
}

/// Sends a TCP stream, headed by `header`, and ends our half of it.
///
/// A stream shorter than a header goes without: a server would wait for the
/// rest of it.
///
/// # Errors
/// When the connection ends first.
pub fn send_stream(
    stream: &impl Stream,
    flow: &Flow,
    header: Option<&ClientHeader>,
    mut sending: Sending,
    until: &Until,
) -> io::Result<()> {
    let mut buffer = filler(sending.length.max(CLIENT_LEN) + CLIENT_LEN);
    let mut remaining = Remaining::new(sending.amount, flow.start);
    let fits = remaining.of(CLIENT_LEN) == CLIENT_LEN;
    let mut head_left = 0;
    if let Some(header) = header.filter(|_| fits) {
        let mut head = [0; CLIENT_LEN];
        header.write_tcp(&mut head);
        buffer[..CLIENT_LEN].copy_from_slice(&head);
        head_left = CLIENT_LEN;
    }
    while !until.over() {
        let length = remaining.of(sending.length.max(head_left));
        if length == 0 {
            break;
        }
        if !sending.pacer.wait() {
            continue;
        }
        // The rest of a header that was cut short; every later write begins
        // with it anew, as stock iperf's do.
        let from = if head_left > 0 {
            CLIENT_LEN - head_left
        } else {
            0
        };
        match stream.write(&buffer[from..from + length]) {
            Ok(written) => {
                head_left = head_left.saturating_sub(written);
                flow.count(|tally| tally.moved(written));
                remaining.used(written);
                sending.pacer.wrote(written);
            }
            Err(error) if is_idle(&error) => {}
            Err(error) => return Err(error),
        }
    }
    stream.shutdown_write()
}

/// Reads and drops what still comes until the peer ends its half.
///
/// # Errors
/// `TimedOut` when the peer stays silent for `patience`. A reset is an end like
/// any other here: everything that is counted has been counted.
pub fn drain(stream: &impl Stream, patience: Duration, until: &Until) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    let mut heard = Instant::now();
    while !until.over() {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(_) => heard = Instant::now(),
            Err(error) if is_idle(&error) => {
                if heard.elapsed() >= patience {
                    return Err(gave_up("did not close its half", patience));
                }
            }
            Err(_) => break,
        }
    }
    Ok(())
}

fn gave_up(did: &str, silence: Duration) -> io::Error {
    let why = format!(
        "the peer {did} and sent nothing for {} s after the end of the test: gave up",
        silence.as_secs_f64()
    );
    io::Error::new(io::ErrorKind::TimedOut, why)
}

/// Amount that a sending peer has announced, and the silence after it for which
/// the peer is given up.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// When the peer ends its stream.
    pub amount: Amount,
    /// Longest silence after that.
    pub patience: Duration,
}

impl Expected {
    /// Returns an error once the peer has been silent for too long after the
    /// announced end. `heard` is the time of the last byte.
    ///
    /// An amount in bytes that never comes has no end in time: silence of
    /// [`STALLED`] is taken for one.
    fn check_silence(&self, flow: &Flow, heard: Instant) -> io::Result<()> {
        let (end, patience) = match self.amount {
            Amount::Time(time) => (flow.start + time, self.patience),
            Amount::Bytes(bytes) if flow.tally().bytes >= bytes => (heard, self.patience),
            Amount::Bytes(_) => (heard, self.patience.max(STALLED)),
        };
        if heard.max(end).elapsed() < patience {
            return Ok(());
        }
        Err(gave_up("did not end its stream", patience))
    }
}

/// Silence in the middle of a stream for which the peer is given up.
const STALLED: Duration = Duration::from_secs(60);

/// Receives a TCP stream to its end.
///
/// # Errors
/// When the connection ends in any other way; `TimedOut` when the peer has
/// announced an amount and stays silent after it.
pub fn receive_stream(
    stream: &impl Stream,
    flow: &Flow,
    length: usize,
    expected: Option<Expected>,
    until: &Until,
) -> io::Result<()> {
    let mut buffer = vec![0; length];
    let mut heard = Instant::now();
    while !until.over() {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                heard = Instant::now();
                flow.count(|tally| tally.moved(read));
            }
            Err(error) if is_idle(&error) => {
                if let Some(expected) = expected {
                    expected.check_silence(flow, heard)?;
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The time since the epoch, as datagrams carry it.
pub fn wall_clock() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Sends datagrams, each with `header`'s wishes, but not the last one. Returns
/// the last one, counted and ready to be sent, as often as it takes.
///
/// # Errors
/// When the socket refuses.
pub fn send_datagrams(
    socket: &impl Datagrams,
    to: SocketAddr,
    flow: &Flow,
    header: Option<&ClientHeader>,
    mut sending: Sending,
    until: &Until,
) -> io::Result<Vec<u8>> {
    let mut datagram = datagram(sending.length, header);
    let mut remaining = Remaining::new(sending.amount, flow.start);
    let mut id = 1;
    while !until.over() {
        // One byte more than a datagram tells whether this is the last. That is
        // never the first: a server would take it for the end of something else.
        let wanted = remaining.of(sending.length + 1);
        if id > 1 && wanted <= sending.length {
            break;
        }
        if !sending.pacer.wait() {
            continue;
        }
        // Room for the numbers is needed even when fewer bytes are wanted.
        let length = wanted.min(sending.length).max(DATAGRAM_LEN);
        number(&mut datagram, id);
        match socket.send_to(&datagram[..length], to) {
            Ok(()) => {
                id += 1;
                flow.count(|tally| tally.moved(length));
                remaining.used(length);
                sending.pacer.wrote(length);
            }
            Err(error) if is_idle(&error) => {}
            // What an earlier datagram met; the test goes on.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(error),
        }
    }
    while !until.over() && !sending.pacer.wait() {}
    number(&mut datagram, -id);
    if remaining.end.is_none() {
        datagram.truncate(remaining.of(sending.length).max(DATAGRAM_LEN));
    }
    flow.count(|tally| tally.moved(datagram.len()));
    Ok(datagram)
}

/// A datagram of `length` bytes, not numbered yet.
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

/// Gives a datagram its number and the time.
pub fn number(datagram: &mut [u8], id: i64) {
    if let Some(head) = datagram.first_chunk_mut() {
        DatagramHeader {
            id,
            sent: wall_clock(),
        }
        .write(head);
    }
}

/// Counts a datagram that came at `now` on the wall clock. Returns whether it
/// was the last one.
pub fn count_datagram(flow: &Flow, datagram: &[u8], now: Duration) -> bool {
    let Some(header) = DatagramHeader::parse(datagram) else {
        flow.count(|tally| tally.moved(datagram.len()));
        return false;
    };
    // Peers without a clock leave the stamp at zero or at anything.
    let stamped = header.sent.as_secs().abs_diff(now.as_secs()) < 1_000_000_000;
    let transit_s = stamped.then_some(now.as_secs_f64() - header.sent.as_secs_f64());
    // The last one counts like the others, as stock iperf has it.
    flow.count(|tally| tally.received(header.id.saturating_abs(), datagram.len(), transit_s));
    header.id < 0
}
