//! The connections of a capture: their segments and their ends.
//!
//! Rule: a connection is the segments between two addresses and ports. A SYN with another initial
//! sequence number begins a new connection. The analysis of a connection is returned when the
//! connection ends. Memory therefore grows with the number of connections that are open at one
//! time, and not with the length of the capture.
//!
//! A connection ends
//! - [`linger_ns`](FlowLimits::linger_ns) after its last segment, once both ends sent FIN or one
//!   sent an RST that the connection did not survive;
//! - when a SYN opens the next connection between the same ports;
//! - [`idle_ns`](FlowLimits::idle_ns) after its last segment;
//! - when a new connection would exceed [`open_max`](FlowLimits::open_max) and this connection has
//!   the oldest last segment of all closed connections, or of all open ones if none is closed;
//! - when the capture ends.

mod recency;

use std::collections::HashMap;

use fullpipe_wire::TcpFlags;

use super::{
    icmp::ReturnedSegment,
    resets::Resets,
    segment::{Analysis, End, FlowKey, Segment},
};
use recency::Recency;

/// Bounds of a [`FlowTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Time for which a closed connection is kept after its last segment, in nanoseconds.
    pub linger_ns: i64,
    /// Time for which an open connection is kept after its last segment, in nanoseconds.
    pub idle_ns: i64,
    /// Largest number of connections in the table at one time. At least 1.
    pub open_max: usize,
}

impl FlowLimits {
    /// Keeps at most 50,000 connections. After the last segment, a closed connection is kept for
    /// 10 s and an open one for 3 h, which is longer than the keep-alive interval of most systems.
    pub const DEFAULT: Self = Self {
        linger_ns: 10_000_000_000,
        idle_ns: 3 * 3_600 * 1_000_000_000,
        open_max: 50_000,
    };
}

/// Reason for which a connection has no more segments. RST, and FINs of both ends, take precedence
/// over all other reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowEnding {
    /// Both ends sent FIN.
    Closed,
    /// One end sent an RST that the connection did not survive.
    Reset,
    /// A SYN opened another connection between the same ports.
    Replaced,
    /// The connection had no segment for [`FlowLimits::idle_ns`].
    Idle,
    /// The table was full. This connection's last segment was the oldest of all closed connections,
    /// or of all open ones if none was closed.
    Crowded,
    /// The capture ended while the connection was open.
    CaptureEnd,
}

/// A connection that has ended, with the outcome of its analysis.
#[derive(Clone, Debug)]
pub struct EndedFlow<O> {
    /// Number of the connection in the capture, from 1, in the order of first segments.
    pub number: u64,
    /// Addresses and ports of the connection.
    pub key: FlowKey,
    /// Time of the first segment, in nanoseconds since the Unix epoch.
    pub began_ns: i64,
    /// Time of the last segment, in nanoseconds since the Unix epoch.
    pub ended_ns: i64,
    /// Segments of both ends.
    pub segments: u64,
    /// Reason for the end of the connection.
    pub ending: FlowEnding,
    /// The last segment of end A, and the last one of end B, that an ICMP error returned.
    pub returned: [Option<ReturnedSegment>; 2],
    /// Outcome of the connection's analysis.
    pub outcome: O,
}

impl<O> EndedFlow<O> {
    /// Replaces the outcome by what `other` makes of it.
    pub fn map<P>(self, other: impl FnOnce(O) -> P) -> EndedFlow<P> {
        EndedFlow {
            number: self.number,
            key: self.key,
            began_ns: self.began_ns,
            ended_ns: self.ended_ns,
            segments: self.segments,
            ending: self.ending,
            returned: self.returned,
            outcome: other(self.outcome),
        }
    }

    /// The last segment of `end` that an ICMP error returned.
    pub const fn returned_from(&self, end: End) -> Option<ReturnedSegment> {
        self.returned[end.index()]
    }
}

/// A connection that is open, or closed a short time ago.
struct Flow<A> {
    number: u64,
    key: FlowKey,
    began_ns: i64,
    ended_ns: i64,
    segments: u64,
    /// Initial sequence numbers of both ends; `None` while unknown.
    isn: [Option<u32>; 2],
    /// For each end, true if it has sent a segment.
    has_sent: [bool; 2],
    /// For each end, true if it has sent FIN.
    has_finished: [bool; 2],
    resets: Resets,
    returned: [Option<ReturnedSegment>; 2],
    analysis: A,
}

