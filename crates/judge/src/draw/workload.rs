//! Random applications that use streams.

use fullpipe_pool::Rng;
use fullpipe_scenario::path;

use super::{
    dimension::{Dimension, dimension, tcp},
    plan::{Part, Plan, micros, one, spread},
};

pub const DIMENSIONS: &[Dimension] = &[
    dimension("long", 0.1, |plan, _| plan.lengthen()),
    tcp("write", 0.5, write),
    tcp("write_beside_segments", 0.12, write_beside_segments),
    tcp("pause", 0.1, pause),
    tcp("low_water", 0.06, low_water),
    tcp("no_push", 0.04, |plan, _| {
        set(plan, "no_push", "true".into())
    }),
    tcp("reader_pace", 0.09, reader_pace),
    tcp("request", 0.06, request),
    tcp("think", 0.07, think),
    dimension("connections", 0.13, connections),
    dimension("ipv6", 0.06, ipv6),
];

/// Dimensions (properties of a random transfer) whose times depend on the length of the transfer.
/// These dimensions are drawn last, because all other dimensions influence the length.
pub const IN_MID_TRANSFER: &[Dimension] = &[
    dimension("outage", 0.06, outage),
    tcp("reader_stall", 0.06, reader_stall),
    dimension("second_flow", 0.09, second_flow),
    dimension("duration", 0.08, duration),
];

fn set(plan: &mut Plan, field: &str, value: String) {
    plan.offer(Part::Flow, &[(field, value)]);
}

/// Bytes of a full segment.
fn segment(plan: &Plan) -> u64 {
    plan.setup()
        .map_or(512, |setup| path::full_segment(&setup))
        .max(1)
}

/// Sets the size of a write: a power of two, or any number of bytes.
fn write(plan: &mut Plan, mut rng: Rng) {
    let size = match rng.below(5) {
        0 => spread(&mut rng, 1.0, 600.0) as u64,
        1..=2 => spread(&mut rng, 600.0, 65_536.0) as u64,
        _ => 1 << rng.between(6, 16),
    };
    set(plan, "write", size.max(1).to_string());
}

/// Sets the size of a write to whole segments, or to a byte more or less.
fn write_beside_segments(plan: &mut Plan, mut rng: Rng) {
    let whole = segment(plan) * rng.between(1, 6);
    let size = one(&mut rng, &[whole, whole + 1, whole + 1, whole - 1]);
    set(plan, "write", size.max(1).to_string());
}

/// Bytes of one write.
fn write_size(plan: &Plan) -> u64 {
    plan.setup()
        .map_or(16_384, |setup| setup.flow().write.into())
}

/// Draws the time that an application takes to write or read `bytes` bytes. The application's rate
/// is a fifth to three times the path's rate.
fn pace_us(plan: &Plan, rng: &mut Rng, bytes: u64) -> u64 {
    let rate = plan.rate_bps as f64 * spread(rng, 0.2, 3.0);
    (bytes as f64 * 8e6 / rate).clamp(1.0, 1e6) as u64
}

fn pause(plan: &mut Plan, mut rng: Rng) {
    let pause = pace_us(plan, &mut rng, write_size(plan));
    set(plan, "pause", micros(pause));
}

fn low_water(plan: &mut Plan, mut rng: Rng) {
    let room = match rng.chance(0.6) {
        true => format!("{}%", rng.between(5, 95)),
        false => "1".into(),
    };
    set(plan, "low_water", room);
}

fn reader_pace(plan: &mut Plan, mut rng: Rng) {
    let bytes = segment(plan) * rng.between(1, 20);
    let every = pace_us(plan, &mut rng, bytes);
    let pace = [
        ("read.bytes", bytes.to_string()),
        ("read.every", micros(every)),
    ];
    plan.offer(Part::Flow, &pace);
}

/// The setting of a request that the receiver sends.
fn question(rng: &mut Rng) -> (&'static str, String) {
    ("ask", (spread(rng, 1.0, 3_000.0) as u64).to_string())
}

fn request(plan: &mut Plan, mut rng: Rng) {
    plan.offer(Part::Flow, &[question(&mut rng)]);
}

/// Adds a request, and a think time before its answer.
fn think(plan: &mut Plan, mut rng: Rng) {
    let question = question(&mut rng);
    let think = spread(&mut rng, 500.0, 500_000.0) as u64;
    plan.offer(Part::Flow, &[question, ("think", micros(think))]);
}

fn ipv6(plan: &mut Plan, _: Rng) {
    set(plan, "family", "6".into());
}

fn connections(plan: &mut Plan, mut rng: Rng) {
    let count = rng.between(2, 6);
    if plan.offer(Part::Flow, &[("count", count.to_string())]) {
        plan.connections = count;
    }
}

fn outage(plan: &mut Plan, mut rng: Rng) {
    let after = plan.in_mid_transfer(&mut rng);
    let length = spread(&mut rng, 20_000.0, 5_000_000.0) as u64;
    let field = one(&mut rng, &["", "", "forward.", "back."]);
    let [after_key, length_key] = ["after", "length"].map(|key| format!("{field}outage.{key}"));
    let outage = [
        (after_key.as_str(), micros(after)),
        (length_key.as_str(), micros(length)),
    ];
    plan.offer(Part::Path, &outage);
}

fn reader_stall(plan: &mut Plan, mut rng: Rng) {
    let after = plan.in_mid_transfer(&mut rng);
    let length = spread(&mut rng, 20_000.0, 5_000_000.0) as u64;
    let stall = [
        ("read.stall_after", micros(after)),
        ("read.stall_for", micros(length)),
    ];
    plan.offer(Part::Flow, &stall);
}

/// Adds a second flow that starts after the first flow, in the direction of the first flow or in
/// the opposite direction.
fn second_flow(plan: &mut Plan, mut rng: Rng) {
    let (from, to) = one(
        &mut rng,
        &[
            ("sender", "receiver"),
            ("sender", "receiver"),
            ("receiver", "sender"),
        ],
    );
    let share = spread(&mut rng, 0.2, 1.0);
    let bytes = (plan.amount() as f64 * plan.connections as f64 * share) as u64;
    let start = plan.in_mid_transfer(&mut rng);
    let flow = [
        ("from", from.to_string()),
        ("to", to.to_string()),
        ("start", micros(start)),
        ("bytes", bytes.max(1).to_string()),
        ("give_up", "1800s".into()),
    ];
    let mut flow = flow.to_vec();
    if plan.is_udp {
        let rate = (plan.rate_bps as f64 * share) as u64 + 1;
        flow.push(("protocol", "udp".into()));
        flow.push(("write", "512".into()));
        flow.push(("rate", format!("{rate}bit")));
    }
    plan.offer(Part::Other, &flow);
}

/// Makes the transfer end after a duration. Results may exclude the transfer's beginning.
fn duration(plan: &mut Plan, mut rng: Rng) {
    // Choose a duration in which the path carries few segments at its full rate, because a changed
    // setting may let a slow transfer reach the full rate.
    let each = segment(plan).min(write_size(plan)).min(1_448);
    let longest_us = (plan.most_timed() * each) as f64 * 8e6 / plan.rate_bps as f64;
    if longest_us < 3.0 * plan.rtt_us as f64 {
        return;
    }
    plan.lasts_us = plan.lasts_us.min(longest_us as u64);
    if !plan.end_by_time() {
        return;
    }
    if rng.chance(0.3) {
        let omit = plan.lasts_us as f64 * 0.6 * rng.unit();
        set(plan, "omit", micros(omit as u64 + 1));
    }
}
