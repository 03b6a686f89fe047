//! Carries frames across a link.
//!
//! Rule: the only order of things is time. Frames are offered, the wire takes
//! them from the queues as it becomes free, arrivals come out in order of time
//! and, at one time, in the order they were sent. What each impairment does is
//! in the file that has its name.
//!
//! The order of calls: [`LinkEngine::offer`] whenever a frame is there;
//! [`LinkEngine::take`] until `None`, at the time [`LinkEngine::next_event`]
//! gives or at any other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fullpipe_pool::{Duration, Instant, Rng};

use super::burst_loss::BurstLossState;
use super::codel::CodelState;
use super::corruption::Corruption;
use super::delay::Propagation;
use super::duplication::Duplication;
use super::ecn_threshold::QueueAction;
use super::loss::Loss;
use super::queue::{FrameQueue, QueuedFrame};
use super::radio::{Radio, RadioContention};
use super::rate::Serializer;
use super::reordering::LatePath;
use super::token_bucket::BucketState;
use super::{Direction, ETHERNET_HEADER_LEN, LinkModel, Queue};

/// A frame that arrives.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When its last bit arrived.
    pub at: Instant,
    /// Which way it went.
    pub direction: Direction,
    /// The frame, perhaps damaged.
    pub frame: Vec<u8>,
}

/// What became of the frames of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames given to the link.
    pub offered: u64,
    /// Frames that arrived, duplicates counted.
    pub delivered: u64,
    /// Bytes of the frames that arrived.
    pub delivered_bytes: u64,
    /// Lost on the wire, at random.
    pub lost: u64,
    /// Lost on the wire, in a burst.
    pub lost_in_burst: u64,
    /// Dropped because the queue or the shaper's queue was full, or longer than
    /// the threshold for frames that cannot be marked.
    pub dropped_by_queue: u64,
    /// Dropped by CoDel.
    pub dropped_by_codel: u64,
    /// Marked with CE, by CoDel or beyond the threshold.
    pub marked: u64,
    /// Dropped because they were longer than the link, the shaper or the hop can
    /// carry.
    pub dropped_too_long: u64,
    /// Dropped because the link was down, or in an outage.
    pub dropped_while_down: u64,
    /// Delivered late, behind frames sent after them.
    pub reordered: u64,
    /// Delivered twice.
    pub duplicated: u64,
    /// Delivered with flipped bits.
    pub corrupted: u64,
    /// The most frames that ever waited in the queue.
    pub longest_queue: usize,
    /// Time in which frames of this direction had the wire, or the air, to
    /// themselves, backoff and access time included.
    pub busy: Duration,
}

/// A frame on its way, ordered by arrival, then by sequence number.
#[derive(Debug)]
struct InFlight {
    at: Instant,
    sequence: u64,
    direction: Direction,
    frame: Vec<u8>,
}

impl InFlight {
    fn key(&self) -> (Instant, u64) {
        (self.at, self.sequence)
    }
}

impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for InFlight {}

impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// One direction's state: a queue, and each impairment's.
#[derive(Debug)]
struct DirectionState {
    link: LinkModel,
    line: FrameQueue,
    codel: CodelState,
    /// When the frame on the wire has left; shared by both lanes of a radio.
    free_at: Instant,
    serializer: Serializer,
    bucket: BucketState,
    propagation: Propagation,
    loss: Loss,
    channel: BurstLossState,
    detour: LatePath,
    duplication: Duplication,
    corruption: Corruption,
    counters: LinkCounters,
}

impl DirectionState {
    fn new(link: LinkModel, rng: &Rng) -> Self {
        Self {
            link,
            line: FrameQueue::default(),
            codel: CodelState::default(),
            free_at: Instant::ZERO,
            serializer: Serializer::default(),
            bucket: BucketState::default(),
            propagation: Propagation::new(rng.fork(1)),
            loss: Loss(rng.fork(2)),
            channel: BurstLossState::new(rng.fork(3)),
            detour: LatePath(rng.fork(4)),
            duplication: Duplication(rng.fork(5)),
            corruption: Corruption(rng.fork(6)),
            counters: LinkCounters::default(),
        }
    }

    /// When the first frame that waits may be put on the wire.
    fn next_start(&self) -> Option<Instant> {
        let first = self.line.first()?;
        let free = self.free_at.max(first.since);
        Some(match self.link.token_bucket {
            Some(model) => self.bucket.ready(model, first.frame.len(), free),
            None => free,
        })
    }

    /// Whether a frame of `len` bytes could ever cross.
    fn can_carry(&self, len: usize) -> bool {
        let fits_bucket = self
            .link
            .token_bucket
            .is_none_or(|bucket| len as u64 <= bucket.burst_bytes);
        len <= self.link.mtu + ETHERNET_HEADER_LEN && fits_bucket
    }

