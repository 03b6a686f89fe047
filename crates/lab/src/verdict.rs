//! Which bound was binding, in one sentence with the numbers that prove it.
//!
//! Rule: the limit is the stack's own, never guessed from figures; the figures
//! are its proof. A knob is named only where turning it can help, and never
//! towards a smaller value. What the new value would give is not predicted here.

#[cfg(test)]
mod tests;

use fullpipe_sim::link::Direction;
use fullpipe_tcp::{Limit, ReceiveLimit};

use crate::{
    experiment::{HostPlan, LinkPlan, Setup},
    measured::{Measured, Outcome},
    report::Limits,
    units::{grouped, rate_text, three_digits},
};

/// A link that carried something for this share of the time is full: what is
/// missing is what contenders for it leave idle.
const FULL_LINK: f64 = 0.95;

/// What a verdict is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The world.
    pub setup: &'a Setup,
    /// What came out.
    pub measured: &'a Measured,
    /// Which limits held.
    pub limits: &'a Limits,
    /// The largest window that the receiver advertised, in bytes.
    pub peer_window: u64,
    /// The congestion window at the end, in bytes.
    pub cwnd: u64,
    /// The link that was in use most, by its place in the setup.
    pub busiest: usize,
}

/// The verdict: a sentence.
pub fn sentence(evidence: &Evidence<'_>) -> String {
    if let Some(why) = write_that_never_fits(evidence) {
        return why;
    }
    let Some((limit, share)) = binding(evidence.limits) else {
        return "No connection came about, so nothing can be said of its limits.".to_string();
    };
    let outcome = evidence.measured.outcome;
    if outcome != Outcome::Complete {
        return format!(
            "{}: the transfer {} after {} bytes; {}",
            heading(limit),
            match outcome {
                Outcome::Dropped => "was dropped",
                Outcome::Stalled | Outcome::Complete => "stalled",
            },
            grouped(evidence.measured.delivered_bytes),
            proof(evidence, limit, share)
        );
    }
    if evidence.measured.link_busy_share >= FULL_LINK && limit != Limit::Application {
        return path(evidence, limit, share);
    }
    format!("{}: {}", heading(limit), proof(evidence, limit, share))
}

/// The limit that held longest. Opening and closing count only when nothing
/// else is left: no knob of the transfer is behind them.
fn binding(limits: &Limits) -> Option<(Limit, f64)> {
    let largest = limits.sender.largest_first();
    let named = |name: &str| {
        Limit::ALL
            .iter()
            .copied()
            .find(|limit| limit.name() == name)
    };
    let mut held = largest
        .iter()
        .filter_map(|(name, share)| Some((named(name)?, *share)));
    let of_transfer = |limit: Limit| !matches!(limit, Limit::Handshake | Limit::Closing);
    held.clone()
        .find(|(limit, _)| of_transfer(*limit))
        .or_else(|| held.next())
}

/// A write that is taken whole or not at all, and is larger than what could
/// ever hold it.
fn write_that_never_fits(evidence: &Evidence<'_>) -> Option<String> {
    let sender = sender(evidence);
    let write = u64::from(evidence.setup.flow().write);
    if !sender.config.tcp.write_atomic || evidence.measured.delivered_bytes > 0 {
        return None;
    }
    let (pool, buffer) = (pool_bytes(sender), u64::from(sender.config.tcp.send_buffer));
    let knobs = &sender.config.pool;
    if write > pool {
        return Some(format!(
            "Memory: a {}-byte write never fits in the {}-byte pool ({} blocks of {} bytes), and \
             tcp.write_atomic takes a write whole or not at all; tcp.write_atomic = false sends \
             it chunk by chunk, or pool.blocks must be at least {}.",
            write,
            pool,
            knobs.blocks,
            knobs.block_size,
            write.div_ceil(u64::from(knobs.block_size))
        ));
    }
    (write > buffer).then(|| {
        format!(
            "Send buffer: a {write}-byte write never fits in tcp.send_buffer = {buffer}, and \
             tcp.write_atomic takes a write whole or not at all; tcp.write_atomic = false sends \
             it chunk by chunk."
        )
    })
}

