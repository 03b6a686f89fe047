//! Worlds with datagrams.
//!
//! Rule: as for streams, one resource is too small and the others are ample. A sender
//! that wakes at intervals sends a burst. The receiver has time for all of it before the
//! next burst, but not for each datagram as it arrives.

use super::Plan;

/// Payload of a datagram that is one full frame.
const SIZE: u64 = 1_472;
/// Datagrams that an ample queue holds.
const AMPLE: u64 = 2_048;

/// Load of a burst on the receiver.
struct Bursts {
    /// Processing time of a datagram at the receiver, in nanoseconds.
    cost_ns: u64,
    /// Datagrams of a burst that still wait when its last one has arrived.
    left: u64,
}

/// Makes the sender send datagrams for 2 s at `share` thousandths of the path's rate. The
/// receive queue holds [`AMPLE`] datagrams.
fn sent(plan: &mut Plan, share: u64) {
    plan.workload.retain(|(field, _)| *field != "bytes");
    plan.workload("protocol", "\"udp\"");
    plan.workload("write", SIZE);
    plan.workload("duration", "\"2s\"");
    plan.workload("rate", format!("\"{}kbit\"", plan.rate_mbit * share));
    plan.receiver("udp.receive_queue", AMPLE);
    plan.receiver("udp.receive_buffer", AMPLE * SIZE);
    plan.receiver("pool.blocks", AMPLE * 2);
}

/// Makes the sender send bursts at 20 % to 40 % of the path's rate. Returns the processing
/// time with which the receiver needs 60 % to 80 % of the interval between two bursts for
/// one burst.
fn bursts(plan: &mut Plan) -> Bursts {
    let share = plan.rng.between(200, 400);
    sent(plan, share);
    let frame_ns = 1_514 * 8_000 / plan.rate_mbit;
    let count = plan.rng.between(20, 60);
    let tick_ns = frame_ns * count * 1_000 / share;
    plan.workload("tick", format!("\"{}us\"", tick_ns / 1_000));
    let busy = plan.rng.between(600, 800);
    Bursts {
        cost_ns: frame_ns * busy / share,
        left: count - count * share / busy,
    }
}

/// The reader is slower than the arrival of a burst.
pub fn receive_queue(plan: &mut Plan) {
    let Bursts { cost_ns, left } = bursts(plan);
    plan.receiver("cpu.call", format!("\"{}us\"", cost_ns / 1_000));
    let queue = plan.too_little(left).max(1);
    plan.receiver("udp.receive_queue", queue);
}

/// The driver is slower than the arrival of a burst.
pub fn ring(plan: &mut Plan) {
    let Bursts { cost_ns, left } = bursts(plan);
    plan.receiver("cpu.receive_packet", format!("\"{}us\"", cost_ns / 1_000));
    let ring = plan.too_little(left).max(1);
    plan.receiver("device.rx_descriptors", ring);
}

/// The sender sends more than the path carries.
pub fn path(plan: &mut Plan) {
    let share = plan.rng.between(1_200, 2_000);
    sent(plan, share);
}

/// The sender sends less than the path carries.
pub fn rate(plan: &mut Plan) {
    let share = plan.rng.between(100, 700);
    sent(plan, share);
}

/// The path carries more than the processor of the sender, or of the receiver, can
/// process.
pub fn processor(plan: &mut Plan) {
    sent(plan, 900);
    let frame_ns = 1_514 * 8_000 / plan.rate_mbit;
    let cost_us = frame_ns * plan.rng.between(150, 800) / 100_000;
    if plan.rng.chance(0.5) {
        plan.sender("cpu.send_packet", format!("\"{cost_us}us\""));
    } else {
        plan.receiver("cpu.receive_packet", format!("\"{cost_us}us\""));
        plan.receiver("device.rx_descriptors", 16);
    }
}
