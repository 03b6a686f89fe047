//! The setting that raises a limit, and the value that it needs.
//!
//! Rule: a value follows from what the path and the applications allow. It is never more
//! than a knob can use, and never below the present value. If no setting helps, there is
//! no remedy. `predict` predicts the result of a remedy.

use fullpipe::presets::alias;
use fullpipe_diagnose::facts::ChangeLine;
use fullpipe_scenario::{
    experiment::{HostPlan, LowWater, Stop},
    units::{grouped, three_digits},
};
use fullpipe_tcp::{CongestionAlgorithm, SentArena};
use serde::Serialize;

use super::{
    binding::{TableKind, is_all_of_the_window, short_table, underway},
    bounds::{self, Bound, UNSCALED, most_window},
    buffers::{Buffer, Knobs},
    cause::Cause,
    evidence::{Evidence, Scale},
    names::{self, NamedSetting},
    processor,
};

/// Words for the gain of small writes that are no longer delayed.
const AT_ONCE: &str = "each write then leaves at once; the rate stays the same";
/// Values of buffers are rounded up to this many bytes.
const STEP: u64 = 1_024;
/// Factor by which an advised pacing rate exceeds the rate that the path carries.
const PACING_HEADROOM: f64 = 1.1;
/// If the goodput is at least this share of the tightest bound that no knob changes, a
/// larger window gains nothing.
const NEARLY: f64 = 0.95;
/// BBR must tolerate this many times the mean loss, because the losses of single round
/// trips vary.
const LOSS_HEADROOM: f64 = 2.0;
/// From this loss on, BBR is not advised.
const MOST_LOSS: f64 = 0.5;
/// The most segments that a connection may begin with.
const INITIAL_MOST: u64 = 1_000;

/// A setting to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingChange {
    /// Its path, as `--set` takes it.
    pub set: String,
    /// Present value.
    pub from: String,
    /// Value to set.
    pub to: String,
    /// The change as text, by the names of the host's system.
    #[serde(skip)]
    pub(crate) line: ChangeLine,
}

/// A knob to change, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The knob, by its name in its host's system.
    pub knob: String,
    /// Present value.
    pub present: String,
    /// Value that is needed.
    pub needed: String,
    /// Derivation of that value.
    pub formula: String,
    /// Every setting that changes: the knob, and others that would keep the same bound.
    pub changes: Vec<SettingChange>,
}

/// A window that is large enough for the tightest bound that no knob changes.
struct Window {
    bytes: u64,
    formula: String,
}

impl Window {
    /// `bytes`, rounded up, and their origin.
    fn rounded(bytes: f64, origin: &str) -> Self {
        let bytes = (bytes.ceil() as u64).next_multiple_of(STEP);
        Self {
            bytes,
            formula: format!(
                "{origin}, rounded up to {} bytes of payload",
                grouped(bytes)
            ),
        }
    }
}

/// Returns the setting that raises the limit `cause`, if there is one.
pub fn of(evidence: &Evidence<'_>, cause: Cause) -> Option<Remedy> {
    match cause {
        Cause::SendBuffer | Cause::Unacknowledged | Cause::DelayedAck => sending(evidence),
        Cause::SendBufferLimit => cap(
            evidence,
            evidence.sender(),
            &Buffer::sending(evidence.sender()),
        ),
        Cause::ReceiveWindow | Cause::ZeroWindow => receiving(evidence),
        Cause::ReceiveBufferLimit => cap(
            evidence,
            evidence.receiver(),
            &Buffer::receiving(evidence.receiver()),
        ),
        Cause::Memory => send_blocks(evidence),
        Cause::PeerMemory => receive_blocks(evidence),
        Cause::SlowStart => initial_window(evidence),
        Cause::InitialReceiveWindow => first_window(evidence),
        Cause::Loss => model_instead_of_loss(evidence),
        Cause::Nagle | Cause::Cork => at_once(evidence),
        Cause::Pacing => faster(evidence),
        Cause::Descriptors => descriptors(evidence),
        Cause::OutOfOrder => Some(out_of_order(evidence)),
        Cause::RangeTable => larger_table(evidence),
        Cause::Cpu => fewer_calls(evidence),
        Cause::Path
        | Cause::Application
        | Cause::SlowReader
        | Cause::Reassembly
        | Cause::Congestion
        | Cause::Device
        | Cause::PeerGone
        | Cause::ReceiveQueue
        | Cause::Handshake
        | Cause::Closing
        | Cause::Nothing => None,
    }
}

