//! The settings of a random transfer (a world) while they are being drawn.
//!
//! Rule: `fullpipe lab run` accepts the world after each setting that was added.

use std::fmt::Write;

use fullpipe::presets::PRESETS;
use fullpipe_pool::Rng;
use fullpipe_scenario::{Experiment, HostPlan, Setup, path};

/// Length of a usual transfer.
const USUAL: Length = Length {
    segments: [40, 3_000],
    longest_s: 300.0,
};
/// Length of a long transfer. The engine runs only a part of it with each change; the judge runs it
/// whole.
const LONG: Length = Length {
    segments: [7_000, 10_000],
    longest_s: 1_200.0,
};
/// Largest number of writes per segment.
const WRITES: u64 = 4;
/// Bits of a frame that carries only an ACK.
const ACK_BITS: f64 = 66.0 * 8.0;

/// A part of the world that has settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Sender,
    Receiver,
    Path,
    Flow,
    /// A second flow, which exists once it has a setting.
    Other,
}

type Settings = Vec<(String, String)>;

/// Bounds of the length of a transfer.
#[derive(Clone, Copy)]
struct Length {
    /// Smallest and largest number of segments with payload.
    segments: [u64; 2],
    /// Longest estimated duration in seconds.
    longest_s: f64,
}

/// The settings of a world while they are being drawn.
pub struct Plan {
    pub is_udp: bool,
    /// Rate from the sender to the receiver.
    pub rate_bps: u64,
    /// Rate from the receiver to the sender.
    pub back_bps: u64,
    pub rtt_us: u64,
    pub mtu: u64,
    /// Connections of the flow under study.
    pub connections: u64,
    /// Estimated duration of the transfer in microseconds; 0 until the number of bytes is drawn.
    pub lasts_us: u64,
    length: Length,
    presets: [&'static str; 2],
    /// Settings of each [`Part`].
    settings: [Settings; 5],
    /// Number of settings that were accepted.
    accepted: usize,
}

/// Draws a number from `low` to `high`, uniformly on a logarithmic scale.
pub fn spread(rng: &mut Rng, low: f64, high: f64) -> f64 {
    (low.ln() + rng.unit() * (high / low).ln()).exp()
}

/// Draws one of `values`.
pub fn one<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u64) as usize]
}

pub fn micros(us: u64) -> String {
    format!("{us}us")
}

impl Plan {
    /// Creates a world with two hosts, each with a preset, and a path with a rate and a delay.
    pub fn new(rng: &Rng, is_udp: bool) -> Self {
        let of = |name: &str| rng.fork_named(name);
        let rate_bps = spread(&mut of("rate"), 1e5, 1e9) as u64;
        let rtt_us = spread(&mut of("rtt"), 100.0, 800_000.0) as u64;
        let mut mtu = of("mtu");
        let mtu = match mtu.below(8) {
            0 => one(&mut mtu, &[68, 9_000, 9_000]),
            1 => mtu.between(68, 576),
            2 => mtu.between(577, 9_000),
            _ => 1_500,
        };
        let preset = |name: &str| {
            let mut rng = of(name);
            let is_default = rng.chance(0.4);
            let place = if is_default {
                0
            } else {
                rng.below(PRESETS.len() as u64)
            };
            PRESETS[place as usize].name
        };
        let mut plan = Self {
            is_udp,
            rate_bps,
            back_bps: rate_bps,
            rtt_us,
            mtu,
            connections: 1,
            lasts_us: 0,
            length: USUAL,
            presets: [preset("sender"), preset("receiver")],
            settings: Default::default(),
            accepted: 0,
        };
        let path = [
            ("rate", format!("{rate_bps}bit")),
            ("delay", micros(rtt_us.div_ceil(2))),
            ("mtu", mtu.to_string()),
        ];
        plan.put(Part::Path, &path);
        let protocol = if is_udp { "udp" } else { "tcp" };
        let flow = [
            ("protocol", protocol.to_string()),
            ("bytes", "1000".into()),
            ("give_up", "1800s".into()),
        ];
        plan.put(Part::Flow, &flow);
        if is_udp {
            plan.put(
                Part::Flow,
                &[("write", "512".into()), ("rate", "1mbit".into())],
            );
        }
        plan.accepted = 0;
        plan
    }

