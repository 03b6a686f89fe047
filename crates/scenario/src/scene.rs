//! One world of a row: built from its setup and a seed, run to its end, and measured.
//!
//! Rule: results come from the simulator's facts and the stack's own counters; nothing is
//! estimated. `verdict` makes the verdict.

mod activity;
mod datagrams;
mod omitted;
mod silence;

use std::{io, ops::ControlFlow};

use fullpipe::Stack;
use fullpipe_diagnose::facts::Observed;
use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{
    DatagramDemand, DatagramFlowId, Facts, FlowId, Goal, HostId, LinkId, Seed, Stage, World,
    WorldFailure,
    app::{Ending, QueryClient, QueryServer, ReadPlan, Transfer},
    link::Direction,
};
use fullpipe_tcp::DiscardReason;

pub use activity::Activity;
use silence::SilenceNotes;
pub use silence::{MemoryWait, Silence, patience, timeouts_in_vain};

use crate::{
    climb::Climb,
    experiment::{FlowPlan, HostPlan, Place, Setup, Stop},
    measured::{FlowMeasured, FullTables, HostMeasured, Measured, Outcome, jain},
    observer::{self, Observer},
    response,
    shares::Times,
    watch::{
        Watch, Watched,
        counters::HostCounters,
        sockets::{Socket, SocketOwner},
        udp::UdpSocket,
    },
};
use omitted::Omitted;

/// Shortest virtual time between two reports of progress.
const SLICE: Duration = Duration::from_millis(100);
/// Longest virtual time between two reports of progress, at which a run can be
/// interrupted.
const LONGEST_SLICE: Duration = Duration::from_secs(10);

/// Results of a world.
#[derive(Clone, Debug)]
pub struct Played {
    /// The measured quantities.
    pub measured: Measured,
    /// Time charged to each limit of the senders.
    pub sender: Times,
    /// Time charged to each limit of the receivers.
    pub receiver: Times,
    /// Queue lengths that datagrams needed at their receivers; 0 for streams.
    pub demand: DatagramDemand,
    /// The largest window that a receiver advertised to the first flow, in bytes.
    pub peer_window: u64,
    /// The congestion window of the first flow at the end, in bytes.
    pub cwnd: u64,
    /// The smallest round-trip time that the first flow's sender measured.
    pub min_rtt: Option<Duration>,
    /// Index of the link that was busy longest.
    pub busiest: usize,
    /// Time in which connections were active.
    pub activity: Activity,
    /// Connections whose peers fell silent; `None` without any.
    pub silence: Option<Silence>,
    /// Every segment and every series, if they were asked for.
    pub observed: Option<Observed>,
    /// Events, sockets and counters, if they were asked for.
    pub watched: Watched,
}

/// The world of a row, and the ids of its parts.
#[derive(Debug)]
pub struct Scene<'a> {
    setup: &'a Setup,
    world: World,
    /// Links, in the order of the setup.
    links: Vec<LinkId>,
    /// Hosts, in the order of the setup.
    hosts: Vec<HostId>,
    /// Connections, each with the index of its flow, in the order of the setup.
    flows: Vec<(usize, FlowId)>,
    /// Senders of datagrams, each with the index of its flow.
    datagrams: Vec<(usize, DatagramFlowId)>,
    observer: Option<Observer>,
    watch: Watch,
    sockets: Vec<Socket>,
    udp_sockets: Vec<UdpSocket>,
    /// Measurement of the time until the path is full; only for a single connection.
    climb: Option<Climb>,
    /// Time at which each peer was last heard from.
    silence_notes: SilenceNotes,
    /// The beginning that results exclude.
    omitted: Omitted,
}

/// A finished connection and its facts.
struct Ended<'a> {
    plan: &'a FlowPlan,
    facts: Facts,
    outcome: Outcome,
    elapsed: Duration,
    /// Longest time without arriving payload. If the rest was still missing, it extends
    /// to the end of the run.
    longest_gap: Duration,
    /// Bytes that are not excluded, and the time in which they arrived.
    counted: (u64, Duration),
}