/// Lets small writes leave at once: removes the application's cork and Nagle's algorithm.
/// That does not raise the rate; it only ends the wait.
fn at_once(evidence: &Evidence<'_>) -> Option<Remedy> {
    let (sender, flow) = (evidence.sender(), evidence.setup.flow());
    let pushed = flow.is_no_push().then(|| {
        let (setting, set) = names::of_flow(sender, &flow.name, "no_push", ["true", "false"]);
        (change_of(sender, set, &setting), setting)
    });
    let nagle = sender.config.tcp.nagle.then(|| {
        let setting = names::switch(sender, "tcp.nagle", false);
        (change(sender, &setting), setting)
    });
    let (changes, setting): (Vec<_>, Vec<_>) = pushed.into_iter().chain(nagle).unzip();
    let waits = evidence.measured.unsent_ms > 0.0;
    let first = setting.into_iter().next().filter(|_| waits)?;
    Some(Remedy {
        knob: first.name,
        present: first.present,
        needed: first.wanted,
        formula: AT_ONCE.to_string(),
        changes,
    })
}

/// Lets the stack accept a write in parts, because the whole write fits nowhere.
pub fn pieces(host: &HostPlan) -> Remedy {
    switched(
        host,
        "tcp.write_atomic",
        false,
        "the stack then accepts a write in parts",
    )
}

fn switched(host: &HostPlan, knob: &'static str, on: bool, formula: &str) -> Remedy {
    one(host, names::switch(host, knob, on), formula.to_string())
}

/// Adds the unit of a setting that is not in bytes of payload.
fn in_units(formula: String, setting: &NamedSetting) -> String {
    match names::unit_words(setting) {
        Some(unit) => format!("{formula}. {unit}"),
        None => formula,
    }
}

/// Returns the remedy that changes one setting of `host`.
pub fn one(host: &HostPlan, setting: NamedSetting, formula: String) -> Remedy {
    Remedy {
        changes: vec![change(host, &setting)],
        knob: setting.name,
        present: setting.present,
        needed: setting.wanted,
        formula,
    }
}

/// Returns the change of one setting of `host`.
pub fn change(host: &HostPlan, setting: &NamedSetting) -> SettingChange {
    change_of(host, format!("{}.{}", host.name, setting.name), setting)
}

fn change_of(host: &HostPlan, set: String, setting: &NamedSetting) -> SettingChange {
    SettingChange {
        set,
        from: setting.present.clone(),
        to: setting.wanted.clone(),
        line: ChangeLine {
            host: host.name.clone(),
            paste: setting.paste.clone(),
            from: setting.present.clone(),
            notes: setting.cautions.clone(),
        },
    }
}

/// Returns the window for the tightest bound that no knob changes: its rate times the
/// round-trip time, plus two segments, because a peer acknowledges every second one, and
/// what arrives while the reader is called. `None` if only knobs limit.
fn window(evidence: &Evidence<'_>) -> Option<Window> {
    let scale = evidence.scale();
    let target = target(evidence)?;
    let frame_s = scale.segment * 8.0 / target.bps;
    let waiting = processor::for_a_call(evidence.setup, scale.segment, frame_s) - 1.0;
    let bytes = target.bps / 8.0 * scale.rtt_s + (2.0 + waiting) * scale.segment;
    let mut origin = format!(
        "{} x {} ms (round trip of a full segment) + {}",
        bounds::rate_words(evidence.setup, scale.segment, target),
        three_digits(scale.rtt_s * 1e3),
        two_segments(&scale),
    );
    if waiting > 0.0 {
        origin += &format!(" + {waiting} more that can arrive while the reader is called");
    }
    Some(Window::rounded(bytes, &origin))
}

