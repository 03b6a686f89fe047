//! Which cause held.
//!
//! Rule: the stack's own account of its limits decides; bounds only tell apart
//! what one limit can mean. A limit that stands where the path has long been
//! full is the path.

use fullpipe_sim::app::ReadPlan;
use fullpipe_tcp::{Limit, ReceiveLimit};

use super::{
    bounds::{self, Bound},
    cause::Cause,
    evidence::Evidence,
    processor,
};

/// A link that carried something for this share of the time is full: what is
/// missing is what contenders for it leave idle.
const FULL_LINK: f64 = 0.95;
/// The same where a window or losses of its own queue decide when it is idle.
const NEARLY_FULL: f64 = 0.9;
/// A window is as large as the path when it holds this share of it.
const FULL_WINDOW: f64 = 0.97;
/// So many times what was lost is more than repairing it takes.
const MUCH_MORE: f64 = 3.0;
/// A window that let this share of what it can through was not kept closed.
const ALL_OF_IT: f64 = 0.75;
/// A reader that is behind for this share of the time is slow, and one that waits as long
/// for anything else is held back by it.
const BEHIND: f64 = 0.1;
/// Pacing that belongs to a congestion window leaves it this part of the time.
const OF_PACING: f64 = 0.2;

/// What held longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binding {
    /// What it was.
    pub cause: Cause,
    /// The stack's limit that held longest of those that mean it.
    pub limit: Limit,
    /// The share of the time.
    pub share: f64,
}

/// What held longest; `None` without a connection. Opening and closing count
/// only when nothing else is left: no knob of the transfer is behind them.
pub fn of(evidence: &Evidence<'_>) -> Option<Binding> {
    let binding = meant(evidence, longest(evidence, None)?);
    if binding.cause == Cause::Device && !evidence.sender().cpu.is_free() {
        // It waited for frames to be made, and neither who makes them nor the link was
        // at work all the time: something else left them idle.
        let other = longest(evidence, Some(Cause::Device)).filter(|other| other.share >= BEHIND);
        return Some(other.map_or(binding, |other| meant(evidence, other)));
    }
    Some(binding)
}

/// What a limit that held means.
fn meant(evidence: &Evidence<'_>, held: Binding) -> Binding {
    let cause = match held.cause {
        Cause::SendBuffer => sending(evidence),
        Cause::ReceiveWindow => receiving(evidence, held.limit),
        Cause::Pacing => behind_pacing(evidence),
        other => other,
    };
    let cause = if is_path(evidence, cause) {
        Cause::Path
    } else if cause == Cause::Loss && is_lost_in_ring(evidence) {
        Cause::Descriptors
    } else if matches!(cause, Cause::Loss | Cause::Reassembly) && is_refused_early(evidence) {
        Cause::OutOfOrder
    } else if waits_for_work(cause) && processor::is_bound(evidence, cause) {
        Cause::Cpu
    } else if cause == Cause::ReceiveWindow && is_left_by_reader(evidence) {
        Cause::SlowReader
    } else {
        cause
    };
    Binding { cause, ..held }
}

/// The largest group of limits but for `except`.
fn longest(evidence: &Evidence<'_>, except: Option<Cause>) -> Option<Binding> {
    let shares = &evidence.limits.sender;
    let share = |limit: Limit| shares.share(limit.name());
    let mut groups: Vec<(Cause, f64, Limit)> = Vec::new();
    for &limit in Limit::ALL {
        let cause = of_limit(limit);
        match groups.iter_mut().find(|(known, ..)| *known == cause) {
            Some((_, sum, largest)) => {
                if share(limit) > share(*largest) {
                    *largest = limit;
                }
                *sum += share(limit);
            }
            None => groups.push((cause, share(limit), limit)),
        }
    }
    if let Some(idle) = groups
        .iter_mut()
        .find(|group| group.0 == Cause::Application)
    {
        idle.1 = (idle.1 - thinking(evidence)).max(0.0);
    }
    join_pacing(&mut groups);
    groups.retain(|group| Some(group.0) != except);
    let binding = |&(cause, share, limit): &(Cause, f64, Limit)| Binding {
        cause,
        limit,
        share,
    };
    let of_transfer = |group: &&(Cause, f64, Limit)| {
        !matches!(group.0, Cause::Handshake | Cause::Closing) && group.1 > 0.0
    };
    let largest = |a: &&(Cause, f64, Limit), b: &&(Cause, f64, Limit)| a.1.total_cmp(&b.1);
    let transfer = groups.iter().filter(of_transfer).max_by(largest);
    let any = groups.iter().filter(|group| group.1 > 0.0).max_by(largest);
    transfer.or(any).map(binding)
}