    /// What the length of the queue means for a frame that would join it.
    fn treat(&mut self, frame: &mut [u8]) -> QueueAction {
        let shaper_bytes = self.link.token_bucket.map(|bucket| bucket.limit_bytes);
        if !self.line.admits(frame.len(), self.link.queue, shaper_bytes) {
            return QueueAction::Dropped;
        }
        match self.link.ecn_threshold {
            Some(threshold) => threshold.treat(frame, &self.line),
            None => QueueAction::Alone,
        }
    }

    /// The frame that leaves the queue at `now`.
    fn leave(&mut self, now: Instant) -> Option<QueuedFrame> {
        let Some(model) = self.link.codel else {
            return self.line.leave();
        };
        let maxpacket = self.link.mtu + ETHERNET_HEADER_LEN;
        let (first, toll) = self.codel.deque(model, &mut self.line, maxpacket, now);
        self.counters.dropped_by_codel += toll.dropped;
        self.counters.marked += toll.marked;
        first
    }

    /// Whether the frame that has just left is lost.
    fn loses_frame(&mut self) -> bool {
        if self.channel.strikes(self.link.burst_loss) {
            self.counters.lost_in_burst += 1;
            return true;
        }
        if self.loss.strikes(self.link.loss) {
            self.counters.lost += 1;
            return true;
        }
        false
    }
}

/// A link at work: [`offer`](Self::offer) frames, [`take`](Self::take) what has
/// arrived, until `None`, whenever [`next_event`](Self::next_event) says.
#[derive(Debug)]
pub struct LinkEngine {
    lanes: [DirectionState; 2],
    radio: Option<Radio>,
    air: RadioContention,
    up: bool,
    in_flight: BinaryHeap<Reverse<InFlight>>,
    sent: u64,
}

impl LinkEngine {
    /// A link that is the same in both directions, all its chance from `rng`.
    pub fn new(link: LinkModel, rng: &Rng) -> Self {
        Self::asymmetric(link, link, rng)
    }

    /// A link that does `forward` and `back` to the two directions. It is a
    /// half-duplex radio when `forward` says so.
    pub fn asymmetric(forward: LinkModel, back: LinkModel, rng: &Rng) -> Self {
        Self {
            lanes: [
                DirectionState::new(forward, &rng.fork(0)),
                DirectionState::new(back, &rng.fork(1)),
            ],
            radio: forward.radio,
            air: RadioContention(rng.fork(2)),
            up: true,
            in_flight: BinaryHeap::new(),
            sent: 0,
        }
    }

    /// What the link does to frames that go `direction`.
    pub fn link(&self, direction: Direction) -> &LinkModel {
        &self.lanes[direction.index()].link
    }

    /// Replaces what the link does from now on; frames on their way keep theirs.
    pub fn change(&mut self, direction: Direction, link: LinkModel) {
        self.lanes[direction.index()].link = link;
        if direction == Direction::Forward {
            self.radio = link.radio;
        }
    }

    /// Plugs the link in or out. While it is out, frames offered are dropped.
    pub fn set_up(&mut self, up: bool) {
        self.up = up;
    }

    /// Whether the link is plugged in.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// What became of the frames that went `direction`.
    pub fn counters(&self, direction: Direction) -> &LinkCounters {
        &self.lanes[direction.index()].counters
    }

    /// Whether a sender that holds its frames back ([`Queue::Device`]) may
    /// offer the next one. Always, with any other queue.
    pub fn has_room(&self, direction: Direction) -> bool {
        let lane = &self.lanes[direction.index()];
        lane.link.queue != Queue::Device || lane.line.is_empty()
    }

    /// Frames inside the link: those that wait and those on their way.
    pub fn held(&self) -> u64 {
        let waiting: usize = self.lanes.iter().map(|lane| lane.line.len()).sum();
        (waiting + self.in_flight.len()) as u64
    }

    /// Takes a frame at `now`; it is dropped when nothing can hold it.
    pub fn offer(&mut self, direction: Direction, mut frame: Vec<u8>, now: Instant) {
        self.advance(now);
        let lane = &mut self.lanes[direction.index()];
        lane.counters.offered += 1;
        if !self.up {
            lane.counters.dropped_while_down += 1;
        } else if !lane.can_carry(frame.len()) {
            lane.counters.dropped_too_long += 1;
        } else if let Some(hop) = lane.link.hop.filter(|hop| hop.stops(&frame)) {
            lane.counters.dropped_too_long += 1;
            if let Some(answer) = hop.answer(&frame) {
                let there_and_back = Duration::from_micros(lane.link.delay_us);
                self.arrive(direction.reverse(), now + there_and_back, answer);
            }
        } else {
            match lane.treat(&mut frame) {
                QueueAction::Alone => {}
                QueueAction::Marked => lane.counters.marked += 1,
                QueueAction::Dropped => {
                    lane.counters.dropped_by_queue += 1;
                    return;
                }
            }
            lane.line.join(frame, now);
            self.advance(now);
            let lane = &mut self.lanes[direction.index()];
            lane.counters.longest_queue = lane.counters.longest_queue.max(lane.line.len());
        }
    }

