//! The rate that each possible limit allows.
//!
//! Rule: each bound follows from the setup and the quantities in [`Scale`] alone, as if
//! nothing else limited the flow. The same function therefore serves before and after a
//! change.

use fullpipe_scenario::{
    experiment::{HostPlan, Setup},
    path::Path,
    response,
    units::{grouped, rate_text, three_digits},
};
use fullpipe_sim::app::ReadPlan;
use fullpipe_tcp::CongestionAlgorithm;

use super::{
    buffers::Buffer,
    cause::Cause,
    evidence::{Scale, pool_bytes},
    processor,
};

/// The largest window without RFC 7323's scaling.
pub const UNSCALED: u64 = 65_535;

/// A cause and the goodput that it allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The cause.
    pub cause: Cause,
    /// Most bits a second; infinite if it does not limit.
    pub bps: f64,
}

/// All known bounds of the first flow.
pub fn all(setup: &Setup, scale: &Scale) -> Vec<Bound> {
    let (sender, receiver) = (
        &setup.hosts[setup.flow().from],
        &setup.hosts[setup.flow().to],
    );
    let window = |cause, bytes: f64| Bound {
        cause,
        bps: per_second(bytes, scale.cycle_s),
    };
    let (sending, receiving) = (Buffer::sending(sender), Buffer::receiving(receiver));
    let tcp = &sender.config.tcp;
    let caps = [
        (Cause::SendBufferLimit, sending.capped_text()),
        (Cause::ReceiveBufferLimit, receiving.capped_text()),
    ];
    // These come first, because `tightest` returns the first of equal bounds: a buffer as
    // large as its cap can grow only if the cap grows.
    let mut bounds: Vec<Bound> = caps
        .into_iter()
        .filter_map(|(cause, text)| Some(window(cause, text? as f64)))
        .collect();
    bounds.extend([
        window(
            Cause::SendBuffer,
            sending.uncapped_text() as f64 - room_waited_for(setup) as f64 / 2.0,
        ),
        window(Cause::Unacknowledged, f64::from(tcp.unacknowledged)),
        window(Cause::Memory, send_memory(sender)),
        window(
            Cause::ReceiveWindow,
            receiving.uncapped_text().min(most_window(sender, receiver)) as f64,
        ),
        window(Cause::PeerMemory, receive_memory(receiver)),
    ]);
    if tcp.pacing && tcp.pacing_rate_max > 0 {
        bounds.push(Bound {
            cause: Cause::Pacing,
            bps: f64::from(tcp.pacing_rate_max) * 8.0,
        });
    }
    bounds.extend(delayed_ack(setup, scale));
    bounds.extend(bounds_without_knob(setup, scale));
    bounds
}

/// Bounds that are neither windows nor caps of a host: path, processors, applications,
/// loss.
pub fn bounds_without_knob(setup: &Setup, scale: &Scale) -> Vec<Bound> {
    let flow = setup.flow();
    let path = Path::of(setup, scale.segment as u64);
    let mut bounds = vec![Bound {
        cause: Cause::Path,
        bps: path.payload_bps * (1.0 - path.loss),
    }];
    bounds.push(Bound {
        cause: Cause::Cpu,
        bps: per_second(scale.segment, processor::segment_s(setup, scale.segment)),
    });
    bounds.push(Bound {
        cause: Cause::Application,
        bps: per_second(f64::from(flow.write), flow.pause().as_secs_f64()),
    });
    if let ReadPlan::Rate { bytes, every } = flow.read_plan() {
        bounds.push(Bound {
            cause: Cause::SlowReader,
            bps: per_second(bytes as f64, every.as_secs_f64()),
        });
    }
    if path.loss > 0.0 {
        bounds.extend(
            response::by_loss_bps(setup, scale.segment as u64).map(|bps| Bound {
                cause: Cause::Loss,
                bps,
            }),
        );
    }
    bounds
}

/// The bound of `cause` in `bounds`.
pub fn of(bounds: &[Bound], cause: Cause) -> Option<f64> {
    let found = bounds.iter().find(|bound| bound.cause == cause);
    found.map(|bound| bound.bps)
}

/// The tightest of `bounds`, if any is finite.
pub fn tightest(bounds: &[Bound]) -> Option<Bound> {
    let finite = bounds.iter().copied().filter(|bound| bound.bps.is_finite());
    finite.min_by(|a, b| a.bps.total_cmp(&b.bps))
}

