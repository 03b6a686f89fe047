//! Carries frames across a link.
//!
//! Rule: everything is ordered by time. Frames are offered, and the wire takes a frame from the
//! queues whenever the wire is free. Arrivals are returned in the order of time; frames that arrive
//! at the same time are in the order in which they were sent. Each impairment is in the file that
//! has its name.
//!
//! Calling order: call [`LinkEngine::offer`] for each frame. At the time of
//! [`LinkEngine::next_event`], or at any other time, call [`LinkEngine::take`] until it returns
//! `None`.

use fullpipe_pool::{Duration, Instant, Rng};

use super::burst_loss::BurstLossState;
use super::codel::CodelState;
use super::corruption::Corruption;
use super::counters::LinkCounters;
use super::delay::Propagation;
use super::duplication::Duplication;
use super::ecn_threshold::QueueAction;
use super::frame::{Direction, ETHERNET_HEADER_LEN};
use super::frame_loss::FrameLoss;
use super::in_flight::{FlyingFrame, InFlight};
use super::loss::Loss;
use super::model::LinkModel;
use super::queue::{FrameQueue, Queue, QueuedFrame};
use super::radio::{Radio, RadioContention};
use super::rate::Serializer;
use super::reordering::LatePath;
use super::token_bucket::BucketState;
#[cfg(feature = "recipes")]
use super::truncation::Truncation;
use super::usage::Transmission;

/// A frame that arrives.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Arrival time of the frame's last bit.
    pub at: Instant,
    /// Direction of the frame.
    pub direction: Direction,
    /// The frame, perhaps corrupted.
    pub frame: Vec<u8>,
}