/// The pacing rate is made of the congestion window: where that was used up
/// too, both are one.
fn join_pacing(groups: &mut [(Cause, f64, Limit)]) {
    let share = |groups: &[(Cause, f64, Limit)], cause| {
        groups
            .iter()
            .find(|group| group.0 == cause)
            .map_or(0.0, |group| group.1)
    };
    let pacing = share(groups, Cause::Pacing);
    let window = groups
        .iter_mut()
        .filter(|group| matches!(group.0, Cause::SlowStart | Cause::Congestion | Cause::Loss))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let Some(window) = window.filter(|window| window.1 >= pacing * OF_PACING) else {
        return;
    };
    window.1 += pacing;
    if let Some(paced) = groups.iter_mut().find(|group| group.0 == Cause::Pacing) {
        paced.1 = 0.0;
    }
}

fn of_limit(limit: Limit) -> Cause {
    match limit {
        Limit::Application => Cause::Application,
        Limit::SendBuffer => Cause::SendBuffer,
        Limit::Memory => Cause::Memory,
        Limit::ReceiveWindow | Limit::ZeroWindow => Cause::ReceiveWindow,
        Limit::CwndSlowStart => Cause::SlowStart,
        Limit::CwndSteady => Cause::Congestion,
        Limit::CwndAfterLoss | Limit::Recovery => Cause::Loss,
        Limit::Pacing => Cause::Pacing,
        Limit::Device => Cause::Device,
        Limit::Nagle => Cause::Nagle,
        Limit::Handshake => Cause::Handshake,
        Limit::Closing => Cause::Closing,
    }
}

/// Whether half at least of what was sent again had found no descriptor.
fn is_lost_in_ring(evidence: &Evidence<'_>) -> bool {
    let lost = processor::lost_in_ring(evidence);
    lost > 0 && lost * 2 >= evidence.measured.retransmitted_segments
}

/// Whether much more was sent again than the path loses, where the receiver has less
/// room for what is ahead of its turn than for what is in order.
fn is_refused_early(evidence: &Evidence<'_>) -> bool {
    let measured = evidence.measured;
    let lost = evidence.path().loss * measured.data_segments as f64;
    bounds::lacks_out_of_order(evidence.receiver(), &evidence.scale())
        && lost > 0.0
        && measured.retransmitted_segments as f64 >= MUCH_MORE * lost
}

/// Whether a host that cannot keep up would be seen as this.
fn waits_for_work(cause: Cause) -> bool {
    match cause {
        Cause::SendBuffer
        | Cause::SendBufferLimit
        | Cause::Unacknowledged
        | Cause::Memory
        | Cause::ReceiveWindow
        | Cause::ReceiveBufferLimit
        | Cause::PeerMemory
        | Cause::SlowReader
        | Cause::ZeroWindow
        | Cause::SlowStart
        | Cause::Congestion
        | Cause::Loss
        | Cause::Pacing
        | Cause::Device => true,
        Cause::Path
        | Cause::Application
        | Cause::DelayedAck
        | Cause::Reassembly
        | Cause::Cpu
        | Cause::PeerGone
        | Cause::OutOfOrder
        | Cause::Descriptors
        | Cause::ReceiveQueue
        | Cause::Nagle
        | Cause::Handshake
        | Cause::Closing
        | Cause::Nothing => false,
    }
}

/// A send buffer that is full: by its size, by the count of what may be on its
/// way, or because of when the peer acknowledges.
fn sending(evidence: &Evidence<'_>) -> Cause {
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let bound = |cause| bounds::of(&bounds, cause).unwrap_or(f64::INFINITY);
    let timer_s = evidence.receiver().config.tcp.delayed_ack.as_secs_f64();
    let waits = evidence.turn_s() > timer_s / 2.0;
    if bound(Cause::DelayedAck).is_finite() && waits {
        return Cause::DelayedAck;
    }
    let causes = [
        Cause::SendBuffer,
        Cause::SendBufferLimit,
        Cause::Unacknowledged,
    ];
    tighter(&bounds, &causes)
}

