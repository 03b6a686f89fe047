//! The simulated network (world) of one row (scenario): built from the row's setup and a seed, run
//! to its end, and measured.
//!
//! Rule: results come from the simulator's facts and the stack's own counters. This file neither
//! estimates nor judges a result.

mod activity;
mod built;
mod datagrams;
mod ended;
#[cfg(test)]
mod family_tests;
mod foretold;
mod measure;
mod omitted;
mod played;
mod silence;
mod watching;

use std::{io, ops::ControlFlow};

use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{DatagramDemand, Goal, Stage, WorldFailure, check::Checks};

pub use activity::Activity;
pub use foretold::{Foretold, Look, Part, can_be_cut, has_early_ends, shortened};
pub use played::Played;
pub use silence::{MemoryWait, Silence, patience, timeouts_in_vain};

use crate::{
    climb::Climb,
    experiment::{FlowPlan, Setup, Stop, omitted_until},
    measured::Measured,
    response,
    watch::{Watch, Watched},
};
use built::{Built, times};
use ended::Ended;
use measure::Finished;
use omitted::Omitted;
use silence::SilenceNotes;
use watching::Watching;

/// Shortest virtual time between two progress reports.
const SLICE: Duration = Duration::from_millis(100);
/// Longest virtual time between two progress reports. A run can be interrupted only at a report.
const LONGEST_SLICE: Duration = Duration::from_secs(10);

/// The world of a row while it runs.
#[derive(Debug)]
pub struct Scene<'a> {
    built: Built<'a>,
    /// The records (events, sockets, counters, segments) that the caller requested in addition to
    /// the results.
    watching: Watching,
    /// Measures the time until the path is full; only for a single connection.
    climb: Option<Climb>,
    /// Time at which each peer was last heard from.
    silence_notes: SilenceNotes,
    /// Values at the start of the measurement, which are subtracted from the results.
    omitted: Omitted,
}

impl<'a> Scene<'a> {
    /// Creates the world of `setup` at time zero. With `observe`, every segment is recorded.
    pub fn new(setup: &'a Setup, seed: u64, observe: bool, watch: Watch) -> Self {
        let mut built = Built::new(setup, seed, observe || watch.events);
        if watch.events {
            built.world.remember_overflows();
        }
        if observe {
            built.world.record_usage();
        }
        // In a build without debug assertions, check only samples of frames and bytes. The soak
        // (many runs of random worlds) and the tests are built with debug assertions, and check
        // everything.
        if !cfg!(debug_assertions) {
            built.world.set_checks(Checks::Sampled);
        }
        Self {
            built,
            watching: Watching::new(setup, observe, watch),
            climb: climb(setup),
            silence_notes: SilenceNotes::default(),
            omitted: Omitted::default(),
        }
    }

    /// Checks only streams, silence and progress from now on. Intended for a run that repeats a
    /// checked run with other settings.
    pub fn check_streams_only(&mut self) {
        self.built.world.set_checks(Checks::Streams);
    }

    /// Captures every frame on the links from now on.
    ///
    /// # Errors
    /// Returns an error that the writer returned.
    pub fn capture(&mut self, out: Box<dyn io::Write + Send>) -> io::Result<()> {
        self.built.world.capture(out)?;
        let mut plans = self.built.setup.links.iter().zip(&self.built.links);
        plans.try_for_each(|(plan, link)| self.built.world.tap_link(*link, &plan.name))
    }

    /// Captures every frame that leaves or enters a host from now on. Each host is an interface of
    /// the capture, in the order of the setup.
    ///
    /// # Errors
    /// Returns an error that the writer returned.
    pub fn capture_hosts(&mut self, out: Box<dyn io::Write + Send>) -> io::Result<()> {
        self.built.world.capture(out)?;
        let mut hosts = self.built.setup.hosts.iter().zip(&self.built.hosts);
        hosts.try_for_each(|(plan, host)| self.built.world.tap_host(*host, &plan.name))
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// Returns the first error that the writer returned.
    pub fn finish_capture(&mut self) -> io::Result<()> {
        self.built.world.finish_capture()
    }

    /// Runs until every flow has ended or was given up, and measures the flows. Calls `progress`
    /// with the finished share of the run; returns `None` if `progress` returns
    /// `ControlFlow::Break`.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn play(
        &mut self,
        progress: &dyn Fn(f64) -> ControlFlow<()>,
    ) -> Result<Option<Played>, WorldFailure> {
        if self.built.setup.flow().is_udp() {
            return self.play_datagrams(progress);
        }
        let plans = &self.built.setup.flows;
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
        while self.built.world.now() < end
            && (self.built.world.now() < least
                || !self.built.world.is_reached(Goal::AllDone)
                || self.waits_for_the_vanished())
        {
            self.run_for(slice.min(end - self.built.world.now()))?;
            self.silence_notes.note(&mut self.built);
            if progress(self.share_done().min(1.0)).is_break() {
                return Ok(None);
            }
        }
        // Run the checkers once more: `try_run_for` calls them when it ends.
        self.built.world.try_run_for(Duration::ZERO)?;
        let ended: Vec<_> = (0..self.built.flows.len())
            .map(|number| Ended::of(&mut self.built, &self.omitted, number))
            .collect();
        let played = self.played(&ended);
        let (observed, watched) = self.watching.take(&self.built, played.measured.elapsed_s);
        Ok(Some(Played {
            observed,
            watched,
            ..played
        }))
    }

