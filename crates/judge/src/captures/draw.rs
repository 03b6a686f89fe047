//! The cases: transfers that are constructed so that their limit is known.
//!
//! Rule: the number of a case determines everything about it. The kinds of construction take
//! turns, so all are equally frequent.

mod kernel;

pub use kernel::KernelCase;

use fullpipe_fit::frames::{Passage, TapPlace};
use fullpipe_pool::Rng;
use fullpipe_scenario::{Experiment, Setup};

use crate::draw::{micros, one, spread};

/// The construction of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// A send buffer smaller than the bandwidth-delay product.
    SendBuffer,
    /// A receive buffer smaller than the bandwidth-delay product.
    ReceiveBuffer,
    /// A reader that is slower than the path.
    SlowReader,
    /// A reader that pauses: a zero window, and probes that are answered.
    PausingReader,
    /// A reader that pauses, with an outage that loses zero-window probes.
    LostProbes,
    /// Independent losses.
    RandomLoss,
    /// Losses in bursts.
    BurstLoss,
    /// Segments that overtake each other.
    Reordering,
    /// A transfer that ends in slow start.
    SlowStart,
    /// The path's rate, with a queue longer than the bandwidth-delay product.
    DeepQueue,
    /// The path's rate, with a queue shorter than the bandwidth-delay product.
    ShallowQueue,
    /// A policer.
    Policer,
    /// An application that pauses after each write.
    Application,
    /// Requests with think times.
    Requests,
    /// Small writes with Nagle's algorithm.
    Nagle,
    /// A configured pacing rate.
    Pacing,
    /// Short responses with losses at their end.
    TailLoss,
    /// Outages that end with retransmission timeouts.
    Timeout,
    /// A slow path for ACKs.
    AckPath,
    /// A hop with a smaller MTU that sends no ICMP messages.
    MtuHole,
    /// A small send buffer and losses.
    BufferAndLoss,
    /// A receive buffer as large as the send buffer, or nearly as large.
    TwoBuffers,
}

impl Family {
    /// Every kind of construction, in the order in which they take turns.
    pub const ALL: [Self; 22] = [
        Self::SendBuffer,
        Self::ReceiveBuffer,
        Self::SlowReader,
        Self::PausingReader,
        Self::LostProbes,
        Self::RandomLoss,
        Self::BurstLoss,
        Self::Reordering,
        Self::SlowStart,
        Self::DeepQueue,
        Self::ShallowQueue,
        Self::Policer,
        Self::Application,
        Self::Requests,
        Self::Nagle,
        Self::Pacing,
        Self::TailLoss,
        Self::Timeout,
        Self::AckPath,
        Self::MtuHole,
        Self::BufferAndLoss,
        Self::TwoBuffers,
    ];
}

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Number of the case, and seed of its run.
    pub number: u64,
    /// Construction of the case.
    pub family: Family,
    /// The transfer.
    pub setup: Setup,
    /// True if a pacing rate is configured.
    pub has_rate: bool,
    /// The tap on the path.
    pub middle: TapPlace,
    /// The settings, one per line.
    pub text: String,
}

/// A case while it is drawn.
struct Plan {
    rng: Rng,
    rtt_us: u64,
    rate_bps: u64,
    setup: Setup,
    text: String,
}

const BASE: &str = r#"
title = "A case of the judge of captures"
hosts.sender = {}
hosts.receiver = {}
links.path = { between = ["sender", "receiver"] }
workload = { from = "sender", to = "receiver", bytes = 1000 }
rows = [{ label = "case" }]
"#;

impl Case {
    /// Draws the case with this number.
    pub fn draw(number: u64) -> Self {
        let family = Family::ALL[(number % Family::ALL.len() as u64) as usize];
        let rng = Rng::seeded(number).fork_named("captures");
        let experiment = Experiment::parse("case", "case.toml", BASE).expect("the base is valid");
        let mut plan = Plan {
            rng,
            rtt_us: 0,
            rate_bps: 0,
            setup: experiment.rows[0].setup.clone(),
            text: String::new(),
        };
        plan.common();
        plan.family(family);
        let middle = plan.tap();
        Self {
            number,
            family,
            has_rate: family == Family::Pacing,
            middle,
            setup: plan.setup,
            text: plan.text,
        }
    }
}

impl Plan {
    fn set(&mut self, path: &str, value: impl ToString) {
        let value = value.to_string();
        self.text.push_str(&format!("{path} = {value}\n"));
        if let Err(error) = self.setup.set(path, &value) {
            panic!("{path} = {value}: {error}");
        }
    }

