//! The cases for kernel hosts: the same constructions, with rates and lengths for real time.
//!
//! Rule: a transfer takes a few seconds, at most 60 Mbit/s, and its construction alone says which
//! groups of limits its sender may have. cubic, reno and bbr take turns.

use fullpipe_fit::frames::TapPlace;
use fullpipe_pool::Rng;
use fullpipe_scenario::{Experiment, Setup};

use super::{Family, Plan};
use crate::{captures::truth::LimitGroup, draw::micros};

/// The hosts and the link of every case. Buffers are too large to be the limit.
const BASE: &str = r#"
title = "A case of the judge of captures"
hosts.sender = { preset = "linux", stack = "kernel", acquainted = true, set.wmem_max = "8M" }
hosts.receiver = { preset = "linux", stack = "kernel", acquainted = true, set.rmem_max = "8M" }
links.path = { between = ["sender", "receiver"], rate = "10mbit" }
workload = { from = "sender", to = "receiver", bytes = 1000, write = 16384 }
rows = [{ label = "case" }]
"#;

/// Largest rate of the link, in bits per second.
const RATE_MAX: f64 = 60e6;
/// Smallest rate of the link, in bits per second.
const RATE_MIN: f64 = 2e6;
/// Approximate duration of a transfer, in seconds.
const SECONDS: f64 = 3.0;
/// Bytes in flight for each byte of `SO_SNDBUF`, if each segment has a packet buffer of its own.
const IN_FLIGHT: f64 = 1.26;

/// A case on kernel hosts.
#[derive(Clone, Debug)]
pub struct KernelCase {
    /// Number of the case, and seed of its link.
    pub number: u64,
    /// Construction of the case.
    pub family: Family,
    /// The transfer.
    pub setup: Setup,
    /// True if a pacing rate is configured.
    pub has_rate: bool,
    /// The tap on the path.
    pub middle: TapPlace,
    /// The groups of limits that the construction permits as the longest limit.
    pub constructed: &'static [LimitGroup],
    /// The settings, one per line.
    pub text: String,
}

impl KernelCase {
    /// Draws the case with this number.
    ///
    /// # Panics
    /// Never panics, because the file of every case is valid.
    pub fn draw(number: u64) -> Self {
        let count = Family::ALL.len() as u64;
        let family = Family::ALL[(number % count) as usize];
        let congestion = ["cubic", "newreno", "bbr"][((number / count + number) % 3) as usize];
        let experiment = Experiment::parse("case", "case.toml", BASE).expect("the base is valid");
        let mut plan = Plan {
            rng: Rng::seeded(number).fork_named("captures of kernels"),
            rtt_us: 0,
            rate_bps: 0,
            setup: experiment.rows[0].setup.clone(),
            text: String::new(),
        };
        plan.kernel_common(congestion);
        plan.kernel_family(family);
        let middle = plan.tap();
        Self {
            number,
            family,
            has_rate: family == Family::Pacing,
            middle,
            constructed: constructed(family, congestion),
            setup: plan.setup,
            text: plan.text,
        }
    }
}

/// The groups of limits that may be the longest limit of a construction. A path that is full limits
/// the sender by its congestion window, with or without a loss.
fn constructed(family: Family, congestion: &str) -> &'static [LimitGroup] {
    use LimitGroup::{
        Application, Congestion, Loss, Nagle, Pacing, ReceiveWindow, SendBuffer, SlowStart,
    };
    match family {
        Family::SendBuffer => &[SendBuffer],
        Family::ReceiveBuffer | Family::SlowReader | Family::PausingReader | Family::LostProbes => {
            &[ReceiveWindow]
        }
        // bbr does not respond to a loss.
        Family::RandomLoss | Family::BurstLoss if congestion == "bbr" => &[Congestion, Loss],
        Family::RandomLoss | Family::BurstLoss | Family::Timeout | Family::MtuHole => &[Loss],
        Family::SlowStart => &[SlowStart],
        Family::Reordering | Family::DeepQueue | Family::ShallowQueue | Family::Policer => {
            &[Congestion, Loss, SlowStart]
        }
        Family::AckPath => &[Congestion, Loss, SlowStart],
        Family::Application | Family::Requests => &[Application],
        Family::Nagle => &[Nagle],
        Family::Pacing => &[Pacing],
        Family::TailLoss => &[Application, Loss],
        Family::BufferAndLoss => &[SendBuffer, Loss],
        Family::TwoBuffers => &[SendBuffer, ReceiveWindow],
    }
}

