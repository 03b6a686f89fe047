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

use crate::{
    cause::Cause,
    clue::{self, Clue},
    lever::{Ample, Change, Lever, LeverKind, Place},
};
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
    /// As [`Bytes`](Try::Bytes), for the size that a buffer may grow to. A buffer that was set
    /// does not grow: then the size that its system lets it grow to, if it does.
    Tuned,
    /// Twice the present number, and as many entries as can be used.
    Entries,
    /// Twice the present number, and this value, at which the knob limits nothing.
    Unbounded(&'static str),
    /// Half of the present number or time, and this one, if it is less.
    Less(&'static str),
    /// Half of the present number, and as much as the path holds: more is not always faster.
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
    /// Cause of the limit, if this helps most.
    cause: Cause,
    /// Clues that suggest it.
    clues: &'static [Clue],
    /// Knobs that must be set with it, and their values.
    with: &'static [(&'static str, &'static str)],
}

const fn resource(
    knob: &'static str,
    end: End,
    values: Try,
    cause: Cause,
    clues: &'static [Clue],
) -> Row {
    Row {
        knob,
        end,
        kind: LeverKind::Resource,
        values,
        cause,
        clues,
        with: &[],
    }
}

const fn rule(
    knob: &'static str,
    end: End,
    values: Try,
    cause: Cause,
    clues: &'static [Clue],
) -> Row {
    Row {
        knob,
        end,
        kind: LeverKind::Rule,
        values,
        cause,
        clues,
        with: &[],
    }
}

/// A field of the device that no software sets.
const fn hardware(
    field: &'static str,
    end: End,
    values: Try,
    cause: Cause,
    clues: &'static [Clue],
) -> Row {
    Row {
        kind: LeverKind::Processor,
        ..rule(field, end, values, cause, clues)
    }
}

const fn with(mut row: Row, with: &'static [(&'static str, &'static str)]) -> Row {
    row.with = with;
    row
}

use End::{Both, Each, Receiver, Sender};
use Try::{Bytes, Congestion, Entries, Half, Less, More, OneOf, Tuned, Unbounded};

const ROWS: &[Row] = &[
    // Buffers and their caps. A buffer that is set does not grow by itself.
    with(
        resource(
            "tcp.send_buffer",
            Sender,
            Bytes,
            Cause::SEND_BUFFER,
            clue::SENDING,
        ),
        &[("tcp.send_buffer_max", "0")],
    ),
    resource(
        "tcp.send_buffer_max",
        Sender,
        Tuned,
        Cause::SEND_BUFFER,
        clue::SENDING,
    ),
    resource(
        "tcp.send_buffer_limit",
        Sender,
        Bytes,
        Cause::SEND_BUFFER_LIMIT,
        clue::SENDING,
    ),
    resource(
        "tcp.send_text_share",
        Sender,
        Unbounded("100"),
        Cause::SEND_BUFFER,
        clue::SENDING,
    ),
    resource(
        "tcp.unacknowledged",
        Sender,
        Bytes,
        Cause::UNACKNOWLEDGED,
        clue::SENDING,
    ),
    with(
        resource(
            "tcp.receive_buffer",
            Receiver,
            Bytes,
            Cause::RECEIVE_WINDOW,
            clue::RECEIVING,
        ),
        &[("tcp.receive_buffer_max", "0")],
    ),
    with(
        resource(
            "tcp.receive_buffer_max",
            Receiver,
            Tuned,
            Cause::RECEIVE_WINDOW,
            clue::RECEIVING,
        ),
        &[("tcp.receive_tuning", "true")],
    ),
    resource(
        "tcp.receive_buffer_limit",
        Receiver,
        Bytes,
        Cause::RECEIVE_BUFFER_LIMIT,
        clue::RECEIVING,
    ),
    resource(
        "tcp.receive_text_share",
        Receiver,
        Unbounded("100"),
        Cause::RECEIVE_WINDOW,
        clue::RECEIVING,
    ),
    resource(
        "tcp.out_of_order",
        Receiver,
        Bytes,
        Cause::OUT_OF_ORDER,
        clue::LOSSES,
    ),
    resource(
        "tcp.holes",
        Receiver,
        Entries,
        Cause::RANGE_TABLE,
        clue::TABLES,
    ),
    resource(
        "udp.receive_queue",
        Receiver,
        Entries,
        Cause::RECEIVE_QUEUE,
        clue::DATAGRAMS,
    ),
    resource(
        "udp.receive_buffer",
        Receiver,
        Bytes,
        Cause::RECEIVE_QUEUE,
        clue::DATAGRAMS,
    ),
    resource(
        "udp.send_queue",
        Sender,
        Entries,
        Cause::SEND_QUEUE,
        clue::DATAGRAMS,
    ),
    resource(
        "udp.send_buffer",
        Sender,
        Bytes,
        Cause::SEND_QUEUE,
        clue::DATAGRAMS,
    ),
    // Memory and tables.
    resource("pool.blocks", Each, Entries, Cause::MEMORY, clue::MEMORY),
    resource(
        "pool.ranges",
        Receiver,
        Entries,
        Cause::RANGE_TABLE,
        clue::TABLES,
    ),
    resource(
        "pool.send_floor",
        Each,
        Entries,
        Cause::MEMORY,
        clue::MEMORY,
    ),
    resource(
        "pool.receive_floor",
        Each,
        Entries,
        Cause::MEMORY,
        clue::MEMORY,
    ),
    with(
        resource(
            "pool.pressure",
            Each,
            Unbounded("100"),
            Cause::MEMORY,
            clue::MEMORY,
        ),
        &[("pool.pressure_high", "100")],
    ),
    resource(
        "tcp.window_share",
        Receiver,
        Unbounded("100"),
        Cause::PEER_MEMORY,
        clue::RECEIVING,
    ),
    resource(
        "tcp.idle_window_share",
        Receiver,
        Unbounded("100"),
        Cause::PEER_MEMORY,
        clue::RECEIVING,
    ),
    resource(
        "stack.sent_ranges",
        Sender,
        Entries,
        Cause::RANGE_TABLE,
        clue::TABLES,
    ),
    resource(
        "stack.sent_ranges_each",
        Sender,
        Entries,
        Cause::RANGE_TABLE,
        clue::TABLES,
    ),
    resource(
        "arp.queue_packets",
        Each,
        More("1024"),
        Cause::NEIGHBOUR,
        clue::NEIGHBOUR,
    ),
    resource(
        "ip.reassembly_datagrams",
        Receiver,
        More("1024"),
        Cause::REASSEMBLY,
        clue::DATAGRAMS,
    ),
    resource(
        "ip.reassembly_per_source",
        Receiver,
        More("1024"),
        Cause::REASSEMBLY,
        clue::DATAGRAMS,
    ),
    resource(
        "ip.reassembly_bytes",
        Receiver,
        Bytes,
        Cause::REASSEMBLY,
        clue::DATAGRAMS,
    ),
    resource(
        "ip.reassembly_pieces",
        Receiver,
        More("8192"),
        Cause::REASSEMBLY,
        clue::DATAGRAMS,
    ),
    resource("device_queue", Each, Entries, Cause::DEVICE, clue::DEVICE),
    resource(
        "device.rx_descriptors",
        Each,
        Unbounded("0"),
        Cause::DESCRIPTORS,
        clue::RINGS,
    ),
    resource(
        "tcp.small_queue",
        Sender,
        Bytes,
        Cause::DEVICE,
        clue::DEVICE,
    ),
    resource(
        "tcp.initial_receive_window",
        Receiver,
        More("1000"),
        Cause::INITIAL_RECEIVE_WINDOW,
        clue::RECEIVING,
    ),
    // Rules.
    with(
        rule(
            "tcp.send_buffer",
            Sender,
            Half,
            Cause::SEND_BUFFER,
            clue::LOSSES,
        ),
        &[("tcp.send_buffer_max", "0")],
    ),
    with(
        rule(
            "tcp.receive_buffer",
            Receiver,
            Half,
            Cause::RECEIVE_WINDOW,
            clue::LOSSES,
        ),
        &[("tcp.receive_buffer_max", "0")],
    ),
    rule(
        "tcp.congestion",
        Sender,
        Congestion,
        Cause::CONGESTION,
        clue::CONGESTION,
    ),
    rule(
        "tcp.initial_window",
        Sender,
        More("32"),
        Cause::SLOW_START,
        clue::SLOW_START,
    ),
    rule(
        "tcp.hystart",
        Sender,
        OneOf(&["false", "true"]),
        Cause::SLOW_START,
        clue::SLOW_START,
    ),
    rule(
        "tcp.bbr_loss_threshold",
        Sender,
        More("100"),
        Cause::CONGESTION,
        clue::LOSSES,
    ),
    rule(
        "tcp.pacing",
        Sender,
        OneOf(&["false", "true"]),
        Cause::PACING,
        clue::PACING,
    ),
    rule(
        "tcp.pacing_rate_max",
        Sender,
        Unbounded("0"),
        Cause::PACING,
        clue::PACING,
    ),
    rule(
        "tcp.ecn",
        Both,
        OneOf(&["on", "off"]),
        Cause::ECN,
        clue::MARKS,
    ),
    rule(
        "tcp.nagle",
        Sender,
        OneOf(&["false"]),
        Cause::NAGLE,
        clue::DELAYED,
    ),
    rule(
        "tcp.use_up_window",
        Sender,
        OneOf(&["true"]),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    ),
    rule(
        "tcp.write_atomic",
        Sender,
        OneOf(&["false"]),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    ),
    rule(
        "tcp.segment_sizing",
        Sender,
        OneOf(&["transmit"]),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    ),
    rule(
        "tcp.fit_segments",
        Sender,
        OneOf(&["0", "2", "8"]),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    ),
    rule(
        "tcp.sws_override",
        Sender,
        Less("100ms"),
        Cause::SEGMENTATION,
        clue::SEGMENTATION,
    ),
    rule(
        "tcp.cork_timeout",
        Sender,
        Less("1ms"),
        Cause::CORK,
        clue::DELAYED,
    ),
    rule(
        "tcp.delayed_ack",
        Receiver,
        Less("0s"),
        Cause::DELAYED_ACK,
        clue::ANSWERS,
    ),
    rule(
        "tcp.ack_every",
        Receiver,
        Less("1"),
        Cause::DELAYED_ACK,
        clue::ANSWERS,
    ),
    rule(
        "tcp.quick_acks",
        Receiver,
        More("1000"),
        Cause::DELAYED_ACK,
        clue::ANSWERS,
    ),
    rule(
        "tcp.sack",
        Both,
        OneOf(&["true"]),
        Cause::RECOVERY,
        clue::LOSSES,
    ),
    rule(
        "tcp.window_scaling",
        Both,
        OneOf(&["true"]),
        Cause::RECEIVE_WINDOW,
        clue::RECEIVING,
    ),
    rule(
        "tcp.timestamps",
        Both,
        OneOf(&["true", "false"]),
        Cause::SEGMENT_SIZE,
        clue::SMALL,
    ),
    rule(
        "tcp.mtu_probing",
        Sender,
        OneOf(&["always", "black_hole"]),
        Cause::SEGMENT_SIZE,
        clue::PROBING,
    ),
    rule(
        "tcp.mss_max",
        Both,
        More("65495"),
        Cause::SEGMENT_SIZE,
        clue::SMALL,
    ),
    rule(
        "tcp.rto_min",
        Sender,
        Less("10ms"),
        Cause::RECOVERY,
        clue::TIMERS,
    ),
    rule(
        "tcp.rto_initial",
        Each,
        Less("200ms"),
        Cause::RECOVERY,
        clue::OPENING,
    ),
    rule(
        "tcp.rto_max",
        Each,
        Less("4s"),
        Cause::RECOVERY,
        clue::TIMERS,
    ),
    rule(
        "tcp.retries2",
        Sender,
        More("255"),
        Cause::GIVING_UP,
        clue::GIVING_UP,
    ),
    rule(
        "tcp.user_timeout",
        Sender,
        Unbounded("0s"),
        Cause::GIVING_UP,
        clue::GIVING_UP,
    ),
    rule(
        "tcp.syn_retries",
        Each,
        More("255"),
        Cause::GIVING_UP,
        clue::OPENING,
    ),
    rule(
        "tcp.tail_loss_probe",
        Sender,
        OneOf(&["true"]),
        Cause::RECOVERY,
        clue::LOSSES,
    ),
    hardware(
        "device.super_segment",
        Sender,
        OneOf(&["64K", "0"]),
        Cause::OFFLOAD,
        clue::DEVICE,
    ),
    rule(
        "device.merge_quiet",
        Receiver,
        OneOf(&["0s"]),
        Cause::DELAYED_ACK,
        clue::ANSWERS,
    ),
];

/// Returns the levers of both hosts.
pub fn levers(setup: &Setup, ample: Ample) -> Vec<Lever> {
    let flow = setup.flow();
    let rows = Config::rows();
    let mut levers = Vec::new();
    for row in ROWS.iter().filter(|row| row.is_of(flow.is_udp())) {
        let info = rows.iter().find(|info| info.name == row.knob);
        let groups: &[&[usize]] = match row.end {
            Sender => &[&[flow.from]],
            Receiver => &[&[flow.to]],
            Each => &[&[flow.from], &[flow.to]],
            Both => &[&[flow.from, flow.to]],
        };
        for places in groups {
            levers.extend(row.levers(setup, places, info, ample));
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
    fn levers(
        &self,
        setup: &Setup,
        places: &[usize],
        info: Option<&KnobInfo>,
        ample: Ample,
    ) -> Vec<Lever> {
        let hosts: &[&HostPlan] = &places
            .iter()
            .map(|place| &setup.hosts[*place])
            .collect::<Vec<_>>();
        let presents: Vec<_> = hosts
            .iter()
            .filter_map(|host| present(host, self.knob))
            .collect();
        // Of hosts that are changed together the smallest counts.
        let number = presents.iter().filter_map(|text| parse_count(text)).min();
        let most = info.and_then(|info| parse_count(&info.legal.1));
        let most = match (self.most_of(hosts[0], ample), most) {
            (Some(memory), Some(legal)) => Some(memory.max(number.unwrap_or(0)).min(legal)),
            (memory, legal) => memory.or(legal),
        };
        let within = |value: u64| most.map_or(value, |most| value.min(most)).to_string();
        let twice = number.map(|number| within(number.saturating_mul(2)));
        let half = presents.first().and_then(|text| half(text));
        let raised = |amount: u64| number.is_none_or(|number| number < amount);
        let lever = |twice: Option<String>, ample: String| Lever {
            name: self.name(hosts),
            called: self.called(hosts[0], &ample),
            kind: self.kind,
            cause: self.cause_at(setup, places),
            clues: self.clues,
            place: Place::Hosts(places.to_vec()),
            field: self.knob,
            present: presents.first().cloned(),
            range: number.zip(parse_count(&ample)).map(|(from, to)| [from, to]),
            twice: twice.map(|value| self.changes(hosts, &value)),
            ample: self.changes(hosts, &ample),
        };
        let choice = |value: &str| Lever {
            name: format!("{}={value}", self.name(hosts)),
            range: None,
            ..lever(None, value.to_string())
        };
        match self.values {
            Tuned if number == Some(0) => {
                let usual = hosts[0].preset.config().get(self.knob);
                let usual = usual.filter(|usual| parse_count(usual) > Some(0));
                usual.map(|usual| choice(&usual)).into_iter().collect()
            }
            Bytes | Tuned | Entries => {
                let amount = match (&self.values, self.knob) {
                    (_, "pool.blocks") => blocks(hosts[0], ample),
                    (Bytes | Tuned, _) => ample.bytes,
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
            Half => {
                let product = self
                    .product(hosts[0], ample)
                    .filter(|most| number > Some(*most));
                let product = product.map(|bytes| bytes.to_string());
                let all = half.into_iter().chain(product);
                all.map(|value| choice(&value)).collect()
            }
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

    /// Memory of the receiver is another cause than the sender's.
    fn cause_at(&self, setup: &Setup, places: &[usize]) -> Cause {
        match self.cause {
            Cause::MEMORY if places == [setup.flow().to] => Cause::PEER_MEMORY,
            cause => cause,
        }
    }

    /// The size of a buffer of `host` that holds as much payload as the path without a queue.
    fn product(&self, host: &HostPlan, ample: Ample) -> Option<u64> {
        let tcp = &host.config.tcp;
        let share = match self.knob {
            "tcp.send_buffer" => tcp.send_text_share,
            _ => tcp.receive_text_share,
        };
        ample
            .product
            .map(|bytes| bytes * 100 / u64::from(share.max(1)))
    }

    /// The most of this row's resource that the memory of `host` allows, if that has a bound.
    fn most_of(&self, host: &HostPlan, ample: Ample) -> Option<u64> {
        let block = u64::from(host.config.pool.block_size).max(1);
        match (self.knob, &self.values) {
            ("pool.blocks", _) => ample.memory.map(|bytes| bytes / block),
            (_, Bytes | Tuned) => ample.memory,
            _ => None,
        }
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
        _ => host.get(knob),
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
