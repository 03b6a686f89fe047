//! The payload of a connection, as its sender saw it.
//!
//! Rule: payload has the time at which it passed the tap; an ACK reached the sender one time from
//! the tap to the sender and back later. Positions are bytes from the first payload byte.

use fullpipe_diagnose::{
    capture::End,
    observe::{Noted, ObservedConnection, SegmentLog, Side},
};
use fullpipe_wire::TcpFlags;

/// Nanoseconds of a tick of the timestamp clock.
const TICK: i64 = 1_000_000;

/// A segment with payload.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Nanoseconds from the first segment of the connection.
    pub at: u64,
    /// Position of its first byte.
    pub start: u64,
    /// Position after its last byte.
    pub end: u64,
    /// False for a retransmission.
    pub is_new: bool,
    /// Bytes in flight at the sender after it.
    pub flight: u64,
    /// PSH: the sender had no more to send, or a write ended here.
    pub has_push: bool,
    /// TSval, if the segment has timestamps.
    pub tsval: Option<u32>,
}

/// An ACK of the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Nanoseconds from the first segment of the connection, at the tap.
    pub at: u64,
    /// Position up to which everything has arrived.
    pub ack: u64,
    /// Newly acknowledged bytes.
    pub bytes: u64,
    /// The window, if its scale is known.
    pub window: Option<u64>,
}

/// The payload of a connection.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Segments with payload, in the order of the capture.
    pub sent: Vec<Sent>,
    /// ACKs of the receiver, in the order of the capture.
    pub acks: Vec<Acked>,
    /// Round trips of the whole path: time of the ACK at the tap, and length.
    pub rtts: Vec<(u64, u64)>,
    /// Payload of the longest segments, and the smallest round trip of one of them.
    pub longest: Option<(u64, u64)>,
    /// Bytes that the receiver sent before the first payload, and the time of the last of them.
    pub question: Option<(u64, u64)>,
    /// Time of the last progress: the last new ACK, or the last payload without ACKs.
    pub done: u64,
    /// Bytes acknowledged, or sent if no ACK was seen.
    pub bytes: u64,
    /// Time from the tap to the sender and back.
    pub to_sender: u64,
    /// Payload that the receiver sent in all.
    pub back_bytes: u64,
    /// Time of the first segment that is no SYN: the handshake, and what it lost, comes before.
    pub begin: u64,
}

/// Positions in a sequence space.
#[derive(Clone, Copy, Debug)]
struct Space {
    at: i64,
    seq: u32,
}

impl Space {
    fn count(&mut self, seq: u32) -> i64 {
        let found = self.at + i64::from(seq.wrapping_sub(self.seq) as i32);
        if found > self.at {
            (self.at, self.seq) = (found, seq);
        }
        found
    }
}

/// The time from the tap to the sender and back that counts: 0 for a tap at the sender.
fn distance(observed: &ObservedConnection) -> u64 {
    match observed.vantage.side {
        Side::Sender | Side::Unknown => 0,
        Side::Middle | Side::Receiver => observed.vantage.to_sender_ns.unwrap_or(0),
    }
}

impl Trace {
    /// The payload of the sender of `observed`.
    pub fn of(log: &SegmentLog, observed: &ObservedConnection) -> Self {
        let mut reader = Reader::new(log, observed);
        for segment in log.segments() {
            let at = segment.at_ns.saturating_sub(observed.begin_ns).max(0) as u64;
            reader.now = reader.now.max(at);
            if reader.is_opening && !segment.flags.contains(TcpFlags::SYN) {
                reader.is_opening = false;
                reader.trace.begin = reader.now;
            }
            match segment.from == observed.sender {
                true => reader.on_sent(segment),
                false => reader.on_received(segment),
            }
        }
        let mut trace = reader.trace;
        trace.bytes = match trace.acks.last() {
            Some(last) if last.ack > 0 => last.ack,
            _ => trace.sent.iter().map(|sent| sent.end).max().unwrap_or(0),
        };
        if trace.done == 0 {
            trace.done = trace.sent.last().map_or(0, |sent| sent.at);
        }
        trace
    }

