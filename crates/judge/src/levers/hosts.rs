//! The judge's levers (things to change) of the hosts: buffers, windows, caps, shares, memory,
//! rings, congestion control, ACKs, options, timers and offloads.
//!
//! Rule: a resource is one lever with several amounts, the ample amount last. Each value of a rule
//! is a lever.

use fullpipe::config::Config;
use fullpipe_explain::LeverKind;
use fullpipe_pool::{Duration, knobs::parse_count};
use fullpipe_scenario::{HostPlan, Setup};
use fullpipe_tcp::CongestionAlgorithm;

use super::{
    lever::{Lever, change},
    sizes::Sizes,
};

/// The hosts whose setting a row changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
    /// Each host, as a lever of its own.
    Each,
    /// Both hosts together.
    Both,
}

/// A value to try.
#[derive(Clone, Copy)]
enum Value {
    /// Twice the present number or time.
    Twice,
    /// Half of the present number or time.
    Half,
    /// The ample number of bytes.
    Ample,
    /// An ample number of entries.
    Entries,
    /// The blocks that hold ample buffers.
    Blocks,
    /// A quarter of the host's blocks.
    QuarterOfBlocks,
    /// The bandwidth-delay product.
    Product,
    /// 95 % of the path's rate, in bytes per second.
    PathRate,
    /// The payload of the largest packet that every hop of the path carries.
    HopSegment,
    /// This value.
    Is(&'static str),
}

struct Row {
    knob: &'static str,
    end: End,
    kind: LeverKind,
    values: &'static [Value],
    /// Settings that must change with the knob.
    with: &'static [(&'static str, &'static str)],
}

const fn resource(knob: &'static str, end: End, values: &'static [Value]) -> Row {
    Row {
        knob,
        end,
        kind: LeverKind::Resource,
        values,
        with: &[],
    }
}

const fn rule(knob: &'static str, end: End, values: &'static [Value]) -> Row {
    Row {
        kind: LeverKind::Rule,
        ..resource(knob, end, values)
    }
}

const fn offload(field: &'static str, end: End, values: &'static [Value]) -> Row {
    Row {
        kind: LeverKind::Processor,
        ..resource(field, end, values)
    }
}

const fn with(row: Row, with: &'static [(&'static str, &'static str)]) -> Row {
    Row { with, ..row }
}

use End::{Both, Each, Receiver, Sender};
use Value::{
    Ample, Blocks, Entries, Half, HopSegment, Is, PathRate, Product, QuarterOfBlocks, Twice,
};

const BYTES: &[Value] = &[Twice, Ample];
const COUNT: &[Value] = &[Twice, Entries];
const SHARE: &[Value] = &[Twice, Is("100")];
const SWITCH: &[Value] = &[Is("true"), Is("false")];

/// Settings for which 0 means that there is no limit.
const UNLIMITED_AT_ZERO: &[&str] = &["device.rx_descriptors", "tcp.small_queue"];
/// Entries of an ample table.
const ENTRIES: u64 = 32_768;

const ROWS: &[Row] = &[
    // Buffers, windows, caps and shares. A fixed size turns autotuning off.
    with(
        resource("tcp.send_buffer", Sender, BYTES),
        &[("tcp.send_buffer_max", "0")],
    ),
    resource("tcp.send_buffer_max", Sender, BYTES),
    resource("tcp.send_buffer_limit", Sender, BYTES),
    resource("tcp.send_payload_share", Sender, SHARE),
    resource("tcp.unacknowledged", Sender, BYTES),
    with(
        resource("tcp.receive_buffer", Receiver, BYTES),
        &[("tcp.receive_buffer_max", "0")],
    ),
    with(
        resource("tcp.receive_buffer_max", Receiver, BYTES),
        &[("tcp.receive_tuning", "true")],
    ),
    resource("tcp.receive_buffer_limit", Receiver, BYTES),
    resource("tcp.receive_payload_share", Receiver, SHARE),
    resource("tcp.window_share", Receiver, SHARE),
    resource("tcp.idle_window_share", Receiver, SHARE),
    resource("tcp.initial_receive_window", Receiver, &[Twice, Is("1000")]),
    resource("tcp.out_of_order", Receiver, BYTES),
    resource("tcp.holes", Receiver, COUNT),
    resource("tcp.small_queue", Sender, BYTES),
    resource("udp.send_queue", Sender, COUNT),
    resource("udp.send_buffer", Sender, BYTES),
    resource("udp.receive_queue", Receiver, COUNT),
    resource("udp.receive_buffer", Receiver, BYTES),
    // Packet memory, tables, queues and rings.
    resource("pool.blocks", Each, &[Twice, Blocks]),
    resource("pool.send_floor", Each, &[Twice, QuarterOfBlocks]),
    resource("pool.receive_floor", Each, &[Twice, QuarterOfBlocks]),
    resource("pool.ranges", Receiver, COUNT),
    resource("pool.overcommit_percent", Each, &[Twice, Is("400")]),
    with(
        resource("pool.pressure", Each, &[Is("100")]),
        &[("pool.pressure_high", "100")],
    ),
    resource("stack.sent_ranges", Sender, COUNT),
    resource("stack.sent_ranges_each", Sender, COUNT),
    resource("stack.turn_budget", Each, &[Twice, Is("1024")]),
    resource("stack.half_open", Each, &[Twice, Is("1024")]),
    resource("stack.half_open_share", Each, SHARE),
    resource("stack.backlog", Each, &[Twice, Is("1024")]),
    resource("arp.queue_packets", Each, &[Twice, Is("1024")]),
    resource("ip.reassembly_datagrams", Receiver, &[Twice, Is("1024")]),
    resource("ip.reassembly_per_source", Receiver, &[Twice, Is("1024")]),
    resource("ip.reassembly_pieces", Receiver, &[Twice, Is("8192")]),
    resource("ip.reassembly_bytes", Receiver, BYTES),
    resource("ip.reassembly_largest", Receiver, &[Twice, Is("65515")]),
    resource("device_queue", Each, COUNT),
    resource("device.rx_descriptors", Each, COUNT),
    // Less of a resource can help where too much of it fills a queue.
    with(
        rule("tcp.send_buffer", Sender, &[Half, Product]),
        &[("tcp.send_buffer_max", "0")],
    ),
    with(
        rule("tcp.receive_buffer", Receiver, &[Half, Product]),
        &[("tcp.receive_buffer_max", "0")],
    ),
    rule("tcp.unacknowledged", Sender, &[Half, Product]),
    rule("pool.send_floor", Each, &[Is("1")]),
    rule("pool.receive_floor", Each, &[Is("1")]),
    rule("pool.cells", Receiver, &[Is("1"), Is("4")]),
    rule("device_queue", Sender, &[Half]),
    // Congestion control, pacing and ECN. A larger initial window than 32 segments would harm
    // other flows.
    rule("tcp.initial_window", Sender, &[Half, Twice, Is("32")]),
    rule("tcp.hystart", Sender, SWITCH),
    rule(
        "tcp.bbr_loss_threshold",
        Sender,
        &[Twice, Is("20"), Is("100")],
    ),
    rule("tcp.pacing", Sender, SWITCH),
    rule("tcp.pacing_rate_max", Sender, &[Twice, PathRate, Is("0")]),
    rule("tcp.ecn", Both, &[Is("on"), Is("off")]),
    // Segments: Nagle, cork, MSS, MTU probing.
    rule("tcp.nagle", Sender, SWITCH),
    rule("tcp.cork_timeout", Sender, &[Half, Is("1ms")]),
    rule(
        "tcp.push",
        Sender,
        &[Is("write"), Is("drained"), Is("every")],
    ),
    rule("tcp.use_up_window", Sender, &[Is("true")]),
    rule("tcp.write_atomic", Sender, &[Is("false")]),
    rule("tcp.segment_sizing", Sender, &[Is("transmit")]),
    rule("tcp.fit_segments", Sender, &[Is("0"), Is("2"), Is("8")]),
    rule("tcp.sws_override", Sender, &[Is("100ms")]),
    rule("tcp.mss_max", Both, &[Half, HopSegment, Is("65495")]),
    rule("tcp.base_mss", Sender, &[Half, HopSegment, Is("1460")]),
    rule(
        "tcp.mtu_probing",
        Sender,
        &[Is("off"), Is("black_hole"), Is("always")],
    ),
    rule("ip.path_mtu_min", Sender, &[Is("68")]),
    // ACKs.
    rule("tcp.delayed_ack", Receiver, &[Half, Is("200ms"), Is("0s")]),
    rule(
        "tcp.ack_every",
        Receiver,
        &[Is("1"), Twice, Is("8"), Is("64")],
    ),
    rule("tcp.quick_acks", Receiver, &[Is("0"), Is("1000")]),
    // Options.
    rule("tcp.sack", Both, SWITCH),
    rule("tcp.timestamps", Both, SWITCH),
    rule("tcp.window_scaling", Both, SWITCH),
    // Retransmission, retries and user timeouts.
    rule("tcp.rto_min", Sender, &[Twice, Half, Is("10ms")]),
    rule("tcp.rto_initial", Each, &[Is("3s"), Is("200ms")]),
    rule("tcp.rto_max", Each, &[Is("4s")]),
    rule("tcp.retries1", Each, &[Is("255")]),
    rule("tcp.retries2", Sender, &[Is("255")]),
    rule("tcp.syn_retries", Each, &[Is("255")]),
    rule("tcp.synack_retries", Each, &[Is("255")]),
    rule("tcp.user_timeout", Each, &[Is("0s")]),
    rule("tcp.tail_loss_probe", Sender, SWITCH),
    rule("arp.request_interval", Each, &[Is("50ms")]),
    // Offloads of the device.
    offload("device.super_segment", Sender, &[Is("0"), Is("64K")]),
    offload("device.reports_sent", Sender, SWITCH),
    offload("device.merge_quiet", Receiver, &[Half, Is("0s")]),
    offload("device.merge_longest", Receiver, &[Half]),
];

/// The knobs and fields that have a lever.
#[cfg(test)]
pub fn knobs() -> impl Iterator<Item = &'static str> {
    ROWS.iter()
        .map(|row| row.knob)
        .chain(["tcp.congestion", "tcp.receive_tuning"])
}

