//! The limit of a transfer.
//!
//! Rule: the limit to which the stack charged the most time decides; bounds only
//! distinguish the causes that one limit can have. If the path is full, the limit is the path.

use fullpipe_scenario::experiment::{HostPlan, Stop};
use fullpipe_sim::app::ReadPlan;
use fullpipe_tcp::{CongestionAlgorithm, Limit, ReceiveLimit};

use super::{
    bounds::{self, Bound},
    buffers::Buffer,
    cause::Cause,
    evidence::Evidence,
    processor,
};

/// A link that is busy for this share of the time is full: the contention for a radio
/// leaves the rest idle.
const FULL_LINK: f64 = 0.95;
/// The same, if a window or losses of the link's own queue sometimes leave the link idle.
const NEARLY_FULL: f64 = 0.9;
/// A window of at least this share of the bandwidth-delay product counts as filling the
/// path.
const FULL_WINDOW: f64 = 0.97;
/// If retransmissions exceed this many times the losses, they are not only repairs.
const MUCH_MORE: f64 = 3.0;
/// A goodput of at least this share of window / round-trip time means that the window's
/// size limited it, not its reader.
const ALL_OF_IT: f64 = 0.75;
/// A reader that is behind for at least this share of the time is slow. If the device has
/// the most time but was not the limit, another limit with at least this share replaces it.
const BEHIND: f64 = 0.1;
/// Pacing counts as derived from the congestion window if the window's time is at least
/// this part of pacing's time.
const OF_PACING: f64 = 0.2;

/// A table of ranges is blamed if it was too small once in this many retransmissions.
const RETRANSMISSIONS_PER_FULL_TABLE: u64 = 2;
/// A sender of which this share of the retransmissions is spurious repairs badly.
const MOSTLY_SPURIOUS: f64 = 0.5;
/// A sender that takes one timeout in this many retransmissions repairs badly.
const RETRANSMISSIONS_PER_TIMEOUT: u64 = 2;
/// A sender that spends this share of the time on repairs makes them badly.
const MOSTLY_IN_REPAIR: f64 = 0.5;

/// The limit with the most time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binding {
    /// Its cause.
    pub cause: Cause,
    /// The stack's limit with the most time among those of this cause.
    pub limit: Limit,
    /// The cause's share of the time.
    pub share: f64,
}

/// A kind of table of ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Pieces out of order of one connection.
    Holes,
    /// All users of the pool's ranges: out-of-order payload of all connections, IP
    /// fragments.
    PoolRanges,
    /// Ranges in flight of all connections.
    SentRanges,
    /// Ranges in flight of one connection.
    SentRangesEach,
}

impl TableKind {
    /// The knob that sets the table's size.
    pub const fn knob(self) -> &'static str {
        match self {
            Self::Holes => "tcp.holes",
            Self::PoolRanges => "pool.ranges",
            Self::SentRanges => "stack.sent_ranges",
            Self::SentRangesEach => "stack.sent_ranges_each",
        }
    }

    /// Returns true for a table of payload in flight.
    pub const fn is_senders(self) -> bool {
        matches!(self, Self::SentRanges | Self::SentRangesEach)
    }
}

/// A table of ranges that was too small.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// Its host.
    pub host: &'a HostPlan,
    /// Its kind.
    pub kind: TableKind,
    /// Times that it was too small.
    pub full: u64,
}

impl<'a> Table<'a> {
    /// The one of two tables of `host` that was too small more often.
    fn worse(host: &'a HostPlan, tables: [(TableKind, u64); 2]) -> Self {
        let [one, other] = tables;
        let (kind, full) = if other.1 > one.1 { other } else { one };
        Self { host, kind, full }
    }
}

/// Returns the limit with the most time; `None` without a connection. Handshake and close
/// count only if nothing else has any time, because no knob changes them.
pub fn of(evidence: &Evidence<'_>) -> Option<Binding> {
    let binding = meant(evidence, longest(evidence, None)?);
    if binding.cause == Cause::Device && !evidence.sender().cpu.is_free() {
        // The device waited for frames, but neither the processor that makes them nor the
        // link was always busy, so something else left them idle.
        let other = longest(evidence, Some(Cause::Device)).filter(|other| other.share >= BEHIND);
        return Some(other.map_or(binding, |other| meant(evidence, other)));
    }
    Some(binding)
}