/// The link is full: what else held the sender back only decided where data
/// waited.
fn path(evidence: &Evidence<'_>, limit: Limit, share: f64) -> String {
    let plan = busiest(evidence);
    let link = plan.link(Direction::Forward);
    let rate = link.rate_bps as f64;
    let goodput = evidence.measured.goodput_mbps * 1e6;
    let of = match (link.radio, link.token_bucket) {
        (Some(radio), _) => format!(
            "a half-duplex radio of {} with {} us of access time a frame",
            rate_text(rate),
            radio.access_us
        ),
        (None, Some(bucket)) => format!("shaped to {}", rate_text(bucket.rate_bps as f64)),
        (None, None) => format!("of {}", rate_text(rate)),
    };
    format!(
        "Path: link `{}` ({of}) was busy {} of the time and gave {}; the sender waited for {} \
         {} of it, with {} bytes of packet memory in use at most, and more buffer will not help.",
        plan.name,
        percent(evidence.measured.link_busy_share),
        rate_text(goodput),
        waiting_for(limit),
        percent(share),
        grouped(evidence.measured.peak_pool_bytes),
    )
}

/// The figures behind a limit, and the knob that moves it.
fn proof(evidence: &Evidence<'_>, limit: Limit, share: f64) -> String {
    let Evidence {
        setup,
        measured,
        cwnd,
        ..
    } = *evidence;
    let (held, rtt) = (percent(share), millis(measured.srtt_ms));
    match limit {
        Limit::Application => format!(
            "everything written had been sent for {held} of the time; no buffer or window was full."
        ),
        Limit::SendBuffer => send_buffer(evidence, &held),
        Limit::Memory => memory(evidence, &held),
        Limit::ReceiveWindow => receive_window(evidence, &held),
        Limit::ZeroWindow => format!(
            "the peer advertised no window at all for {held} of the time. {}",
            receiver_knob(evidence)
        ),
        Limit::CwndSlowStart => format!(
            "the congestion window was used up while it grew for {held} of the time; the transfer \
             was over before it had reached the path's size. tcp.initial_window starts it higher."
        ),
        Limit::CwndSteady => format!(
            "the congestion window ({} at the end) was used up for {held} of the time, without a \
             loss, at a round trip of {rtt}.",
            bytes(cwnd),
        ),
        Limit::CwndAfterLoss => format!(
            "losses kept the congestion window ({} at the end) used up for {held} of the time; {}",
            bytes(cwnd),
            sent_again(measured),
        ),
        Limit::Recovery => format!(
            "lost segments were being repaired for {held} of the time; {}",
            sent_again(measured),
        ),
        Limit::Pacing => format!("the pacing rate held segments back for {held} of the time."),
        Limit::Device => format!(
            "the device's queue was full for {held} of the time; it waits for link `{}`, which was \
             busy {} of it.",
            busiest(evidence).name,
            percent(measured.link_busy_share),
        ),
        Limit::Nagle => format!(
            "less than a segment of {} waited for an acknowledgment for {held} of the time, with \
             writes of {}; tcp.nagle = false sends it at once.",
            bytes(measured.segment_bytes),
            bytes(u64::from(setup.flow().write)),
        ),
        Limit::Handshake => {
            format!("the connection was being opened for {held} of the time.")
        }
        Limit::Closing => {
            format!("everything had been sent and the connection closed for {held} of the time.")
        }
    }
}

fn send_buffer(evidence: &Evidence<'_>, held: &str) -> String {
    let tcp = &sender(evidence).config.tcp;
    let rtt_ms = evidence.measured.srtt_ms;
    if tcp.send_buffer_max > tcp.send_buffer {
        return format!(
            "the send buffer, which tunes itself up to tcp.send_buffer_max = {}, was full and all of \
             it sent for {held} of the time, at a round trip of {}. A larger pool, or more of it for \
             one connection, lets it grow.",
            tcp.send_buffer_max,
            millis(rtt_ms),
        );
    }
    let buffer = u64::from(tcp.send_buffer);
    format!(
        "tcp.send_buffer = {buffer} was full and all of it sent for {held} of the time; {} a round \
         trip of {} is at most {}. A larger one helps until the path is full.",
        bytes(buffer),
        millis(rtt_ms),
        at_most(buffer, rtt_ms),
    )
}

fn memory(evidence: &Evidence<'_>, held: &str) -> String {
    let sender = sender(evidence);
    format!(
        "the pool of {} ({} blocks of {}) had no room for a write for {held} of the time, at a round \
         trip of {}; {} of it were in use at most. A larger pool.blocks helps until the path is \
         full.",
        bytes(pool_bytes(sender)),
        sender.config.pool.blocks,
        bytes(u64::from(sender.config.pool.block_size)),
        millis(evidence.measured.srtt_ms),
        bytes(evidence.measured.peak_pool_bytes),
    )
}