impl<A: Analysis> Flow<A> {
    fn new(number: u64, key: FlowKey, at_ns: i64, analysis: A) -> Self {
        Self {
            number,
            key,
            began_ns: at_ns,
            ended_ns: at_ns,
            segments: 0,
            isn: [None; 2],
            has_sent: [false; 2],
            has_finished: [false; 2],
            resets: Resets::default(),
            returned: [None; 2],
            analysis,
        }
    }

    fn is_closed(&self) -> bool {
        self.resets.is_reset() || self.has_finished == [true; 2]
    }

    /// Returns true if `segment` is the SYN or the SYN-ACK of another connection.
    fn is_replaced_by(&self, segment: &Segment) -> bool {
        let (from, to) = (segment.from.index(), segment.from.other().index());
        if !segment.flags.contains(TcpFlags::SYN) {
            return false;
        }
        // If the capture has earlier segments of this end, but no SYN, they belong to a connection
        // that began before the capture, so this SYN begins a new connection.
        let is_own_new = self.isn[from].map_or(self.has_sent[from], |isn| isn != segment.seq);
        match segment.acknowledges() {
            // After FINs of both ends, a SYN cannot be a retransmission, so it is new.
            None => is_own_new || self.has_finished == [true; 2],
            Some(ack) => {
                let answered = ack.wrapping_sub(1);
                let is_peers_new = self.isn[to].map_or(self.has_sent[to], |isn| isn != answered);
                is_own_new && is_peers_new
            }
        }
    }

    fn on_segment(&mut self, segment: &Segment) {
        let (from, to) = (segment.from.index(), segment.from.other().index());
        if segment.flags.contains(TcpFlags::SYN) {
            self.isn[from] = Some(segment.seq);
            if let Some(ack) = segment.acknowledges() {
                self.isn[to] = Some(ack.wrapping_sub(1));
            }
        }
        self.has_sent[from] = true;
        self.has_finished[from] |= segment.flags.contains(TcpFlags::FIN);
        self.resets.on_segment(segment);
        self.ended_ns = segment.at_ns;
        self.segments += 1;
        self.analysis.on_segment(segment);
    }

    fn end(self, ending: FlowEnding, end_ns: i64) -> EndedFlow<A::Outcome> {
        EndedFlow {
            number: self.number,
            key: self.key,
            began_ns: self.began_ns,
            ended_ns: self.ended_ns,
            segments: self.segments,
            ending: match (self.resets.is_reset(), self.has_finished) {
                (true, _) => FlowEnding::Reset,
                (false, [true, true]) => FlowEnding::Closed,
                (false, _) => ending,
            },
            returned: self.returned,
            outcome: self.analysis.conclude(end_ns),
        }
    }
}

/// The connections of a capture.
///
/// Segments come in the order of the capture, with times that do not decrease.
pub struct FlowTable<A, N> {
    limits: FlowLimits,
    new_analysis: N,
    /// The hash has a random key, so a capture cannot be made whose connections have equal hashes.
    places: HashMap<FlowKey, u32>,
    flows: Vec<Option<Flow<A>>>,
    free: Vec<u32>,
    /// Open connections in the order of their last segments.
    open: Recency,
    /// Closed connections in the order of their last segments.
    closed: Recency,
    /// Connection of the last segment, kept because the next segment often belongs to the same
    /// connection.
    latest: Option<(FlowKey, u32)>,
    /// Number of connections so far.
    count: u64,
}

impl<A: Analysis, N: FnMut(&FlowKey) -> A> FlowTable<A, N> {
    /// Creates an empty table. `new_analysis` makes the analysis of each connection.
    ///
    /// # Panics
    /// Panics if `limits` allow no open connection.
    pub fn new(limits: FlowLimits, new_analysis: N) -> Self {
        assert!(limits.open_max > 0, "at least one connection is open");
        Self {
            limits,
            new_analysis,
            places: HashMap::new(),
            flows: Vec::new(),
            free: Vec::new(),
            open: Recency::new(),
            closed: Recency::new(),
            latest: None,
            count: 0,
        }
    }