/// Returns the cause behind the limit with the most time.
fn meant(evidence: &Evidence<'_>, held: Binding) -> Binding {
    let cause = match held.cause {
        Cause::SendBuffer => sending(evidence),
        Cause::ReceiveWindow => receiving(evidence, held.limit),
        Cause::Pacing => behind_pacing(evidence),
        Cause::Nagle if evidence.setup.flow().is_no_push() => Cause::Cork,
        other => other,
    };
    let cause = if is_path(evidence, cause) {
        Cause::Path
    } else if cause == Cause::Loss && is_lost_in_ring(evidence) {
        Cause::Descriptors
    } else if matches!(cause, Cause::Loss | Cause::Reassembly) && is_refused_early(evidence) {
        Cause::OutOfOrder
    } else if waits_for_repair(cause) && short_table(evidence).is_some() {
        Cause::RangeTable
    } else if waits_for_work(cause) && processor::is_bound(evidence, cause) {
        Cause::Cpu
    } else if cause == Cause::ReceiveWindow && is_left_by_reader(evidence) {
        Cause::SlowReader
    } else {
        cause
    };
    Binding { cause, ..held }
}

/// Returns the group of limits with the most time, without `except`.
fn longest(evidence: &Evidence<'_>, except: Option<Cause>) -> Option<Binding> {
    let shares = &evidence.limits.sender;
    let share = |limit: Limit| shares.share(limit);
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
    let is_bbr = evidence.sender().config.tcp.congestion == CongestionAlgorithm::Bbr;
    join_pacing(&mut groups, is_bbr);
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

/// The pacing rate derives from the congestion window, so time limited by either is
/// charged to the congestion window. BBR also paces after slow start, so its pacing
/// time is not added to slow start.
fn join_pacing(groups: &mut [(Cause, f64, Limit)], is_bbr: bool) {
    let share = |groups: &[(Cause, f64, Limit)], cause| {
        groups
            .iter()
            .find(|group| group.0 == cause)
            .map_or(0.0, |group| group.1)
    };
    let pacing = share(groups, Cause::Pacing);
    let window = groups
        .iter_mut()
        .filter(|group| match group.0 {
            Cause::SlowStart => !is_bbr,
            cause => matches!(cause, Cause::Congestion | Cause::Loss),
        })
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
        Limit::CwndSlowStart | Limit::CwndAfterIdle => Cause::SlowStart,
        Limit::CwndSteady | Limit::CwndAfterMark => Cause::Congestion,
        Limit::CwndAfterLoss | Limit::Recovery => Cause::Loss,
        Limit::Pacing => Cause::Pacing,
        Limit::Device => Cause::Device,
        Limit::Nagle => Cause::Nagle,
        Limit::Handshake => Cause::Handshake,
        Limit::Closing => Cause::Closing,
        Limit::Processor => Cause::Cpu,
    }
}

/// Returns true if at least half of the retransmissions replace frames that found no
/// receive descriptor.
fn is_lost_in_ring(evidence: &Evidence<'_>) -> bool {
    let lost = processor::lost_in_ring(evidence);
    lost > 0 && lost * 2 >= evidence.measured.retransmitted_segments
}

/// Returns true if much more was retransmitted than the path loses, and the receiver has
/// less room for out-of-order payload than for payload in order.
fn is_refused_early(evidence: &Evidence<'_>) -> bool {
    let measured = evidence.measured;
    let lost = evidence.path().loss * measured.data_segments as f64;
    bounds::lacks_out_of_order(evidence.receiver(), &evidence.scale())
        && lost > 0.0
        && measured.retransmitted_segments as f64 >= MUCH_MORE * lost
}

/// Returns the table of ranges that made repairs slow, if one did. Every second
/// retransmission must have had a table that was too small. A full table
/// at the sender only merges ranges, which is often harmless, so it is blamed only if
/// repairs were also bad (`repairs_badly`).
pub fn short_table<'a>(evidence: &Evidence<'a>) -> Option<Table<'a>> {
    let again = evidence.measured.retransmitted_segments;
    let is_much =
        |table: &Table<'_>| table.full > 0 && table.full * RETRANSMISSIONS_PER_FULL_TABLE >= again;
    let at_receiver = processor::measured(evidence, evidence.receiver()).map(|host| {
        let full = &host.full_tables;
        let tables = [
            (TableKind::Holes, full.holes),
            (TableKind::PoolRanges, full.ranges),
        ];
        Table::worse(evidence.receiver(), tables)
    });
    let at_sender = processor::measured(evidence, evidence.sender()).map(|host| {
        let full = &host.full_tables;
        let tables = [
            (TableKind::SentRanges, full.sent_ranges),
            (TableKind::SentRangesEach, full.sent_ranges_each),
        ];
        Table::worse(evidence.sender(), tables)
    });
    let at_sender = at_sender.filter(|table| is_much(table) && repairs_badly(evidence));
    at_receiver.filter(is_much).or(at_sender)
}

