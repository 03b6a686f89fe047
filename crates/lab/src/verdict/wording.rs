//! The words of a verdict: the limit with its figure, and the proof.
//!
//! Rule: the limit comes first, then measured values of the run, one sentence each. A
//! sentence says what was measured; about a setting that was not tried it says so.
//! `binding` decides the limit.

use fullpipe_diagnose::facts::VerdictParts;
use fullpipe_sim::link::Direction;
use fullpipe_tcp::Limit;

use super::{
    Next,
    binding::{Binding, at_receiver, at_work, is_window, thinking},
    bounds,
    buffers::Buffer,
    cause::Cause,
    evidence::{Evidence, pool_bytes},
    gone, names,
    predict::Predicted,
    processor,
};
use crate::{
    experiment::Stop,
    measured::Outcome,
    units::{grouped, rate_text, seconds_text, three_digits},
};

/// A share of at least this counts as all of the time: for a transfer between opening and
/// closing, and for a busy link or processor.
const NEARLY_ALL: f64 = 0.95;

/// A limit with its figure, and sentences that prove it.
type Proof = (String, Vec<String>);

/// The limit and its proof.
pub fn proof(evidence: &Evidence<'_>, binding: &Binding) -> VerdictParts {
    let thinking = thinking(evidence);
    // Shares are of the time without think time.
    let share = binding.share / (1.0 - thinking).max(f64::MIN_POSITIVE);
    let binding = &Binding {
        share: share.min(1.0),
        ..*binding
    };
    let (limited_by, mut because) = of_cause(evidence, binding);
    because.splice(0..0, not_complete(evidence));
    if thinking > 0.0 {
        because.push(format!(
            "The first {}, before the first byte was written, are excluded.",
            seconds_text(thinking * evidence.measured.elapsed_s)
        ));
    }
    VerdictParts {
        limited_by,
        because,
        ..VerdictParts::default()
    }
}

/// The outcome of a transfer that did not end.
fn not_complete(evidence: &Evidence<'_>) -> Option<String> {
    let outcome = match evidence.measured.outcome {
        Outcome::Complete => return None,
        Outcome::Dropped => "The connection was dropped",
        Outcome::Stalled => "The transfer stalled",
    };
    let delivered = grouped(evidence.measured.delivered_bytes);
    Some(format!("{outcome} after {delivered} bytes."))
}

/// The predicted result beside the measured one.
pub fn gives(evidence: &Evidence<'_>, predicted: &Predicted) -> String {
    let measured = evidence.measured;
    match evidence.setup.flow().stop {
        Stop::Bytes(_) => format!(
            "about {} instead of {} (predicted)",
            seconds_text(predicted.elapsed_s),
            seconds_text(measured.elapsed_s)
        ),
        Stop::After(_) => format!(
            "about {} instead of {} (predicted)",
            rate_text(predicted.goodput_mbps * 1e6),
            rate_text(measured.goodput_mbps * 1e6)
        ),
    }
}

/// The limit after a change.
pub fn then(next: &Next) -> String {
    format!(
        "{}, at most {}",
        next.limit.words(),
        rate_text(next.at_most_mbps * 1e6)
    )
}