/// Returns true if windows above 64 KiB can be advertised.
pub fn is_scaled(sender: &HostPlan, receiver: &HostPlan) -> bool {
    sender.config.tcp.window_scaling && receiver.config.tcp.window_scaling
}

/// The largest window that the ends can advertise.
pub fn most_window(sender: &HostPlan, receiver: &HostPlan) -> u64 {
    if is_scaled(sender, receiver) {
        u64::MAX
    } else {
        UNSCALED
    }
}

/// Bytes that a receiver needs for out-of-order payload: its window less two full
/// segments.
pub fn out_of_order_for(receiver: &HostPlan, scale: &Scale) -> u64 {
    let two = 2 * scale.segment as u64;
    Buffer::receiving(receiver).text().saturating_sub(two)
}

/// Returns true if the receiver has less than three quarters of that room.
pub fn lacks_out_of_order(receiver: &HostPlan, scale: &Scale) -> bool {
    let present = u64::from(receiver.config.tcp.out_of_order);
    present * 4 < out_of_order_for(receiver, scale) * 3
}

/// Most payload that can be in flight at once.
pub fn largest_flight(setup: &Setup) -> u64 {
    let flow = setup.flow();
    let (sender, receiver) = (&setup.hosts[flow.from], &setup.hosts[flow.to]);
    Buffer::sending(sender)
        .text()
        .min(u64::from(sender.config.tcp.unacknowledged))
        .min(Buffer::receiving(receiver).text())
        .min(most_window(sender, receiver))
}

/// The window that the receiver advertises before anything has arrived, in bytes. That of
/// a SYN is not scaled (RFC 7323 §2.2).
pub fn first_window(setup: &Setup, scale: &Scale) -> u64 {
    let receiver = &setup.hosts[setup.flow().to];
    let segments = u64::from(receiver.config.tcp.initial_receive_window);
    let first = segments * scale.segment as u64;
    first.min(UNSCALED).min(Buffer::receiving(receiver).text())
}

/// Bytes that must be free before the first flow's writer continues; half of them are
/// unused on average. A write that is accepted whole or not at all must fit.
pub fn room_waited_for(setup: &Setup) -> u64 {
    let (flow, sender) = (setup.flow(), &setup.hosts[setup.flow().from]);
    let whole = if sender.config.tcp.write_atomic {
        u64::from(flow.write)
    } else {
        0
    };
    setup.low_water(flow).max(whole)
}

/// Bytes of packet memory for written payload: the pool less what the sender's own
/// receive window reserves while idle, and less the floor for receiving.
pub fn send_memory(sender: &HostPlan) -> f64 {
    let pool = pool_bytes(sender) as f64;
    let promised = (pool * idle_share(sender)).min(Buffer::receiving(sender).text() as f64);
    pool - promised - receive_floor(sender)
}

/// The pool size, in bytes, that leaves a sender `bytes` for written payload: the inverse
/// of [`send_memory`].
pub fn pool_for(sender: &HostPlan, bytes: f64) -> f64 {
    let by_share = bytes / (1.0 - idle_share(sender));
    by_share.min(bytes + Buffer::receiving(sender).text() as f64) + receive_floor(sender)
}

/// The least number of blocks of a pool in which a writer can store `bytes` at once. What
/// is reserved for receiving is whole blocks.
pub fn blocks_for(sender: &HostPlan, bytes: u64) -> u64 {
    let pool = &sender.config.pool;
    let size = u64::from(pool.block_size);
    let needed = bytes.div_ceil(size) + u64::from(pool.receive_floor);
    let window = Buffer::receiving(sender).text().div_ceil(size);
    let share = u64::from(sender.config.tcp.idle_window_share).min(99);
    let is_enough = |blocks: &u64| blocks - (blocks * share / 100).min(window) >= needed;
    let mut counts = needed..=needed * 100;
    counts.find(is_enough).unwrap_or(needed)
}

/// Largest share of the pool that the sender's own idle window reserves.
fn idle_share(sender: &HostPlan) -> f64 {
    (f64::from(sender.config.tcp.idle_window_share) / 100.0).min(0.99)
}

fn receive_floor(sender: &HostPlan) -> f64 {
    let pool = &sender.config.pool;
    f64::from(pool.receive_floor) * f64::from(pool.block_size)
}