/// Returns true if half of the retransmissions were spurious, if half of the losses took a
/// timeout, or if repairs took most of the time.
fn repairs_badly(evidence: &Evidence<'_>) -> bool {
    let measured = evidence.measured;
    let again = measured.retransmitted_segments;
    let spurious = measured.needless_share * measured.data_segments as f64;
    let repair = evidence.limits.sender.share(Limit::Recovery);
    again > 0
        && (spurious >= MOSTLY_SPURIOUS * again as f64
            || measured.timeouts * RETRANSMISSIONS_PER_TIMEOUT >= again
            || repair >= MOSTLY_IN_REPAIR)
}

/// Returns true for causes whose time may really be that of repairs.
fn waits_for_repair(cause: Cause) -> bool {
    const WAITS: [Cause; 5] = [
        Cause::Loss,
        Cause::Reassembly,
        Cause::Congestion,
        Cause::SlowStart,
        Cause::Pacing,
    ];
    WAITS.contains(&cause)
}

/// Returns true for causes whose time may really be that of a busy processor.
fn waits_for_work(cause: Cause) -> bool {
    match cause {
        Cause::SendBuffer
        | Cause::SendBufferLimit
        | Cause::Unacknowledged
        | Cause::Memory
        | Cause::ReceiveWindow
        | Cause::ReceiveBufferLimit
        | Cause::InitialReceiveWindow
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
        | Cause::RangeTable
        | Cause::Descriptors
        | Cause::ReceiveQueue
        | Cause::Nagle
        | Cause::Cork
        | Cause::Handshake
        | Cause::Closing
        | Cause::Nothing => false,
    }
}

/// The cause of a full send buffer: its size, the cap on unacknowledged payload, or the
/// peer's delayed ACKs.
fn sending(evidence: &Evidence<'_>) -> Cause {
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let bound = |cause| bounds::of(&bounds, cause).unwrap_or(f64::INFINITY);
    let timer_s = evidence.receiver().config.tcp.delayed_ack.as_secs_f64();
    let waits = evidence.turn_s() > timer_s / 2.0;
    if bound(Cause::DelayedAck).is_finite() && waits {
        return Cause::DelayedAck;
    }
    // A buffer as large as the cap on it grows only if the cap does.
    let causes = [
        Cause::SendBufferLimit,
        Cause::SendBuffer,
        Cause::Unacknowledged,
    ];
    tighter(&bounds, &causes)
}

/// The tightest of `causes`; of equal ones the first.
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

/// The cause of a used-up window, by the receiver's own limits.
fn receiving(evidence: &Evidence<'_>, limit: Limit) -> Cause {
    match at_receiver(evidence).0 {
        ReceiveLimit::Reader if waits_for_a_call(evidence) || is_all_of_the_window(evidence) => {
            window_or_cap(evidence)
        }
        ReceiveLimit::Reader => Cause::SlowReader,
        ReceiveLimit::Hole => Cause::Reassembly,
        ReceiveLimit::Memory => Cause::PeerMemory,
        ReceiveLimit::Processor => Cause::Cpu,
        ReceiveLimit::Descriptors => Cause::Descriptors,
        ReceiveLimit::None | ReceiveLimit::Buffer if limit == Limit::ZeroWindow => {
            Cause::ZeroWindow
        }
        ReceiveLimit::None | ReceiveLimit::Buffer => window_or_cap(evidence),
    }
}

/// Distinguishes the buffer's size from the cap on it, and both from the first window: a
/// buffer that holds the whole transfer is never full.
fn window_or_cap(evidence: &Evidence<'_>) -> Cause {
    if holds_the_transfer(evidence) {
        return Cause::InitialReceiveWindow;
    }
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    tighter(&bounds, &[Cause::ReceiveBufferLimit, Cause::ReceiveWindow])
}

/// Returns true if the receive buffer is not autotuned and holds all bytes to send, but
/// the first window does not.
fn holds_the_transfer(evidence: &Evidence<'_>) -> bool {
    let Stop::Bytes(bytes) = evidence.setup.flow().stop else {
        return false;
    };
    let (sender, receiver) = (evidence.sender(), evidence.receiver());
    let buffer = Buffer::receiving(receiver);
    let most = buffer.text().min(bounds::most_window(sender, receiver));
    let first = bounds::first_window(evidence.setup, &evidence.scale());
    buffer.tuned_to.is_none() && (first + 1..=most).contains(&bytes)
}

/// Returns true if the reader reads everything as soon as it is called, and a call takes
/// time. That time belongs to the processor and is part of a round trip.
fn waits_for_a_call(evidence: &Evidence<'_>) -> bool {
    let is_eager = evidence.setup.flow().read_plan() == ReadPlan::Eager;
    is_eager && !evidence.receiver().cpu.is_free()
}

/// Returns true if nearly as much arrived as the window allows. Neither its reader nor
/// its growth then limited the window.
pub fn is_all_of_the_window(evidence: &Evidence<'_>) -> bool {
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let most = bounds::of(&bounds, Cause::ReceiveWindow).unwrap_or(f64::INFINITY);
    evidence.is_alone() && is_nearly(evidence, most)
}