/// The tightest bound that no knob changes.
fn target(evidence: &Evidence<'_>) -> Option<Bound> {
    bounds::tightest(&bounds::bounds_without_knob(
        evidence.setup,
        &evidence.scale(),
    ))
}

fn two_segments(scale: &Scale) -> String {
    format!("2 segments of {} bytes", grouped(scale.segment as u64))
}

/// Returns a window larger than `present`, or `None` if no larger one helps. It is
/// [`window`]; if `present` is as large as that, [`window_by_its_turn`]; if only knobs
/// limit, [`next_window`].
fn window_beyond(evidence: &Evidence<'_>, present: u64) -> Option<Window> {
    let needed = match window(evidence) {
        Some(needed) if needed.bytes <= present => window_by_its_turn(evidence, present)?,
        Some(needed) => needed,
        None => next_window(evidence, present)?,
    };
    (needed.bytes > present).then_some(needed)
}

/// Returns the window for the measured time in which `present` bytes arrived. By the
/// configured round-trip time `present` suffices; measured, it does not, because the
/// hosts' processors add time.
fn window_by_its_turn(evidence: &Evidence<'_>, present: u64) -> Option<Window> {
    let (scale, target) = (evidence.scale(), target(evidence)?);
    let underway = underway(evidence);
    let can_advise = evidence.is_alone() && !processor::is_free(evidence.setup) && underway > 0.0;
    let bps = evidence.measured.goodput_mbps * 1e6 / underway;
    (can_advise && bps > 0.0 && bps < NEARLY * target.bps).then(|| {
        let turn_s = present as f64 * 8.0 / bps;
        let bytes = target.bps / 8.0 * turn_s + 2.0 * scale.segment;
        let origin = format!(
            "{} x {} ms (measured for {} bytes with the hosts' work) + {}",
            bounds::rate_words(evidence.setup, scale.segment, target),
            three_digits(turn_s * 1e3),
            grouped(present),
            two_segments(&scale),
        );
        Window::rounded(bytes, &origin)
    })
}

/// The window at the next bound: the smallest above `present` of those that the bounds
/// allow, or all bytes to send if those are fewer.
fn next_window(evidence: &Evidence<'_>, present: u64) -> Option<Window> {
    let scale = evidence.scale();
    // Not rounded up to a step: the window could then exceed the cap it comes from.
    let window = |bps: f64| (bps / 8.0 * scale.cycle_s).round() as u64;
    let all = bounds::all(evidence.setup, &scale).into_iter();
    let next = all
        .filter(|bound| bound.bps.is_finite())
        .map(|bound| (window(bound.bps), bound.cause))
        .filter(|(bytes, _)| *bytes > present + STEP)
        .min_by_key(|(bytes, _)| *bytes);
    let whole = match evidence.setup.flow().stop {
        Stop::Bytes(bytes) => Some(bytes),
        Stop::After(_) => None,
    };
    match (next, whole) {
        (Some((bytes, cause)), whole) if whole.is_none_or(|whole| bytes < whole) => {
            let whose = cause.words();
            let payload = grouped(bytes);
            Some(Window {
                bytes,
                formula: format!("as much as {whose} allows, {payload} bytes of payload"),
            })
        }
        (_, whole) => whole.map(|whole| {
            let origin = format!("all {} bytes of the transfer at once", grouped(whole));
            Window::rounded(whole as f64, &origin)
        }),
    }
}

