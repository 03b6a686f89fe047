//! A path for congestion control alone: one bottleneck with a rate, a queue in
//! bytes, a delay, random loss and marks; senders that always have data.
//!
//! Rule: nothing of the connection is used, so the algorithm alone is measured.
//! A loss is detected when three later segments have arrived. A retransmission
//! is a new segment, because its bytes do not matter here.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    ops::Range,
    vec::Vec,
};

use fullpipe_pool::{Duration, Instant, Rng};

use crate::{
    CongestionAlgorithm, SeqNum, TcpConfig,
    congestion::{
        CongestionRegistry, SegmentPacer, Snapshot, WindowUse,
        control::{AckSample, CongestionEvent, FlightStart},
        controller::{Controller, start_of},
        delivery_rate::DeliveryRate,
    },
};

pub const MSS: u32 = 1_448;

/// The bottleneck's properties.
#[derive(Clone, Debug)]
pub struct Path {
    pub rate: u64,
    pub rtt: Duration,
    /// Size of the queue in bytes; more is dropped.
    pub buffer: u64,
    /// Share of segments lost at random.
    pub loss: f64,
    /// Length of the queue in bytes above which segments are marked.
    pub mark_above: u64,
}

impl Path {
    /// Returns 100 Mbit/s and 40 ms, with a queue of two bandwidth-delay
    /// products.
    pub fn wide() -> Self {
        Self {
            rate: 12_500_000,
            rtt: Duration::from_millis(40),
            buffer: 1_000_000,
            loss: 0.0,
            mark_above: u64::MAX,
        }
    }

    pub fn bdp(&self) -> u64 {
        self.rate * self.rtt.as_micros() / 1_000_000
    }
}

struct Sent {
    at: Instant,
    snapshot: Snapshot,
}

/// One sender and its counts.
pub struct Flow {
    pub controller: Controller,
    rate: DeliveryRate,
    pacer: SegmentPacer,
    outstanding: BTreeMap<u64, Sent>,
    next: u64,
    highest_delivered: u64,
    recover: Option<u64>,
    /// Segment number: congestion control has responded to all losses of segments with lower
    /// numbers.
    answered: u64,
    srtt_us: u32,
    min_rtt_us: u32,
    window_use: WindowUse,
    last_ack: Instant,
    send_due: Option<Instant>,
    /// Rate in bytes per second at which the application writes; `None` is unlimited.
    pub source: Option<u64>,
    pub delivered: u64,
    pub lost: u64,
    pub sent: u64,
    pub timeouts: u32,
    pub recoveries: u32,
    pub ecn_reductions: u32,
    /// Highest rate sample, bytes per second.
    pub max_rate: u64,
    /// Sum of the bytes in flight over all ACKs.
    in_flight_sum: u64,
    /// Number of ACKs.
    acks: u64,
}

impl Flow {
    fn new(config: &TcpConfig, seed: u32) -> Self {
        Self {
            controller: Controller::new(
                config.congestion.into(),
                &start_of(config, MSS, seed),
                &mut CongestionRegistry::new(),
            ),
            rate: DeliveryRate::new(),
            pacer: SegmentPacer::new(),
            outstanding: BTreeMap::new(),
            next: 0,
            highest_delivered: 0,
            recover: None,
            answered: 0,
            srtt_us: 0,
            min_rtt_us: u32::MAX,
            window_use: WindowUse::new(),
            last_ack: Instant::ZERO,
            send_due: None,
            source: None,
            delivered: 0,
            lost: 0,
            sent: 0,
            timeouts: 0,
            recoveries: 0,
            ecn_reductions: 0,
            max_rate: 0,
            in_flight_sum: 0,
            acks: 0,
        }
    }

    pub fn in_flight(&self) -> u32 {
        self.outstanding.len() as u32 * MSS
    }

    /// Returns the average bytes in flight since `forget`.
    pub fn mean_in_flight(&self) -> u64 {
        self.in_flight_sum / self.acks.max(1)
    }

    /// Returns the time at which the application will have written the next whole segment.
    fn next_write(&self) -> Option<Instant> {
        let nanos = (self.next + 1) * u64::from(MSS) * 1_000_000_000;
        Some(Instant::from_nanos(nanos / self.source?))
    }

    /// Resets the counts.
    pub fn forget(&mut self) {
        (self.delivered, self.lost, self.sent) = (0, 0, 0);
        (self.in_flight_sum, self.acks) = (0, 0);
    }