impl Ended<'_> {
    fn goodput_mbps(&self) -> f64 {
        let (bytes, time) = self.counted;
        over(bytes as f64 * 8.0 / 1e6, time.as_secs_f64())
    }
}

impl<'a> Scene<'a> {
    /// The world of `setup` at time zero. `observe` keeps every segment.
    pub fn new(setup: &'a Setup, seed: u64, observe: bool, watch: Watch) -> Self {
        let traces = observe || watch.events;
        let mut world = World::new(Seed(seed));
        let (links, hosts) = connect(&mut world, setup, traces);
        if watch.events {
            world.remember_overflows();
        }
        if observe {
            world.record_usage();
        }
        let (flows, datagrams) = schedule(&mut world, setup, &hosts);
        Self {
            setup,
            world,
            silence_notes: SilenceNotes::default(),
            links,
            hosts,
            flows,
            datagrams,
            climb: climb(setup),
            omitted: Omitted::default(),
            observer: traces
                .then(|| Observer::new(&setup.hosts, &setup.links, observe, watch.events)),
            watch,
            sockets: Vec::new(),
            udp_sockets: Vec::new(),
        }
    }

    /// Captures every frame on the links from now on.
    ///
    /// # Errors
    /// An error of the writer.
    pub fn capture(&mut self, out: Box<dyn io::Write + Send>) -> io::Result<()> {
        self.world.capture(out)?;
        let mut plans = self.setup.links.iter().zip(&self.links);
        plans.try_for_each(|(plan, link)| self.world.tap_link(*link, &plan.name))
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish_capture(&mut self) -> io::Result<()> {
        self.world.finish_capture()
    }

    /// Runs until every flow is over or given up, and measures them. `progress` is called
    /// with the finished share; if it breaks, the result is `None`.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn play(
        &mut self,
        progress: &dyn Fn(f64) -> ControlFlow<()>,
    ) -> Result<Option<Played>, WorldFailure> {
        if self.setup.flow().is_udp() {
            return self.play_datagrams(progress);
        }
        let plans = &self.setup.flows;
        let lasting = |plan: &FlowPlan| match plan.stop {
            Stop::After(length) => Some(plan.start + length),
            Stop::Bytes(_) => None,
        };
        let ends = plans.iter().map(FlowPlan::latest_end);
        let end = Instant::ZERO + ends.max().unwrap_or(Duration::ZERO);
        let longest = plans.iter().filter_map(lasting).max();
        let slice = longest.map_or(SLICE, |length| (length / 100).clamp(SLICE, LONGEST_SLICE));
        let least = plans.iter().map(|plan| plan.start + plan.at_least).max();
        let least = Instant::ZERO + least.unwrap_or_default();
        if self.omit(progress)?.is_break() {
            return Ok(None);
        }
        while self.world.now() < end
            && (self.world.now() < least || !self.world.is_reached(Goal::AllDone))
        {
            self.run_for(slice.min(end - self.world.now()))?;
            self.note_silence();
            if progress(self.share_done().min(1.0)).is_break() {
                return Ok(None);
            }
        }
        // Runs the checkers once more, as at the end of any run.
        self.world.try_run_for(Duration::ZERO)?;
        let ended: Vec<_> = self
            .flows
            .clone()
            .into_iter()
            .enumerate()
            .map(|(number, (place, flow))| self.ended(&self.setup.flows[place], number, flow))
            .collect();
        let played = self.played(&ended);
        let (observed, watched) = self.take_observations(played.measured.elapsed_s);
        Ok(Some(Played {
            observed,
            watched,
            ..played
        }))
    }