/// Returns true if the goodput, apart from opening and closing, is nearly `bps`.
fn is_nearly(evidence: &Evidence<'_>, bps: f64) -> bool {
    evidence.measured.goodput_mbps * 1e6 >= ALL_OF_IT * bps * underway(evidence)
}

/// The cause behind BBR's pacing. BBR paces at the delivery rate, so a window that caps
/// that rate is the limit.
fn behind_pacing(evidence: &Evidence<'_>) -> Cause {
    let is_own = evidence.sender().config.tcp.pacing_rate_max == 0;
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let tightest = bounds::tightest(&bounds).filter(|bound| {
        let is_as_fast = is_nearly(evidence, bound.bps) && !is_nearly(evidence, bound.bps * 2.0);
        is_own && evidence.is_alone() && is_window(bound.cause) && is_as_fast
    });
    tightest.map_or(Cause::Pacing, |bound| bound.cause)
}

/// Returns true for bounds on payload in flight.
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

/// Returns true if a window large enough for the path did not fill it and its reader was
/// sometimes behind, so that the reader is the limit.
fn is_left_by_reader(evidence: &Evidence<'_>) -> bool {
    let behind = evidence.limits.receiver.share(ReceiveLimit::Reader);
    let may_be = !waits_for_a_call(evidence) && evidence.is_alone();
    behind >= BEHIND && may_be && holds_the_path(evidence, Cause::ReceiveWindow)
}

/// The receiver's own limit with the most time, and its share.
pub fn at_receiver(evidence: &Evidence<'_>) -> (ReceiveLimit, f64) {
    let shares = &evidence.limits.receiver;
    [
        ReceiveLimit::Buffer,
        ReceiveLimit::Reader,
        ReceiveLimit::Hole,
        ReceiveLimit::Memory,
    ]
    .into_iter()
    .map(|limit| (limit, shares.share(limit)))
    .max_by(|a, b| a.1.total_cmp(&b.1))
    .filter(|(_, share)| *share > 0.0)
    .unwrap_or((ReceiveLimit::None, 0.0))
}

/// Returns true if the path was full. In that case, the sender's limit only decided
/// in which queue payload waited, not how fast it went.
fn is_path(evidence: &Evidence<'_>, cause: Cause) -> bool {
    let busy = evidence.measured.link_busy_share;
    let path = evidence.path();
    let full_rate = evidence.active_bps() >= FULL_LINK * path.payload_bps;
    let enough = match cause {
        Cause::Application | Cause::SlowReader | Cause::Nagle | Cause::Cork | Cause::DelayedAck => {
            return false;
        }
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
        | Cause::RangeTable
        | Cause::InitialReceiveWindow
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

/// Share of the time in which a link or a processor can be full: without handshake, slow
/// start, close and think time.
pub fn underway(evidence: &Evidence<'_>) -> f64 {
    let opening = [Limit::Handshake, Limit::CwndSlowStart, Limit::Closing];
    let shares = &evidence.limits.sender;
    let idle: f64 = opening.iter().map(|limit| shares.share(*limit)).sum();
    (1.0 - idle - thinking(evidence)).max(0.0)
}

/// Share of the time in which a link or a processor had work: slow start included, but
/// without handshake, the last byte's delay and think time.
pub fn at_work(evidence: &Evidence<'_>) -> f64 {
    let share = |limit: Limit| evidence.limits.sender.share(limit);
    let elapsed_s = evidence.measured.elapsed_s.max(f64::MIN_POSITIVE);
    // After the last byte is sent, the queue still drains; the propagation delay passes
    // even without a queue. So of the closing time only one propagation delay counts as
    // idle.
    let way = evidence.scale().rtt_s / 2.0 / elapsed_s;
    let idle = share(Limit::Handshake) + share(Limit::Closing).min(way);
    (1.0 - idle - thinking(evidence)).max(0.0)
}

/// Share of the time that is the sender's think time between the request and the first
/// byte.
pub fn thinking(evidence: &Evidence<'_>) -> f64 {
    match evidence.setup.flow().question() {
        Some((_, think)) if evidence.measured.elapsed_s > 0.0 => {
            (think.as_secs_f64() / evidence.measured.elapsed_s).min(1.0)
        }
        Some(_) | None => 0.0,
    }
}

/// Returns true if the windows behind `cause`, of all connections together, are as large
/// as the bandwidth-delay product.
pub fn holds_the_path(evidence: &Evidence<'_>, cause: Cause) -> bool {
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let (bound, path) = (bounds::of(&bounds, cause), bounds::of(&bounds, Cause::Path));
    bound
        .zip(path)
        .is_some_and(|(bound, path)| bound * evidence.times() >= FULL_WINDOW * path)
}
