//! Random properties of the path.

use fullpipe_pool::Rng;

use super::{
    dimension::{Dimension, dimension},
    plan::{Part, Plan, micros, one, spread},
};

pub const DIMENSIONS: &[Dimension] = &[
    dimension("asymmetry", 0.3, asymmetry),
    dimension("queue", 0.7, queue),
    dimension("back_queue", 0.15, back_queue),
    dimension("codel", 0.12, codel),
    dimension("ecn_threshold", 0.12, ecn_threshold),
    dimension("shaper", 0.06, shaper),
    dimension("policer", 0.07, policer),
    dimension("loss", 0.15, |plan, rng| {
        chance(plan, rng, "forward.loss", 0.05)
    }),
    dimension("back_loss", 0.05, |plan, rng| {
        chance(plan, rng, "back.loss", 0.05)
    }),
    dimension("back_late", 0.05, back_late),
    dimension("burst_loss", 0.08, burst_loss),
    dimension("corruption", 0.06, |plan, rng| {
        chance(plan, rng, "forward.corruption", 0.03)
    }),
    dimension("duplication", 0.06, |plan, rng| {
        chance(plan, rng, "forward.duplication", 0.1)
    }),
    dimension("reordering", 0.09, reordering),
    dimension("jitter", 0.09, jitter),
    dimension("hop", 0.06, hop),
    dimension("radio", 0.07, radio),
    dimension("ack_thinning", 0.05, ack_thinning),
];

/// Makes one direction slower, by up to a factor of 1000.
fn asymmetry(plan: &mut Plan, mut rng: Rng) {
    let times = spread(&mut rng, 2.0, 1_000.0);
    let slower = ((plan.rate_bps as f64 / times) as u64).max(2_000);
    if rng.chance(0.75) {
        if plan.offer(Part::Path, &[("back.rate", format!("{slower}bit"))]) {
            plan.back_bps = slower;
        }
    } else if plan.offer(Part::Path, &[("forward.rate", format!("{slower}bit"))]) {
        plan.rate_bps = slower;
    }
}

/// Adds a modem that drops some of the ACKs.
fn ack_thinning(plan: &mut Plan, mut rng: Rng) {
    let every = rng.between(2, 64);
    let wait = micros((spread(&mut rng, 0.1, 50.0) * 1e3) as u64);
    let settings = [
        ("back.ack_thinning.every", every.to_string()),
        ("back.ack_thinning.wait", wait),
    ];
    plan.offer(Part::Path, &settings);
}

/// Draws a length from 0.1 to 10 bandwidth-delay products, in bytes.
fn queue_bytes(plan: &Plan, rng: &mut Rng) -> u64 {
    let products = spread(rng, 0.1, 10.0);
    ((plan.bdp() as f64 * products) as u64).clamp(plan.frame(), 1 << 28)
}

fn queue(plan: &mut Plan, mut rng: Rng) {
    let bytes = queue_bytes(plan, &mut rng);
    let packets = (bytes / plan.frame()).max(1);
    let queue = match rng.below(7) {
        0 => "device".into(),
        1..=3 => format!("{packets} packets"),
        _ => format!("{bytes} bytes"),
    };
    plan.offer(Part::Path, &[("forward.queue", queue)]);
}

fn back_queue(plan: &mut Plan, mut rng: Rng) {
    let packets = spread(&mut rng, 1.0, 200.0) as u64;
    plan.offer(Part::Path, &[("back.queue", format!("{packets} packets"))]);
}

fn codel(plan: &mut Plan, mut rng: Rng) {
    let target = spread(&mut rng, 500.0, 20_000.0) as u64;
    let interval = spread(&mut rng, 10_000.0, 400_000.0) as u64;
    let ecn = rng.chance(0.5);
    let codel = [
        ("forward.codel.target", micros(target)),
        ("forward.codel.interval", micros(interval.max(target))),
        ("forward.codel.ecn", ecn.to_string()),
    ];
    plan.offer(Part::Path, &codel);
}

fn ecn_threshold(plan: &mut Plan, mut rng: Rng) {
    let bytes = queue_bytes(plan, &mut rng);
    let threshold = match rng.chance(0.5) {
        true => format!("{} packets", (bytes / plan.frame()).max(1)),
        false => format!("{bytes} bytes"),
    };
    plan.offer(Part::Path, &[("forward.ecn_threshold", threshold)]);
}