    /// Returns true while the only connection waits for a vanished peer.
    fn waits_for_the_vanished(&mut self) -> bool {
        if self.built.flows.len() > 1 {
            return false;
        }
        let facts = self.built.facts(0);
        facts.server.stage == Stage::Vanished && facts.client.stage == Stage::Open
    }

    /// If a flow omits its beginning, runs until the measurement starts, and stores the values of
    /// that moment.
    fn omit(
        &mut self,
        progress: &dyn Fn(f64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, WorldFailure> {
        let Some(last) = omitted_until(&self.built.setup.flows) else {
            return Ok(ControlFlow::Continue(()));
        };
        let until = Instant::ZERO + last;
        while self.built.world.now() < until {
            self.run_for(SLICE.min(until - self.built.world.now()))?;
            if progress(0.0).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.omitted = Omitted::at_present(&mut self.built);
        Ok(ControlFlow::Continue(()))
    }

    fn run_for(&mut self, length: Duration) -> Result<(), WorldFailure> {
        let end = self.built.world.now() + length;
        while self.built.world.now() < end {
            let now = self.built.world.now();
            let rest = end - now;
            let step = self.climb.as_ref().and_then(Climb::step).unwrap_or(rest);
            let step = step.min(self.watching.until_sockets(now).unwrap_or(rest));
            self.watching.run(&mut self.built, step.min(rest))?;
            self.update_climb();
            self.watching.look(&mut self.built);
        }
        Ok(())
    }

    fn update_climb(&mut self) {
        let Some(climb) = &mut self.climb else {
            return;
        };
        let (Some(info), bytes) = self.built.progress(0) else {
            return;
        };
        if let Some(path_bps) = response::payload_bps(self.built.setup, info.mss.into()) {
            climb.look(self.built.world.now(), bytes, path_bps);
        }
    }

    /// Finished share of the first flow, as an estimate for all flows.
    fn share_done(&mut self) -> f64 {
        let plan = self.built.setup.flow();
        match plan.stop {
            Stop::After(length) => {
                self.built.age().as_secs_f64() / (plan.start + length).as_secs_f64()
            }
            Stop::Bytes(bytes) => self.built.facts(0).bytes as f64 / bytes as f64,
        }
    }

    /// Returns the results of the finished connections, without observations.
    fn played(&self, ended: &[Ended<'_>]) -> Played {
        let info = ended[0].facts.client.info.as_deref();
        let finished = self.finished();
        let (busiest, busy) = finished.busiest_link();
        let (sender, receiver) = times(ended.iter().map(|end| &end.facts));
        let measured = Measured {
            time_to_90_s: self.climb.as_ref().and_then(Climb::full_after_s),
            ..finished.measured(ended, busy)
        };
        let activity = Activity::of(ended, self.omitted.until, measured.elapsed_s);
        let active = Duration::from_secs_f64(activity.share * measured.elapsed_s);
        Played {
            path: finished.path_account(active),
            sender: sender.since(&self.omitted.sender),
            receiver: receiver.since(&self.omitted.receiver),
            demand: DatagramDemand::default(),
            peer_window: info.map_or(0, |info| u64::from(info.max_snd_wnd)),
            cwnd: info.map_or(0, |info| u64::from(info.cwnd)),
            min_rtt: info.and_then(|info| info.min_rtt),
            busiest,
            activity,
            silence: self.silence_notes.silence(&self.built, ended),
            measured,
            steps: self.built.world.steps(),
            worlds: 1,
            observed: None,
            watched: Watched::default(),
        }
    }

    fn finished(&self) -> Finished<'_> {
        Finished {
            built: &self.built,
            omitted: &self.omitted,
        }
    }
}

/// Creates the measurement of the time until the path is full; `None` if the row has several
/// connections, or a path without a delay or a rate.
fn climb(setup: &Setup) -> Option<Climb> {
    let (plan, (rate_bps, rtt_s)) = (setup.flow(), setup.bare_path());
    let only = setup.flows.len() == 1 && plan.count == 1 && !plan.is_udp();
    (only && rtt_s > 0.0 && rate_bps.is_finite())
        .then(|| Climb::new(Instant::ZERO + plan.start, rtt_s))
}