/// Returns the bytes that the send buffer must hold: the window of [`window_beyond`], and
/// the space that must be free before a blocked writer continues.
fn above_low_water(evidence: &Evidence<'_>, present: u64) -> Option<Window> {
    let free = bounds::room_waited_for(evidence.setup);
    let mut needed = window_beyond(evidence, present.saturating_sub(free))?;
    match evidence.setup.flow().low_water() {
        LowWater::Percent(percent) if percent > 0 => {
            needed.bytes = (needed.bytes * 100).div_ceil(u64::from(100 - percent));
            needed.formula += &format!(
                ". The send buffer must be larger: a blocked writer resumes when {percent} % is free, so \
                 these are the other {} %",
                100 - percent
            );
        }
        LowWater::Bytes(_) | LowWater::Percent(_) if free > 0 => {
            needed.bytes += free;
            needed.formula += &format!(
                ". Another {} bytes must be free before a blocked writer resumes",
                grouped(free)
            );
        }
        LowWater::Bytes(_) | LowWater::Percent(_) => {}
    }
    Some(needed)
}

/// Raises the send buffer and the cap on unacknowledged payload, whichever is too small,
/// because both limit payload in flight.
fn sending(evidence: &Evidence<'_>) -> Option<Remedy> {
    let sender = evidence.sender();
    let buffer = Buffer::sending(sender);
    let text = buffer.uncapped_text();
    let unacknowledged = u64::from(sender.config.tcp.unacknowledged);
    let Some(needed) = above_low_water(evidence, text.min(unacknowledged)) else {
        return fewer_calls(evidence);
    };
    let raise = |knob, present: u64, size| {
        (present < needed.bytes).then(|| names::number(sender, knob, size))
    };
    let raised = [
        raise(
            knob_of(sender, &buffer),
            text,
            buffer.size_for(needed.bytes),
        ),
        raise("tcp.unacknowledged", unacknowledged, needed.bytes),
    ];
    let mut setting = raised.into_iter().flatten();
    let first = setting.next()?;
    let formula = in_units(needed.formula + &buffer.share_words(needed.bytes), &first);
    let mut remedy = one(sender, first, formula);
    remedy
        .changes
        .extend(setting.map(|other| change(sender, &other)));
    Some(remedy)
}

/// Raises the send buffer, so that its writer is called less often.
fn fewer_calls(evidence: &Evidence<'_>) -> Option<Remedy> {
    let sender = evidence.sender();
    let buffer = Buffer::sending(sender);
    let needed = processor::text_for_calls(evidence)?.next_multiple_of(STEP);
    let setting = names::number(sender, knob_of(sender, &buffer), buffer.size_for(needed));
    let formula = format!(
        "with {} bytes of payload in the buffer the writer's calls cost 5 % of what its frames cost",
        grouped(needed)
    );
    let formula = in_units(formula, &setting);
    Some(one(sender, setting, formula))
}

/// Returns the knob that sets a buffer's size. With autotuning it is the maximum, unless
/// the system sets size and maximum by one name.
fn knob_of(host: &HostPlan, buffer: &Buffer) -> &'static str {
    let Knobs { set, max, .. } = buffer.knobs;
    let has_both = !alias::of_knob(host.preset.name, max).is_empty();
    if buffer.tuned_to.is_some() && !has_both {
        max
    } else {
        set
    }
}

/// Raises the cap on what may be set, and the set size if it is too small as well.
fn cap(evidence: &Evidence<'_>, host: &HostPlan, buffer: &Buffer) -> Option<Remedy> {
    let needed = window_beyond(evidence, buffer.text())?;
    let size = buffer.size_for(needed.bytes);
    let setting = names::number(host, buffer.knobs.limit, size);
    let formula = in_units(needed.formula + &buffer.share_words(needed.bytes), &setting);
    let mut remedy = one(host, setting, formula);
    // Otherwise the set size would limit at once.
    if buffer.set < size {
        // The value is computed on a host with the raised cap, which allows that size.
        let mut raised = host.clone();
        let _ = raised.set(buffer.knobs.limit, &size.to_string());
        let set = names::number(&raised, buffer.knobs.set, size);
        remedy.changes.push(change(host, &set));
    }
    Some(remedy)
}