/// Returns the levers of both hosts.
pub fn levers(setup: &Setup, sizes: Sizes) -> Vec<Lever> {
    let flow = setup.flow();
    let other = if flow.is_udp() { "tcp." } else { "udp." };
    let mut levers = Vec::new();
    for row in ROWS.iter().filter(|row| !row.knob.starts_with(other)) {
        let groups: &[&[usize]] = match row.end {
            Sender => &[&[flow.from]],
            Receiver => &[&[flow.to]],
            Each => &[&[flow.from], &[flow.to]],
            Both => &[&[flow.from, flow.to]],
        };
        for places in groups {
            let hosts = places.iter().map(|place| &setup.hosts[*place]).collect();
            let at = AtHosts {
                row,
                hosts,
                setup,
                sizes,
            };
            levers.extend(at.levers());
        }
    }
    if !flow.is_udp() {
        levers.extend(congestion(&setup.hosts[flow.from]));
    }
    levers
}

fn congestion(host: &HostPlan) -> impl Iterator<Item = Lever> {
    let set = format!("{}.tcp.congestion", host.name);
    CongestionAlgorithm::ALL.iter().map(move |algorithm| Lever {
        name: format!("{set}={algorithm}"),
        kind: LeverKind::Rule,
        values: vec![vec![change(set.clone(), algorithm)]],
    })
}