/// The tightest of `causes`; of equals the first.
fn tighter(bounds: &[Bound], causes: &[Cause]) -> Cause {
    let bound = |cause: &Cause| bounds::of(bounds, *cause).unwrap_or(f64::INFINITY);
    let mut causes = causes.iter().copied();
    let first = causes.next().expect("some cause is asked for");
    causes.fold(first, |least, cause| {
        if bound(&cause) < bound(&least) {
            cause
        } else {
            least
        }
    })
}

/// A window that is used up: by what the receiver did to it most of the time.
fn receiving(evidence: &Evidence<'_>, limit: Limit) -> Cause {
    match at_receiver(evidence).0 {
        ReceiveLimit::Reader if waits_for_a_call(evidence) || is_all_of_the_window(evidence) => {
            window_or_cap(evidence)
        }
        ReceiveLimit::Reader => Cause::SlowReader,
        ReceiveLimit::Hole => Cause::Reassembly,
        ReceiveLimit::Memory => Cause::PeerMemory,
        ReceiveLimit::None | ReceiveLimit::Buffer if limit == Limit::ZeroWindow => {
            Cause::ZeroWindow
        }
        ReceiveLimit::None | ReceiveLimit::Buffer => window_or_cap(evidence),
    }
}

/// The buffer's size, or the cap on it.
fn window_or_cap(evidence: &Evidence<'_>) -> Cause {
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    tighter(&bounds, &[Cause::ReceiveWindow, Cause::ReceiveBufferLimit])
}

/// Whether its reader takes everything as soon as it is called, and a call takes time:
/// that is the processor's, and part of a round trip.
fn waits_for_a_call(evidence: &Evidence<'_>) -> bool {
    let is_eager = evidence.setup.flow().read_plan() == ReadPlan::Eager;
    is_eager && !evidence.receiver().cpu.is_free()
}

/// Whether nearly as much arrived as the window lets through: its reader can have
/// had little to do with it, nor its growth.
pub fn is_all_of_the_window(evidence: &Evidence<'_>) -> bool {
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let most = bounds::of(&bounds, Cause::ReceiveWindow).unwrap_or(f64::INFINITY);
    evidence.is_alone() && is_nearly(evidence, most)
}

/// Whether what arrived while the transfer was under way is nearly `bps`.
fn is_nearly(evidence: &Evidence<'_>, bps: f64) -> bool {
    evidence.measured.goodput_mbps * 1e6 >= ALL_OF_IT * bps * underway(evidence)
}

/// The window that congestion control found for the path's rate: where it paces as fast
/// as that lets through, the window is what binds.
fn behind_pacing(evidence: &Evidence<'_>) -> Cause {
    let is_own = evidence.sender().config.tcp.pacing_rate_max == 0;
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let tightest = bounds::tightest(&bounds).filter(|bound| {
        let is_as_fast = is_nearly(evidence, bound.bps) && !is_nearly(evidence, bound.bps * 2.0);
        is_own && evidence.is_alone() && is_window(bound.cause) && is_as_fast
    });
    tightest.map_or(Cause::Pacing, |bound| bound.cause)
}

/// Whether it is a bound on what is on its way.
pub fn is_window(cause: Cause) -> bool {
    const WINDOWS: [Cause; 7] = [
        Cause::SendBuffer,
        Cause::SendBufferLimit,
        Cause::Unacknowledged,
        Cause::Memory,
        Cause::ReceiveWindow,
        Cause::ReceiveBufferLimit,
        Cause::PeerMemory,
    ];
    WINDOWS.contains(&cause)
}

/// A window that would fill the path and does not, and a reader that was behind
/// now and then: what it left is what was missing.
fn is_left_by_reader(evidence: &Evidence<'_>) -> bool {
    let behind = evidence.limits.receiver.share(ReceiveLimit::Reader.name());
    let may_be = !waits_for_a_call(evidence) && evidence.is_alone();
    behind >= BEHIND && may_be && holds_the_path(evidence, Cause::ReceiveWindow)
}

