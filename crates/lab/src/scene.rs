//! One row's world: built from its setup, played to its end, measured.
//!
//! Rule: what is measured is taken from the simulator's facts and the stack's
//! own counters as they are; nothing is estimated. What it means is said in
//! `verdict.rs`.

use std::io;

use fullpipe_diagnose::facts::Observed;
use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{
    Facts, FlowId, Goal, HostId, LinkId, Seed, Stage, World, WorldFailure,
    app::{Amount, ReadPlan, WritePlan, WriteSize},
    link::Direction,
};

use crate::{
    experiment::{Setup, Stop},
    measured::{Measured, Outcome},
    observer::{self, Observer},
    report::Limits,
    shares::Shares,
};

/// Least virtual time between two looks at how far a transfer has come.
const SLICE: Duration = Duration::from_millis(100);

/// What came out of a row.
#[derive(Debug)]
pub struct Played {
    /// The figures.
    pub measured: Measured,
    /// The limits of both ends.
    pub limits: Limits,
    /// The largest window that the receiver advertised, in bytes.
    pub peer_window: u64,
    /// The congestion window at the end, in bytes.
    pub cwnd: u64,
    /// Every segment and every series, if they were wanted.
    pub observed: Option<Observed>,
}

/// A row's world, and where in it the transfer is.
#[derive(Debug)]
pub struct Scene<'a> {
    setup: &'a Setup,
    world: World,
    link: LinkId,
    /// In the order of the setup.
    hosts: Vec<HostId>,
    flow: FlowId,
    observer: Option<Observer>,
}

impl<'a> Scene<'a> {
    /// The world of `setup`, at time zero; `observe`: its hosts are watched.
    pub fn new(setup: &'a Setup, seed: u64, observe: bool) -> Self {
        let mut world = World::new(Seed(seed));
        let plan = setup.path();
        let link = world.link(plan.link());
        // The link's first end is the first host plugged in.
        let mut hosts = plan.between.map(|place| {
            let host = &setup.hosts[place];
            let mut config = host.config.clone();
            if observe {
                config.trace.records = observer::RECORDS;
            }
            (place, world.host_with(&link, config, host.device_model()))
        });
        hosts.sort_by_key(|(place, _)| *place);
        let hosts = hosts.map(|(_, host)| host).to_vec();
        for (plan, &host) in setup.hosts.iter().zip(&hosts) {
            for &other in hosts
                .iter()
                .filter(|&&other| plan.acquainted && other != host)
            {
                world.acquaint(host, other);
            }
        }
        let workload = &setup.workload;
        let amount = match workload.stop {
            Stop::After(length) => Amount::For(length),
            Stop::Bytes(bytes) => Amount::Bytes(bytes),
        };
        let size = WriteSize::Fixed(u64::from(workload.write));
        let plan = WritePlan {
            amount,
            size,
            pause: Duration::ZERO,
        };
        let (from, to) = (hosts[workload.from], hosts[workload.to]);
        let flow = world.send_planned(from, to, plan, ReadPlan::Eager);
        Self {
            setup,
            world,
            link,
            hosts,
            flow,
            observer: observe.then(|| Observer::new(&setup.hosts)),
        }
    }