fn receiving(evidence: &Evidence<'_>) -> Option<Remedy> {
    let (sender, receiver) = (evidence.sender(), evidence.receiver());
    let buffer = Buffer::receiving(receiver);
    if buffer.tuned_to.is_some() && !is_all_of_the_window(evidence) {
        // The buffer was still growing.
        return None;
    }
    let present = buffer.uncapped_text();
    let most = most_window(sender, receiver);
    let mut needed = window_beyond(evidence, present.min(most))?;
    if most == UNSCALED && present >= UNSCALED {
        return Some(scaling(evidence, &buffer, &needed));
    }
    needed.bytes = needed.bytes.min(most);
    let size = buffer.size_for(needed.bytes);
    let setting = names::number(receiver, knob_of(receiver, &buffer), size);
    let formula = in_units(needed.formula + &buffer.share_words(needed.bytes), &setting);
    Some(one(receiver, setting, formula))
}

/// Turns on window scaling at both ends: an unscaled window field has 16 bits.
fn scaling(evidence: &Evidence<'_>, buffer: &Buffer, needed: &Window) -> Remedy {
    let (sender, receiver) = (evidence.sender(), evidence.receiver());
    let without = [receiver, sender]
        .into_iter()
        .filter(|host| !host.config.tcp.window_scaling);
    let named: Vec<_> = without
        .map(|host| (host, names::switch(host, "tcp.window_scaling", true)))
        .collect();
    let mut changes: Vec<_> = named
        .iter()
        .map(|(host, setting)| change(host, setting))
        .collect();
    if buffer.uncapped_text() < needed.bytes {
        let size = buffer.size_for(needed.bytes);
        let setting = names::number(receiver, knob_of(receiver, buffer), size);
        changes.push(change(receiver, &setting));
    }
    let first = named.into_iter().next().map(|(_, setting)| setting);
    let first = first.expect("one end at least does not scale");
    Remedy {
        knob: first.name,
        present: first.present,
        needed: first.wanted,
        formula: format!(
            "{}. Without window scaling a window has at most {} bytes",
            needed.formula,
            grouped(UNSCALED)
        ),
        changes,
    }
}

/// Packet memory for what the sender writes.
fn send_blocks(evidence: &Evidence<'_>) -> Option<Remedy> {
    let sender = evidence.sender();
    let needed = window_beyond(evidence, bounds::send_memory(sender) as u64)?;
    let bytes = bounds::pool_for(sender, needed.bytes as f64);
    let reserved = grouped((bytes - needed.bytes as f64).ceil() as u64);
    let formula = format!(
        "{}, plus {reserved} bytes that a pool of this size reserves for receiving",
        needed.formula
    );
    Some(blocks(sender, bytes, &formula))
}

/// Packet memory that backs the receiver's window.
fn receive_blocks(evidence: &Evidence<'_>) -> Option<Remedy> {
    let receiver = evidence.receiver();
    let share = receiver.config.tcp.window_share;
    let needed = window_beyond(evidence, bounds::receive_memory(receiver) as u64)?;
    let bytes = needed.bytes as f64 * 100.0 / f64::from(share);
    let formula = match share {
        100 => needed.formula,
        _ => format!(
            "{}. The receive window may use {share} % of the pool",
            needed.formula
        ),
    };
    Some(blocks(receiver, bytes, &formula))
}

fn blocks(host: &HostPlan, bytes: f64, formula: &str) -> Remedy {
    let pool = &host.config.pool;
    let size = u64::from(pool.block_size);
    let wanted = ((bytes / size as f64).ceil() as u64).max(u64::from(pool.blocks) + 1);
    let formula = format!("{formula}. A block has {} bytes", grouped(size));
    one(host, names::number(host, "pool.blocks", wanted), formula)
}

/// Raises a cap on pacing above the rate that the path carries. Without a cap the rate
/// derives from the congestion window, or is BBR's estimate.
fn faster(evidence: &Evidence<'_>) -> Option<Remedy> {
    let sender = evidence.sender();
    let present = u64::from(sender.config.tcp.pacing_rate_max);
    let target = target(evidence)?;
    let needed = (target.bps / 8.0 * PACING_HEADROOM).min(f64::from(u32::MAX)) as u64;
    (present > 0 && needed > present).then(|| {
        let formula = format!(
            "{} in bytes per second, plus 10 %",
            bounds::rate_words(evidence.setup, evidence.scale().segment, target)
        );
        let setting = names::number(sender, "tcp.pacing_rate_max", needed);
        one(sender, setting, formula)
    })
}