/// A row applied to hosts that are changed together.
struct AtHosts<'a> {
    row: &'a Row,
    hosts: Vec<&'a HostPlan>,
    setup: &'a Setup,
    sizes: Sizes,
}

impl AtHosts<'_> {
    fn levers(&self) -> Vec<Lever> {
        let row = self.row;
        let names: Vec<_> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        let name = format!("{}.{}", names.join("+"), row.knob);
        let values = row.values.iter().filter_map(|value| self.text(*value));
        if row.kind == LeverKind::Resource {
            let more = values.filter(|value| self.is_more(value));
            let values = more.map(|value| self.changes(&value)).collect();
            let kind = row.kind;
            return vec![Lever { name, kind, values }];
        }
        values
            .map(|value| Lever {
                name: format!("{name}={value}"),
                kind: row.kind,
                values: vec![self.changes(&value)],
            })
            .collect()
    }

    fn changes(&self, value: &str) -> Vec<fullpipe_explain::Change> {
        let settings = [(self.row.knob, value)]
            .into_iter()
            .chain(self.row.with.iter().copied());
        let settings: Vec<_> = settings.collect();
        let of_host = |host: &&HostPlan| {
            let name = host.name.clone();
            let each = settings.iter();
            each.map(move |(knob, to)| change(format!("{name}.{knob}"), to))
                .collect::<Vec<_>>()
        };
        self.hosts.iter().flat_map(of_host).collect()
    }

    /// The present value at the first host.
    fn present(&self) -> Option<String> {
        present(self.hosts[0], self.row.knob)
    }

    /// Returns true if `value` is a larger amount than the present one.
    fn is_more(&self, value: &str) -> bool {
        let present = self.present().and_then(|text| parse_count(&text));
        let is_unlimited = present == Some(0) && UNLIMITED_AT_ZERO.contains(&self.row.knob);
        !is_unlimited && parse_count(value) > present
    }

    /// The text of a value; `None` if it cannot be formed.
    fn text(&self, value: Value) -> Option<String> {
        let blocks = || u64::from(self.hosts[0].config.pool.blocks);
        let number = match value {
            Is(text) => return Some(text.to_string()),
            Twice => return times(&self.present()?, 2, 1).map(|text| self.legal(text)),
            Half => return times(&self.present()?, 1, 2),
            Ample => self.sizes.ample,
            Entries => ENTRIES,
            // Two buffers, and as many bytes of overhead.
            Blocks => self.sizes.ample * 4 / u64::from(self.hosts[0].config.pool.block_size).max(1),
            QuarterOfBlocks => blocks() / 4,
            Product => {
                let present = self.present().and_then(|text| parse_count(&text))?;
                let product = self.sizes.product;
                return (product < present).then(|| product.to_string());
            }
            PathRate => (self.sizes.rate_bps / 8.0 * 0.95) as u64,
            HopSegment => return self.hop_segment().map(|bytes| bytes.to_string()),
        };
        Some(self.legal(number.to_string()))
    }

    /// Returns `text`, reduced to the largest legal value if it is a number.
    fn legal(&self, text: String) -> String {
        let rows = Config::rows();
        let info = rows.iter().find(|info| info.name == self.row.knob);
        let most = info.and_then(|info| parse_count(&info.legal.1));
        match parse_count(&text).zip(most) {
            Some((number, most)) if number > most => most.to_string(),
            _ => text,
        }
    }

    /// Payload of the largest packet that every hop between the two hosts carries; `None` without a
    /// hop whose MTU is smaller than that of its link.
    fn hop_segment(&self) -> Option<usize> {
        const HEADERS: usize = 40;
        let flow = self.setup.flow();
        let route = self.setup.route(flow.from, flow.to).into_iter();
        let hops = route.filter_map(|(number, way)| self.setup.links[number].link(way).hop);
        let least = hops.map(|hop| usize::from(hop.mtu)).min()?;
        Some(least.saturating_sub(HEADERS).max(1))
    }
}

/// The present value of a knob or of a field of the device, as text.
pub fn present(host: &HostPlan, knob: &str) -> Option<String> {
    let device = &host.device;
    match knob {
        "device_queue" => Some(host.device_queue.to_string()),
        "device.rx_descriptors" => Some(device.rx_descriptors.to_string()),
        "device.merge_quiet" => Some(device.merge_quiet.to_string()),
        "device.merge_longest" => Some(device.merge_longest.to_string()),
        _ => host.get(knob),
    }
}

/// `text`, a number or a time, multiplied by `by` and divided by `parts`.
fn times(text: &str, by: u32, parts: u32) -> Option<String> {
    if let Some(number) = parse_count(text) {
        return Some((number.saturating_mul(by.into()) / u64::from(parts)).to_string());
    }
    let time: Duration = text.parse().ok()?;
    Some((time * by / parts).to_string())
}
