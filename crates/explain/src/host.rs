//! Levers of the hosts at both ends of the flow.
//!
//! Rule: every lever derives from a row of [`ROWS`]. A row may make several levers, one
//! for each host, value or congestion control, or none. The values derive from the knob's
//! present value, its legal range and the ample amount, or are listed in the row.

use fullpipe::{config::Config, presets::alias};
use fullpipe_pool::{
    Duration,
    knobs::{KnobInfo, parse_count},
};
use fullpipe_tcp::CongestionAlgorithm;

use crate::lever::{Ample, Change, Lever, LeverKind};
use fullpipe_scenario::experiment::{HostPlan, Setup};

/// The end of the flow at which a knob has an effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
    Each,
    /// One lever for both hosts together: an option counts only if both offer it.
    Both,
}

/// The values to try.
enum Try {
    /// Twice the present number, and as many bytes as can be used.
    Bytes,
    /// Twice the present number, and as many entries as can be used.
    Entries,
    /// Twice the present number, and this value, at which the knob limits nothing.
    Unbounded(&'static str),
    /// Half of the present number or time, and this one, if it is less.
    Less(&'static str),
    /// Half of the present number: more is not always faster.
    Half,
    /// Twice the present number, and this one.
    More(&'static str),
    /// These values, one lever each.
    OneOf(&'static [&'static str]),
    /// Every other congestion control.
    Congestion,
}

struct Row {
    knob: &'static str,
    end: End,
    kind: LeverKind,
    values: Try,
    /// Knobs that must be set with it, and their values.
    with: &'static [(&'static str, &'static str)],
}

const fn resource(knob: &'static str, end: End, values: Try) -> Row {
    Row {
        knob,
        end,
        kind: LeverKind::Resource,
        values,
        with: &[],
    }
}

const fn rule(knob: &'static str, end: End, values: Try) -> Row {
    Row {
        knob,
        end,
        kind: LeverKind::Rule,
        values,
        with: &[],
    }
}

const fn with(mut row: Row, with: &'static [(&'static str, &'static str)]) -> Row {
    row.with = with;
    row
}

use End::{Both, Each, Receiver, Sender};
use Try::{Bytes, Congestion, Entries, Half, Less, More, OneOf, Unbounded};

const ROWS: &[Row] = &[
    // Buffers and their caps. A buffer that is set does not grow by itself.
    with(
        resource("tcp.send_buffer", Sender, Bytes),
        &[("tcp.send_buffer_max", "0")],
    ),
    resource("tcp.send_buffer_max", Sender, Bytes),
    resource("tcp.send_buffer_limit", Sender, Bytes),
    resource("tcp.send_text_share", Sender, Unbounded("100")),
    resource("tcp.unacknowledged", Sender, Bytes),
    with(
        resource("tcp.receive_buffer", Receiver, Bytes),
        &[("tcp.receive_buffer_max", "0")],
    ),
    with(
        resource("tcp.receive_buffer_max", Receiver, Bytes),
        &[("tcp.receive_tuning", "true")],
    ),
    resource("tcp.receive_buffer_limit", Receiver, Bytes),
    resource("tcp.receive_text_share", Receiver, Unbounded("100")),
    resource("tcp.out_of_order", Receiver, Bytes),
    resource("tcp.holes", Receiver, Entries),
    resource("udp.receive_queue", Receiver, Entries),
    resource("udp.receive_buffer", Receiver, Bytes),
    resource("udp.send_queue", Sender, Entries),
    resource("udp.send_buffer", Sender, Bytes),
    // Memory and tables.
    resource("pool.blocks", Each, Entries),
    resource("pool.ranges", Receiver, Entries),
    resource("pool.send_floor", Each, Entries),
    resource("pool.receive_floor", Each, Entries),
    with(
        resource("pool.pressure", Each, Unbounded("100")),
        &[("pool.pressure_high", "100")],
    ),
    resource("tcp.window_share", Receiver, Unbounded("100")),
    resource("tcp.idle_window_share", Receiver, Unbounded("100")),
    resource("stack.sent_ranges", Sender, Entries),
    resource("stack.sent_ranges_each", Sender, Entries),
    resource("arp.queue_packets", Each, More("1024")),
    resource("ip.reassembly_datagrams", Receiver, More("1024")),
    resource("ip.reassembly_per_source", Receiver, More("1024")),
    resource("ip.reassembly_bytes", Receiver, Bytes),
    resource("ip.reassembly_pieces", Receiver, More("8192")),
    resource("device_queue", Each, Entries),
    resource("device.rx_descriptors", Each, Unbounded("0")),
    resource("tcp.small_queue", Sender, Bytes),
    resource("tcp.initial_receive_window", Receiver, More("1000")),
    // Rules.
    with(
        rule("tcp.send_buffer", Sender, Half),
        &[("tcp.send_buffer_max", "0")],
    ),
    with(
        rule("tcp.receive_buffer", Receiver, Half),
        &[("tcp.receive_buffer_max", "0")],
    ),
    rule("tcp.congestion", Sender, Congestion),
    rule("tcp.initial_window", Sender, More("32")),
    rule("tcp.hystart", Sender, OneOf(&["false", "true"])),
    rule("tcp.bbr_loss_threshold", Sender, More("100")),
    rule("tcp.pacing", Sender, OneOf(&["false", "true"])),
    rule("tcp.pacing_rate_max", Sender, Unbounded("0")),
    rule("tcp.ecn", Both, OneOf(&["on", "off"])),
    rule("tcp.nagle", Sender, OneOf(&["false"])),
    rule("tcp.use_up_window", Sender, OneOf(&["true"])),
    rule("tcp.write_atomic", Sender, OneOf(&["false"])),
    rule("tcp.segment_sizing", Sender, OneOf(&["transmit"])),
    rule("tcp.fit_segments", Sender, OneOf(&["0", "2", "8"])),
    rule("tcp.sws_override", Sender, Less("100ms")),
    rule("tcp.cork_timeout", Sender, Less("1ms")),
    rule("tcp.delayed_ack", Receiver, Less("0s")),
    rule("tcp.ack_every", Receiver, Less("1")),
    rule("tcp.quick_acks", Receiver, More("1000")),
    rule("tcp.sack", Both, OneOf(&["true"])),
    rule("tcp.window_scaling", Both, OneOf(&["true"])),
    rule("tcp.timestamps", Both, OneOf(&["true", "false"])),
    rule("tcp.mtu_probing", Sender, OneOf(&["always", "black_hole"])),
    rule("tcp.mss_max", Both, More("65495")),
    rule("tcp.rto_min", Sender, Less("10ms")),
    rule("tcp.rto_initial", Each, Less("200ms")),
    rule("tcp.rto_max", Each, Less("4s")),
    rule("tcp.retries2", Sender, More("255")),
    rule("tcp.user_timeout", Sender, Unbounded("0s")),
    rule("tcp.syn_retries", Each, More("255")),
    rule("tcp.tail_loss_probe", Sender, OneOf(&["true"])),
    rule("device.super_segment", Sender, OneOf(&["64K", "0"])),
    rule("device.merge_quiet", Receiver, OneOf(&["0s"])),
];

/// Returns the levers of both hosts.
pub fn levers(setup: &Setup, ample: Ample) -> Vec<Lever> {
    let flow = setup.flow();
    let rows = Config::rows();
    let [sender, receiver] = [flow.from, flow.to].map(|place| &setup.hosts[place]);
    let mut levers = Vec::new();
    for row in ROWS.iter().filter(|row| row.is_of(flow.is_udp())) {
        let info = rows.iter().find(|info| info.name == row.knob);
        let groups: &[&[&HostPlan]] = match row.end {
            Sender => &[&[sender]],
            Receiver => &[&[receiver]],
            Each => &[&[sender], &[receiver]],
            Both => &[&[sender, receiver]],
        };
        for hosts in groups {
            levers.extend(row.levers(hosts, info, ample));
        }
    }
    levers
}

/// The knobs and fields that have a lever.
#[cfg(test)]
pub fn knobs() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.knob)
}