    /// Round trips in order of their length.
    pub fn sorted_rtts(&self) -> Vec<u64> {
        let mut sorted: Vec<u64> = self.rtts.iter().map(|(_, rtt)| *rtt).collect();
        sorted.sort_unstable();
        sorted
    }

    /// Segments with payload that was not sent before.
    pub fn new_segments(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.is_new)
    }
}

/// Queues before the tap, from the sender's timestamps.
///
/// Time passes on the tap's clock and on the sender's; a segment that waited arrives late by the
/// sender's. Ticks are believed if they are milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    first: Option<(i64, u32)>,
    /// Smallest difference of both clocks, in nanoseconds.
    least: i64,
}

impl Waits {
    fn of(log: &SegmentLog, observed: &ObservedConnection) -> Self {
        if distance(observed) == 0 {
            return Self::default();
        }
        let own = log
            .segments()
            .iter()
            .filter(|one| one.from == observed.sender);
        let stamps: Vec<(i64, u32)> = own
            .filter_map(|one| Some((one.at_ns, one.tsval?)))
            .collect();
        let (Some(&first), Some(&last)) = (stamps.first(), stamps.last()) else {
            return Self::default();
        };
        let ticks = i64::from(last.1.wrapping_sub(first.1));
        let span = last.0.saturating_sub(first.0) as f64 / TICK as f64;
        if ticks < 20 || !(0.8..=1.25).contains(&(span / ticks as f64)) {
            return Self::default();
        }
        let late = stamps.iter().map(|stamp| lateness(first, *stamp));
        Self {
            first: Some(first),
            least: late.min().unwrap_or(0),
        }
    }

    /// Time for which a segment waited before the tap, at least 0 and exact to a tick.
    fn before(&self, at_ns: i64, tsval: u32) -> u64 {
        let Some(first) = self.first else { return 0 };
        let late = lateness(first, (at_ns, tsval)).saturating_sub(self.least);
        // The least late segment may have left at the end of its tick.
        late.saturating_sub(TICK).max(0) as u64
    }
}

/// Time by which a segment is later on the tap's clock than on the sender's.
fn lateness(first: (i64, u32), (at_ns, tsval): (i64, u32)) -> i64 {
    let ticks = i64::from(tsval.wrapping_sub(first.1) as i32);
    at_ns.saturating_sub(first.0).saturating_sub(ticks * TICK)
}

/// A segment with new payload.
#[derive(Clone, Copy, Debug)]
struct Once {
    /// Position after it.
    end: u64,
    /// Time at which it left.
    left: u64,
    /// Payload.
    len: u64,
    /// It was not retransmitted.
    is_once: bool,
}

/// A trace that is being read.
struct Reader {
    trace: Trace,
    space: Option<Space>,
    shift: Option<u8>,
    now: u64,
    /// Position after the last byte sent.
    max: u64,
    /// ACKs that the sender has received: their number, and the position.
    received: usize,
    una: u64,
    /// First segment whose round trip is not known yet.
    pending: usize,
    /// Segments with new payload.
    once: Vec<Once>,
    /// Time in queues before the tap of each segment with payload.
    waits: Waits,
    /// Only SYNs so far.
    is_opening: bool,
}

impl Reader {
    fn new(log: &SegmentLog, observed: &ObservedConnection) -> Self {
        let receiver: End = observed.sender.other();
        let is_syn =
            |one: &&Noted| one.from == observed.sender && one.flags.contains(TcpFlags::SYN);
        let syn = log.segments().iter().find(is_syn);
        // Without a SYN, the first position that either end names.
        let first = syn.map(|syn| syn.seq.wrapping_add(1)).or_else(|| {
            log.segments().iter().find_map(|one| {
                let is_sender = one.from == observed.sender;
                let has_ack = one.flags.contains(TcpFlags::ACK);
                match is_sender {
                    true => Some(one.seq),
                    false => has_ack.then_some(one.ack),
                }
            })
        });
        Self {
            trace: Trace {
                to_sender: distance(observed),
                ..Trace::default()
            },
            space: first.map(|seq| Space { at: 0, seq }),
            shift: observed.directions[receiver.index()].window_scale.shift(),
            now: 0,
            max: 0,
            received: 0,
            una: 0,
            pending: 0,
            once: Vec::new(),
            waits: Waits::of(log, observed),
            is_opening: true,
        }
    }