    /// Returns the sequence numbers from the first segment in flight to the next one.
    fn window_of_data(&self) -> Range<SeqNum> {
        let first = self.outstanding.first_key_value();
        let first = first.map_or(self.next, |(segment, _)| *segment);
        let seq = |segment: u64| SeqNum(0) + (segment as u32).wrapping_mul(MSS);
        seq(first)..seq(self.next)
    }

    fn event(&self, now: Instant) -> CongestionEvent {
        CongestionEvent {
            now,
            flight_size: self.in_flight(),
            in_flight: self.in_flight(),
            mss: MSS,
            total_delivered: self.rate.delivered(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrival {
        flow: usize,
        segment: u64,
        marked: bool,
    },
    Release {
        flow: usize,
    },
    Check {
        flow: usize,
    },
}

/// The path and its senders in virtual time.
pub struct World {
    pub path: Path,
    pub flows: Vec<Flow>,
    pub now: Instant,
    link_free: Instant,
    events: BinaryHeap<Reverse<(Instant, u64, What)>>,
    order: u64,
    rng: Rng,
    pub queue_drops: u64,
    pub max_queue: u64,
}

pub fn config(congestion: CongestionAlgorithm) -> TcpConfig {
    TcpConfig {
        congestion,
        ..TcpConfig::default()
    }
}

impl World {
    pub fn new(path: Path, configs: &[TcpConfig], seed: u64) -> Self {
        let flows = configs.iter().zip(1..).map(|(c, n)| Flow::new(c, n));
        let mut world = Self {
            path,
            flows: flows.collect(),
            now: Instant::ZERO,
            link_free: Instant::ZERO,
            events: BinaryHeap::new(),
            order: 0,
            rng: Rng::seeded(seed),
            queue_drops: 0,
            max_queue: 0,
        };
        for flow in 0..configs.len() {
            // The handshake has measured the empty path.
            let rtt_us = world.path.rtt.as_micros() as u32;
            world.flows[flow].srtt_us = rtt_us;
            world.flows[flow].min_rtt_us = rtt_us;
            world.schedule(world.now, What::Release { flow });
            world.schedule(Instant::from_secs(1), What::Check { flow });
        }
        world
    }

    /// Creates a world with one flow.
    pub fn with(path: Path, congestion: CongestionAlgorithm) -> Self {
        Self::new(path, &[config(congestion)], 1)
    }

    /// Runs for `time` and calls `each` after every event.
    pub fn run_watched(&mut self, time: Duration, mut each: impl FnMut(&Self)) {
        let end = self.now + time;
        while let Some(&Reverse((at, _, what))) = self.events.peek()
            && at <= end
        {
            self.events.pop();
            self.now = at;
            match what {
                What::Arrival {
                    flow,
                    segment,
                    marked,
                } => self.on_arrival(flow, segment, marked),
                What::Release { flow } => {
                    if self.flows[flow].send_due == Some(at) {
                        self.flows[flow].send_due = None;
                    }
                    self.send(flow);
                }
                What::Check { flow } => self.on_check(flow),
            }
            each(self);
        }
        self.now = end;
    }

    pub fn run(&mut self, time: Duration) {
        self.run_watched(time, |_| {});
    }

    /// Returns the goodput of `flow` as a share of the link over `time` from
    /// now.
    pub fn utilisation(&mut self, flow: usize, time: Duration) -> f64 {
        self.flows[flow].forget();
        self.run(time);
        let possible = self.path.rate as f64 * time.as_secs_f64();
        self.flows[flow].delivered as f64 / possible
    }

    fn schedule(&mut self, at: Instant, what: What) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, what)));
    }

    fn send(&mut self, index: usize) {
        let now = self.now;
        loop {
            let flow = &mut self.flows[index];
            if flow.in_flight() + MSS > flow.controller.cwnd() {
                flow.window_use.on_full();
                return;
            }
            if let Some(due) = flow.next_write()
                && due > now
            {
                let in_flight = flow.in_flight();
                flow.rate.mark_app_limited(in_flight);
                self.release_at(index, due);
                return;
            }
            if flow.outstanding.is_empty() {
                let srtt_us = flow.srtt_us;
                flow.pacer.on_flight_start(MSS);
                let start = FlightStart {
                    now,
                    app_limited: false,
                    srtt_us,
                };
                flow.controller.on_flight_start(start);
            }
            if !flow.pacer.may_send(now) {
                let at = flow.pacer.release_at();
                self.release_at(index, at);
                return;
            }
            let rate = flow.controller.pacing_rate(flow.srtt_us, false);
            flow.pacer.on_sent(MSS, rate, MSS, now);
            let snapshot = flow.rate.on_sent(MSS, flow.in_flight(), now);
            let segment = flow.next;
            flow.next += 1;
            flow.sent += u64::from(MSS);
            flow.outstanding.insert(segment, Sent { at: now, snapshot });
            self.forward(index, segment);
        }
    }

    fn release_at(&mut self, index: usize, at: Instant) {
        let flow = &mut self.flows[index];
        if flow.send_due.is_none_or(|due| due > at) {
            flow.send_due = Some(at);
            self.schedule(at, What::Release { flow: index });
        }
    }

    fn forward(&mut self, flow: usize, segment: u64) {
        let waiting = self.link_free.since(self.now);
        let queue = (waiting.as_nanos() as u128 * self.path.rate as u128 / 1_000_000_000) as u64;
        self.max_queue = self.max_queue.max(queue);
        if queue + u64::from(MSS) > self.path.buffer {
            self.queue_drops += 1;
            return;
        }
        let serialization = u64::from(MSS) * 1_000_000_000 / self.path.rate;
        self.link_free = self.link_free.max(self.now) + Duration::from_nanos(serialization);
        if self.rng.chance(self.path.loss) {
            return;
        }
        let marked = queue > self.path.mark_above;
        let at = self.link_free + self.path.rtt;
        self.schedule(
            at,
            What::Arrival {
                flow,
                segment,
                marked,
            },
        );
    }

    fn on_arrival(&mut self, index: usize, segment: u64, marked: bool) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let Some(sent) = flow.outstanding.remove(&segment) else {
            return;
        };
        flow.last_ack = now;
        flow.delivered += u64::from(MSS);
        flow.highest_delivered = flow.highest_delivered.max(segment);
        flow.rate
            .on_delivered(MSS, sent.at, sent.snapshot, false, now);
        let rtt_us = now.since(sent.at).as_micros() as u32;
        flow.min_rtt_us = flow.min_rtt_us.min(rtt_us);
        flow.srtt_us = (flow.srtt_us * 7 + rtt_us) / 8;
        if flow.recover.is_some_and(|recover| segment >= recover) {
            flow.recover = None;
            flow.controller.on_recovery_exit();
        }
        let horizon = flow.highest_delivered.saturating_sub(2);
        flow.lose_before(horizon, now);
        let rate = flow.rate.sample(flow.min_rtt_us);
        flow.max_rate = flow.max_rate.max(rate.rate());
        let sample = AckSample {
            now,
            acked: rate.newly_acked,
            rate,
            in_flight: flow.in_flight(),
            mss: MSS,
            srtt_us: flow.srtt_us,
            cwnd_limited: flow.window_use.on_ack(rate.round_start),
            recovering: flow.recover.is_some(),
            ece: marked,
        };
        let (flight_size, window) = (flow.in_flight(), flow.window_of_data());
        flow.ecn_reductions += u32::from(flow.controller.on_ack(&sample, flight_size, window));
        flow.in_flight_sum += u64::from(flow.in_flight());
        flow.acks += 1;
        self.send(index);
    }

    fn on_check(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let silent = now.since(flow.last_ack) >= Duration::from_secs(1);
        if silent && !flow.outstanding.is_empty() {
            let event = flow.event(now);
            let (recover, window) = (flow.next, flow.window_of_data());
            flow.lose_before(recover, now);
            flow.controller.on_timeout(&event, window, true);
            flow.recover = None;
            flow.timeouts += 1;
        }
        self.send(index);
        self.schedule(
            now + Duration::from_millis(250),
            What::Check { flow: index },
        );
    }
}

impl Flow {
    fn lose_before(&mut self, horizon: u64, now: Instant) {
        let (flight, window) = (self.event(now), self.window_of_data());
        let kept = self.outstanding.split_off(&horizon);
        let lost = std::mem::replace(&mut self.outstanding, kept);
        for sent in lost.values() {
            self.lost += u64::from(MSS);
            let range = self.rate.on_lost(MSS, sent.snapshot, now);
            self.controller.on_range_lost(&range);
        }
        let is_new = lost.range(self.answered..).next().is_some();
        if is_new && self.recover.is_none() {
            self.recover = Some(self.next);
            self.answered = self.next;
            self.recoveries += 1;
            self.controller.on_loss(&flight, window);
        }
    }
}