fn receive_window(evidence: &Evidence<'_>, held: &str) -> String {
    let (window, rtt_ms) = (evidence.peer_window, evidence.measured.srtt_ms);
    format!(
        "the peer's window of at most {} was used up for {held} of the time; that a round trip of \
         {} is at most {}. {}",
        bytes(window),
        millis(rtt_ms),
        at_most(window, rtt_ms),
        receiver_knob(evidence),
    )
}

fn sent_again(measured: &Measured) -> String {
    format!(
        "{} of {} segments were sent again, after {} timeouts. No buffer will help.",
        grouped(measured.retransmitted_segments),
        grouped(measured.data_segments),
        grouped(measured.timeouts),
    )
}

/// What at the receiver keeps its window small.
fn receiver_knob(evidence: &Evidence<'_>) -> String {
    let Evidence { setup, limits, .. } = *evidence;
    let receiver = &setup.hosts[setup.flow().to];
    let name = &receiver.name;
    let tcp = &receiver.config.tcp;
    let (knob, buffer) = if tcp.receive_buffer_max > tcp.receive_buffer {
        ("receive_buffer_max", tcp.receive_buffer_max)
    } else {
        ("receive_buffer", tcp.receive_buffer)
    };
    let shares = &limits.receiver;
    let worst = [
        ReceiveLimit::Buffer,
        ReceiveLimit::Reader,
        ReceiveLimit::Hole,
        ReceiveLimit::Memory,
    ]
    .into_iter()
    .max_by(|a, b| shares.share(a.name()).total_cmp(&shares.share(b.name())))
    .filter(|limit| shares.share(limit.name()) > 0.0)
    .unwrap_or(ReceiveLimit::None);
    let share = percent(shares.share(worst.name()));
    match worst {
        ReceiveLimit::None | ReceiveLimit::Buffer => {
            format!("A tcp.{knob} of `{name}` above {buffer} helps until the path is full.")
        }
        ReceiveLimit::Reader => format!(
            "The application of `{name}` left it closed by not reading for {share} of the time: no \
             buffer will help."
        ),
        ReceiveLimit::Hole => {
            format!(
                "Gaps left by lost segments filled the buffer of `{name}` for {share} of the time."
            )
        }
        ReceiveLimit::Memory => format!(
            "The pool of `{name}` could not back more for {share} of the time: a larger pool.blocks \
             there helps."
        ),
    }
}

/// A limit at the start of a sentence.
fn heading(limit: Limit) -> &'static str {
    match limit {
        Limit::Application => "Application",
        Limit::SendBuffer => "Send buffer",
        Limit::ReceiveWindow => "Receive window",
        Limit::ZeroWindow => "Zero window",
        Limit::CwndSlowStart => "Congestion window (slow start)",
        Limit::CwndSteady => "Congestion window",
        Limit::CwndAfterLoss => "Congestion window (after loss)",
        Limit::Pacing => "Pacing",
        Limit::Device => "Device",
        Limit::Nagle => "Nagle",
        Limit::Recovery => "Recovery",
        Limit::Memory => "Memory",
        Limit::Handshake => "Handshake",
        Limit::Closing => "Closing",
    }
}

/// What the sender waits for while a limit holds.
fn waiting_for(limit: Limit) -> &'static str {
    match limit {
        Limit::Application => "the application",
        Limit::SendBuffer => "room in the send buffer",
        Limit::ReceiveWindow => "the peer's window",
        Limit::ZeroWindow => "the peer to open its window",
        Limit::CwndSlowStart | Limit::CwndSteady | Limit::CwndAfterLoss => "the congestion window",
        Limit::Pacing => "the pacing rate",
        Limit::Device => "the device",
        Limit::Nagle => "a full segment",
        Limit::Recovery => "lost segments",
        Limit::Memory => "packet memory",
        Limit::Handshake => "the handshake",
        Limit::Closing => "the end",
    }
}

fn busiest<'a>(evidence: &Evidence<'a>) -> &'a LinkPlan {
    &evidence.setup.links[evidence.busiest]
}

fn sender<'a>(evidence: &Evidence<'a>) -> &'a HostPlan {
    &evidence.setup.hosts[evidence.setup.flow().from]
}

fn pool_bytes(host: &HostPlan) -> u64 {
    u64::from(host.config.pool.blocks) * u64::from(host.config.pool.block_size)
}

fn at_most(window: u64, rtt_ms: f64) -> String {
    if rtt_ms > 0.0 {
        rate_text(window as f64 * 8e3 / rtt_ms)
    } else {
        "any rate".to_string()
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn bytes(count: u64) -> String {
    format!("{} bytes", grouped(count))
}

fn millis(ms: f64) -> String {
    format!("{} ms", three_digits(ms))
}