fn of_cause(evidence: &Evidence<'_>, binding: &Binding) -> Proof {
    let cause = binding.cause;
    let share = percent(binding.share);
    let plain = |figure: String, because: Vec<String>| (of(cause, &figure), because);
    if binding.limit == Limit::Pacing && is_window(cause) {
        return paced(evidence, cause, &share);
    }
    match cause {
        Cause::Path => path(evidence, binding.limit, binding.share),
        Cause::Application => plain(
            format!("it had written nothing more {share} of the time"),
            vec!["No buffer or window was full then.".to_string()],
        ),
        Cause::SendBuffer => send_buffer(evidence, &share),
        Cause::SendBufferLimit => send_buffer_limit(evidence, &share),
        Cause::Unacknowledged => {
            let most = u64::from(evidence.sender().config.tcp.unacknowledged);
            buffer(evidence, cause, "tcp.unacknowledged", most, &share)
        }
        Cause::DelayedAck => delayed_ack(evidence, &share),
        Cause::Memory => memory(evidence, &share),
        Cause::ReceiveWindow
        | Cause::ReceiveBufferLimit
        | Cause::PeerMemory
        | Cause::SlowReader
        | Cause::Reassembly
        | Cause::ZeroWindow => at_the_receiver(evidence, cause, &share),
        Cause::SlowStart => plain(
            format!("the congestion window was still growing {share} of the time"),
            vec!["The transfer was over before it was large enough.".to_string()],
        ),
        Cause::Congestion => plain(
            format!("used up {share} of the time, without a loss"),
            vec![format!(
                "It was {} at the end, at a round trip of {}.",
                bytes(evidence.cwnd),
                millis(evidence.measured.srtt_ms)
            )],
        ),
        Cause::Loss => plain(loss_figure(&share), loss(evidence)),
        Cause::OutOfOrder => out_of_order(evidence, &share),
        Cause::Pacing => pacing(evidence, &share),
        Cause::Device => plain(
            format!("full {share} of the time"),
            vec![format!(
                "It waits for link `{}`, which was {} busy.",
                evidence.busiest().name,
                percent(evidence.measured.link_busy_share),
            )],
        ),
        Cause::Cpu => busy_processor(evidence),
        Cause::Descriptors => descriptors(evidence),
        Cause::Nagle => nagle(evidence, &share),
        Cause::Handshake => plain(
            format!("the connection was being opened {share} of the time"),
            Vec::new(),
        ),
        Cause::Closing => plain(
            format!(
                "all payload had been sent, and the connection was closing, {share} of the time"
            ),
            Vec::new(),
        ),
        // The files for datagrams and for vanished peers write these words.
        Cause::ReceiveQueue | Cause::PeerGone | Cause::Nothing => plain(String::new(), Vec::new()),
    }
}

/// The limit's name and its figure.
fn of(cause: Cause, figure: &str) -> String {
    format!("{}: {figure}", cause.words())
}

/// A link that was always busy: the limit that the sender waited for only decided where
/// payload waited.
fn path(evidence: &Evidence<'_>, limit: Limit, share: f64) -> Proof {
    let plan = evidence.busiest();
    let link = plan.link(Direction::Forward);
    let rate = link.rate_bps as f64;
    let goodput = evidence.active_bps() / (1.0 - thinking(evidence)).max(f64::MIN_POSITIVE);
    let what = match (link.radio, link.token_bucket) {
        (Some(radio), _) => format!(
            "It is a half-duplex radio of {} with {} us of access time a frame.",
            rate_text(rate),
            radio.access_us
        ),
        (None, Some(bucket)) => format!("It is shaped to {}.", rate_text(bucket.rate_bps as f64)),
        (None, None) => format!("Its rate is {}.", rate_text(rate)),
    };
    let busy_share = busy(evidence, evidence.measured.link_busy_share);
    let limited_by = format!(
        "link `{}`: {busy_share} at {}",
        plan.name,
        rate_text(goodput)
    );
    let waited = percent(shown(evidence, share * (1.0 - thinking(evidence))).0);
    let mut because = vec![what];
    because.extend(shared(evidence, "It"));
    because.push(waited_for(limit, &waited));
    because.push(format!(
        "At most {} of packet memory were in use.",
        bytes(evidence.measured.peak_pool_bytes)
    ));
    (limited_by, because)
}

/// The wait that the link's rate caused, in words.
fn waited_for(limit: Limit, share: &str) -> String {
    let what = waiting_for(limit);
    match limit {
        Limit::SendBuffer | Limit::ReceiveWindow | Limit::ZeroWindow | Limit::Memory => format!(
            "The sender waited for {what} {share} of the time because the link drained it no faster; \
             more was not tried."
        ),
        Limit::Application
        | Limit::CwndSlowStart
        | Limit::CwndSteady
        | Limit::CwndAfterLoss
        | Limit::Pacing
        | Limit::Device
        | Limit::Nagle
        | Limit::Recovery
        | Limit::Handshake
        | Limit::Closing => format!("The sender waited for {what} {share} of the time."),
    }
}

