//! Random resources and rules of the hosts.

use fullpipe_pool::Rng;
use fullpipe_tcp::CongestionAlgorithm;

use super::{
    dimension::{Dimension, dimension, tcp},
    plan::{Part, Plan, micros, one, spread},
};
use Part::{Receiver, Sender};

pub const DIMENSIONS: &[Dimension] = &[
    tcp("congestion", 0.75, congestion),
    tcp("ecn", 0.2, ecn),
    tcp("send_buffer", 0.16, |plan, rng| {
        bytes(plan, rng, Sender, "tcp.send_buffer", 256)
    }),
    tcp("send_buffer_max", 0.06, |plan, rng| {
        bytes(plan, rng, Sender, "tcp.send_buffer_max", 1_024)
    }),
    tcp("unacknowledged", 0.05, |plan, rng| {
        bytes(plan, rng, Sender, "tcp.unacknowledged", 256)
    }),
    tcp("receive_buffer", 0.16, |plan, rng| {
        bytes(plan, rng, Receiver, "tcp.receive_buffer", 256)
    }),
    tcp("receive_buffer_max", 0.06, |plan, rng| {
        bytes(plan, rng, Receiver, "tcp.receive_buffer_max", 1_024)
    }),
    tcp("two_causes", 0.1, two_causes),
    dimension("sender_memory", 0.07, |plan, rng| memory(plan, rng, Sender)),
    dimension("receiver_memory", 0.08, |plan, rng| {
        memory(plan, rng, Receiver)
    }),
    tcp("ranges", 0.04, |plan, rng| {
        count(plan, rng, Receiver, "pool.ranges", 64)
    }),
    tcp("sent_ranges", 0.04, |plan, rng| {
        count(plan, rng, Sender, "stack.sent_ranges_each", 32)
    }),
    tcp("holes", 0.04, |plan, rng| {
        count(plan, rng, Receiver, "tcp.holes", 32)
    }),
    tcp("out_of_order", 0.04, |plan, rng| {
        bytes(plan, rng, Receiver, "tcp.out_of_order", 0)
    }),
    tcp("initial_receive_window", 0.04, |plan, rng| {
        count(plan, rng, Receiver, "tcp.initial_receive_window", 10)
    }),
    tcp("window_share", 0.04, |plan, rng| {
        count(plan, rng, Receiver, "tcp.window_share", 100)
    }),
    tcp("initial_window", 0.06, |plan, rng| {
        count(plan, rng, Sender, "tcp.initial_window", 40)
    }),
    dimension("device_queue", 0.05, |plan, rng| {
        count(plan, rng, Sender, "device_queue", 64)
    }),
    tcp("small_queue", 0.04, |plan, rng| {
        bytes(plan, rng, Sender, "tcp.small_queue", 1_500)
    }),
    dimension("receive_ring", 0.06, receive_ring),
    tcp("super_segment", 0.06, super_segment),
    tcp("merge", 0.05, merge),
    dimension("sender_processor", 0.06, |plan, rng| {
        processor(plan, rng, Sender, "send")
    }),
    dimension("receiver_processor", 0.06, |plan, rng| {
        processor(plan, rng, Receiver, "receive")
    }),
    tcp("pacing_cap", 0.06, pacing_cap),
    tcp("delayed_ack", 0.08, delayed_ack),
    tcp("ack_every", 0.05, |plan, rng| {
        count(plan, rng, Receiver, "tcp.ack_every", 16)
    }),
    tcp("no_nagle", 0.2, |plan, _| {
        set(plan, Sender, "tcp.nagle", "false")
    }),
    tcp("no_sack", 0.06, |plan, _| {
        set(plan, Receiver, "tcp.sack", "false")
    }),
    tcp("no_scaling", 0.06, |plan, _| {
        set(plan, Receiver, "tcp.window_scaling", "false")
    }),
    tcp("no_timestamps", 0.05, |plan, _| {
        set(plan, Sender, "tcp.timestamps", "false")
    }),
    tcp("no_hystart", 0.05, |plan, _| {
        set(plan, Sender, "tcp.hystart", "false")
    }),
    tcp("no_pacing", 0.08, |plan, _| {
        set(plan, Sender, "tcp.pacing", "false")
    }),
    tcp("no_tail_loss_probe", 0.04, |plan, _| {
        set(plan, Sender, "tcp.tail_loss_probe", "false")
    }),
    tcp("fit_segments", 0.05, |plan, rng| {
        count(plan, rng, Sender, "tcp.fit_segments", 16)
    }),
    tcp("segment_limit", 0.05, |plan, rng| {
        count(plan, rng, Receiver, "tcp.mss_max", 1_460)
    }),
    tcp("mtu_probing", 0.06, mtu_probing),
    tcp("retransmission_timeout", 0.05, retransmission_timeout),
];

fn set(plan: &mut Plan, part: Part, key: &str, value: &str) {
    plan.offer(part, &[(key, value.to_string())]);
}

/// Sets a buffer or a cap to a value between a twentieth of the bandwidth-delay product and
/// twice the product.
fn bytes(plan: &mut Plan, mut rng: Rng, part: Part, key: &str, least: u64) {
    let amount = plan.scarce(&mut rng, least);
    plan.offer(part, &[(key, amount.to_string())]);
}

/// Sets a number from 1 to `most`.
fn count(plan: &mut Plan, mut rng: Rng, part: Part, key: &str, most: u64) {
    let count = spread(&mut rng, 1.0, most as f64 + 0.5) as u64;
    plan.offer(part, &[(key, count.to_string())]);
}