    fn spread(&mut self, low: f64, high: f64) -> f64 {
        spread(&mut self.rng, low, high)
    }

    /// Draws the tap on the path. A quarter of the cases capture the link as `fullpipe lab run
    /// --pcap` does. The other taps divide the propagation delay, and are before or behind the
    /// faults of each direction.
    fn tap(&mut self) -> TapPlace {
        let is_behind = self.rng.chance(0.5);
        let share = 0.15 + 0.6 * self.rng.unit();
        let one_way_ns = self.rtt_us as f64 * 500.0;
        let near_ns = (one_way_ns * share) as i64;
        let far_ns = one_way_ns as i64 - near_ns;
        let to_sender = if is_behind { far_ns } else { near_ns };
        let to_receiver = one_way_ns as i64 - to_sender;
        let forward = match is_behind {
            true => Passage::BeforeArriving(to_receiver),
            false => Passage::AfterLeaving(to_sender),
        };
        match self.rng.below(4) {
            0 => TapPlace::LINK,
            1 => TapPlace([forward, Passage::AfterLeaving(to_receiver)]),
            2 => TapPlace([forward, Passage::BeforeArriving(to_sender)]),
            _ => TapPlace::near(usize::from(is_behind), near_ns),
        }
    }

    /// Bandwidth-delay product in bytes.
    fn bdp(&self) -> f64 {
        self.rate_bps as f64 * self.rtt_us as f64 / 8e6
    }

    /// Sets a path with an RTT from 1 to 200 ms, a congestion control, and buffers that are too
    /// large to be the limit.
    fn common(&mut self) {
        let rtt_us = self.spread(1_000.0, 200_000.0) as u64;
        self.rtt_us = rtt_us;
        self.set("path.delay", micros(rtt_us / 2));
        let algorithm = one(&mut self.rng, &["cubic", "newreno", "bbr"]);
        for host in ["sender", "receiver"] {
            self.set(&format!("{host}.pool.blocks"), 16_384);
            self.set(&format!("{host}.tcp.send_buffer"), 8 << 20);
            self.set(&format!("{host}.tcp.receive_buffer"), 8 << 20);
            self.set(&format!("{host}.tcp.congestion"), algorithm);
        }
        if self.rng.chance(0.3) {
            self.set("sender.tcp.pacing", "false");
        }
        if self.rng.chance(0.15) {
            self.set("receiver.tcp.timestamps", "false");
        }
        let write = one(&mut self.rng, &[4_096_u64, 16_384, 65_536, 10_000]);
        self.set("workload.write", write);
        self.set("workload.give_up", "300s");
        self.rate(3e5, 2e7);
    }

    /// Sets a rate with a bandwidth-delay product between `low` and `high` bytes, within 1 to 1000
    /// Mbit/s.
    fn rate(&mut self, low: f64, high: f64) {
        let bdp = self.spread(low, high);
        let rate = bdp * 8e6 / self.rtt_us as f64;
        self.rate_bps = rate.clamp(1e6, 1e9) as u64;
        self.set("path.rate", format!("{}bit", self.rate_bps));
        self.queue(2.0);
    }

    /// Sets a queue of `products` bandwidth-delay products, but of at least 20,000 bytes.
    fn queue(&mut self, products: f64) {
        let bytes = (self.bdp() * products).max(20_000.0) as u64;
        self.set("path.forward.queue", format!("{bytes} bytes"));
    }

    fn bytes(&mut self, bytes: f64) {
        self.set("workload.bytes", bytes.clamp(3_000.0, 12e6) as u64);
    }

