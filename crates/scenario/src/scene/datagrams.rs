//! Runs and measures a row (scenario) whose flows are datagrams.
//!
//! Rule: for a flow with a duration, goodput counts only the datagrams that were read before
//! sending ended. For a flow with an amount (a number of bytes to send), goodput counts all
//! datagrams that were read. Losses are counted after all datagrams in flight have had time to
//! arrive.

use std::ops::ControlFlow;

use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{DatagramDemand, DatagramFacts, WorldFailure};

use super::{
    SLICE, Scene,
    activity::Activity,
    ended::over,
    played::{Played, larger},
};
use crate::{
    experiment::{FlowPlan, Stop},
    measured::{Measured, Outcome, jain},
    shares::Times,
};

/// Time for which the run continues after the last datagram was sent, before it checks whether
/// links still hold frames. While a link holds a frame, datagrams may still arrive.
const UNDER_WAY: Duration = Duration::from_millis(500);

/// After this time, the run waits for no further frames; datagrams that would arrive later count as
/// lost.
const LONGEST_UNDER_WAY: Duration = Duration::from_secs(3_600);

/// Facts of one flow at the end of sending, and after all datagrams had time to arrive.
struct EndedDatagrams<'a> {
    plan: &'a FlowPlan,
    sent: DatagramFacts,
    arrived: DatagramFacts,
    elapsed: Duration,
}

impl EndedDatagrams<'_> {
    fn goodput_mbps(&self) -> f64 {
        let bits = self.sent.received_bytes as f64 * 8.0;
        over(bits / 1e6, self.elapsed.as_secs_f64())
    }
}