fn congestion(plan: &mut Plan, mut rng: Rng) {
    let algorithm = one(&mut rng, CongestionAlgorithm::ALL);
    set(plan, Sender, "tcp.congestion", &algorithm.to_string());
}

fn ecn(plan: &mut Plan, _: Rng) {
    for part in [Sender, Receiver] {
        set(plan, part, "tcp.ecn", "on");
    }
}

fn memory(plan: &mut Plan, mut rng: Rng, part: Part) {
    let size = 1 << rng.between(7, 11);
    let blocks = plan.scarce(&mut rng, 4 * plan.mtu).div_ceil(size) + 8;
    let pool = [
        ("pool.block_size", size.to_string()),
        ("pool.blocks", blocks.to_string()),
    ];
    plan.offer(part, &pool);
}

/// Sets a short receive ring and a slow application, so that arriving frames may find the ring
/// full.
fn receive_ring(plan: &mut Plan, mut rng: Rng) {
    let ring = rng.between(2, 32);
    let frame_us = plan.frame() as f64 * 8e6 / plan.rate_bps as f64;
    let call_us = frame_us * ring as f64 * spread(&mut rng, 0.2, 4.0);
    let ring = [
        ("device.rx_descriptors", ring.to_string()),
        ("cpu.call", micros(call_us.clamp(1.0, 5e5) as u64)),
    ];
    plan.offer(Receiver, &ring);
}

fn super_segment(plan: &mut Plan, mut rng: Rng) {
    let device = [
        (
            "device.super_segment",
            (1_u64 << rng.between(12, 16)).min(60_000).to_string(),
        ),
        ("device.reports_sent", rng.chance(0.5).to_string()),
    ];
    plan.offer(Sender, &device);
}

fn merge(plan: &mut Plan, mut rng: Rng) {
    let quiet = spread(&mut rng, 5.0, 2_000.0) as u64;
    let device = [
        ("device.merge_quiet", micros(quiet)),
        ("device.merge_longest", micros(quiet * rng.between(1, 20))),
    ];
    plan.offer(Receiver, &device);
}

/// Sets a processor that takes 0.3 to 4 times as long for a frame as the path takes.
fn processor(plan: &mut Plan, mut rng: Rng, part: Part, word: &str) {
    let frame_ns = plan.frame() as f64 * 8e9 / plan.rate_bps as f64;
    let cost_ns = frame_ns * spread(&mut rng, 0.3, 4.0);
    let is_of_bytes = rng.chance(0.3);
    let (key, cost) = if is_of_bytes {
        let each = cost_ns / plan.frame() as f64;
        (format!("cpu.{word}_byte"), format!("{each:.3}ns"))
    } else {
        (
            format!("cpu.{word}_packet"),
            format!("{}ns", cost_ns.max(1.0) as u64),
        )
    };
    plan.offer(part, &[(&key, cost)]);
}

fn pacing_cap(plan: &mut Plan, mut rng: Rng) {
    let bytes = plan.rate_bps as f64 / 8.0 * spread(&mut rng, 0.1, 1.5);
    set(
        plan,
        Sender,
        "tcp.pacing_rate_max",
        &(bytes.max(1_000.0) as u64).to_string(),
    );
}

fn delayed_ack(plan: &mut Plan, mut rng: Rng) {
    let timer = spread(&mut rng, 5.0, 500.0) as u64;
    let quick = one(&mut rng, &[0, 16]);
    let acks = [
        ("tcp.delayed_ack", format!("{timer}ms")),
        ("tcp.quick_acks", quick.to_string()),
    ];
    plan.offer(Receiver, &acks);
}

fn mtu_probing(plan: &mut Plan, mut rng: Rng) {
    let probing = one(&mut rng, &["off", "black_hole", "always"]);
    set(plan, Sender, "tcp.mtu_probing", probing);
}

fn retransmission_timeout(plan: &mut Plan, mut rng: Rng) {
    let least = spread(&mut rng, 10.0, 3_000.0) as u64;
    set(plan, Sender, "tcp.rto_min", &format!("{least}ms"));
}

/// Sets two limits that allow nearly the same rate: they differ by at most 10 %.
fn two_causes(plan: &mut Plan, mut rng: Rng) {
    let first = plan.scarce(&mut rng, 2_048);
    let second = (first as f64 * (0.9 + 0.2 * rng.unit())) as u64;
    let near_bdp = (plan.bdp() as f64 * (0.9 + 0.2 * rng.unit())) as u64;
    // The pacing rate that sends `second` bytes in one round trip, in bytes per second.
    let paced = (second as f64 * 1e6 / plan.rtt_us as f64) as u64;
    let (send, receive) = ("tcp.send_buffer", "tcp.receive_buffer");
    let causes = match rng.below(6) {
        0 => vec![(Sender, send, first), (Receiver, receive, second)],
        1 => vec![
            (Sender, send, first),
            (Sender, "tcp.unacknowledged", second),
        ],
        2 => vec![
            (Sender, send, first),
            (Sender, "tcp.pacing_rate_max", paced),
        ],
        3 => vec![
            (Receiver, receive, first),
            (Sender, "tcp.pacing_rate_max", paced),
        ],
        4 => vec![(Sender, send, near_bdp)],
        _ => vec![(Receiver, receive, near_bdp)],
    };
    for (part, key, value) in causes {
        set(plan, part, key, &value.to_string());
    }
}