/// Raises the bound on out-of-order payload to a whole window behind one hole.
fn out_of_order(evidence: &Evidence<'_>) -> Remedy {
    let receiver = evidence.receiver();
    let needed = bounds::out_of_order_for(receiver, &evidence.scale());
    let formula = format!(
        "the receive buffer holds {} bytes, and two segments of {}, the missing one and its \
         retransmission, need no room behind the hole",
        grouped(Buffer::receiving(receiver).text()),
        grouped(evidence.scale().segment as u64)
    );
    let setting = names::number(receiver, "tcp.out_of_order", needed);
    let formula = in_units(formula, &setting);
    one(receiver, setting, formula)
}

/// Enlarges the table of ranges that is too small: to 0, which derives the size, or, if
/// that is no larger, to one range for each segment that can be in flight.
fn larger_table(evidence: &Evidence<'_>) -> Option<Remedy> {
    let table = short_table(evidence)?;
    let config = &table.host.config;
    let flight = bounds::largest_flight(evidence.setup);
    let segments = flight.div_ceil(evidence.segment_bytes().max(1));
    let mut unset = config.clone();
    unset.set(table.kind.knob(), "0").ok()?;
    let (present, derived, source) = match table.kind {
        TableKind::SentRanges => {
            let derived = u64::from(unset.sent_range_count());
            (config.stack.sent_ranges, derived, "packet memory")
        }
        TableKind::SentRangesEach => {
            let outstanding = u32::try_from(flight).unwrap_or(u32::MAX);
            let derived = SentArena::default_max_cuts(outstanding).into();
            (
                config.stack.sent_ranges_each,
                derived,
                "the bytes in flight",
            )
        }
        TableKind::Holes => {
            let buffer = Buffer::receiving(table.host);
            let size = buffer.tuned_to.unwrap_or(buffer.set);
            let size = u32::try_from(size).unwrap_or(u32::MAX);
            let derived = unset.tcp.hole_count(size).into();
            (config.tcp.holes, derived, "the receive buffer")
        }
        TableKind::PoolRanges => {
            let derived = u64::from(unset.pool.range_count());
            (config.pool.ranges, derived, "packet memory")
        }
    };
    let (wanted, formula) = if present != 0 && derived > u64::from(present) {
        let count = grouped(derived);
        let formula = format!("0, the default, derives the size from {source}: {count} ranges");
        (0, formula)
    } else {
        let formula = format!(
            "{} bytes may be in flight, in {} segments",
            grouped(flight),
            grouped(segments)
        );
        (segments, formula)
    };
    let is_more = wanted == 0 || wanted > derived.max(u64::from(present));
    is_more.then(|| {
        let setting = names::number(table.host, table.kind.knob(), wanted);
        one(table.host, setting, formula)
    })
}

/// Raises the number of descriptors to the segments of a window, which may arrive at
/// once.
fn descriptors(evidence: &Evidence<'_>) -> Option<Remedy> {
    let receiver = evidence.receiver();
    let window = bounds::largest_flight(evidence.setup);
    let needed = (window as f64 / evidence.scale().segment).ceil() as u64;
    let present = u64::from(receiver.device.rx_descriptors);
    let setting = names::device(receiver, "device.rx_descriptors", present, needed);
    let formula = format!(
        "a window of {} bytes may arrive at once, in {} segments of {} bytes",
        grouped(window),
        grouped(needed),
        grouped(evidence.scale().segment as u64)
    );
    (needed > present).then(|| one(receiver, setting, formula))
}