impl Row {
    /// Returns false for a knob of the other protocol.
    fn is_of(&self, udp: bool) -> bool {
        let other = if udp { "tcp" } else { "udp" };
        self.knob
            .split_once('.')
            .is_none_or(|(group, _)| group != other)
    }

    /// The levers of this row at `hosts`, which are changed together.
    fn levers(&self, hosts: &[&HostPlan], info: Option<&KnobInfo>, ample: Ample) -> Vec<Lever> {
        let presents: Vec<_> = hosts
            .iter()
            .filter_map(|host| present(host, self.knob))
            .collect();
        // Of hosts that are changed together the smallest counts.
        let number = presents.iter().filter_map(|text| parse_count(text)).min();
        let most = info.and_then(|info| parse_count(&info.legal.1));
        let within = |value: u64| most.map_or(value, |most| value.min(most)).to_string();
        let twice = number.map(|number| within(number.saturating_mul(2)));
        let half = presents.first().and_then(|text| half(text));
        let raised = |amount: u64| number.is_none_or(|number| number < amount);
        let lever = |twice: Option<String>, ample: String| Lever {
            name: self.name(hosts),
            called: self.called(hosts[0], &ample),
            kind: self.kind,
            twice: twice.map(|value| self.changes(hosts, &value)),
            ample: self.changes(hosts, &ample),
        };
        let choice = |value: &str| Lever {
            name: format!("{}={value}", self.name(hosts)),
            ..lever(None, value.to_string())
        };
        match self.values {
            Bytes | Entries => {
                let amount = match (&self.values, self.knob) {
                    (_, "pool.blocks") => blocks(hosts[0], ample),
                    (Bytes, _) => ample.bytes,
                    _ => ample.entries,
                };
                let ample = raised(amount).then(|| within(amount));
                let ample = ample.or_else(|| twice.clone());
                ample.map(|ample| lever(twice, ample)).into_iter().collect()
            }
            Unbounded(value) => vec![lever(twice, value.to_string())],
            More(value) => {
                let ample = parse_count(value).is_none_or(raised);
                let ample = ample.then(|| lever(twice, value.to_string()));
                ample.into_iter().collect()
            }
            Less(value) => {
                let is_less = presents.iter().any(|text| is_more(text, value));
                let less = is_less.then(|| lever(half, value.to_string()));
                less.into_iter().collect()
            }
            Half => half.map(|value| choice(&value)).into_iter().collect(),
            OneOf(values) => values.iter().map(|value| choice(value)).collect(),
            Congestion => {
                let all = CongestionAlgorithm::ALL.iter();
                all.map(|algorithm| choice(&algorithm.to_string()))
                    .collect()
            }
        }
    }