impl Plan {
    /// Sets a path with an RTT from 1 to 200 ms, and a congestion control.
    fn kernel_common(&mut self, congestion: &str) {
        self.rtt_us = self.spread(1_000.0, 200_000.0) as u64;
        self.set("path.delay", micros(self.rtt_us / 2));
        self.set("sender.tcp.congestion", congestion);
        if self.rng.chance(0.5) {
            self.set("sender.gso_max_segs", 1);
        }
        self.kernel_rate(3e4, 3e5);
    }

    /// Sets a rate with a bandwidth-delay product between `low` and `high` bytes, within
    /// [`RATE_MIN`] and [`RATE_MAX`].
    fn kernel_rate(&mut self, low: f64, high: f64) {
        let bdp = self.spread(low, high);
        let rate = bdp * 8e6 / self.rtt_us as f64;
        self.rate_bps = rate.clamp(RATE_MIN, RATE_MAX) as u64;
        self.set("path.rate", format!("{}bit", self.rate_bps));
        self.queue(2.0);
    }

    /// Sets the RTT again, to at least `least_us`.
    fn at_least(&mut self, least_us: f64) {
        self.rtt_us = self.spread(least_us, 200_000.0) as u64;
        self.set("path.delay", micros(self.rtt_us / 2));
    }

    /// Round trips in [`SECONDS`], but at least 25.
    fn rounds(&self) -> f64 {
        (SECONDS * 1e6 / self.rtt_us as f64).max(25.0)
    }

    /// Transfers for [`SECONDS`] with `share` of the path's rate.
    fn lasting(&mut self, share: f64) {
        let bytes = self.bdp() * share * self.rounds();
        self.set("workload.bytes", bytes.max(60_000.0) as u64);
    }

    /// Draws a buffer of 8 KiB to 1 MiB, and a path that has room for two to ten times the bytes in
    /// flight. Returns the buffer's size.
    fn kernel_buffer(&mut self, in_flight: f64) -> u64 {
        // The smallest buffer needs a bandwidth-delay product of 25 KB.
        self.at_least(4_000.0);
        let share = self.spread(0.1, 0.5);
        let most = RATE_MAX * self.rtt_us as f64 / 8e6 * share / in_flight;
        let size = self.spread(8_192.0, most.clamp(8_200.0, 1_048_576.0));
        let bdp = size * in_flight / share;
        self.kernel_rate(bdp, bdp * 1.01);
        let bytes = size * in_flight * self.rounds();
        self.set("workload.bytes", bytes.max(60_000.0) as u64);
        size as u64
    }