    /// Makes the transfer long.
    pub fn lengthen(&mut self) {
        self.length = LONG;
        self.accepted += 1;
    }

    /// Largest number of segments that the path can carry during a transfer of fixed duration.
    pub fn most_timed(&self) -> u64 {
        self.length.segments[1] / 6
    }

    /// Bandwidth-delay product in bytes, at least four small segments.
    pub fn bdp(&self) -> u64 {
        (self.rate_bps as f64 * self.rtt_us as f64 / 8e6).max(2_048.0) as u64
    }

    /// Bytes of a full frame on the path.
    pub fn frame(&self) -> u64 {
        self.mtu + 14
    }

    /// Draws a number of bytes between a twentieth of the bandwidth-delay product and twice the
    /// product, but at least `least`.
    pub fn scarce(&self, rng: &mut Rng, least: u64) -> u64 {
        ((spread(rng, 0.05, 2.0) * self.bdp() as f64) as u64).clamp(least, 1 << 26)
    }

    /// Number of settings that were accepted.
    pub fn accepted(&self) -> usize {
        self.accepted
    }

    /// Adds all of `settings` to a part of the world. If a setting is refused, adds no setting
    /// and returns false.
    pub fn offer(&mut self, part: Part, settings: &[(&str, String)]) -> bool {
        let before = self.settings[part as usize].clone();
        self.put(part, settings);
        if self.setup().is_none() {
            self.settings[part as usize] = before;
            return false;
        }
        self.accepted += 1;
        true
    }

    fn put(&mut self, part: Part, settings: &[(&str, String)]) {
        let own = &mut self.settings[part as usize];
        for (key, value) in settings {
            own.retain(|(known, _)| known != key);
            own.push(((*key).to_string(), value.clone()));
        }
    }

    fn value(&self, part: Part, key: &str) -> Option<&str> {
        let mut own = self.settings[part as usize].iter();
        own.find(|(known, _)| known == key)
            .map(|(_, value)| value.as_str())
    }

    /// The setup of the world with the settings so far; `None` if it is refused.
    pub fn setup(&self) -> Option<Setup> {
        let experiment = Experiment::parse("world", "world.toml", &self.file("world")).ok()?;
        let setup = experiment.rows[0].setup.clone();
        setup.validate().is_ok().then_some(setup)
    }

    /// Draws the number of bytes of each connection, and estimates the duration of the transfer.
    pub fn add_amount(&mut self, mut rng: Rng) {
        let setup = self.setup().expect("every setting was accepted");
        let [sender, receiver] = [&setup.hosts[0], &setup.hosts[1]];
        let flow = setup.flow();
        let write = u64::from(flow.write);
        let window = window(sender, receiver);
        let [least, most] = self.length.segments;
        let most = spread(&mut rng, least as f64, most as f64) as u64;
        let bytes = if self.is_udp {
            let fragments = write.div_ceil(self.mtu.saturating_sub(28).max(8));
            write * (most / fragments).max(1)
        } else {
            let fit = u64::from(sender.config.tcp.fit_segments.max(1));
            let full = path::full_segment(&setup).min(window / fit).max(1);
            let is_each_sent = !sender.config.tcp.nagle || !flow.pause().is_zero();
            let each = if is_each_sent { 1 } else { WRITES };
            full.min(write * each) * most
        };
        let rtt_s = self.rtt_us as f64 / 1e6;
        let by_window = window as f64 * 8.0 / rtt_s;
        let rate_bps = (self.rate_bps as f64).min(by_window).max(1.0);
        let ack_s =
            ACK_BITS / self.back_bps as f64 / 2.0 / path::full_segment(&setup).max(1) as f64;
        let of_bytes = |bytes: f64| bytes * (8.0 / rate_bps).max(ack_s);
        let bytes =
            (bytes as f64).min(bytes as f64 * self.length.longest_s / of_bytes(bytes as f64));
        self.lasts_us = ((of_bytes(bytes) + 3.0 * rtt_s) * 1e6) as u64;
        let each = (bytes as u64 / self.connections).max(1);
        self.offer(Part::Flow, &[("bytes", each.to_string())]);
    }