    /// The setting of `host`'s system that does the same as this row with `value`, and its
    /// own value: `SO_SNDBUF=65536`.
    fn called(&self, host: &HostPlan, value: &str) -> Option<String> {
        let mut wanted = host.clone();
        wanted.set(self.knob, value).ok()?;
        for (knob, to) in self.with {
            wanted.set(knob, to).ok()?;
        }
        let names = alias::of_knob(host.preset.name, self.knob).into_iter();
        let mut same = names.filter_map(|name| {
            let own = alias::find(name)?.value_for(&wanted.config, value)?;
            let mut set = host.clone();
            set.set(name, &own).ok()?;
            (set == wanted).then(|| format!("{name}={own}"))
        });
        same.next()
    }

    fn name(&self, hosts: &[&HostPlan]) -> String {
        let names: Vec<_> = hosts.iter().map(|host| host.name.as_str()).collect();
        format!("{}.{}", names.join("+"), self.knob)
    }

    fn changes(&self, hosts: &[&HostPlan], value: &str) -> Vec<Change> {
        let of_host = |host: &&HostPlan| {
            let path = |knob: &str| format!("{}.{knob}", host.name);
            let own = [(path(self.knob), value.to_string())];
            let with = self
                .with
                .iter()
                .map(move |(knob, to)| (path(knob), (*to).to_string()));
            own.into_iter().chain(with.collect::<Vec<_>>())
        };
        let changes = hosts.iter().flat_map(of_host);
        changes.map(|(set, to)| Change { set, to }).collect()
    }
}

/// The present value of a knob or of a field of the device, as text.
fn present(host: &HostPlan, knob: &str) -> Option<String> {
    match knob {
        "device_queue" => Some(host.device_queue.to_string()),
        "device.rx_descriptors" => Some(host.device.rx_descriptors.to_string()),
        _ => host.config.get(knob),
    }
}

/// Half of a number or of a time.
fn half(text: &str) -> Option<String> {
    let time = || {
        text.parse::<Duration>()
            .ok()
            .map(|time| (time / 2).to_string())
    };
    parse_count(text)
        .map(|number| (number / 2).to_string())
        .or_else(time)
}

/// Returns true if the number or time `text` is more than `other`.
fn is_more(text: &str, other: &str) -> bool {
    let numbers = parse_count(text).zip(parse_count(other));
    let times = || {
        text.parse::<Duration>()
            .ok()
            .zip(other.parse::<Duration>().ok())
    };
    numbers
        .map(|(number, other)| number > other)
        .or_else(|| times().map(|(time, other)| time > other))
        .unwrap_or(false)
}

/// Blocks for buffers of both directions, and for overhead of the same size.
fn blocks(host: &HostPlan, ample: Ample) -> u64 {
    ample.bytes * 4 / u64::from(host.config.pool.block_size).max(1)
}
