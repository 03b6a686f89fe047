//! The payload of a connection, as seen by its sender.
//!
//! Rule: times of segments and ACKs are those at the tap, the place of the capture. If an ACK
//! releases a segment, the segment passes the tap later than the ACK, by the round-trip time
//! between tap and sender. Positions are bytes from the first payload byte.

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
    /// Time at the tap from the first segment of the connection, in nanoseconds.
    pub at: u64,
    /// Position of the segment's first byte.
    pub start: u64,
    /// Position after the segment's last byte.
    pub end: u64,
    /// False for a retransmission.
    pub is_new: bool,
    /// Bytes in flight at the sender after this segment.
    pub flight: u64,
    /// PSH: the sender had nothing more to send, or a write ended here.
    pub has_push: bool,
    /// TSval, if the segment has timestamps.
    pub tsval: Option<u32>,
}

/// An ACK sent by the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Time at the tap from the first segment of the connection, in nanoseconds.
    pub at: u64,
    /// Position up to which everything has arrived.
    pub ack: u64,
    /// Newly acknowledged bytes.
    pub bytes: u64,
    /// Receive window in bytes; `None` if its scale is unknown.
    pub window: Option<u64>,
}

/// The payload of a connection.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Segments with payload, in the order of the capture.
    pub sent: Vec<Sent>,
    /// ACKs of the receiver, in the order of the capture.
    pub acks: Vec<Acked>,
    /// Round trips of the whole path: time of the ACK at the tap, and length, in nanoseconds.
    pub rtts: Vec<(u64, u64)>,
    /// Payload of the longest segments, and the smallest round trip of a segment with that payload.
    pub longest: Option<(u64, u64)>,
    /// Number of bytes that the receiver sent before the sender's first payload, and the time of
    /// the last segment with these bytes.
    pub question: Option<(u64, u64)>,
    /// Time of the last ACK of new payload, or of the last payload if no ACK was seen.
    pub done: u64,
    /// Acknowledged bytes, or sent bytes if no ACK was seen.
    pub bytes: u64,
    /// Round-trip time between tap and sender, in nanoseconds.
    pub to_sender: u64,
    /// All payload that the receiver sent, in bytes.
    pub back_bytes: u64,
    /// Time of the first segment after the SYNs. The handshake and its losses end before this time.
    pub begin: u64,
}

/// Converts sequence numbers to positions.
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

/// Round-trip time between tap and sender; 0 for a tap at the sender.
fn distance(observed: &ObservedConnection) -> u64 {
    match observed.vantage.side {
        Side::Sender | Side::Unknown => 0,
        Side::Middle | Side::Receiver => observed.vantage.to_sender_ns.unwrap_or(0),
    }
}

impl Trace {
    /// Reads the payload of the sender of `observed`.
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

    /// Segments with payload that had not been sent before.
    pub fn new_segments(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.is_new)
    }
}

/// Waits in queues before the tap, from the sender's timestamps.
///
/// A segment that waited before the tap passes it later than the sender's timestamp says.
/// Timestamps are used only if the ticks of the sender's clock are milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    first: Option<(i64, u32)>,
    /// Smallest difference between the tap's clock and the sender's timestamp clock, in
    /// nanoseconds.
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

    /// Time for which a segment waited before the tap, exact to a tick; 0 if it did not wait.
    fn before(&self, at_ns: i64, tsval: u32) -> u64 {
        let Some(first) = self.first else { return 0 };
        let late = lateness(first, (at_ns, tsval)).saturating_sub(self.least);
        // The segment with the smallest lateness is the reference. If the reference left at the
        // start of a tick, another segment that left at the end of a tick seems late by up to a
        // tick. Subtract this tick.
        late.saturating_sub(TICK).max(0) as u64
    }
}

/// Time by which a segment is later on the tap's clock than on the sender's clock.
fn lateness(first: (i64, u32), (at_ns, tsval): (i64, u32)) -> i64 {
    let ticks = i64::from(tsval.wrapping_sub(first.1) as i32);
    at_ns.saturating_sub(first.0).saturating_sub(ticks * TICK)
}

/// A segment with new payload.
#[derive(Clone, Copy, Debug)]
struct Once {
    /// Position after the segment.
    end: u64,
    /// Time at which the segment left the sender.
    left: u64,
    /// Payload of the segment.
    len: u64,
    /// True if the segment was not retransmitted.
    is_once: bool,
}

/// A trace while it is being built.
struct Reader {
    trace: Trace,
    space: Option<Space>,
    shift: Option<u8>,
    now: u64,
    /// Position after the last byte sent.
    max: u64,
    /// Number of ACKs that the sender has received.
    received: usize,
    /// Highest position that the sender knows to be acknowledged.
    una: u64,
    /// Index of the first segment whose round trip is not known yet.
    pending: usize,
    /// Segments with new payload.
    once: Vec<Once>,
    /// Computes the time that a segment waited in queues before the tap.
    waits: Waits,
    /// True while only SYNs were seen.
    is_opening: bool,
}

impl Reader {
    fn new(log: &SegmentLog, observed: &ObservedConnection) -> Self {
        let receiver: End = observed.sender.other();
        let is_syn =
            |one: &&Noted| one.from == observed.sender && one.flags.contains(TcpFlags::SYN);
        let syn = log.segments().iter().find(is_syn);
        // Without a SYN, positions count from the first sequence number that either end mentions.
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

    /// Takes the ACKs that have reached the sender.
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
        // Limit the ACK to the payload, because the ACK of a FIN is one byte beyond it.
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
        // Take no round trip if a segment was retransmitted: the ACK may be that of the
        // retransmission.
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