    /// Draws a time between 5 % and 85 % of the estimated duration, in microseconds.
    pub fn in_mid_transfer(&self, rng: &mut Rng) -> u64 {
        (self.lasts_us as f64 * (0.05 + 0.8 * rng.unit())) as u64
    }

    /// Number of bytes of each connection in the flow under study.
    pub fn amount(&self) -> u64 {
        let bytes = self.value(Part::Flow, "bytes");
        bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(1)
    }

    /// Gives the flow under study a duration instead of a number of bytes.
    pub fn end_by_time(&mut self) -> bool {
        let lasts = micros(self.lasts_us.max(1_000));
        self.replace(&["bytes"], &[("duration", lasts)])
    }

    /// Makes the sender of datagrams offer as much as its stack accepts.
    pub fn end_pacing(&mut self) -> bool {
        self.replace(&["rate", "tick"], &[])
    }

    /// Replaces `fields` of the flow under study by `settings`. Returns false if the result is
    /// refused.
    fn replace(&mut self, fields: &[&str], settings: &[(&str, String)]) -> bool {
        let place = Part::Flow as usize;
        let before = self.settings[place].clone();
        self.settings[place].retain(|(key, _)| !fields.contains(&key.as_str()));
        let is_accepted = self.offer(Part::Flow, settings);
        if !is_accepted {
            self.settings[place] = before;
        }
        is_accepted
    }

    /// Returns the world as an experiment file.
    pub fn file(&self, title: &str) -> String {
        let mut file = format!("title = \"{title}\"\n");
        let mut table = |name: &str, rows: &[(String, String)]| {
            let _ = writeln!(file, "\n[{name}]");
            for (key, value) in rows {
                let is_bare = value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok();
                let _ = match is_bare {
                    true => writeln!(file, "{key} = {value}"),
                    false => writeln!(file, "{key} = \"{value}\""),
                };
            }
        };
        let [sender, receiver, path, flow, other] = &self.settings;
        for (place, (name, own)) in [("sender", sender), ("receiver", receiver)]
            .into_iter()
            .enumerate()
        {
            let preset = ("preset".to_string(), self.presets[place].to_string());
            let knobs = own
                .iter()
                .map(|(key, value)| (key_of_host(key), value.clone()));
            table(
                &format!("hosts.{name}"),
                &[preset].into_iter().chain(knobs).collect::<Vec<_>>(),
            );
        }
        table("links.path", path);
        table("flows.main", flow);
        if !other.is_empty() {
            table("flows.other", other);
        }
        // Insert the lists of hosts here, because `table` writes only strings and numbers.
        let file = file.replace(
            "[links.path]\n",
            "[links.path]\nbetween = [\"sender\", \"receiver\"]\n",
        );
        let ends = "from = \"sender\"\nto = \"receiver\"\n";
        let file = file.replace("[flows.main]\n", &format!("[flows.main]\n{ends}"));
        let file = match self.value(Part::Other, "from") {
            Some(_) => file,
            None => file.replace("[flows.other]\n", &format!("[flows.other]\n{ends}")),
        };
        format!("{file}\n[[rows]]\nlabel = \"world\"\n")
    }
}

/// Approximate bytes in flight that the buffers and windows of both hosts allow.
fn window(sender: &HostPlan, receiver: &HostPlan) -> u64 {
    let (own, peer) = (&sender.config.tcp, &receiver.config.tcp);
    let sends = sender.send_capacity().min(own.unacknowledged.into());
    let receives = u64::from(peer.receive_buffer.max(peer.receive_buffer_max));
    let promised = receiver.pool_bytes() * u64::from(peer.window_share) / 100;
    let window = sends.min(sender.pool_bytes() / 2).min(receives);
    window.min(promised).max(64)
}

/// Key of a host's setting in the file. Knobs are in the table `set` of the host.
fn key_of_host(key: &str) -> String {
    let is_own = ["cpu.", "device.", "device_queue", "acquainted"]
        .iter()
        .any(|own| key.starts_with(own));
    if is_own {
        key.to_string()
    } else {
        format!("set.{key}")
    }
}
