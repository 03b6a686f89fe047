//! Random worlds of known causes.
//!
//! Rule: first a path is drawn and a world with ample resources on it. Then one function
//! for each cause makes one resource scarce; a buffer, for example, has between a tenth
//! and seven tenths of the size that it needs. Those for datagrams are in `datagrams`.

mod datagrams;

use std::fmt::Write;

use fullpipe_lab::Cause;
use fullpipe_pool::Rng;

use super::KnownWorld;

/// Approximate payload of a full segment, in bytes.
const SEGMENT: u64 = 1_448;

/// A cause, and the function that makes a world with it.
type Recipe = (Cause, fn(&mut Plan));

/// Every cause for which worlds are made, in turn.
const RECIPES: &[Recipe] = &[
    (Cause::SendBuffer, send_buffer),
    (Cause::ReceiveWindow, receive_window),
    (Cause::SlowReader, slow_reader),
    (Cause::Loss, loss),
    (Cause::Path, path),
    (Cause::Application, application),
    (Cause::Nagle, nagle),
    (Cause::DelayedAck, delayed_ack),
    (Cause::Memory, memory),
    (Cause::PeerMemory, peer_memory),
    (Cause::Unacknowledged, unacknowledged),
    (Cause::SlowStart, slow_start),
    (Cause::Pacing, pacing),
    (Cause::Descriptors, descriptors),
    (Cause::Cpu, processor),
    (Cause::PeerGone, peer_gone),
    (Cause::ReceiveQueue, datagrams::receive_queue),
    (Cause::Descriptors, datagrams::ring),
    (Cause::Path, datagrams::path),
    (Cause::Application, datagrams::rate),
    (Cause::Cpu, datagrams::processor),
    (Cause::RangeTable, range_table),
    (Cause::InitialReceiveWindow, initial_receive_window),
    (Cause::Cork, cork),
];