    /// The next frame that has arrived by `now`.
    pub fn take(&mut self, now: Instant) -> Option<Delivery> {
        self.advance(now);
        if self.in_flight.peek()?.0.at > now {
            return None;
        }
        let InFlight {
            at,
            direction,
            frame,
            ..
        } = self.in_flight.pop()?.0;
        let counters = &mut self.lanes[direction.index()].counters;
        counters.delivered += 1;
        counters.delivered_bytes += frame.len() as u64;
        Some(Delivery {
            at,
            direction,
            frame,
        })
    }

    /// When something happens next by itself: a frame arrives, or one that
    /// waits is put on the wire. `None` when the link is empty.
    pub fn next_event(&self) -> Option<Instant> {
        let arrival = self.in_flight.peek().map(|first| first.0.at);
        self.next_start()
            .map(|(start, _)| start)
            .into_iter()
            .chain(arrival)
            .min()
    }

    /// When a frame is put on the wire next, and which directions have one that
    /// can be.
    fn next_start(&self) -> Option<(Instant, [bool; 2])> {
        let starts = [self.lanes[0].next_start(), self.lanes[1].next_start()];
        let first = starts.into_iter().flatten().min()?;
        Some((first, starts.map(|start| start == Some(first))))
    }

    /// Puts on the wire what it has been free for by `now`.
    fn advance(&mut self, now: Instant) {
        while let Some((start, ready)) = self.next_start() {
            if start > now {
                break;
            }
            match self.radio {
                Some(radio) => {
                    let (direction, backoff) = self.air.contest(radio, ready);
                    let bits_from = start + backoff + Duration::from_micros(radio.access_us);
                    let left = self.transmit(direction, start, bits_from);
                    self.lanes[direction.reverse().index()].free_at = left;
                }
                None => {
                    let direction = if ready[0] {
                        Direction::Forward
                    } else {
                        Direction::Back
                    };
                    self.transmit(direction, start, start);
                }
            }
        }
    }

    /// Takes the first frame from the queue at `start`, and puts its first bit
    /// on the wire at `bits_from`. Returns when the wire is free again.
    fn transmit(&mut self, direction: Direction, start: Instant, bits_from: Instant) -> Instant {
        let lane = &mut self.lanes[direction.index()];
        let Some(waiting) = lane.leave(start) else {
            unreachable!("a start without a frame, or a queue that CoDel emptied");
        };
        let mut frame = waiting.frame;
        let (mut start, mut bits_from) = (start, bits_from);
        if let Some(model) = lane.link.token_bucket {
            // What CoDel dropped may have been shorter than what leaves instead.
            let ready = lane.bucket.ready(model, frame.len(), start);
            bits_from += ready.since(start);
            start = ready;
            lane.bucket.take(model, frame.len(), start);
        }
        let left = bits_from + lane.serializer.time_for(frame.len(), lane.link.rate_bps);
        lane.free_at = left;
        lane.counters.busy += left.since(start);
        if lane.link.outage.is_some_and(|outage| outage.strikes(start)) {
            lane.counters.dropped_while_down += 1;
            return left;
        }
        if lane.loses_frame() {
            return left;
        }
        let mut at = lane
            .propagation
            .arrival(left, lane.link.delay_us, lane.link.jitter_us);
        if let Some(late) = lane.detour.late_by(lane.link.reordering) {
            lane.counters.reordered += 1;
            at += late;
        }
        let copy = lane
            .duplication
            .strikes(lane.link.duplication)
            .then(|| frame.clone());
        lane.counters.duplicated += u64::from(copy.is_some());
        if lane.corruption.strike(&mut frame, lane.link.corruption) {
            lane.counters.corrupted += 1;
        }
        for frame in [Some(frame), copy].into_iter().flatten() {
            self.arrive(direction, at, frame);
        }
        left
    }

    /// `frame` will arrive at `at`.
    fn arrive(&mut self, direction: Direction, at: Instant, frame: Vec<u8>) {
        let sequence = self.sent;
        self.sent += 1;
        self.in_flight.push(Reverse(InFlight {
            at,
            sequence,
            direction,
            frame,
        }));
    }
}