/// Raises the initial window to what the tightest bound lets through in a round trip, or to
/// all bytes to send if those are fewer; at most [`INITIAL_MOST`] segments.
fn initial_window(evidence: &Evidence<'_>) -> Option<Remedy> {
    let sender = evidence.sender();
    let Scale { segment, rtt_s, .. } = evidence.scale();
    let all = bounds::all(evidence.setup, &evidence.scale());
    let target = bounds::tightest(&all)?;
    let of_path = target.bps / 8.0 * rtt_s;
    let of_flow = match evidence.setup.flow().stop {
        Stop::Bytes(bytes) => bytes as f64,
        Stop::After(_) => f64::INFINITY,
    };
    let (bytes, formula) = if of_flow <= of_path {
        let all = format!("the transfer has {} bytes", grouped(of_flow as u64));
        (of_flow, all)
    } else {
        let rate = bounds::rate_words(evidence.setup, segment, target);
        let rtt = three_digits(rtt_s * 1e3);
        (
            of_path,
            format!("{rate} x {rtt} ms (round trip of a full segment)"),
        )
    };
    let segments = (bytes / segment).ceil() as u64;
    let wanted = segments.min(INITIAL_MOST);
    let most = if segments > INITIAL_MOST {
        ". No more than 1,000 can be set"
    } else {
        ""
    };
    let present = u64::from(sender.config.tcp.initial_window);
    let formula = format!(
        "{formula}: {} segments of {} bytes{most}",
        grouped(segments),
        grouped(segment as u64)
    );
    (wanted > present).then(|| {
        one(
            sender,
            names::number(sender, "tcp.initial_window", wanted),
            formula,
        )
    })
}

/// Raises the receiver's initial window to the size of the transfer, or to the most that a
/// window field without scaling can express.
fn first_window(evidence: &Evidence<'_>) -> Option<Remedy> {
    let receiver = evidence.receiver();
    let Stop::Bytes(bytes) = evidence.setup.flow().stop else {
        return None;
    };
    let segment = evidence.segment_bytes();
    let wanted = bytes.div_ceil(segment).min(UNSCALED / segment);
    let formula = format!(
        "the transfer has {} bytes, and the window in a SYN at most {} (RFC 7323 §2.2): {wanted} \
         segments of {}",
        grouped(bytes),
        grouped(UNSCALED),
        grouped(segment)
    );
    let setting = names::number(receiver, "tcp.initial_receive_window", wanted);
    let present = u64::from(receiver.config.tcp.initial_receive_window);
    (wanted > present).then(|| one(receiver, setting, formula))
}

/// Chooses BBR, which tolerates losses up to its threshold, and raises the threshold if
/// the path's random losses exceed it. Such losses say nothing of the path's rate.
fn model_instead_of_loss(evidence: &Evidence<'_>) -> Option<Remedy> {
    let sender = evidence.sender();
    let loss = evidence.path().loss;
    let threshold = f64::from(sender.config.tcp.bbr_loss_threshold) / 100.0;
    if sender.config.tcp.congestion == CongestionAlgorithm::Bbr {
        return None;
    }
    (loss > 0.0 && loss < MOST_LOSS).then(|| {
        let setting = names::setting(sender, "tcp.congestion", "bbr");
        let percent = loss * 100.0;
        let lost = three_digits(percent);
        if loss < threshold {
            let formula = format!(
                "the path loses {lost} % at random. bbr does not reduce its rate for each loss as {} \
                 does; a round trip with more than {} % lost (tcp.bbr_loss_threshold) still slows it",
                setting.present, sender.config.tcp.bbr_loss_threshold
            );
            return one(sender, setting, formula);
        }
        // Rounded to tenths of a percent first, so that a rounding error does not add a
        // whole percent.
        let needed = ((percent * LOSS_HEADROOM * 10.0).round() / 10.0).ceil() as u64;
        let raised = names::number(sender, "tcp.bbr_loss_threshold", needed);
        let formula = format!(
            "bbr does not reduce its rate for each loss as {} does. It does so for a round trip with \
             more lost than tcp.bbr_loss_threshold, which therefore becomes {needed} %, twice the \
             path's random loss of {lost} %",
            setting.present
        );
        let mut remedy = one(sender, setting, formula);
        remedy.changes.push(change(sender, &raised));
        remedy
    })
}
