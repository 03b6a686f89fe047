//! Random senders and receivers of datagrams.

use fullpipe_pool::Rng;

use super::{
    dimension::{Dimension, udp},
    plan::{Part, Plan, micros, spread},
};
use Part::{Flow, Receiver, Sender};

pub const DIMENSIONS: &[Dimension] = &[
    udp("datagram", 1.0, datagram),
    udp("offered_rate", 1.0, offered_rate),
    udp("acquainted", 0.7, acquainted),
    udp("tick", 0.3, tick),
    udp("unpaced", 0.12, unpaced),
    udp("receive_queue", 0.25, |plan, rng| {
        count(plan, rng, Receiver, "udp.receive_queue")
    }),
    udp("receive_queue_bytes", 0.15, |plan, rng| {
        bytes(plan, rng, Receiver, "udp.receive_buffer")
    }),
    udp("send_queue", 0.15, |plan, rng| {
        count(plan, rng, Sender, "udp.send_queue")
    }),
    udp("send_queue_bytes", 0.1, |plan, rng| {
        bytes(plan, rng, Sender, "udp.send_buffer")
    }),
    udp("reassembly", 0.15, |plan, rng| {
        count(plan, rng, Receiver, "ip.reassembly_datagrams")
    }),
];

/// Largest datagram in bytes; it is sent in fragments.
const LONGEST: u64 = 16_000;

/// Draws the size of a datagram: one packet in most worlds (random transfers), several fragments
/// in the others.
fn datagram(plan: &mut Plan, mut rng: Rng) {
    let whole = plan.mtu.saturating_sub(28).max(16);
    let size = match rng.below(6) {
        0 => rng.between(8, whole),
        1 => (whole + 1).min(LONGEST),
        2 => spread(&mut rng, 8.0, LONGEST as f64) as u64,
        _ => whole,
    };
    plan.offer(Flow, &[("write", size.to_string())]);
}

fn offered_rate(plan: &mut Plan, mut rng: Rng) {
    let rate = plan.rate_bps as f64 * spread(&mut rng, 0.2, 3.0);
    plan.offer(Flow, &[("rate", format!("{}bit", rate as u64 + 1))]);
}

/// Lets the hosts know each other's addresses, so the first datagram needs no ARP
/// request.
fn acquainted(plan: &mut Plan, _: Rng) {
    plan.offer(Sender, &[("acquainted", "true".into())]);
}

fn tick(plan: &mut Plan, mut rng: Rng) {
    let tick = spread(&mut rng, 500.0, 20_000.0) as u64;
    plan.offer(Flow, &[("tick", micros(tick))]);
}

/// Makes the sender offer as many datagrams as its stack accepts, so that the sender's device is
/// the limit.
fn unpaced(plan: &mut Plan, _: Rng) {
    plan.offer(Sender, &[("acquainted", "true".into())]);
    plan.offer(Part::Path, &[("forward.queue", "device".into())]);
    plan.end_pacing();
}

fn count(plan: &mut Plan, mut rng: Rng, part: Part, key: &str) {
    let count = spread(&mut rng, 1.0, 64.5) as u64;
    plan.offer(part, &[(key, count.to_string())]);
}

fn bytes(plan: &mut Plan, mut rng: Rng, part: Part, key: &str) {
    let amount = plan.scarce(&mut rng, 64);
    plan.offer(part, &[(key, amount.to_string())]);
}