    fn kernel_family(&mut self, family: Family) {
        match family {
            Family::SendBuffer => self.kernel_send_buffer(),
            Family::ReceiveBuffer => {
                let size = self.kernel_buffer(1.0);
                self.set("receiver.SO_RCVBUF", size);
            }
            Family::SlowReader => self.kernel_slow_reader(),
            Family::PausingReader => self.kernel_pausing_reader(false),
            Family::LostProbes => self.kernel_pausing_reader(true),
            Family::RandomLoss | Family::BurstLoss | Family::Reordering => {
                self.kernel_faults(family);
            }
            Family::SlowStart => {
                self.at_least(20_000.0);
                self.kernel_rate(4e5, 1.4e6);
                let bytes = self.bdp() * self.spread(0.2, 0.5);
                self.set("workload.bytes", bytes as u64);
            }
            Family::DeepQueue => self.kernel_full_path(1.5, 6.0),
            Family::ShallowQueue => self.kernel_full_path(0.1, 0.8),
            Family::Policer => self.kernel_policer(),
            Family::Application => self.kernel_application(),
            Family::Requests => self.kernel_requests(),
            Family::Nagle => self.kernel_nagle(),
            Family::Pacing => {
                self.kernel_rate(6e4, 6e5);
                let share = self.spread(0.15, 0.6);
                let rate = self.rate_bps as f64 / 8.0 * share;
                self.set("sender.tcp.pacing_rate_max", rate as u64);
                self.lasting(share);
            }
            Family::TailLoss => self.kernel_tail_loss(),
            Family::Timeout => {
                let length_s = self.spread(3.0, 5.0) + 20.0 * self.rtt_us as f64 / 1e6;
                self.set("path.outage.after", "400ms");
                self.set("path.outage.length", micros((length_s * 1e6) as u64));
                self.lasting(0.3);
            }
            Family::AckPath => {
                self.kernel_rate(1e5, 6e5);
                let back = self.rate_bps as f64 / self.spread(40.0, 200.0);
                self.set("path.back.rate", format!("{}bit", back.max(3e4) as u64));
                let packets = self.spread(5.0, 100.0) as u64;
                self.set("path.back.queue", format!("{packets} packets"));
                self.lasting(0.7);
            }
            Family::MtuHole => {
                // Linux looks for a smaller MTU after some timeouts, beginning with 1024 bytes.
                let mtu = self.rng.between(1_100, 1_400);
                self.set("path.forward.hop.mtu", mtu);
                self.set("path.forward.hop.silent", "true");
                self.set("sender.tcp_mtu_probing", 1);
                self.set("workload.bytes", 100_000);
            }
            Family::BufferAndLoss => {
                self.kernel_send_buffer();
                let loss = self.spread(0.0005, 0.01);
                self.set("path.forward.loss", format!("{loss:.5}"));
            }
            Family::TwoBuffers => {
                self.kernel_send_buffer();
                let size = self.setup.hosts[0].config.tcp.send_buffer / 2;
                let others = [0.6, 0.8, 1.6, 2.0];
                let other = f64::from(size) * super::one(&mut self.rng, &others);
                self.set("receiver.SO_RCVBUF", other as u64);
            }
        }
    }

    /// Draws the faults of a family whose path loses or reorders segments at random.
    fn kernel_faults(&mut self, family: Family) {
        match family {
            Family::RandomLoss => {
                let loss = self.spread(0.003, 0.03);
                self.set("path.forward.loss", format!("{loss:.5}"));
                self.lasting(0.5);
            }
            Family::BurstLoss => {
                let (enter, leave) = (self.spread(0.001, 0.01), self.spread(0.2, 0.6));
                self.set("path.forward.burst_loss.enter", format!("{enter:.5}"));
                self.set("path.forward.burst_loss.leave", format!("{leave:.5}"));
                self.set("path.forward.burst_loss.loss_bad", "0.7");
                self.lasting(0.5);
            }
            _ => {
                let (chance, late) = (self.spread(0.001, 0.05), self.spread(0.02, 0.4));
                let late_us = (late * self.rtt_us as f64).max(100.0);
                self.set("path.forward.reordering.chance", format!("{chance:.5}"));
                self.set("path.forward.reordering.late", micros(late_us as u64));
                self.lasting(1.0);
            }
        }
    }

    /// With super-segments a small send buffer keeps up to 35 times its size in flight, so it would
    /// not be the limit.
    fn kernel_send_buffer(&mut self) {
        let size = self.kernel_buffer(IN_FLIGHT);
        self.set("sender.SO_SNDBUF", size);
        self.set("sender.gso_max_segs", 1);
    }

    fn kernel_slow_reader(&mut self) {
        let buffer = self.spread(16_384.0, 131_072.0);
        self.set("receiver.SO_RCVBUF", buffer as u64);
        // The reader needs the buffer's content for at least two round trips.
        let rounds = self.spread(2.0, 10.0);
        let rate = (buffer / (self.rtt_us as f64 / 1e6 * rounds)).min(1.5e6);
        self.kernel_rate(3e4, 3e5);
        let path = (rate * 8.0 * self.spread(2.0, 6.0)).clamp(RATE_MIN, RATE_MAX);
        self.set("path.rate", format!("{}bit", path as u64));
        self.rate_bps = path as u64;
        self.queue(2.0);
        let read = self.spread(2_000.0, buffer / 2.0);
        self.set("workload.read.bytes", read as u64);
        let every_us = (read * 1e6 / rate).max(1_000.0);
        self.set("workload.read.every", micros(every_us as u64));
        let bytes = read / every_us * 1e6 * SECONDS + 3.0 * buffer;
        self.set("workload.bytes", bytes as u64);
    }