/// The state of one direction: a queue, and each impairment's state.
#[derive(Debug)]
struct DirectionState {
    link: LinkModel,
    line: FrameQueue,
    codel: CodelState,
    /// Time at which the wire becomes free; on a radio it is the same for both
    /// directions.
    free_at: Instant,
    serializer: Serializer,
    bucket: BucketState,
    propagation: Propagation,
    loss: Loss,
    channel: BurstLossState,
    late_path: LatePath,
    duplication: Duplication,
    corruption: Corruption,
    #[cfg(feature = "recipes")]
    truncation: Truncation,
    counters: LinkCounters,
    /// Highest sequence number of the frames that have arrived.
    last_arrived: u64,
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
            late_path: LatePath(rng.fork(4)),
            duplication: Duplication(rng.fork(5)),
            corruption: Corruption(rng.fork(6)),
            #[cfg(feature = "recipes")]
            truncation: Truncation(rng.fork(7)),
            counters: LinkCounters::default(),
            last_arrived: 0,
        }
    }

    /// Time at which the first waiting frame may be put on the wire.
    fn next_start(&self) -> Option<Instant> {
        let first = self.line.first()?;
        let free = self.free_at.max(first.since);
        Some(match self.link.token_bucket {
            Some(model) => self.bucket.ready(model, first.frame.len(), free),
            None => free,
        })
    }

    /// Returns true if the link can carry a frame of `len` bytes.
    fn can_carry(&self, len: usize) -> bool {
        let fits_bucket = self
            .link
            .token_bucket
            .is_none_or(|bucket| len as u64 <= bucket.burst_bytes);
        len <= self.link.mtu + ETHERNET_HEADER_LEN && fits_bucket
    }

    /// Marks an arriving frame if the queue is longer than the ECN threshold. If the frame must be
    /// dropped, returns the reason as an error.
    fn treat(&mut self, frame: &mut [u8]) -> Result<(), FrameLoss> {
        let shaper_bytes = self.link.token_bucket.map(|bucket| bucket.limit_bytes);
        self.line
            .admit(frame.len(), self.link.queue, shaper_bytes)?;
        let action = match self.link.ecn_threshold {
            Some(threshold) => threshold.treat(frame, &self.line),
            None => QueueAction::Enqueue,
        };
        match action {
            QueueAction::Enqueue => {}
            QueueAction::EnqueueMarked => self.counters.marked += 1,
            QueueAction::Drop => return Err(FrameLoss::EcnThreshold),
        }
        Ok(())
    }

    /// Puts `frame` into the queue, perhaps in place of an ACK.
    fn join(&mut self, frame: Vec<u8>, now: Instant) {
        let Some(thinning) = self.link.ack_thinning else {
            return self.line.join(frame, now);
        };
        if let Some(bytes) = thinning.join(&mut self.line, frame, now) {
            self.counters.lost.count(FrameLoss::AckThinning, bytes);
        }
    }

    /// Takes the frame that leaves the queue at `now`.
    fn leave(&mut self, now: Instant) -> Option<QueuedFrame> {
        let Some(model) = self.link.codel else {
            return self.line.leave();
        };
        let maxpacket = self.link.mtu + ETHERNET_HEADER_LEN;
        let lost = &mut self.counters.lost;
        let dropped = |frame: &QueuedFrame| lost.count(FrameLoss::Codel, frame.frame.len());
        let (first, marked) = self
            .codel
            .deque(model, &mut self.line, maxpacket, now, dropped);
        self.counters.marked += marked;
        first
    }

    /// Returns the reason for which a frame that is put on the wire at `start` is lost; `None` if
    /// it is not lost.
    fn loses_frame(&mut self, start: Instant) -> Option<FrameLoss> {
        if self.link.outage.is_some_and(|outage| outage.strikes(start)) {
            return Some(FrameLoss::Outage);
        }
        if self.channel.strikes(self.link.burst_loss) {
            return Some(FrameLoss::Burst);
        }
        self.loss
            .strikes(self.link.loss)
            .then_some(FrameLoss::Random)
    }

    /// Counts a frame of `bytes` that joined the queue at `since` and uses the wire from
    /// `start` until `left`.
    fn count_carried(&mut self, bytes: usize, since: Instant, [start, left]: [Instant; 2]) {
        let waited = start.since(since);
        let counters = &mut self.counters;
        if self.link.token_bucket.is_some() {
            counters.shaped += start.since(self.free_at.max(since));
        }
        counters.carried += 1;
        counters.carried_bytes += bytes as u64;
        counters.waited += waited;
        counters.longest_wait = counters.longest_wait.max(waited);
        counters.busy += left.since(start);
    }
}

/// A link in operation: [`offer`](Self::offer) frames, and [`take`](Self::take)
/// arrivals until `None` at each [`next_event`](Self::next_event).
#[derive(Debug)]
pub struct LinkEngine {
    directions: [DirectionState; 2],
    radio: Option<Radio>,
    contention: RadioContention,
    up: bool,
    in_flight: InFlight,
    sent: u64,
    /// Frames put on the wire since the last [`take_transmissions`](Self::take_transmissions);
    /// `None` if they are not recorded.
    transmissions: Option<Vec<Transmission>>,
}

impl LinkEngine {
    /// A link that is the same in both directions. All its randomness comes from
    /// `rng`.
    pub fn new(link: LinkModel, rng: &Rng) -> Self {
        Self::asymmetric(link, link, rng)
    }

    /// A link whose two directions differ. The link is a half-duplex radio if `forward` has a
    /// radio.
    pub fn asymmetric(forward: LinkModel, back: LinkModel, rng: &Rng) -> Self {
        Self {
            directions: [
                DirectionState::new(forward, &rng.fork(0)),
                DirectionState::new(back, &rng.fork(1)),
            ],
            radio: forward.radio,
            contention: RadioContention(rng.fork(2)),
            up: true,
            in_flight: InFlight::default(),
            sent: 0,
            transmissions: None,
        }
    }

    /// Records every frame that is put on the wire from now on.
    pub fn record_transmissions(&mut self) {
        self.transmissions.get_or_insert_default();
    }