/// The number of connections that share a link or a processor, if there are several.
fn shared(evidence: &Evidence<'_>, subject: &str) -> Option<String> {
    let at_once = evidence.times().round() as u32;
    match evidence.connections() {
        1 => None,
        all if at_once == all => Some(format!("{subject} is shared by {all} connections.")),
        all => Some(format!(
            "{subject} is shared by {all} connections, {at_once} at once on average."
        )),
    }
}

/// Returns the words that mark a bound as that of each of several connections.
fn each(evidence: &Evidence<'_>) -> &'static str {
    if evidence.is_alone() {
        ""
    } else {
        " for each connection"
    }
}

/// A pacing rate that follows from a window.
fn paced(evidence: &Evidence<'_>, window: Cause, share: &str) -> Proof {
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let most = bounds::of(&bounds, window).unwrap_or(f64::INFINITY);
    let figure = format!(
        "it allows at most {} at a round trip of {}",
        rate_text(most),
        millis(evidence.measured.srtt_ms)
    );
    let settled = format!(
        "Congestion control paces at the delivery rate and settled below that, at {}.",
        rate_text(evidence.measured.goodput_mbps * 1e6)
    );
    let waited = format!("The sender waited for the pacing rate {share} of the time.");
    (of(window, &figure), vec![settled, waited])
}

fn send_buffer(evidence: &Evidence<'_>, share: &str) -> Proof {
    let sending = Buffer::sending(evidence.sender());
    let knob = sending
        .tuned_to
        .map_or(sending.knobs.set, |_| sending.knobs.max);
    buffer(evidence, Cause::SendBuffer, knob, sending.text(), share)
}

/// A bound of `payload` bytes on what the sender has in flight.
fn buffer(
    evidence: &Evidence<'_>,
    cause: Cause,
    knob: &'static str,
    payload: u64,
    share: &str,
) -> Proof {
    let setting = names::number(evidence.sender(), knob, payload);
    let figure = format!(
        "{} = {} was full {share} of the time",
        setting.name, setting.present
    );
    (of(cause, &figure), vec![a_round_trip(evidence, payload)])
}

fn send_buffer_limit(evidence: &Evidence<'_>, share: &str) -> Proof {
    let sending = Buffer::sending(evidence.sender());
    let [set, limit] = [sending.knobs.set, sending.knobs.limit]
        .map(|knob| names::number(evidence.sender(), knob, sending.set));
    let figure = format!(
        "{} = {} is less than {} = {}",
        limit.name, limit.present, set.name, set.present
    );
    let full = format!("The buffer was full {share} of the time.");
    let because = vec![full, a_round_trip(evidence, sending.text())];
    (of(Cause::SendBufferLimit, &figure), because)
}

/// The rate that a window of `payload` bytes allows.
fn a_round_trip(evidence: &Evidence<'_>, payload: u64) -> String {
    let rtt_ms = evidence.measured.srtt_ms;
    let most = if rtt_ms > 0.0 {
        rate_text(payload as f64 * 8e3 / rtt_ms)
    } else {
        "any rate".to_string()
    };
    format!(
        "{} a round trip of {} is at most {most}{}.",
        bytes(payload),
        millis(rtt_ms),
        each(evidence)
    )
}

fn pacing(evidence: &Evidence<'_>, share: &str) -> Proof {
    let sender = evidence.sender();
    let most = u64::from(sender.config.tcp.pacing_rate_max);
    let setting = names::number(sender, "tcp.pacing_rate_max", most);
    if most == 0 {
        let limited_by = format!(
            "the estimate of {}: it paced at {}, and delayed segments {share} of the time",
            sender.config.get("tcp.congestion").unwrap_or_default(),
            rate_text(evidence.measured.goodput_mbps * 1e6)
        );
        let because = vec!["No cap on the pacing rate is set.".to_string()];
        return (limited_by, because);
    }
    let whose = format!(
        "{} = {} is {}.",
        setting.name,
        setting.present,
        rate_text(most as f64 * 8.0)
    );
    let figure = format!("the pacing rate delayed segments {share} of the time");
    (of(Cause::Pacing, &figure), vec![whose])
}

fn busy_processor(evidence: &Evidence<'_>) -> Proof {
    let (name, share) =
        processor::busiest(evidence).map_or(("", 0.0), |(host, share)| (host.name.as_str(), share));
    let mut because = vec![format!(
        "Link `{}` was {}.",
        evidence.busiest().name,
        busy(evidence, evidence.measured.link_busy_share)
    )];
    because.extend(shared(evidence, "The processor"));
    because.push(match processor::text_for_calls(evidence) {
        None => "A larger buffer was not tried.".to_string(),
        Some(_) => "Calls of the writer cost more than a twentieth of what frames do.".to_string(),
    });
    let limited_by = format!("the processor of `{name}`: {}", busy(evidence, share));
    (limited_by, because)
}

fn descriptors(evidence: &Evidence<'_>) -> Proof {
    let receiver = evidence.receiver();
    let present = u64::from(receiver.device.rx_descriptors);
    let setting = names::device(receiver, "device.rx_descriptors", present, present);
    let figure = format!(
        "{} = {} of `{}`: the full ring lost {} frames",
        setting.name,
        setting.present,
        receiver.name,
        grouped(processor::lost_in_ring(evidence)),
    );
    (
        of(Cause::Descriptors, &figure),
        vec![retransmitted(evidence)],
    )
}

fn retransmitted(evidence: &Evidence<'_>) -> String {
    let measured = evidence.measured;
    let timeouts = match measured.timeouts {
        0 => "without a timeout".to_string(),
        timeouts => format!("after {}", counted(timeouts, "timeout")),
    };
    format!(
        "{} of {} segments were retransmitted, {timeouts}.",
        grouped(measured.retransmitted_segments),
        grouped(measured.data_segments),
    )
}

fn delayed_ack(evidence: &Evidence<'_>, share: &str) -> Proof {
    let (sender, receiver) = (evidence.sender(), evidence.receiver());
    let size = Buffer::sending(sender).text();
    let setting = names::number(sender, "tcp.send_buffer", size);
    let figure = format!(
        "`{}` waits {} ms before it acknowledges a single segment",
        receiver.name,
        receiver.config.tcp.delayed_ack.as_millis(),
    );
    let small = format!(
        "{} = {} holds less than two segments of {}, and was full {share} of the time.",
        setting.name,
        setting.present,
        bytes(evidence.segment_bytes())
    );
    let rate = format!(
        "{} every {} are {}.",
        bytes(size),
        millis(evidence.turn_s() * 1e3),
        rate_text(evidence.measured.goodput_mbps * 1e6),
    );
    (of(Cause::DelayedAck, &figure), vec![small, rate])
}

fn memory(evidence: &Evidence<'_>, share: &str) -> Proof {
    let sender = evidence.sender();
    let pool = &sender.config.pool;
    let figure = format!(
        "{} blocks of {} had no room for a write {share} of the time",
        grouped(pool.blocks.into()),
        bytes(u64::from(pool.block_size)),
    );
    let used = format!(
        "At most {} of {} were in use, at a round trip of {}.",
        grouped(evidence.measured.peak_pool_bytes),
        bytes(pool_bytes(sender)),
        millis(evidence.measured.srtt_ms),
    );
    (of(Cause::Memory, &figure), vec![used])
}

/// A window that the receiver keeps small or closed.
fn at_the_receiver(evidence: &Evidence<'_>, cause: Cause, share: &str) -> Proof {
    let name = &evidence.receiver().name;
    let own = percent(at_receiver(evidence).1);
    let used_up = format!(
        "at most {}, used up {share} of the time",
        bytes(evidence.peer_window)
    );
    let window = format!("The window was {used_up}.");
    let rate = a_round_trip(evidence, evidence.peer_window);
    let (figure, because) = match cause {
        Cause::ZeroWindow => (
            format!("no window at all {share} of the time"),
            vec![its_buffer(evidence)],
        ),
        Cause::PeerMemory => (
            format!("the pool of `{name}` could not back a larger window {own} of the time"),
            vec![window, rate],
        ),
        Cause::SlowReader => {
            let mut because = vec![window, rate];
            because.extend(gone::unanswered(evidence));
            because.push("A larger buffer was not tried.".to_string());
            (
                format!("`{name}` left the window closed by not reading {own} of the time"),
                because,
            )
        }
        Cause::Reassembly => (
            format!("holes left by lost segments filled the buffer of `{name}` {own} of the time"),
            vec![window, rate],
        ),
        _ => (used_up, vec![rate, its_buffer(evidence)]),
    };
    (of(cause, &figure), because)
}

/// The setting behind the peer's window.
fn its_buffer(evidence: &Evidence<'_>) -> String {
    let receiver = evidence.receiver();
    let receiving = Buffer::receiving(receiver);
    let knob = match receiving.tuned_to {
        Some(_) => receiving.knobs.max,
        None if receiving.limit < receiving.set => receiving.knobs.limit,
        None => receiving.knobs.set,
    };
    let setting = names::number(receiver, knob, receiving.set);
    format!(
        "The window comes from {} = {} of `{}`.",
        setting.name, setting.present, receiver.name
    )
}

fn nagle(evidence: &Evidence<'_>, share: &str) -> Proof {
    let waits_for = if evidence.setup.flow().is_no_push() {
        "the rest of it"
    } else {
        "an acknowledgment"
    };
    let figure = format!(
        "less than a segment of {} waited for {waits_for} {share} of the time",
        bytes(evidence.measured.segment_bytes),
    );
    let because = format!(
        "Writes are {}; a byte waited {} on average before it left.",
        bytes(u64::from(evidence.setup.flow().write)),
        millis(evidence.measured.unsent_ms),
    );
    (of(Cause::Nagle, &figure), vec![because])
}

fn loss_figure(share: &str) -> String {
    format!("they kept the congestion window small, or were being repaired, {share} of the time")
}

fn loss(evidence: &Evidence<'_>) -> Vec<String> {
    let measured = evidence.measured;
    let mut because = vec![retransmitted(evidence)];
    let chance = evidence.path().loss;
    if chance > 0.0 {
        because.push(format!(
            "The path loses {} % at random, about {} of these segments.",
            three_digits(chance * 100.0),
            grouped((chance * measured.data_segments as f64).round() as u64),
        ));
    } else {
        because.push("The path loses nothing at random: queues overflowed or dropped.".to_string());
    }
    because.push(format!(
        "The congestion window was {} at the end.",
        bytes(evidence.cwnd)
    ));
    because
}

fn out_of_order(evidence: &Evidence<'_>, share: &str) -> Proof {
    let receiver = evidence.receiver();
    let setting = names::number(receiver, "tcp.out_of_order", 0);
    let figure = format!(
        "{} = {} of `{}` had no room for payload behind a hole",
        setting.name, setting.present, receiver.name
    );
    let mut because = vec![format!("Losses limited {share} of the time.")];
    because.extend(loss(evidence));
    (of(Cause::OutOfOrder, &figure), because)
}

/// The resource that a sender waits for at a limit, in words.
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

/// The share of the time in which a link or a processor was busy, in words. If much of
/// the time was opening or closing, the share is of the rest.
pub fn busy(evidence: &Evidence<'_>, share: f64) -> String {
    match shown(evidence, share) {
        (share, true) => format!("{} busy while under way,", percent(share)),
        (share, false) => format!("{} busy", percent(share)),
    }
}

/// A share, and true if it is of the time without opening and closing.
fn shown(evidence: &Evidence<'_>, share: f64) -> (f64, bool) {
    let at_work = at_work(evidence);
    let measured = evidence.measured;
    let fullest = measured
        .cpu_busy_share
        .unwrap_or(0.0)
        .max(measured.link_busy_share);
    if at_work <= 0.0 || at_work.max(fullest) >= NEARLY_ALL {
        return (share, false);
    }
    (share / at_work, true)
}

/// "1 probe", "2 probes".
pub fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn bytes(count: u64) -> String {
    format!("{} bytes", grouped(count))
}

fn millis(ms: f64) -> String {
    format!("{} ms", three_digits(ms))
}