    /// Number of connections so far.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Adds `segment` to its connection. `ended` is called with each connection that ended before
    /// this segment.
    pub fn on_segment(
        &mut self,
        key: FlowKey,
        segment: &Segment,
        mut ended: impl FnMut(EndedFlow<A::Outcome>),
    ) {
        let now_ns = segment.at_ns;
        self.expire(now_ns, &mut ended);
        let place = match self.place(&key) {
            Some(place) if self.flow(place).is_replaced_by(segment) => {
                ended(self.take(place, FlowEnding::Replaced, now_ns));
                self.insert(key, now_ns, &mut ended)
            }
            Some(place) => place,
            None => self.insert(key, now_ns, &mut ended),
        };
        self.latest = Some((key, place));
        let flow = self.flow(place);
        let was_closed = flow.is_closed();
        flow.on_segment(segment);
        let is_closed = flow.is_closed();
        match (was_closed, is_closed) {
            (false, false) => self.open.touch(place),
            (false, true) => {
                self.open.remove(place);
                self.closed.push(place);
            }
            (true, false) => {
                self.closed.remove(place);
                self.open.push(place);
            }
            (true, true) => self.closed.touch(place),
        }
    }

    /// Notes a segment of the connection `key` that an ICMP error returned. An error about a
    /// connection that is not in the table is ignored.
    pub fn on_returned(&mut self, key: &FlowKey, returned: ReturnedSegment) {
        if let Some(place) = self.place(key) {
            self.flow(place).returned[returned.from.index()] = Some(returned);
        }
    }

    /// Ends every connection. `end_ns` is the time of the last frame.
    pub fn finish(mut self, end_ns: i64, mut ended: impl FnMut(EndedFlow<A::Outcome>)) {
        let mut rest: Vec<_> = self.flows.drain(..).flatten().collect();
        rest.sort_by_key(|flow| flow.number);
        for flow in rest {
            ended(flow.end(FlowEnding::CaptureEnd, end_ns));
        }
    }

    fn place(&self, key: &FlowKey) -> Option<u32> {
        match self.latest {
            Some((latest, place)) if latest == *key => Some(place),
            _ => self.places.get(key).copied(),
        }
    }

    fn flow(&mut self, place: u32) -> &mut Flow<A> {
        let flow = self.flows[place as usize].as_mut();
        flow.expect("a place in use has a connection")
    }

    fn insert(
        &mut self,
        key: FlowKey,
        now_ns: i64,
        ended: &mut impl FnMut(EndedFlow<A::Outcome>),
    ) -> u32 {
        if self.places.len() >= self.limits.open_max {
            let oldest = self.closed.oldest().or(self.open.oldest());
            let oldest = oldest.expect("a full table has a connection");
            ended(self.take(oldest, FlowEnding::Crowded, now_ns));
        }
        self.count += 1;
        let flow = Flow::new(self.count, key, now_ns, (self.new_analysis)(&key));
        let place = match self.free.pop() {
            Some(place) => {
                self.flows[place as usize] = Some(flow);
                place
            }
            None => {
                self.flows.push(Some(flow));
                u32::try_from(self.flows.len() - 1).expect("fewer than 2^32 connections are open")
            }
        };
        self.places.insert(key, place);
        self.open.push(place);
        place
    }

    /// Ends connections whose last segment is older than the limits allow.
    fn expire(&mut self, now_ns: i64, ended: &mut impl FnMut(EndedFlow<A::Outcome>)) {
        let FlowLimits {
            linger_ns, idle_ns, ..
        } = self.limits;
        while let Some(place) = self.closed.oldest()
            && now_ns.saturating_sub(self.flow(place).ended_ns) > linger_ns
        {
            ended(self.take(place, FlowEnding::Closed, now_ns));
        }
        while let Some(place) = self.open.oldest()
            && now_ns.saturating_sub(self.flow(place).ended_ns) > idle_ns
        {
            ended(self.take(place, FlowEnding::Idle, now_ns));
        }
    }

    fn take(&mut self, place: u32, ending: FlowEnding, now_ns: i64) -> EndedFlow<A::Outcome> {
        let flow = self.flows[place as usize].take();
        let flow = flow.expect("a place in use has a connection");
        match flow.is_closed() {
            true => self.closed.remove(place),
            false => self.open.remove(place),
        }
        self.places.remove(&flow.key);
        self.free.push(place);
        self.latest = None;
        flow.end(ending, now_ns)
    }
}

#[cfg(test)]
mod tests;