    /// Returns the transmissions recorded since the last call. Recording starts with
    /// [`record_transmissions`](Self::record_transmissions).
    pub fn take_transmissions(&mut self) -> Vec<Transmission> {
        self.transmissions
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The model of `direction`.
    pub fn link(&self, direction: Direction) -> &LinkModel {
        &self.directions[direction.index()].link
    }

    /// Replaces the model of `direction` from now on. Frames in flight are not affected.
    pub fn change(&mut self, direction: Direction, link: LinkModel) {
        self.directions[direction.index()].link = link;
        if direction == Direction::Forward {
            self.radio = link.radio;
        }
    }

    /// Plugs the link in, or unplugs it. While it is unplugged, offered frames are
    /// dropped.
    pub fn set_up(&mut self, up: bool) {
        self.up = up;
    }

    /// Returns true if the link is plugged in.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// The counters of `direction`.
    pub fn counters(&self, direction: Direction) -> &LinkCounters {
        &self.directions[direction.index()].counters
    }

    /// Returns true if a sender that keeps its own queue ([`Queue::Device`]) may offer the next
    /// frame. Always true with any other queue.
    pub fn has_room(&self, direction: Direction) -> bool {
        let own = &self.directions[direction.index()];
        own.link.queue != Queue::Device || own.line.is_idle()
    }

    /// Number of frames inside the link, waiting or in flight.
    pub fn held(&self) -> u64 {
        let waiting: usize = self.directions.iter().map(|own| own.line.len()).sum();
        (waiting + self.in_flight.len()) as u64
    }

    /// Accepts a frame at `now`, or drops it when the queue is full.
    pub fn offer(&mut self, direction: Direction, mut frame: Vec<u8>, now: Instant) {
        self.advance(now);
        let own = &mut self.directions[direction.index()];
        own.counters.offered += 1;
        own.counters.offered_bytes += frame.len() as u64;
        match Self::admit(own, self.up, &mut frame) {
            Ok(()) => {
                own.join(frame, now);
                self.advance(now);
                let DirectionState { line, counters, .. } = &mut self.directions[direction.index()];
                counters.longest_queue = counters.longest_queue.max(line.len());
                counters.longest_queue_bytes = counters.longest_queue_bytes.max(line.bytes());
            }
            Err(reason) => {
                own.counters.lost.count(reason, frame.len());
                let hop = own.link.hop.filter(|_| reason == FrameLoss::PacketTooBig);
                if let Some(answer) = hop.and_then(|hop| hop.answer(&frame)) {
                    let there_and_back = Duration::from_micros(own.link.delay_us);
                    let back = direction.reverse();
                    self.directions[back.index()].counters.hop_messages += 1;
                    self.arrive(back, now + there_and_back, answer);
                }
            }
        }
    }

    /// Decides whether an offered frame may join the queue of `own`. If not, returns the reason as
    /// an error.
    fn admit(own: &mut DirectionState, is_up: bool, frame: &mut [u8]) -> Result<(), FrameLoss> {
        if !is_up {
            return Err(FrameLoss::LinkDown);
        }
        if !own.can_carry(frame.len()) {
            return Err(FrameLoss::TooLong);
        }
        match own.link.hop.filter(|hop| hop.stops(frame)) {
            Some(hop) if hop.silent => Err(FrameLoss::BlackHole),
            Some(_) => Err(FrameLoss::PacketTooBig),
            None => own.treat(frame),
        }
    }

    /// Returns the next frame that has arrived by `now`.
    pub fn take(&mut self, now: Instant) -> Option<Delivery> {
        self.advance(now);
        let FlyingFrame {
            at,
            sequence,
            direction,
            frame,
        } = self.in_flight.take(now)?;
        let own = &mut self.directions[direction.index()];
        own.counters.delivered += 1;
        own.counters.delivered_bytes += frame.len() as u64;
        own.counters.overtaken += u64::from(sequence < own.last_arrived);
        own.last_arrived = own.last_arrived.max(sequence);
        Some(Delivery {
            at,
            direction,
            frame,
        })
    }

    /// Time of the next arrival or the next start of a transmission. `None` when
    /// the link is empty.
    pub fn next_event(&self) -> Option<Instant> {
        let start = self.next_start().map(|(start, _)| start);
        match (start, self.in_flight.next_at()) {
            (Some(start), Some(arrival)) => Some(start.min(arrival)),
            (start, arrival) => start.or(arrival),
        }
    }

    /// Time of the next start of a transmission, and the directions that have a frame to
    /// send then.
    fn next_start(&self) -> Option<(Instant, [bool; 2])> {
        let [forward, back] = &self.directions;
        match (forward.next_start(), back.next_start()) {
            (None, None) => None,
            (Some(start), None) => Some((start, [true, false])),
            (None, Some(start)) => Some((start, [false, true])),
            (Some(forward), Some(back)) => {
                let first = forward.min(back);
                Some((first, [forward == first, back == first]))
            }
        }
    }

    /// Starts every transmission that was possible by `now`.
    fn advance(&mut self, now: Instant) {
        if self.directions.iter().all(|own| own.line.len() == 0) {
            return;
        }
        while let Some((start, ready)) = self.next_start() {
            if start > now {
                break;
            }
            match self.radio {
                Some(radio) => {
                    let (direction, backoff) = self.contention.contest(radio, ready);
                    let bits_from = start + backoff + Duration::from_micros(radio.access_us);
                    let left = self.transmit(direction, start, bits_from);
                    self.directions[direction.reverse().index()].free_at = left;
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

    /// Takes the first frame from the queue at `start` and puts its first bit on the wire
    /// at `bits_from`. Returns the time at which the wire is free again.
    fn transmit(&mut self, direction: Direction, start: Instant, bits_from: Instant) -> Instant {
        let own = &mut self.directions[direction.index()];
        let Some(waiting) = own.leave(start) else {
            unreachable!("a start without a frame, or a queue that CoDel emptied");
        };
        let mut frame = waiting.frame;
        let (mut start, mut bits_from) = (start, bits_from);
        if let Some(model) = own.link.token_bucket {
            // Ask the bucket again: CoDel may have dropped the frame for which the bucket was asked
            // before, and the frame that leaves now may be longer.
            let ready = own.bucket.ready(model, frame.len(), start);
            bits_from += ready.since(start);
            start = ready;
            own.bucket.take(model, frame.len(), start);
        }
        let left = bits_from + own.serializer.time_for(frame.len(), own.link.rate_bps);
        own.count_carried(frame.len(), waiting.since, [start, left]);
        own.free_at = left;
        if let Some(transmissions) = &mut self.transmissions {
            transmissions.push(Transmission {
                direction,
                from: start,
                until: left,
                waiting: own.line.len(),
            });
        }
        if let Some(reason) = own.loses_frame(start) {
            own.counters.lost.count(reason, frame.len());
            return left;
        }
        #[cfg(feature = "recipes")]
        own.truncation.strike(&mut frame, own.link.truncation);
        let mut at = own
            .propagation
            .arrival(left, own.link.delay_us, own.link.jitter_us);
        if let Some(late) = own.late_path.late_by(own.link.reordering) {
            own.counters.reordered += 1;
            at += late;
        }
        let copy = own
            .duplication
            .strikes(own.link.duplication)
            .then(|| frame.clone());
        own.counters.duplicated += u64::from(copy.is_some());
        if own.corruption.strike(&mut frame, own.link.corruption) {
            own.counters.corrupted += 1;
        }
        for frame in [Some(frame), copy].into_iter().flatten() {
            self.arrive(direction, at, frame);
        }
        left
    }

    /// Schedules the arrival of `frame` at `at`.
    fn arrive(&mut self, direction: Direction, at: Instant, frame: Vec<u8>) {
        let sequence = self.sent;
        self.sent += 1;
        self.in_flight.add(FlyingFrame {
            at,
            sequence,
            direction,
            frame,
        });
    }
}