/// Adds a token bucket; frames wait for tokens for up to `latency_us`.
fn token_bucket(plan: &mut Plan, rng: &mut Rng, latency_us: u64) {
    let rate = (plan.rate_bps as f64 * spread(rng, 0.1, 1.2)) as u64;
    let frames = spread(rng, 2.0, 60.0);
    let burst = (plan.frame() as f64 * frames) as u64;
    let bucket = [
        (
            "forward.token_bucket.rate",
            format!("{}bit", rate.max(10_000)),
        ),
        ("forward.token_bucket.burst", burst.to_string()),
        ("forward.token_bucket.latency", micros(latency_us)),
    ];
    if plan.offer(Part::Path, &bucket) {
        plan.rate_bps = plan.rate_bps.min(rate.max(10_000));
    }
}

fn shaper(plan: &mut Plan, mut rng: Rng) {
    let latency = spread(&mut rng, 5_000.0, 500_000.0) as u64;
    token_bucket(plan, &mut rng, latency);
}

/// Adds a token bucket that drops frames instead of delaying them.
fn policer(plan: &mut Plan, mut rng: Rng) {
    token_bucket(plan, &mut rng, 1);
}

fn chance(plan: &mut Plan, mut rng: Rng, field: &str, most: f64) {
    let share = spread(&mut rng, 1e-4, most);
    plan.offer(Part::Path, &[(field, format!("{share:.6}"))]);
}

fn burst_loss(plan: &mut Plan, mut rng: Rng) {
    let burst = [
        ("forward.burst_loss.enter", spread(&mut rng, 2e-4, 0.02)),
        ("forward.burst_loss.leave", 0.1 + 0.8 * rng.unit()),
        ("forward.burst_loss.loss_good", 0.0),
        ("forward.burst_loss.loss_bad", 0.3 + 0.7 * rng.unit()),
    ];
    let burst = burst.map(|(field, share)| (field, format!("{share:.6}")));
    plan.offer(Part::Path, &burst);
}

fn reordering(plan: &mut Plan, mut rng: Rng) {
    let share = spread(&mut rng, 1e-3, 0.2);
    let late = spread(&mut rng, 0.02, 1.5) * plan.rtt_us as f64;
    let reordering = [
        ("forward.reordering.chance", format!("{share:.6}")),
        ("forward.reordering.late", micros(late.max(1.0) as u64)),
    ];
    plan.offer(Part::Path, &reordering);
}

fn jitter(plan: &mut Plan, mut rng: Rng) {
    let jitter = spread(&mut rng, 0.01, 1.0) * plan.rtt_us as f64;
    plan.offer(
        Part::Path,
        &[("forward.jitter", micros(jitter.max(1.0) as u64))],
    );
}

/// Delays ACKs by random times, with or without changing their order.
fn back_late(plan: &mut Plan, mut rng: Rng) {
    let late = spread(&mut rng, 0.02, 1.0) * plan.rtt_us as f64;
    let late = micros(late.max(1.0) as u64);
    let late = match rng.chance(0.5) {
        true => vec![("back.jitter", late)],
        false => vec![
            ("back.reordering.chance", "0.05".into()),
            ("back.reordering.late", late),
        ],
    };
    plan.offer(Part::Path, &late);
}

/// Adds a hop with a smaller MTU, which may or may not send ICMP messages.
fn hop(plan: &mut Plan, mut rng: Rng) {
    let mtu = rng.between(68, plan.mtu);
    let silent = one(&mut rng, &[true, false]);
    let hop = [
        ("forward.hop.mtu", mtu.to_string()),
        ("forward.hop.silent", silent.to_string()),
    ];
    plan.offer(Part::Path, &hop);
}

fn radio(plan: &mut Plan, mut rng: Rng) {
    let frame_us = plan.frame() as f64 * 8e6 / plan.rate_bps as f64;
    let radio = [
        (
            "radio.access",
            micros((frame_us * spread(&mut rng, 0.05, 2.0)) as u64),
        ),
        (
            "radio.backoff",
            micros((frame_us * spread(&mut rng, 0.05, 2.0)) as u64),
        ),
    ];
    plan.offer(Part::Path, &radio);
}