    /// Collects facts, events, sockets and counters of a row that took `elapsed_s`.
    fn take_observations(&mut self, elapsed_s: f64) -> (Option<Observed>, Watched) {
        let observer = self.observer.take();
        let seen = observer.map(|observer| observer.finish(&self.world));
        let (observed, mut events) = seen.unwrap_or_default();
        events.extend(self.overflow_events());
        events.sort_by_key(|event| event.at_ns);
        let watched = Watched {
            events,
            sockets: std::mem::take(&mut self.sockets),
            udp_sockets: std::mem::take(&mut self.udp_sockets),
            counters: self.host_counters(elapsed_s),
        };
        (observed, watched)
    }

    fn run_for(&mut self, length: Duration) -> Result<(), WorldFailure> {
        let end = self.world.now() + length;
        while self.world.now() < end {
            let rest = end - self.world.now();
            let step = self.climb.as_ref().and_then(Climb::step).unwrap_or(rest);
            let step = step.min(self.until_sockets().unwrap_or(rest));
            self.step_for(step.min(rest))?;
            self.update_climb();
            if self.watch.sockets.is_some() && self.until_sockets() == self.watch.sockets {
                self.record_sockets();
            }
        }
        Ok(())
    }

    /// Time until sockets are next recorded. At the time of a recording it is a whole
    /// interval, never 0.
    fn until_sockets(&self) -> Option<Duration> {
        let every = self.watch.sockets?.as_nanos();
        let now = self.world.now().as_nanos();
        Some(Duration::from_nanos(every - now % every))
    }

    /// Records both ends of every connection.
    fn record_sockets(&mut self) {
        let mut number = 0;
        self.record_udp_sockets();
        for (index, (place, flow)) in self.flows.clone().into_iter().enumerate() {
            let first = index == 0 || self.flows[index - 1].0 != place;
            number = if first { 1 } else { number + 1 };
            let plan = &self.setup.flows[place];
            let facts = facts_of(&mut self.world, plan, flow);
            let name = match plan.count {
                1 => plan.name.clone(),
                _ => format!("{}#{number}", plan.name),
            };
            let ends = [
                (plan.from, plan.to, facts.client),
                (plan.to, plan.from, facts.server),
            ];
            for (host, peer, facts) in ends {
                // A released connection has only facts of an earlier time.
                let Some(info) = facts.info.filter(|info| info.at == self.world.now()) else {
                    continue;
                };
                let own = &self.setup.hosts[host];
                let dropped = self.world.stack(self.hosts[host]).tcp_counters();
                let whose = SocketOwner {
                    host: &own.name,
                    peer: &self.setup.hosts[peer].name,
                    flow: name.clone(),
                    congestion: own.config.get("tcp.congestion").unwrap_or_default(),
                    block_size: own.config.pool.block_size,
                    payload_shares: [
                        own.config.tcp.send_text_share,
                        own.config.tcp.receive_text_share,
                    ],
                    drops: dropped.ofo_drop + dropped.rcvq_drop,
                };
                self.sockets.push(Socket::of(whose, &info));
            }
        }
    }

    /// Every host's counters, if they were asked for.
    fn host_counters(&self, elapsed_s: f64) -> Vec<HostCounters> {
        if !self.watch.counters {
            return Vec::new();
        }
        let hosts = self.setup.hosts.iter().zip(&self.hosts);
        hosts
            .map(|(plan, host)| HostCounters::of(&plan.name, self.world.stack(*host), elapsed_s))
            .collect()
    }

    fn update_climb(&mut self) {
        let Some(climb) = &mut self.climb else {
            return;
        };
        let facts = facts_of(&mut self.world, self.setup.flow(), self.flows[0].1);
        let Some(info) = facts.client.info else {
            return;
        };
        if let Some(path_bps) = response::payload_bps(self.setup, info.mss.into()) {
            climb.look(self.world.now(), facts.bytes, path_bps);
        }
    }