    /// Captures what is put on the link from now on.
    ///
    /// # Errors
    /// What the writer says.
    pub fn capture(&mut self, out: Box<dyn io::Write + Send>) -> io::Result<()> {
        self.world.capture(out)?;
        self.world.tap_link(self.link, "link")
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// The first thing that went wrong while writing it.
    pub fn finish_capture(&mut self) -> io::Result<()> {
        self.world.finish_capture()
    }

    /// Runs until the transfer is over or given up, and measures it. `progress`
    /// is told the share that is done, now and then.
    ///
    /// # Errors
    /// A checker found something.
    pub fn play(&mut self, progress: &dyn Fn(f64)) -> Result<Played, WorldFailure> {
        let workload = &self.setup.workload;
        let (give_up, slice) = match workload.stop {
            Stop::After(length) => (length + workload.give_up, (length / 100).max(SLICE)),
            Stop::Bytes(_) => (workload.give_up, SLICE),
        };
        let end = Instant::ZERO + give_up;
        let mut is_over = false;
        while !is_over && self.world.now() < end {
            self.run_for(slice.min(end - self.world.now()))?;
            is_over = self.world.is_reached(Goal::Done(self.flow));
            progress(self.share_done().min(1.0));
        }
        let facts = self.world.facts(self.flow);
        let observer = self.observer.take();
        let observed = observer.map(|observer| observer.finish(&self.world));
        Ok(Played {
            observed,
            ..self.played(&facts, is_over)
        })
    }

    fn run_for(&mut self, length: Duration) -> Result<(), WorldFailure> {
        match &mut self.observer {
            Some(observer) => observer.run(&mut self.world, &self.hosts, length),
            None => self.world.try_run_for(length),
        }
    }

    fn share_done(&mut self) -> f64 {
        match self.setup.workload.stop {
            Stop::After(length) => self.age().as_secs_f64() / length.as_secs_f64(),
            Stop::Bytes(bytes) => self.world.facts(self.flow).bytes as f64 / bytes as f64,
        }
    }

    /// Time since the start; the transfer begins then.
    fn age(&self) -> Duration {
        self.world.now().since(Instant::ZERO)
    }

    fn played(&self, facts: &Facts, is_over: bool) -> Played {
        let info = facts.client.info.as_deref();
        let sent = facts.client.limits().into_iter();
        let received = facts.server.receive_limits().into_iter();
        Played {
            measured: self.measured(facts, is_over),
            limits: Limits {
                sender: Shares::of(sent.map(|(limit, _, time)| (limit.name(), time))),
                receiver: Shares::of(received.map(|(limit, _, time)| (limit.name(), time))),
            },
            peer_window: info.map_or(0, |info| u64::from(info.max_snd_wnd)),
            cwnd: info.map_or(0, |info| u64::from(info.cwnd)),
            observed: None,
        }
    }

    fn measured(&self, facts: &Facts, is_over: bool) -> Measured {
        let info = facts.client.info.as_deref();
        let subject = self.world.stack(self.hosts[self.setup.subject]).pool();
        let sender = self.world.stack(self.hosts[self.setup.workload.from]);
        let (mib, tcp) = (&sender.counters().mib, sender.tcp_counters());
        let outcome = outcome(facts, is_over);
        let elapsed = self.elapsed(facts, outcome);
        let secs = elapsed.as_secs_f64();
        Measured {
            outcome,
            goodput_mbps: over(facts.bytes as f64 * 8.0 / 1e6, secs),
            elapsed_s: secs,
            delivered_bytes: facts.bytes,
            data_segments: facts.client.data_segments,
            full_sized_share: facts.full_sized_share,
            segment_bytes: info.map_or(0, |info| u64::from(info.mss)),
            peak_pool_bytes: u64::from(subject.peak_blocks()) * u64::from(subject.block_size()),
            retransmitted_segments: facts.retransmissions,
            timeouts: u64::from(facts.timeouts),
            srtt_ms: info.map_or(0.0, |info| info.srtt.as_secs_f64() * 1e3),
            link_busy_share: over(self.busy_time().as_secs_f64(), secs).min(1.0),
            ip_in_receives: mib.ip_in_receives,
            ip_out_requests: mib.ip_out_requests,
            tcp_out_segs: tcp.out_segs,
            ip_ext_out_octets: mib.ip_ext_out_octets,
            goodput_of_baseline: None,
        }
    }

    /// The time that goodput is counted over. A time in which nothing was read
    /// is still the time that was given.
    fn elapsed(&self, facts: &Facts, outcome: Outcome) -> Duration {
        match (outcome, self.setup.workload.stop) {
            (Outcome::Complete, _) => facts.elapsed,
            (Outcome::Stalled | Outcome::Dropped, Stop::After(length)) => length,
            (Outcome::Stalled | Outcome::Dropped, Stop::Bytes(_)) => self.age(),
        }
    }

    /// How long the wire was in use: both directions share a radio's air; of a
    /// wire, the direction in more use counts.
    fn busy_time(&self) -> Duration {
        let engine = self.world.link_engine(self.link);
        let [forward, back] = Direction::ALL.map(|direction| engine.counters(direction).busy);
        match self.setup.path().link().radio {
            Some(_) => forward + back,
            None => forward.max(back),
        }
    }
}

/// A transfer that ended has stalled all the same when nothing was ever read:
/// the writer's time was up, and that was all.
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

/// `amount` over `secs`; nothing over no time.
fn over(amount: f64, secs: f64) -> f64 {
    if secs > 0.0 { amount / secs } else { 0.0 }
}
