//! The measured quantities of a finished world (simulated network).
//!
//! Rule: each quantity comes from the simulator's facts or the stack's own counters. The beginning
//! of the run that the setting `omit` excludes is subtracted.

use fullpipe::Stack;
use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{Facts, HostId, Stage, link::Direction};
use fullpipe_tcp::DiscardReason;

use super::{
    activity::Activity,
    built::Built,
    ended::{Ended, over},
    omitted::Omitted,
};
use crate::{
    experiment::{FlowPlan, HostPlan, LinkPlan},
    measured::{FlowMeasured, FullTables, HostMeasured, Measured, jain},
    path_account::{DirectionAccount, HostAccount, LinkAccount, PathAccount},
    response,
};

/// A finished world, with the values at the start of the measurement.
#[derive(Clone, Copy)]
pub(super) struct Finished<'a> {
    pub built: &'a Built<'a>,
    pub omitted: &'a Omitted,
}

impl Finished<'_> {
    /// Returns the measured quantities. `busy` is the time for which the busiest link carried
    /// frames.
    pub fn measured(&self, ended: &[Ended<'_>], busy: Duration) -> Measured {
        let first = &ended[0];
        let info = first.facts.client.info.as_deref();
        let subject = self
            .built
            .world
            .stack(self.built.hosts[self.built.setup.subject])
            .pool();
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
            allowed_mbps: response::allowed_mbps(self.built.setup, segment_bytes),
            jain: jain(&goodputs),
            flows: self.flows_measured(&flows),
            ..Measured::default()
        };
        self.add_hosts(&mut measured, active_s);
        add_ends(&mut measured, ended);
        self.add_counters(&mut measured);
        measured
    }

    /// Adds each host's results: its processor's busy share of `secs` seconds of activity, the
    /// frames lost in its receive ring, and its full tables of ranges.
    pub fn add_hosts(&self, measured: &mut Measured, secs: f64) {
        let host = |(place, plan): (usize, &HostPlan)| {
            let busy = self.built.cpu_busy(place) - self.omitted.cpu_busy(place);
            HostMeasured {
                host: plan.name.clone(),
                cpu_busy_share: (!plan.cpu.is_free())
                    .then(|| over(busy.as_secs_f64(), secs).min(1.0)),
                rx_ring_drops: self.built.world.ring_drops(self.built.hosts[place]),
                full_tables: full_tables(self.built.world.stack(self.built.hosts[place])),
            }
        };
        measured.hosts = self
            .built
            .setup
            .hosts
            .iter()
            .enumerate()
            .map(host)
            .collect();
        measured.rx_ring_drops = measured.hosts.iter().map(|host| host.rx_ring_drops).sum();
        let shares = measured.hosts.iter().filter_map(|host| host.cpu_busy_share);
        measured.cpu_busy_share = shares.reduce(f64::max);
    }

    /// Adds the counters of every sending host, and the number of times that receiving hosts
    /// closed their windows.
    pub fn add_counters(&self, measured: &mut Measured) {
        for (place, host) in self.built.hosts.iter().enumerate() {
            if self.built.setup.flows.iter().any(|plan| plan.to == place) {
                let counters = self.built.world.stack(*host).tcp_counters();
                measured.zero_windows += counters.to_zero_window_adv;
            }
            if self.built.setup.flows.iter().any(|plan| plan.from == place) {
                let stack = self.built.world.stack(*host);
                let mib = &stack.counters().mib;
                measured.ip_in_receives += mib.ip_in_receives;
                measured.ip_out_requests += mib.ip_out_requests;
                measured.tcp_out_segs += stack.tcp_counters().out_segs;
                measured.ip_ext_out_octets += mib.ip_ext_out_octets;
            }
        }
    }

    /// Returns the results of each flow, if there are several connections or senders of datagrams.
    /// `ended` contains, for each connection or sender, its flow, goodput in Mbit/s and payload in
    /// bytes.
    pub fn flows_measured(&self, ended: &[(&FlowPlan, f64, u64)]) -> Vec<FlowMeasured> {
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
        self.built.setup.flows.iter().map(flow).collect()
    }

    /// Returns the account of the path (frames, losses and busy times by link) over `active`, the
    /// time in which any connection was active.
    pub fn path_account(&self, active: Duration) -> PathAccount {
        let Built {
            setup,
            world,
            links,
            hosts,
            ..
        } = self.built;
        let link = |(number, plan): (usize, &LinkPlan)| {
            let [forward, back] = Direction::ALL.map(|direction| {
                let counters = *world.link_engine(links[number]).counters(direction);
                let omitted = self.omitted.link_busy(number)[direction.index()];
                let shaped = self.omitted.link_shaped(number)[direction.index()];
                DirectionAccount {
                    busy: counters.busy - omitted,
                    shaped: counters.shaped - shaped,
                    active,
                    counters,
                }
            });
            LinkAccount {
                link: plan.name.clone(),
                shared: plan.link(Direction::Forward).radio.is_some(),
                forward,
                back,
            }
        };
        let host = |(plan, id): (&HostPlan, &HostId)| HostAccount::of(&plan.name, world, *id);
        PathAccount {
            links: setup.links.iter().enumerate().map(link).collect(),
            hosts: setup.hosts.iter().zip(hosts).map(host).collect(),
        }
    }

    /// Returns the link that was busy longest, with its busy time. For a radio the times of both
    /// directions are added; for a wire the busier direction counts.
    pub fn busiest_link(&self) -> (usize, Duration) {
        let all = (0..self.built.links.len()).map(|number| {
            let busy = self.built.link_busy(number);
            let [forward, back] = [0, 1].map(|way| busy[way] - self.omitted.link_busy(number)[way]);
            let of_both = match self.built.setup.links[number]
                .link(Direction::Forward)
                .radio
            {
                Some(_) => forward + back,
                None => forward.max(back),
            };
            (number, of_both)
        });
        all.max_by_key(|(number, busy)| (*busy, std::cmp::Reverse(*number)))
            .unwrap_or_default()
    }
}

/// Returns how often the tables of ranges of `stack` were too small.
fn full_tables(stack: &Stack) -> FullTables {
    let discards = stack.tcp_discards();
    FullTables {
        sent_ranges: stack.sent_ranges_refused(),
        sent_ranges_each: stack.sent_ranges_each_refused(),
        holes: discards.get(DiscardReason::TooManyHoles),
        ranges: discards.get(DiscardReason::NoRange),
    }
}

/// Adds pauses, answers, window probes, resets and dropped connections.
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