/// Bytes of packet memory that one window may reserve.
pub fn receive_memory(receiver: &HostPlan) -> f64 {
    pool_bytes(receiver) as f64 * f64::from(receiver.config.tcp.window_share) / 100.0
}

/// With less than two segments in flight, a peer that acknowledges every second segment
/// waits for its delayed-ACK timer.
fn delayed_ack(setup: &Setup, scale: &Scale) -> Option<Bound> {
    let flow = setup.flow();
    let (sender, receiver) = (
        &setup.hosts[flow.from].config.tcp,
        &setup.hosts[flow.to].config.tcp,
    );
    let most = Buffer::sending(&setup.hosts[flow.from])
        .text()
        .min(u64::from(sender.unacknowledged)) as f64;
    let waits = receiver.ack_every > 1 && !receiver.delayed_ack.is_zero();
    let is_small = most < 2.0 * scale.segment && sender.fit_segments < 2;
    (waits && is_small).then(|| Bound {
        cause: Cause::DelayedAck,
        bps: per_second(most, scale.cycle_s + receiver.delayed_ack.as_secs_f64()),
    })
}

/// `bytes` every `every_s` seconds, in bits a second.
fn per_second(bytes: f64, every_s: f64) -> f64 {
    if every_s > 0.0 {
        bytes * 8.0 / every_s
    } else {
        f64::INFINITY
    }
}

/// A rate and its origin: `95.6 Mbit/s (the path)`.
pub fn rate_words(setup: &Setup, segment: f64, bound: Bound) -> String {
    let origin = match bound.cause {
        Cause::Cpu => {
            let host = processor::slower_end(setup, segment);
            let calls = if has_calls(setup, host) {
                format!(
                    " with the calls of its writer for a send buffer of {}",
                    held_words(host)
                )
            } else {
                String::new()
            };
            format!("{}{calls}", processor_of(host))
        }
        Cause::Loss => response_function(setup, segment),
        other => other.words().to_string(),
    };
    format!("{} ({origin})", rate_text(bound.bps))
}

/// The limit after a change, to be read after "limited by", and its rate.
pub fn then_words(setup: &Setup, segment: f64, bound: Bound) -> String {
    let rate = rate_text(bound.bps);
    match bound.cause {
        Cause::Cpu => {
            let host = processor::slower_end(setup, segment);
            let calls = if has_calls(setup, host) {
                format!(" with a send buffer of {}", held_words(host))
            } else {
                String::new()
            };
            let processor = processor_of(host);
            format!("{processor}, which allows at most {rate}{calls}")
        }
        Cause::Loss => {
            let function = response_function(setup, segment);
            format!("losses: {function} gives {rate} in the long run")
        }
        Cause::Path => {
            // On a radio the share of acknowledgments varies.
            let most = if has_radio(setup) { "about" } else { "at most" };
            format!("the path, which carries {most} {rate} of payload")
        }
        Cause::Application => format!("the sending application, which writes at most {rate}"),
        Cause::SlowReader => format!("the receiving application, which reads at most {rate}"),
        other => format!("{}, which allows at most {rate}", other.words()),
    }
}

/// True if `host` is the first flow's sender and its application's calls take time: a
/// larger send buffer needs fewer calls.
fn has_calls(setup: &Setup, host: &HostPlan) -> bool {
    host.name == setup.hosts[setup.flow().from].name && !host.cpu.call.is_zero()
}

/// Payload that the send buffer of `host` holds.
fn held_words(host: &HostPlan) -> String {
    format!("{} bytes", grouped(Buffer::sending(host).text()))
}

fn has_radio(setup: &Setup) -> bool {
    let route = setup.route(setup.flow().from, setup.flow().to);
    let mut links = route
        .iter()
        .map(|&(number, way)| setup.links[number].link(way));
    links.any(|link| link.radio.is_some())
}

fn processor_of(host: &HostPlan) -> String {
    format!("the processor of `{}`", host.name)
}

/// The function by which a rate follows from random losses.
fn response_function(setup: &Setup, segment: f64) -> String {
    let algorithm = match setup.hosts[setup.flow().from].config.tcp.congestion {
        CongestionAlgorithm::NewReno => "newreno",
        CongestionAlgorithm::Cubic => "cubic",
        CongestionAlgorithm::Bbr => "bbr",
    };
    let loss = Path::of(setup, segment as u64).loss * 100.0;
    format!(
        "{algorithm}'s response function at {} % loss",
        three_digits(loss)
    )
}