impl Scene<'_> {
    /// Runs a row whose flows are datagrams.
    pub(super) fn play_datagrams(
        &mut self,
        progress: &dyn Fn(f64) -> ControlFlow<()>,
    ) -> Result<Option<Played>, WorldFailure> {
        let setup = self.built.setup;
        let ends = setup.flows.iter().map(|plan| match plan.stop {
            Stop::After(length) => plan.start + length,
            Stop::Bytes(_) => plan.latest_end(),
        });
        let end = Instant::ZERO + ends.max().unwrap_or(Duration::ZERO);
        while self.built.world.now() < end && !self.is_all_sent() {
            let rest = end - self.built.world.now();
            self.run_for(SLICE.min(rest))?;
            let share = self.built.age().as_secs_f64() / end.since(Instant::ZERO).as_secs_f64();
            if progress(share.min(1.0)).is_break() {
                return Ok(None);
            }
        }
        let sent: Vec<_> = self.datagram_facts();
        if !self.let_frames_arrive(progress)? {
            return Ok(None);
        }
        let arrived = self.datagram_facts();
        let places = self.built.datagrams.iter().map(|(place, _)| *place);
        let ended: Vec<_> = places
            .zip(sent.into_iter().zip(arrived))
            .map(|(place, (sent, arrived))| ended(&setup.flows[place], sent, arrived))
            .collect();
        let (busiest, busy) = self.finished().busiest_link();
        let mut sender = Times::default();
        let mut receiver = Times::default();
        let mut demand = DatagramDemand::default();
        for (_, id) in &self.built.datagrams {
            let account = self.built.world.datagram_account(*id);
            sender.add(account.sender());
            receiver.add(account.receiver());
            demand = larger(demand, self.built.world.datagram_demand(*id));
        }
        let measured = self.datagrams_measured(&ended, busy);
        let active = Duration::from_secs_f64(measured.elapsed_s);
        let path = self.finished().path_account(active);
        let (observed, watched) = self.watching.take(&self.built, measured.elapsed_s);
        Ok(Some(Played {
            sender,
            receiver,
            path,
            demand,
            peer_window: 0,
            cwnd: 0,
            min_rtt: None,
            busiest,
            activity: Activity {
                share: 1.0,
                at_once: 1.0,
                payload_share: 1.0,
            },
            silence: None,
            measured,
            steps: self.built.world.steps(),
            worlds: 1,
            observed,
            watched,
        }))
    }

    /// Runs until no link holds a frame, or until `LONGEST_UNDER_WAY` has passed. Returns false if
    /// `progress` returns `ControlFlow::Break`.
    fn let_frames_arrive(
        &mut self,
        progress: &dyn Fn(f64) -> ControlFlow<()>,
    ) -> Result<bool, WorldFailure> {
        self.run_for(UNDER_WAY)?;
        let mut waited = UNDER_WAY;
        while self.links_hold_frames() && waited < LONGEST_UNDER_WAY {
            self.run_for(waited)?;
            waited = waited + waited;
            if progress(1.0).is_break() {
                return Ok(false);
            }
        }
        self.built.world.try_run_for(Duration::ZERO)?;
        Ok(true)
    }

    fn links_hold_frames(&self) -> bool {
        let world = &self.built.world;
        let mut links = self.built.links.iter();
        links.any(|link| world.link_engine(*link).held() > 0)
    }

    fn is_all_sent(&self) -> bool {
        let mut facts = self.datagram_facts().into_iter();
        let amounts = self.built.setup.flows.iter();
        let mut amounts = amounts.map(|plan| matches!(plan.stop, Stop::Bytes(_)));
        amounts.all(|is_amount| is_amount) && facts.all(|facts| facts.is_sent)
    }

    fn datagram_facts(&self) -> Vec<DatagramFacts> {
        let datagrams = self.built.datagrams.iter();
        datagrams
            .map(|(_, id)| self.built.world.datagram_facts(*id))
            .collect()
    }

    fn datagrams_measured(&self, ended: &[EndedDatagrams<'_>], busy: Duration) -> Measured {
        let secs = ended.iter().map(|end| end.elapsed).max();
        let secs = secs.unwrap_or_default().as_secs_f64();
        let sum = |of: &dyn Fn(&EndedDatagrams<'_>) -> u64| ended.iter().map(of).sum::<u64>();
        let (sent, read) = (
            sum(&|end| end.arrived.sent),
            sum(&|end| end.arrived.received),
        );
        let goodputs: Vec<_> = ended.iter().map(EndedDatagrams::goodput_mbps).collect();
        let flows: Vec<_> = ended
            .iter()
            .map(|end| (end.plan, end.goodput_mbps(), end.arrived.received_bytes))
            .collect();
        let refused = self.built.hosts.iter().map(|&host| {
            let mib = &self.built.world.stack(host).counters().mib;
            mib.udp_rcvbuf_errors
        });
        let subject = self
            .built
            .world
            .stack(self.built.hosts[self.built.setup.subject])
            .pool();
        let finished = self.finished();
        let mut measured = Measured {
            outcome: if read > 0 {
                Outcome::Complete
            } else {
                Outcome::Stalled
            },
            goodput_mbps: over(sum(&|end| end.sent.received_bytes) as f64 * 8.0 / 1e6, secs),
            elapsed_s: secs,
            delivered_bytes: sum(&|end| end.arrived.received_bytes),
            peak_pool_bytes: u64::from(subject.peak_blocks()) * u64::from(subject.block_size()),
            free_blocks: u64::from(subject.free_blocks().saturating_sub(subject.promised())),
            link_busy_share: over(busy.as_secs_f64(), secs).min(1.0),
            datagrams_sent: Some(sent as f64),
            lost_share: Some(over((sent - read) as f64, sent as f64)),
            udp_rcvbuf_errors: Some(refused.sum::<u64>() as f64),
            jain: jain(&goodputs),
            flows: finished.flows_measured(&flows),
            ..Measured::default()
        };
        let secs = measured.elapsed_s;
        finished.add_hosts(&mut measured, secs);
        finished.add_counters(&mut measured);
        measured
    }
}

fn ended(plan: &FlowPlan, sent: DatagramFacts, arrived: DatagramFacts) -> EndedDatagrams<'_> {
    let start = Instant::ZERO + plan.start;
    match plan.stop {
        Stop::After(length) => EndedDatagrams {
            plan,
            sent,
            arrived,
            elapsed: length,
        },
        // For a flow with an amount, count all datagrams until the last one is read.
        Stop::Bytes(_) => EndedDatagrams {
            plan,
            sent: arrived,
            arrived,
            elapsed: arrived.last_read.map_or(Duration::ZERO, |at| at - start),
        },
    }
}

#[cfg(test)]
mod tests;