    fn kernel_pausing_reader(&mut self, loses_probes: bool) {
        let buffer = self.spread(16_384.0, 131_072.0);
        self.set("receiver.SO_RCVBUF", buffer as u64);
        let stall_s = self.spread(2.0, 4.0) + 20.0 * self.rtt_us as f64 / 1e6;
        self.set("workload.read.stall_after", "300ms");
        self.set("workload.read.stall_for", micros((stall_s * 1e6) as u64));
        if loses_probes {
            let from_s = 0.3 + 0.3 * stall_s;
            self.set("path.outage.after", micros((from_s * 1e6) as u64));
            self.set("path.outage.length", micros((0.4 * stall_s * 1e6) as u64));
        }
        // The transfer begins before the pause and ends after it.
        let rate = (buffer / (self.rtt_us as f64 / 1e6)).min(self.rate_bps as f64 / 8.0);
        self.set("workload.bytes", (rate * 0.6 + 2.0 * buffer) as u64);
    }

    fn kernel_full_path(&mut self, low: f64, high: f64) {
        let products = self.spread(low, high);
        self.queue(products);
        self.lasting(1.0);
    }

    fn kernel_policer(&mut self) {
        let rate = (self.rate_bps as f64 * self.spread(0.2, 0.5)).max(1e6);
        let burst = self.spread(15_000.0, 100_000.0);
        let set_rate = format!("{}bit", rate as u64);
        self.set("path.forward.token_bucket.rate", set_rate);
        self.set("path.forward.token_bucket.burst", burst as u64);
        self.set("path.forward.token_bucket.latency", "1us");
        self.set("workload.bytes", (rate / 8.0 * SECONDS) as u64);
    }

    fn kernel_application(&mut self) {
        let write = self.spread(300.0, 60_000.0);
        let share = self.spread(0.02, 0.3);
        let pause_us = write * 8e6 / (self.rate_bps as f64 * share);
        let pause_us = pause_us.max(self.rtt_us as f64 * self.spread(1.0, 5.0));
        let pause_us = pause_us.clamp(2_000.0, 1e6);
        self.set("workload.write", write as u64);
        self.set("workload.pause", micros(pause_us as u64));
        if self.rng.chance(0.5) {
            self.set("sender.tcp.nagle", "false");
        }
        let writes = (SECONDS * 1e6 / pause_us).clamp(12.0, 400.0);
        self.set("workload.bytes", (write * writes) as u64);
    }

    fn kernel_requests(&mut self) {
        let ask = self.rng.between(50, 1_000);
        self.set("workload.ask", ask);
        let think_us = self.spread(5.0, 30.0) * self.rtt_us as f64;
        self.set("workload.think", micros(think_us.clamp(2e5, 4e6) as u64));
        let bytes = self.spread(3e3, 5e4);
        self.set("workload.bytes", bytes as u64);
    }

    /// Draws small writes, of which a round trip has three to eight, but less than a segment's
    /// payload.
    fn kernel_nagle(&mut self) {
        self.at_least(10_000.0);
        let write = self.spread(30.0, 250.0);
        let count = self.spread(3.0, (1_200.0 / write).clamp(3.5, 8.0));
        let pause_us = (self.rtt_us as f64 / count).max(1_000.0);
        self.set("workload.write", write as u64);
        self.set("workload.pause", micros(pause_us as u64));
        let writes = (SECONDS * 1e6 / pause_us).max(60.0);
        self.set("workload.bytes", (write * writes) as u64);
    }

    fn kernel_tail_loss(&mut self) {
        let write = self.spread(2_000.0, 30_000.0);
        self.set("workload.write", write as u64);
        let pause_us = self.rtt_us as f64 * self.spread(1.2, 3.0);
        self.set("workload.pause", micros(pause_us.max(2_000.0) as u64));
        let loss = self.spread(0.03, 0.1);
        self.set("path.forward.loss", format!("{loss:.5}"));
        let writes = (SECONDS * 1e6 / pause_us).clamp(15.0, 80.0);
        self.set("workload.bytes", (write * writes) as u64);
    }
}