    fn step_for(&mut self, length: Duration) -> Result<(), WorldFailure> {
        match &mut self.observer {
            Some(observer) => observer.run(&mut self.world, &self.hosts, &self.links, length),
            None => self.world.try_pass(length),
        }
    }

    /// Finished share of the first flow; the other flows are mostly alike.
    fn share_done(&mut self) -> f64 {
        let plan = self.setup.flow();
        match plan.stop {
            Stop::After(length) => self.age().as_secs_f64() / (plan.start + length).as_secs_f64(),
            Stop::Bytes(bytes) => {
                facts_of(&mut self.world, plan, self.flows[0].1).bytes as f64 / bytes as f64
            }
        }
    }

    /// Time since the start of the world.
    fn age(&self) -> Duration {
        self.world.now().since(Instant::ZERO)
    }

    fn ended<'p>(&mut self, plan: &'p FlowPlan, number: usize, flow: FlowId) -> Ended<'p> {
        let is_over = self.world.is_reached(Goal::Done(flow));
        let facts = facts_of(&mut self.world, plan, flow);
        let (now, start) = (self.world.now(), Instant::ZERO + plan.start);
        let is_enough = plan.at_most.is_some_and(|most| now >= start + most);
        let outcome = match plan.reader_ending() {
            // In this case the sender gives up, as the experiment intends.
            Ending::Vanish { .. } if facts.server.stage == Stage::Vanished => Outcome::Complete,
            Ending::Graceful
            | Ending::Vanish { .. }
            | Ending::Abort { .. }
            | Ending::Close { .. } => outcome(&facts, is_over || is_enough),
        };
        // A stalled flow that was given a duration has used all of it.
        let elapsed = match (outcome, plan.stop) {
            (Outcome::Complete, _) if is_over => facts.elapsed,
            (Outcome::Complete, _) => now.since(start),
            (Outcome::Stalled | Outcome::Dropped, Stop::After(length)) => length,
            (Outcome::Stalled | Outcome::Dropped, Stop::Bytes(_)) => now.since(start),
        };
        let server = &facts.server;
        let waits = server
            .last_arrival
            .filter(|_| !is_over)
            .map(|last| now - last);
        let longest_gap = server.longest_arrival_gap.max(waits.unwrap_or_default());
        let counted = self.omitted.counted(number, start, facts.bytes, elapsed);
        Ended {
            plan,
            facts,
            outcome,
            elapsed,
            longest_gap,
            counted,
        }
    }

    /// Results of the finished connections, without observations.
    fn played(&self, ended: &[Ended<'_>]) -> Played {
        let info = ended[0].facts.client.info.as_deref();
        let (busiest, busy) = self.busiest_link();
        let (sender, receiver) = times(ended.iter().map(|end| &end.facts));
        let measured = self.measured(ended, busy);
        Played {
            sender: sender.since(&self.omitted.sender),
            receiver: receiver.since(&self.omitted.receiver),
            demand: DatagramDemand::default(),
            peer_window: info.map_or(0, |info| u64::from(info.max_snd_wnd)),
            cwnd: info.map_or(0, |info| u64::from(info.cwnd)),
            min_rtt: info.and_then(|info| info.min_rtt),
            busiest,
            activity: Activity::of(ended, self.omitted.until, measured.elapsed_s),
            silence: self.silence(ended),
            measured,
            observed: None,
            watched: Watched::default(),
        }
    }

    /// Measured quantities. `busy` is the time for which the busiest link was in use.
    fn measured(&self, ended: &[Ended<'_>], busy: Duration) -> Measured {
        let first = &ended[0];
        let info = first.facts.client.info.as_deref();
        let subject = self.world.stack(self.hosts[self.setup.subject]).pool();
        let starts = ended.iter().enumerate();
        let begun = starts
            .map(|(number, end)| self.omitted.from(number, Instant::ZERO + end.plan.start))
            .min();
        let over_at = ended
            .iter()
            .map(|end| Instant::ZERO + end.plan.start + end.elapsed);
        let secs = over_at
            .max()
            .zip(begun)
            .map_or(0.0, |(end, begun)| (end.max(begun) - begun).as_secs_f64());
        let active_s = Activity::of(ended, self.omitted.until, secs).share * secs;
        let sum = |of: &dyn Fn(&Facts) -> u64| ended.iter().map(|end| of(&end.facts)).sum::<u64>();
        let delivered = ended.iter().map(|end| end.counted.0).sum::<u64>();
        let segments = sum(&|facts| facts.client.data_segments);
        let full =
            |end: &Ended<'_>| end.facts.full_sized_share * end.facts.client.data_segments as f64;
        let gaps = ended.iter().map(|end| end.longest_gap);
        let again = sum(&|facts| facts.server.payload_received_again) as f64;
        let segment_bytes = info.map_or(0, |info| u64::from(info.mss));
        let goodputs: Vec<_> = ended.iter().map(Ended::goodput_mbps).collect();
        let flows: Vec<_> = ended
            .iter()
            .map(|end| (end.plan, end.goodput_mbps(), end.counted.0))
            .collect();
        let mut measured = Measured {
            outcome: ended
                .iter()
                .map(|end| end.outcome)
                .max()
                .unwrap_or_default(),
            goodput_mbps: over(delivered as f64 * 8.0 / 1e6, secs),
            elapsed_s: secs,
            delivered_bytes: delivered,
            data_segments: segments,
            full_sized_share: match ended {
                [only] => only.facts.full_sized_share,
                all => over(all.iter().map(full).sum(), segments as f64),
            },
            segment_bytes,
            peak_pool_bytes: u64::from(subject.peak_blocks()) * u64::from(subject.block_size()),
            free_blocks: u64::from(subject.free_blocks().saturating_sub(subject.promised())),
            retransmitted_segments: sum(&|facts| facts.retransmissions),
            timeouts: sum(&|facts| facts.timeouts),
            srtt_ms: info.map_or(0.0, |info| info.srtt.as_secs_f64() * 1e3),
            round_trip_bytes: info.map_or(0, |info| {
                over(delivered as f64 * info.srtt.as_secs_f64(), secs) as u64
            }),
            max_gap_ms: gaps.max().unwrap_or_default().as_secs_f64() * 1e3,
            needless_share: over(again, sum(&|facts| facts.client.payload_sent) as f64),
            link_busy_share: over(busy.as_secs_f64(), active_s).min(1.0),
            allowed_mbps: response::allowed_mbps(self.setup, segment_bytes),
            time_to_90_s: self.climb.as_ref().and_then(Climb::full_after_s),
            jain: jain(&goodputs),
            flows: self.flows_measured(&flows),
            ..Measured::default()
        };
        self.add_hosts(&mut measured, active_s);
        add_ends(&mut measured, ended);
        self.add_counters(&mut measured);
        measured
    }

    /// Adds the results of processors and rings over `secs` of activity.
    fn add_hosts(&self, measured: &mut Measured, secs: f64) {
        let host = |(place, plan): (usize, &HostPlan)| {
            let busy = self.cpu_busy(place) - self.omitted.cpu_busy(place);
            HostMeasured {
                host: plan.name.clone(),
                cpu_busy_share: (!plan.cpu.is_free())
                    .then(|| over(busy.as_secs_f64(), secs).min(1.0)),
                rx_ring_drops: self.world.ring_drops(self.hosts[place]),
                full_tables: full_tables(self.world.stack(self.hosts[place])),
            }
        };
        measured.hosts = self.setup.hosts.iter().enumerate().map(host).collect();
        measured.rx_ring_drops = measured.hosts.iter().map(|host| host.rx_ring_drops).sum();
        let shares = measured.hosts.iter().filter_map(|host| host.cpu_busy_share);
        measured.cpu_busy_share = shares.reduce(f64::max);
    }

    /// Adds the counters of every sending host, and the number of times that a receiving
    /// host closed its window.
    fn add_counters(&self, measured: &mut Measured) {
        for (place, host) in self.hosts.iter().enumerate() {
            if self.setup.flows.iter().any(|plan| plan.to == place) {
                let counters = self.world.stack(*host).tcp_counters();
                measured.zero_windows += counters.to_zero_window_adv;
            }
            if self.setup.flows.iter().any(|plan| plan.from == place) {
                let stack = self.world.stack(*host);
                let mib = &stack.counters().mib;
                measured.ip_in_receives += mib.ip_in_receives;
                measured.ip_out_requests += mib.ip_out_requests;
                measured.tcp_out_segs += stack.tcp_counters().out_segs;
                measured.ip_ext_out_octets += mib.ip_ext_out_octets;
            }
        }
    }

    /// Results of each flow, if there are several connections or senders of datagrams.
    /// `ended` has the flow, its goodput in Mbit/s and its payload in bytes.
    fn flows_measured(&self, ended: &[(&FlowPlan, f64, u64)]) -> Vec<FlowMeasured> {
        if ended.len() < 2 {
            return Vec::new();
        }
        let all: f64 = ended.iter().map(|(_, goodput, _)| goodput).sum();
        let all_bytes: u64 = ended.iter().map(|(.., bytes)| bytes).sum();
        let flow = |plan: &FlowPlan| {
            let own = ended.iter().filter(|(of, ..)| of.name == plan.name);
            let bytes: u64 = own.clone().map(|(.., bytes)| bytes).sum();
            let connections_mbps: Vec<_> = own.map(|(_, goodput, _)| *goodput).collect();
            let goodput_mbps = connections_mbps.iter().sum();
            FlowMeasured {
                flow: plan.name.clone(),
                goodput_mbps,
                share: over(goodput_mbps, all),
                payload_share: over(bytes as f64, all_bytes as f64),
                connections_mbps,
            }
        };
        self.setup.flows.iter().map(flow).collect()
    }

    /// The link that was busy longest, and that time. For a radio both directions add up;
    /// for a wire the busier direction counts.
    fn busiest_link(&self) -> (usize, Duration) {
        let all = (0..self.links.len()).map(|number| {
            let busy = self.link_busy(number);
            let [forward, back] = [0, 1].map(|way| busy[way] - self.omitted.link_busy(number)[way]);
            let of_both = match self.setup.links[number].link(Direction::Forward).radio {
                Some(_) => forward + back,
                None => forward.max(back),
            };
            (number, of_both)
        });
        all.max_by_key(|(number, busy)| (*busy, std::cmp::Reverse(*number)))
            .unwrap_or_default()
    }

    /// Time for which each direction of a link was in use until now.
    fn link_busy(&self, number: usize) -> [Duration; 2] {
        let engine = self.world.link_engine(self.links[number]);
        Direction::ALL.map(|direction| engine.counters(direction).busy)
    }

    /// Time for which the processor of a host worked until now.
    fn cpu_busy(&self, place: usize) -> Duration {
        self.world.cpu_busy(self.hosts[place])
    }
}

/// Times that the tables of ranges of `stack` were too small.
fn full_tables(stack: &Stack) -> FullTables {
    let discards = stack.tcp_discards();
    FullTables {
        sent_ranges: stack.sent_ranges_refused(),
        sent_ranges_each: stack.sent_ranges_each_refused(),
        holes: discards.get(DiscardReason::TooManyHoles),
        ranges: discards.get(DiscardReason::NoRange),
    }
}

/// Time charged to the limits of the senders and of the receivers of `all`.
fn times<'a>(all: impl Iterator<Item = &'a Facts>) -> (Times, Times) {
    let mut sender = Times::default();
    let mut receiver = Times::default();
    for facts in all {
        if let Some(info) = &facts.client.info {
            let sent = info.limit.shares(info.at);
            sender.add(sent.map(|(limit, time, bytes)| (limit.name(), time, bytes)));
        }
        if let Some(info) = &facts.server.info {
            let received = info.receive_limit.shares(info.at);
            receiver.add(received.map(|(limit, time, bytes)| (limit.name(), time, bytes)));
        }
    }
    (sender, receiver)
}