    fn family(&mut self, family: Family) {
        match family {
            Family::SendBuffer => self.buffer("sender.tcp.send_buffer"),
            Family::ReceiveBuffer => self.buffer("receiver.tcp.receive_buffer"),
            Family::SlowReader => self.slow_reader(),
            Family::PausingReader => self.pausing_reader(false),
            Family::LostProbes => self.pausing_reader(true),
            Family::RandomLoss => {
                self.rate(4e4, 4e5);
                let loss = self.spread(0.002, 0.03);
                self.set("path.forward.loss", format!("{loss:.5}"));
                self.bytes(4e6);
            }
            Family::BurstLoss => {
                self.rate(4e4, 4e5);
                let (enter, leave) = (self.spread(0.001, 0.01), self.spread(0.2, 0.6));
                self.set("path.forward.burst_loss.enter", format!("{enter:.5}"));
                self.set("path.forward.burst_loss.leave", format!("{leave:.5}"));
                self.set("path.forward.burst_loss.loss_bad", "0.7");
                self.bytes(4e6);
            }
            Family::Reordering => {
                self.rate(4e4, 4e5);
                let chance = self.spread(0.001, 0.05);
                let late = self.spread(0.02, 0.4) * self.rtt_us as f64;
                self.set("path.forward.reordering.chance", format!("{chance:.5}"));
                self.set(
                    "path.forward.reordering.late",
                    micros(late.max(20.0) as u64),
                );
                self.bytes(4e6);
            }
            Family::SlowStart => {
                self.rate(2e6, 2e7);
                let bytes = self.spread(3e4, 8e5).min(self.bdp() * 0.5);
                self.bytes(bytes);
            }
            Family::DeepQueue => self.full_path(1.5, 6.0),
            Family::ShallowQueue => self.full_path(0.1, 0.8),
            Family::Policer => self.policer(),
            Family::Application => self.application(),
            Family::Requests => self.requests(),
            Family::Nagle => self.nagle(),
            Family::Pacing => {
                self.rate(1e5, 4e6);
                let rate = self.rate_bps as f64 / 8.0 * self.spread(0.1, 0.7);
                self.set("sender.tcp.pacing", "true");
                self.set("sender.tcp.pacing_rate_max", rate.max(2e4) as u64);
                let rounds = self.spread(30.0, 80.0);
                let bytes = rate * self.rtt_us as f64 / 1e6 * rounds;
                self.bytes(bytes.max(3e5));
            }
            Family::TailLoss => self.tail_loss(),
            Family::Timeout => self.timeouts(),
            Family::AckPath => self.ack_path(),
            Family::MtuHole => {
                self.rate(4e4, 4e5);
                let mtu = self.rng.between(600, 1_400);
                self.set("path.forward.hop.mtu", mtu);
                self.set("path.forward.hop.silent", "true");
                self.bytes(6e5);
            }
            Family::BufferAndLoss => {
                self.buffer("sender.tcp.send_buffer");
                let loss = self.spread(0.0005, 0.01);
                self.set("path.forward.loss", format!("{loss:.5}"));
            }
            Family::TwoBuffers => self.two_buffers(),
        }
    }

    /// Sets a buffer between 8 KiB and 1 MiB that is at most 0.6 bandwidth-delay products.
    fn buffer(&mut self, path: &str) {
        let buffer = self.spread(8_192.0, 1_048_576.0);
        let products = self.spread(0.1, 0.6);
        // Limit the buffer, because the path's rate, `buffer / products` per round trip, may be at
        // most 1 Gbit/s.
        let most = 1e9 * self.rtt_us as f64 / 8e6 * products;
        let buffer = buffer.min(most).max(8_192.0);
        self.rate(buffer / products, buffer / products * 1.01);
        self.set(path, buffer as u64);
        let rounds = self.spread(20.0, 80.0);
        self.bytes((buffer * rounds).max(2e5));
    }

    fn two_buffers(&mut self) {
        self.buffer("sender.tcp.send_buffer");
        let size = self.setup.hosts[0].config.tcp.send_buffer;
        let other = f64::from(size) * one(&mut self.rng, &[0.6, 0.8, 1.25, 1.6]);
        self.set("receiver.tcp.receive_buffer", other as u64);
    }

    fn slow_reader(&mut self) {
        self.rate(1e5, 2e6);
        let buffer = self.spread(16_384.0, 262_144.0) as u64;
        self.set("receiver.tcp.receive_buffer", buffer);
        let rate = self.rate_bps as f64 / 8.0 * self.spread(0.05, 0.5);
        let read = self.spread(2_000.0, buffer as f64 / 2.0);
        self.set("workload.read.bytes", read as u64);
        self.set(
            "workload.read.every",
            micros((read * 1e6 / rate).max(1.0) as u64),
        );
        let bytes = (buffer as f64 * 12.0).clamp(3e5, 4e6);
        self.bytes(bytes);
    }