/// A world that is being built. Sizes in bytes, times in microseconds.
struct Plan {
    rng: Rng,
    rate_mbit: u64,
    rtt_us: u64,
    /// Bandwidth-delay product.
    bdp: u64,
    /// The sender's knobs.
    sender: Vec<(&'static str, String)>,
    receiver: Vec<(&'static str, String)>,
    link: Vec<(&'static str, String)>,
    workload: Vec<(&'static str, String)>,
    /// Flows beside the plain one, with their settings.
    flows: Vec<(&'static str, Vec<(&'static str, String)>)>,
}

pub fn world(number: u64) -> KnownWorld {
    let (cause, make) = RECIPES[(number % RECIPES.len() as u64) as usize];
    let mut plan = Plan::ample(Rng::seeded(number ^ 0x0c0f_fee0));
    make(&mut plan);
    KnownWorld {
        number,
        cause,
        file: plan.file(number, cause),
    }
}

impl Plan {
    /// Creates a path, and two hosts whose resources are four bandwidth-delay products
    /// each.
    fn ample(mut rng: Rng) -> Self {
        let rates = [5, 10, 20, 25, 50, 100];
        let rate_mbit = rates[rng.below(rates.len() as u64) as usize];
        // At least forty segments in flight, so that a tenth of them is still several.
        let rtt_us = rng.between(4_000, 80_000).max(40 * SEGMENT * 8 / rate_mbit);
        let mut plan = Self {
            bdp: rate_mbit * rtt_us / 8,
            rng,
            rate_mbit,
            rtt_us,
            sender: Vec::new(),
            receiver: Vec::new(),
            link: Vec::new(),
            workload: Vec::new(),
            flows: Vec::new(),
        };
        let (ample, blocks) = (plan.bdp * 4, plan.bdp * 16 / 2_048 + 64);
        let congestion = ["cubic", "newreno"][plan.rng.below(2) as usize];
        plan.sender("tcp.send_buffer", ample);
        plan.sender("pool.blocks", blocks);
        plan.sender("tcp.congestion", format!("\"{congestion}\""));
        plan.receiver("tcp.receive_buffer", ample);
        plan.receiver("pool.blocks", blocks);
        let write = 1 << plan.rng.between(12, 16);
        plan.workload("write", write);
        let trips = plan.rng.between(150, 250);
        plan.amount(plan.bdp * trips / 2);
        plan
    }

    fn sender(&mut self, knob: &'static str, value: impl ToString) {
        put(&mut self.sender, knob, value);
    }

    fn receiver(&mut self, knob: &'static str, value: impl ToString) {
        put(&mut self.receiver, knob, value);
    }

    fn workload(&mut self, field: &'static str, value: impl ToString) {
        put(&mut self.workload, field, value);
    }

    /// Sets the bytes to send, but not more than a simulation can afford.
    fn amount(&mut self, bytes: u64) {
        self.workload("bytes", bytes.clamp(SEGMENT, 24_000_000));
    }

    /// Draws between a tenth and seven tenths of `whole`.
    fn too_little(&mut self, whole: u64) -> u64 {
        whole * self.rng.between(100, 700) / 1_000
    }

    fn file(&self, number: u64, cause: Cause) -> String {
        let mut file = format!("title = \"World {number}: {}\"\n", cause.words());
        let mut table = |name: &str, rows: &[(&str, String)], prefix: &str| {
            let _ = writeln!(file, "[{name}]");
            for (key, value) in rows {
                let of_host = key.starts_with("cpu.") || key.starts_with("device.");
                let prefix = if of_host { "" } else { prefix };
                let _ = writeln!(file, "{prefix}{key} = {value}");
            }
        };
        table("hosts.sender", &self.sender, "set.");
        table("hosts.receiver", &self.receiver, "set.");
        let mut link = vec![
            ("between", "[\"sender\", \"receiver\"]".to_string()),
            ("rate", format!("\"{}mbit\"", self.rate_mbit)),
            ("delay", format!("\"{}us\"", self.rtt_us / 2)),
        ];
        link.extend(self.link.iter().cloned());
        table("links.path", &link, "");
        let mut workload = vec![
            ("from", "\"sender\"".to_string()),
            ("to", "\"receiver\"".to_string()),
        ];
        workload.extend(self.workload.iter().cloned());
        table("workload", &workload, "");
        for (name, fields) in &self.flows {
            table(&format!("flows.{name}"), fields, "");
        }
        file.push_str("[[rows]]\nlabel = \"world\"\n");
        file
    }
}

/// Sets `key`, which may already be set.
fn put(rows: &mut Vec<(&'static str, String)>, key: &'static str, value: impl ToString) {
    rows.retain(|(known, _)| *known != key);
    rows.push((key, value.to_string()));
}

fn microseconds(us: u64) -> String {
    format!("\"{us}us\"")
}

fn send_buffer(plan: &mut Plan) {
    let size = plan.too_little(plan.bdp).max(3 * SEGMENT);
    plan.sender("tcp.send_buffer", size);
    plan.amount(size * 200);
}

fn unacknowledged(plan: &mut Plan) {
    let size = plan.too_little(plan.bdp).max(3 * SEGMENT);
    plan.sender("tcp.unacknowledged", size);
    plan.amount(size * 200);
}

fn receive_window(plan: &mut Plan) {
    let size = plan.too_little(plan.bdp).max(3 * SEGMENT);
    plan.receiver("tcp.receive_buffer", size);
    plan.amount(size * 200);
}

/// The reader reads at most a quarter of the buffer at a time, and so rarely that the
/// path would carry at least a third more.
fn slow_reader(plan: &mut Plan) {
    let buffer = plan.bdp.max(16_384);
    let bytes = plan.rng.between(buffer / 16, buffer / 4);
    let kbit = plan.too_little(plan.rate_mbit * 1_000);
    plan.receiver("tcp.receive_buffer", buffer);
    plan.sender("tcp.send_buffer", plan.bdp * 2);
    plan.workload("read.bytes", bytes);
    plan.workload("read.every", microseconds(bytes * 8_000 / kbit));
    plan.amount(buffer * 60);
}

/// Loss at a rate at which the response function allows less than half of the path.
fn loss(plan: &mut Plan) {
    plan.rate_mbit = 100;
    plan.rtt_us = plan.rng.between(20_000, 60_000);
    plan.bdp = plan.rate_mbit * plan.rtt_us / 8;
    let (ample, blocks) = (plan.bdp * 4, plan.bdp * 16 / 2_048 + 64);
    plan.sender("tcp.send_buffer", ample);
    plan.sender("pool.blocks", blocks);
    plan.receiver("tcp.receive_buffer", ample);
    plan.receiver("pool.blocks", blocks);
    let per_mille = plan.rng.between(3, 15);
    plan.link
        .push(("forward.loss", format!("{}", per_mille as f64 / 1_000.0)));
    // Enough bytes for at least eighty losses.
    plan.amount(SEGMENT * 80_000 / per_mille);
}

fn path(plan: &mut Plan) {
    plan.amount(plan.bdp * 100);
}

/// A few full segments at intervals, never more than an initial window.
fn application(plan: &mut Plan) {
    let write = plan.rng.between(4, 9) * SEGMENT;
    let trips = plan.rng.between(3, 8);
    plan.workload("write", write);
    plan.workload("pause", microseconds(plan.rtt_us * trips));
    plan.amount(write * 60);
}

/// Small writes, several in a round trip, together less than a segment.
fn nagle(plan: &mut Plan) {
    let in_a_trip = plan.rng.between(4, 10);
    let write = plan.rng.between(40, SEGMENT / in_a_trip / 2);
    plan.workload("write", write);
    plan.workload("pause", microseconds(plan.rtt_us / in_a_trip));
    plan.amount(write * 1_000);
}

/// Small writes, as for Nagle, of an application that wants full segments.
fn cork(plan: &mut Plan) {
    nagle(plan);
    plan.workload("no_push", "true");
}

/// The sender may send the whole transfer at once, and the receiver has room for it, but
/// advertises a few segments until it has received something.
fn initial_receive_window(plan: &mut Plan) {
    let segments = plan.rng.between(16, 40);
    let advertised = plan.rng.between(2, segments / 3);
    plan.rate_mbit = 100;
    plan.rtt_us = plan.rng.between(40_000, 100_000);
    plan.sender("tcp.initial_window", 2 * segments);
    plan.sender("tcp.send_buffer", 256 << 10);
    plan.receiver("tcp.receive_buffer", 256 << 10);
    plan.receiver("tcp.initial_receive_window", advertised);
    plan.receiver("pool.blocks", 4_096);
    plan.amount(segments * SEGMENT);
}

/// The queue overflows at the end of slow start, so that every second segment of a flight is
/// lost, and one table of ranges has room for a few of the holes.
fn range_table(plan: &mut Plan) {
    plan.rate_mbit = 100;
    plan.rtt_us = plan.rng.between(80_000, 120_000);
    plan.bdp = plan.rate_mbit * plan.rtt_us / 8;
    let (ample, blocks) = (plan.bdp * 8, plan.bdp * 16 / 2_048);
    plan.sender("tcp.congestion", "\"cubic\"");
    plan.sender("tcp.send_buffer", ample);
    plan.sender("pool.blocks", blocks);
    plan.receiver("tcp.receive_buffer", ample);
    plan.receiver("pool.blocks", blocks);
    let queue = plan.bdp / 1_514 * plan.rng.between(100, 130) / 100;
    plan.link.push(("queue", format!("\"{queue} packets\"")));
    let size = plan.rng.between(16, 48);
    match plan.rng.below(4) {
        0 => plan.sender("stack.sent_ranges", size),
        1 => plan.sender("stack.sent_ranges_each", size),
        2 => plan.receiver("tcp.holes", size),
        _ => plan.receiver("pool.ranges", size),
    }
    plan.amount(plan.bdp * 30);
}

fn delayed_ack(plan: &mut Plan) {
    plan.rtt_us = plan.rng.between(100, 2_000);
    plan.sender(
        "tcp.send_buffer",
        plan.rng.clone().between(400, 2 * SEGMENT - 200),
    );
    plan.sender("tcp.fit_segments", 0);
    let timer = plan.rng.between(40, 200);
    plan.receiver("tcp.delayed_ack", format!("\"{timer}ms\""));
    plan.receiver("tcp.quick_acks", 0);
    plan.amount(200_000);
}

/// The send buffer is as large as the pool.
fn memory(plan: &mut Plan) {
    let size = 1 << plan.rng.between(7, 11);
    let bytes = plan.too_little(plan.bdp).max(8 * SEGMENT);
    plan.sender("pool.block_size", size);
    plan.sender("pool.blocks", bytes / size + 8);
    plan.sender("pool.ranges", 1_024);
    plan.amount(bytes * 200);
}

fn peer_memory(plan: &mut Plan) {
    let size = 1 << plan.rng.between(7, 11);
    // One window may use half of the pool (`tcp.window_share`).
    let bytes = plan.too_little(plan.bdp).max(8 * SEGMENT) * 2;
    plan.receiver("pool.block_size", size);
    plan.receiver("pool.blocks", bytes / size + 8);
    plan.amount(bytes * 100);
}

/// The transfer ends before the window has grown to the path.
fn slow_start(plan: &mut Plan) {
    plan.rate_mbit = 100;
    plan.rtt_us = plan.rng.between(40_000, 100_000);
    plan.bdp = plan.rate_mbit * plan.rtt_us / 8;
    let ample = plan.bdp * 4;
    plan.sender("tcp.send_buffer", ample);
    plan.sender("pool.blocks", ample * 4 / 2_048);
    plan.receiver("tcp.receive_buffer", ample);
    plan.receiver("pool.blocks", ample * 4 / 2_048);
    let initial = plan.rng.between(2, 10);
    plan.sender("tcp.initial_window", initial);
    let share = plan.rng.between(300, 900);
    plan.amount(plan.bdp * share / 1_000);
}

/// While the application runs, more frames arrive than the ring holds; between two of its
/// runs the processor has time for all of them.
fn descriptors(plan: &mut Plan) {
    let ring = plan.rng.between(4, 12);
    let frame_ns = 1_514 * 8_000 / plan.rate_mbit;
    let missed = plan.rng.between(20, 40);
    plan.receiver(
        "cpu.call",
        format!("\"{}us\"", ring * missed * frame_ns / 10_000),
    );
    plan.receiver("device.rx_descriptors", ring);
    plan.amount(plan.bdp * 60);
}

/// A frame costs a host more time than it takes on the wire.
fn processor(plan: &mut Plan) {
    let frame_ns = 1_514 * 8_000 / plan.rate_mbit;
    let cost_us = frame_ns * plan.rng.between(150, 800) / 100_000;
    if plan.rng.chance(0.5) {
        plan.sender("cpu.send_packet", microseconds(cost_us));
    } else {
        plan.receiver("cpu.receive_packet", microseconds(cost_us));
    }
    plan.amount(plan.bdp * 20);
}

/// A pacing rate below the path's rate.
fn pacing(plan: &mut Plan) {
    let bytes = plan.too_little(plan.rate_mbit * 1_000_000 / 8);
    plan.sender("tcp.pacing_rate_max", bytes);
    plan.amount(bytes * plan.rtt_us / 1_000_000 * 200);
}

/// Several connections whose peers vanish while they hold all of the pool, and one
/// connection that is opened later.
fn peer_gone(plan: &mut Plan) {
    let buffer = plan.bdp.clamp(16_384, 65_536);
    let count = plan.rng.between(2, 6);
    plan.sender("tcp.send_buffer", buffer);
    plan.sender("tcp.receive_buffer", 16_384);
    plan.sender("pool.block_size", 512);
    let share = plan.rng.between(500, 900);
    plan.sender("pool.blocks", buffer * count * share / 1_000 / 512);
    plan.amount(plan.bdp * 50);
    let read = plan.rng.between(30_000, 100_000).min(plan.bdp * 25);
    let gone = vec![
        ("count", count.to_string()),
        ("read.vanish_after", read.to_string()),
    ];
    let start = plan.rng.between(20, 60);
    let next = vec![("start", format!("\"{start}s\""))];
    plan.flows = vec![("gone", gone), ("next", next)];
}