/// What the receiver did to its sender most of the time, and how long.
pub fn at_receiver(evidence: &Evidence<'_>) -> (ReceiveLimit, f64) {
    let shares = &evidence.limits.receiver;
    [
        ReceiveLimit::Buffer,
        ReceiveLimit::Reader,
        ReceiveLimit::Hole,
        ReceiveLimit::Memory,
    ]
    .into_iter()
    .map(|limit| (limit, shares.share(limit.name())))
    .max_by(|a, b| a.1.total_cmp(&b.1))
    .filter(|(_, share)| *share > 0.0)
    .unwrap_or((ReceiveLimit::None, 0.0))
}

/// Whether the path was full, so that what the sender waited for only decided
/// where data waited.
fn is_path(evidence: &Evidence<'_>, cause: Cause) -> bool {
    let busy = evidence.measured.link_busy_share;
    let path = evidence.path();
    let full_rate = evidence.active_bps() >= FULL_LINK * path.payload_bps;
    let enough = match cause {
        Cause::Application | Cause::SlowReader | Cause::Nagle | Cause::DelayedAck => return false,
        Cause::Loss if path.loss > 0.0 => FULL_LINK,
        Cause::Loss | Cause::Congestion | Cause::Device | Cause::Pacing => NEARLY_FULL,
        Cause::SendBuffer
        | Cause::SendBufferLimit
        | Cause::ReceiveBufferLimit
        | Cause::Unacknowledged
        | Cause::Memory
        | Cause::ReceiveWindow
        | Cause::PeerMemory => {
            if holds_the_path(evidence, cause) {
                NEARLY_FULL * underway(evidence)
            } else {
                FULL_LINK
            }
        }
        Cause::Reassembly
        | Cause::ZeroWindow
        | Cause::Cpu
        | Cause::PeerGone
        | Cause::OutOfOrder
        | Cause::Descriptors
        | Cause::ReceiveQueue
        | Cause::SlowStart
        | Cause::Path
        | Cause::Handshake
        | Cause::Closing
        | Cause::Nothing => FULL_LINK,
    };
    busy >= enough || full_rate
}

/// The share of the time in which a link or a processor could be full: not while a connection is
/// opened, grows, or waits for its end, nor while its sender thinks about what it was asked.
pub fn underway(evidence: &Evidence<'_>) -> f64 {
    let opening = [Limit::Handshake, Limit::CwndSlowStart, Limit::Closing];
    let shares = &evidence.limits.sender;
    let idle: f64 = opening.iter().map(|limit| shares.share(limit.name())).sum();
    (1.0 - idle - thinking(evidence)).max(0.0)
}

/// The share of the time in which a link or a processor had anything to do: slow start is
/// part of it, but not the handshake, the last byte's way, or a sender who thinks.
pub fn at_work(evidence: &Evidence<'_>) -> f64 {
    let share = |limit: Limit| evidence.limits.sender.share(limit.name());
    let elapsed_s = evidence.measured.elapsed_s.max(f64::MIN_POSITIVE);
    // While all is sent its queue is still worked off; the way takes as long without one.
    let way = evidence.scale().rtt_s / 2.0 / elapsed_s;
    let idle = share(Limit::Handshake) + share(Limit::Closing).min(way);
    (1.0 - idle - thinking(evidence)).max(0.0)
}

/// The share of the time in which a sender that was asked thinks, before it writes
/// the first byte.
pub fn thinking(evidence: &Evidence<'_>) -> f64 {
    match evidence.setup.flow().question() {
        Some((_, think)) if evidence.measured.elapsed_s > 0.0 => {
            (think.as_secs_f64() / evidence.measured.elapsed_s).min(1.0)
        }
        Some(_) | None => 0.0,
    }
}

/// Whether the windows behind `cause`, of all connections that there are at once, are
/// as large as the path is long.
pub fn holds_the_path(evidence: &Evidence<'_>, cause: Cause) -> bool {
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let (bound, path) = (bounds::of(&bounds, cause), bounds::of(&bounds, Cause::Path));
    bound
        .zip(path)
        .is_some_and(|(bound, path)| bound * evidence.times() >= FULL_WINDOW * path)
}