    fn on_sent(&mut self, segment: &Noted) {
        let Some(space) = &mut self.space else { return };
        if segment.payload == 0 {
            return;
        }
        let start = space.count(segment.seq).max(0) as u64;
        let end = start + u64::from(segment.payload);
        let _ = space.count(segment.seq.wrapping_add(segment.payload));
        self.receive_acks();
        let is_new = end > self.max;
        if is_new {
            let waited = segment
                .tsval
                .map_or(0, |tsval| self.waits.before(segment.at_ns, tsval));
            let left = self.now.saturating_sub(waited);
            self.once.push(Once {
                end,
                left,
                len: end - start,
                is_once: true,
            });
        } else {
            let again = self.once.iter_mut().rev();
            for one in again.take_while(|one| one.end > start) {
                one.is_once = false;
            }
        }
        self.max = self.max.max(end);
        self.trace.sent.push(Sent {
            at: self.now,
            start,
            end,
            is_new,
            flight: self.max.saturating_sub(self.una),
            has_push: segment.flags.contains(TcpFlags::PSH),
            tsval: segment.tsval,
        });
    }

    /// The sender receives the ACKs that have reached it.
    fn receive_acks(&mut self) {
        let to_sender = self.trace.to_sender;
        let rest = &self.trace.acks[self.received..];
        for acked in rest {
            if acked.at + to_sender > self.now {
                break;
            }
            self.una = self.una.max(acked.ack);
            self.received += 1;
        }
    }

    fn on_received(&mut self, segment: &Noted) {
        if segment.payload > 0 {
            self.trace.back_bytes += u64::from(segment.payload);
            if self.max == 0 {
                self.trace.question = Some((self.trace.back_bytes, self.now));
            }
        }
        let is_syn = segment.flags.contains(TcpFlags::SYN);
        if is_syn || !segment.flags.contains(TcpFlags::ACK) {
            return;
        }
        let Some(space) = self.space else { return };
        let ack = space.at + i64::from(segment.ack.wrapping_sub(space.seq) as i32);
        // The ACK of FIN is one beyond the payload.
        let ack = (ack.max(0) as u64).min(self.max);
        let last = self.trace.acks.last().map_or(0, |last| last.ack);
        let bytes = ack.saturating_sub(last);
        if bytes > 0 {
            self.trace.done = self.now;
            self.sample(ack);
        }
        self.trace.acks.push(Acked {
            at: self.now,
            ack: ack.max(last),
            bytes,
            window: self.shift.map(|shift| u64::from(segment.window) << shift),
        });
    }

    fn sample(&mut self, ack: u64) {
        let mut newest = None;
        let mut has_repair = false;
        while let Some(&once) = self.once.get(self.pending)
            && once.end <= ack
        {
            newest = Some(once);
            has_repair |= !once.is_once;
            self.pending += 1;
        }
        // An ACK that waited for a repair shows the time of the repair.
        let Some(once) = newest.filter(|_| !has_repair) else {
            return;
        };
        let rtt = self.now - once.left + self.trace.to_sender;
        self.trace.rtts.push((self.now, rtt));
        let longest = &mut self.trace.longest;
        match *longest {
            Some((len, least)) if len == once.len => *longest = Some((len, least.min(rtt))),
            Some((len, _)) if len > once.len => {}
            Some(_) | None => *longest = Some((once.len, rtt)),
        }
    }
}