    fn pausing_reader(&mut self, loses_probes: bool) {
        self.rate(1e5, 1e6);
        let buffer = self.spread(16_384.0, 131_072.0) as u64;
        self.set("receiver.tcp.receive_buffer", buffer);
        let bytes = (buffer * 20) as f64;
        self.bytes(bytes);
        let lasts_us = bytes * 8e6 / self.rate_bps as f64 + 20.0 * self.rtt_us as f64;
        let after = 0.2 * lasts_us;
        let stall = self.spread(1.0, 6.0) * lasts_us + 1e6;
        self.set("workload.read.stall_after", micros(after as u64));
        self.set("workload.read.stall_for", micros(stall as u64));
        if loses_probes {
            let from = after + stall * 0.3;
            self.set("path.outage.after", micros(from as u64));
            self.set("path.outage.length", micros((stall * 0.4) as u64));
        }
    }

    fn full_path(&mut self, low: f64, high: f64) {
        self.rate(3e4, 5e5);
        let products = self.spread(low, high);
        self.queue(products);
        let rounds = self.spread(40.0, 200.0);
        self.bytes((self.bdp() * rounds).max(5e5));
    }

    fn policer(&mut self) {
        self.rate(1e5, 1e6);
        let rate = (self.rate_bps as f64 * self.spread(0.1, 0.5)).max(5e5);
        let burst = self.spread(15_000.0, 150_000.0);
        self.set(
            "path.forward.token_bucket.rate",
            format!("{}bit", rate as u64),
        );
        self.set("path.forward.token_bucket.burst", burst as u64);
        self.set("path.forward.token_bucket.latency", "1us");
        self.bytes((rate / 8.0 * self.rtt_us as f64 / 1e6 * 80.0).max(5e5));
    }

    fn application(&mut self) {
        let write = self.spread(300.0, 200_000.0) as u64;
        let share = self.spread(0.02, 0.4);
        let pause = write as f64 * 8e6 / (self.rate_bps as f64 * share);
        let pause = pause.max(self.rtt_us as f64 * self.spread(0.3, 5.0));
        self.set("workload.write", write);
        self.set("workload.pause", micros(pause.min(2e6) as u64));
        if self.rng.chance(0.5) {
            self.set("sender.tcp.nagle", "false");
        }
        let writes = self.spread(20.0, 100.0);
        self.bytes(write as f64 * writes);
    }

    fn requests(&mut self) {
        self.rate(1e5, 2e6);
        self.set("workload.ask", self.rng.clone().between(50, 1_000));
        let think = self.spread(5.0, 60.0) * self.rtt_us as f64;
        self.set("workload.think", micros(think.min(5e6) as u64));
        let bytes = self.spread(3e3, 1e5);
        self.bytes(bytes);
    }

    fn nagle(&mut self) {
        let write = self.spread(30.0, 700.0) as u64;
        let pause = self.spread(0.01, 0.3) * self.rtt_us as f64;
        self.set("workload.write", write);
        self.set("workload.pause", micros(pause.max(20.0) as u64));
        let quick = one(&mut self.rng, &[0, 16]);
        self.set("receiver.tcp.quick_acks", quick);
        let writes = self.spread(200.0, 1_000.0);
        self.bytes(write as f64 * writes);
    }

    fn tail_loss(&mut self) {
        self.rate(1e5, 1e6);
        let write = self.spread(2_000.0, 30_000.0) as u64;
        self.set("workload.write", write);
        let pause = self.rtt_us as f64 * self.spread(1.2, 3.0);
        self.set("workload.pause", micros(pause as u64));
        let loss = self.spread(0.02, 0.1);
        self.set("path.forward.loss", format!("{loss:.5}"));
        self.bytes(write as f64 * 60.0);
    }

    fn timeouts(&mut self) {
        self.rate(4e4, 4e5);
        self.bytes(2e6);
        let lasts_us = 2e6 * 8e6 / self.rate_bps as f64 + 20.0 * self.rtt_us as f64;
        let length = self.spread(0.5, 5.0) * lasts_us + 5e5;
        self.set("path.outage.after", micros((lasts_us * 0.4) as u64));
        self.set("path.outage.length", micros(length as u64));
        if self.rng.chance(0.5) {
            self.set("sender.tcp.tail_loss_probe", "false");
        }
        if self.rng.chance(0.3) {
            self.set("sender.tcp.sack", "false");
        }
    }

    fn ack_path(&mut self) {
        self.rate(1e5, 1e6);
        let back = (self.rate_bps as f64 / self.spread(40.0, 400.0)).max(3e4);
        self.set("path.back.rate", format!("{}bit", back as u64));
        let packets = self.spread(5.0, 100.0) as u64;
        self.set("path.back.queue", format!("{packets} packets"));
        self.bytes(2e6);
    }
}