/// Adds pauses, answers, probes, resets and dropped connections.
fn add_ends(measured: &mut Measured, ended: &[Ended<'_>]) {
    for Ended { plan, facts, .. } in ended {
        let (sender, receiver) = (&facts.client, &facts.server);
        let since_start = |at: Instant| (at - facts.started).as_secs_f64();
        let probes = sender
            .info
            .as_ref()
            .map_or(0, |info| info.zero_window_probes);
        measured.window_probes += probes;
        measured.resets += sender.resets;
        measured.unsent_ms = measured.unsent_ms.max(sender.mean_wait.as_secs_f64() * 1e3);
        measured.pause_s = measured.pause_s.max(sender.longest_pause.as_secs_f64());
        measured.reset_s = sender.last_reset.map(since_start).or(measured.reset_s);
        if let (Some(_), Some(first), Some(last)) =
            (plan.question(), receiver.first_read, receiver.last_read)
        {
            measured.transfer_s = Some((last - first).as_secs_f64());
        }
        if let (Stage::Broken(_), Some(at)) = (sender.stage, sender.settled) {
            measured.dropped_s = Some(since_start(at));
        }
    }
}

/// The measurement of the time until the path is full, for a single connection over a
/// path with a delay and a rate.
fn climb(setup: &Setup) -> Option<Climb> {
    let (plan, (rate_bps, rtt_s)) = (setup.flow(), setup.bare_path());
    let only = setup.flows.len() == 1 && plan.count == 1 && !plan.is_udp();
    (only && rtt_s > 0.0 && rate_bps.is_finite())
        .then(|| Climb::new(Instant::ZERO + plan.start, rtt_s))
}

/// Connects the hosts and switches of `setup` by its links. Returns links and hosts in
/// the order of the setup. `traces` gives each host a trace ring.
fn connect(world: &mut World, setup: &Setup, traces: bool) -> (Vec<LinkId>, Vec<HostId>) {
    let switches: Vec<_> = setup.switches.iter().map(|_| world.switch()).collect();
    let mut hosts = vec![None; setup.hosts.len()];
    let mut links = Vec::new();
    for plan in &setup.links {
        let [forward, back] = Direction::ALL.map(|direction| plan.link(direction));
        let link = world.link_asymmetric(forward, back);
        // The end that is plugged in first becomes the simulator's first end of the link.
        for place in plan.between {
            match place {
                Place::Host(number) => {
                    let host = &setup.hosts[number];
                    let mut config = host.config.clone();
                    if traces {
                        config.trace.records = observer::RECORDS;
                    }
                    hosts[number] = Some(world.host_with(&link, config, host.device_model()));
                }
                Place::Switch(number) => world.plug(&link, switches[number]),
            }
        }
        links.push(link);
    }
    let hosts: Vec<HostId> = hosts
        .into_iter()
        .map(|host| host.expect("every host of a checked experiment is on a link"))
        .collect();
    for (plan, &host) in setup.hosts.iter().zip(&hosts) {
        world.set_cpu(host, plan.cpu);
        for &other in hosts
            .iter()
            .filter(|&&other| plan.acquainted && other != host)
        {
            world.acquaint(host, other);
        }
    }
    (links, hosts)
}

/// Connections and senders of datagrams, each with the index of its flow.
type Scheduled = (Vec<(usize, FlowId)>, Vec<(usize, DatagramFlowId)>);

/// Schedules every flow of `setup`, in the order of the setup.
fn schedule(world: &mut World, setup: &Setup, hosts: &[HostId]) -> Scheduled {
    let mut flows = Vec::new();
    let mut datagrams = Vec::new();
    for (place, plan) in setup.flows.iter().enumerate() {
        for _ in 0..plan.count {
            if plan.is_udp() {
                let (from, to) = (hosts[plan.from], hosts[plan.to]);
                let id = world.datagrams(from, to, plan.datagram_plan(), plan.start);
                datagrams.push((place, id));
            } else {
                flows.push((place, schedule_connection(world, setup, hosts, plan)));
            }
        }
    }
    (flows, datagrams)
}

/// Schedules a connection of `plan` in `world`.
fn schedule_connection(
    world: &mut World,
    setup: &Setup,
    hosts: &[HostId],
    plan: &FlowPlan,
) -> FlowId {
    // No send buffer is larger than 1 GiB.
    let low_water = setup.low_water(plan).min(1 << 30) as u32;
    let write = plan.write_plan(low_water);
    let writer = Transfer::new(Some(write), ReadPlan::Eager, plan.ending());
    let reader = Transfer::new(None, plan.read_plan(), plan.reader_ending());
    let (from, to) = (hosts[plan.from], hosts[plan.to]);
    if let Some((bytes, think)) = plan.question() {
        let client = QueryClient::new(bytes, reader);
        let server = QueryServer::new(bytes, think, writer);
        return world.converse(to, from, Box::new(client), Box::new(server), plan.start);
    }
    world.converse(from, to, Box::new(writer), Box::new(reader), plan.start)
}

/// The facts of a connection of `plan`, with the sender as the client.
fn facts_of(world: &mut World, plan: &FlowPlan, flow: FlowId) -> Facts {
    let facts = world.facts(flow);
    if plan.question().is_some() {
        facts.turned()
    } else {
        facts
    }
}

/// The outcome of a transfer. A transfer that is given a duration and ends without a byte
/// read has stalled.
fn outcome(facts: &Facts, is_over: bool) -> Outcome {
    let dropped = |stage: Stage| match stage {
        Stage::Broken(_) | Stage::NoRoom => true,
        Stage::Waiting | Stage::Open | Stage::Finished | Stage::Left | Stage::Vanished => false,
    };
    if dropped(facts.client.stage) || dropped(facts.server.stage) {
        Outcome::Dropped
    } else if is_over && facts.bytes > 0 {
        Outcome::Complete
    } else {
        Outcome::Stalled
    }
}

/// `amount` divided by `secs`; 0 if `secs` is 0.
fn over(amount: f64, secs: f64) -> f64 {
    if secs > 0.0 { amount / secs } else { 0.0 }
}

impl Played {
    /// Summarises the worlds of a row, which differ only in their seed.
    ///
    /// # Panics
    /// If `runs` is empty.
    pub fn of_seeds(mut runs: Vec<Self>) -> Self {
        let measured: Vec<_> = runs.iter().map(|run| run.measured.clone()).collect();
        let mut sender = Times::default();
        let mut receiver = Times::default();
        for run in &runs {
            sender.add(run.sender.parts());
            receiver.add(run.receiver.parts());
        }
        let mut windows: Vec<_> = runs.iter().map(|run| run.cwnd).collect();
        windows.sort_unstable();
        let demands = runs.iter().map(|run| run.demand);
        Self {
            measured: Measured::of_seeds(&measured),
            sender,
            receiver,
            demand: demands.fold(DatagramDemand::default(), datagrams::larger),
            peer_window: runs.iter().map(|run| run.peer_window).max().unwrap_or(0),
            cwnd: windows[windows.len() / 2],
            min_rtt: runs.iter().filter_map(|run| run.min_rtt).min(),
            busiest: runs[0].busiest,
            activity: runs[0].activity,
            silence: runs[0].silence.take(),
            observed: runs[0].observed.take(),
            watched: std::mem::take(&mut runs[0].watched),
        }
    }
}
