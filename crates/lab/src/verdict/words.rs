//! The sentences.
//!
//! Rule: a sentence begins with the cause, proves it with figures of the run,
//! and names a knob only where turning it helps. What is concluded stands in
//! the other files.

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
    remedy::Remedy,
};
use crate::{
    experiment::Stop,
    measured::Outcome,
    units::{grouped, rate_text, seconds_text, three_digits},
};

/// What a share is told of where nothing of the time is left out.
const ALWAYS: &str = "of the time";
/// A transfer that was under way for this share of the time always was, and what was
/// busy for this share of it was so all the time.
const NEARLY_ALL: f64 = 0.95;

/// The cause and its proof.
pub fn proof(evidence: &Evidence<'_>, binding: &Binding) -> String {
    let (cause, thinking) = (binding.cause, thinking(evidence));
    let before = match thinking * evidence.measured.elapsed_s {
        before_s if thinking > 0.0 => format!(
            "{} went by before the first byte was written; after that ",
            seconds_text(before_s)
        ),
        _ => String::new(),
    };
    // What held is told of the time that is left.
    let share = binding.share / (1.0 - thinking).max(f64::MIN_POSITIVE);
    let binding = &Binding {
        share: share.min(1.0),
        ..*binding
    };
    let outcome = match evidence.measured.outcome {
        Outcome::Complete => String::new(),
        Outcome::Dropped => came_to(evidence, "was dropped"),
        Outcome::Stalled => came_to(evidence, "stalled"),
    };
    format!(
        "{}: {outcome}{before}{}",
        cause.heading(),
        of_cause(evidence, binding)
    )
}

fn came_to(evidence: &Evidence<'_>, how: &str) -> String {
    let delivered = grouped(evidence.measured.delivered_bytes);
    format!("the transfer {how} after {delivered} bytes; ")
}

/// What a knob would give, and what binds then.
pub fn advice(
    evidence: &Evidence<'_>,
    remedy: &Remedy,
    predicted: Option<&Predicted>,
    next: Option<&Next>,
) -> String {
    let changes: Vec<_> = remedy
        .changes
        .iter()
        .map(|change| format!("{} = {}", short(evidence, &change.set), change.to))
        .collect();
    let formula = match remedy.formula.as_str() {
        "" => String::new(),
        formula => format!(" ({formula})"),
    };
    let gives = predicted.map_or_else(
        || "helps".to_string(),
        |predicted| match evidence.setup.flow().stop {
            Stop::Bytes(_) => format!("would take about {}", seconds_text(predicted.elapsed_s)),
            Stop::After(_) => format!(
                "would give about {}",
                rate_text(predicted.goodput_mbps * 1e6)
            ),
        },
    );
    let then = next.map_or_else(String::new, |next| {
        format!("; then the limit is {}", next.limit.words())
    });
    format!(" {}{formula} {gives}{then}.", changes.join(" with "))
}

/// A setting of the sender without its host's name, which is understood.
fn short(evidence: &Evidence<'_>, set: &str) -> String {
    let sender = &evidence.sender().name;
    let own = set.strip_prefix(sender.as_str());
    own.and_then(|rest| rest.strip_prefix('.'))
        .unwrap_or(set)
        .to_string()
}

fn of_cause(evidence: &Evidence<'_>, binding: &Binding) -> String {
    let held = percent(binding.share);
    if binding.limit == Limit::Pacing && is_window(binding.cause) {
        return paced(evidence, binding.cause, &held);
    }
    match binding.cause {
        Cause::Path => path(evidence, binding.limit, binding.share),
        Cause::Application => format!(
            "everything written had been sent for {held} of the time; no buffer or window was full."
        ),
        Cause::SendBuffer => send_buffer(evidence, &held),
        Cause::SendBufferLimit => send_buffer_limit(evidence, &held),
        Cause::Unacknowledged => {
            let most = u64::from(evidence.sender().config.tcp.unacknowledged);
            buffer(evidence, "tcp.unacknowledged", most, &held)
        }
        Cause::DelayedAck => delayed_ack(evidence, &held),
        Cause::Memory => memory(evidence, &held),
        Cause::ReceiveWindow | Cause::ReceiveBufferLimit => {
            window(evidence, &held) + &its_buffer(evidence)
        }
        Cause::PeerMemory => {
            window(evidence, &held) + &at_peer(evidence, "The pool of", "could not back more")
        }
        Cause::SlowReader => {
            let reader = at_peer(
                evidence,
                "The application of",
                "left it closed by not reading",
            );
            let unanswered = gone::unanswered(evidence);
            format!(
                "{}{reader}{unanswered} No buffer will help.",
                window(evidence, &held)
            )
        }
        Cause::Reassembly => {
            let gaps = "Gaps left by lost segments filled the buffer of";
            window(evidence, &held) + &at_peer(evidence, gaps, "")
        }
        Cause::ZeroWindow => format!(
            "the peer advertised no window at all for {held} of the time. {}",
            its_buffer(evidence)
        ),
        Cause::SlowStart => format!(
            "the congestion window was used up while it grew for {held} of the time; the transfer \
             was over before it was large enough."
        ),
        Cause::Congestion => congestion(evidence, &held),
        Cause::Loss => loss(evidence, &held) + " No buffer will help.",
        Cause::OutOfOrder => out_of_order(evidence, &held),
        Cause::Pacing => pacing(evidence, &held),
        Cause::Device => format!(
            "the device's queue was full for {held} of the time; it waits for link `{}`, which was \
             busy {} of it.",
            evidence.busiest().name,
            percent(evidence.measured.link_busy_share),
        ),
        Cause::Cpu => processor(evidence),
        Cause::Descriptors => descriptors(evidence),
        Cause::Nagle => nagle(evidence, &held),
        Cause::Handshake => format!("the connection was being opened for {held} of the time."),
        Cause::Closing => {
            format!("everything had been sent and the connection closed for {held} of the time.")
        }
        // Only datagrams are lost for want of a queue; they, and peers that are
        // gone, have words of their own.
        Cause::ReceiveQueue | Cause::PeerGone | Cause::Nothing => String::new(),
    }
}

/// The link is full: what else held the sender back only decided where data
/// waited.
fn path(evidence: &Evidence<'_>, limit: Limit, share: f64) -> String {
    let plan = evidence.busiest();
    let link = plan.link(Direction::Forward);
    let rate = link.rate_bps as f64;
    // What was thought about was not for the link to carry.
    let goodput = evidence.active_bps() / (1.0 - thinking(evidence)).max(f64::MIN_POSITIVE);
    let of = match (link.radio, link.token_bucket) {
        (Some(radio), _) => format!(
            "a half-duplex radio of {} with {} us of access time a frame",
            rate_text(rate),
            radio.access_us
        ),
        (None, Some(bucket)) => format!("shaped to {}", rate_text(bucket.rate_bps as f64)),
        (None, None) => format!("of {}", rate_text(rate)),
    };
    let (busy_share, of_the_time) = busy(evidence, evidence.measured.link_busy_share);
    let in_all = match of_the_time {
        ALWAYS => "",
        _ => " with opening and closing",
    };
    let waited = busy(evidence, share * (1.0 - thinking(evidence))).0;
    format!(
        "link `{}` ({of}){} was busy {busy_share} {of_the_time} and gave {}{in_all}; the sender waited for {} \
         {waited} of it, with {} bytes of packet memory in use at most, and more buffer will not help.",
        plan.name,
        shared(evidence),
        rate_text(goodput),
        waiting_for(limit),
        grouped(evidence.measured.peak_pool_bytes),
    )
}

/// How many connections have to do with one link or processor, where there are several.
fn shared(evidence: &Evidence<'_>) -> String {
    let at_once = evidence.times().round() as u32;
    match evidence.connections() {
        1 => String::new(),
        all if at_once == all => format!(", which {all} connections shared,"),
        all => format!(", which {all} connections shared, {at_once} at once on average,"),
    }
}

/// Whose bound it is, where there are several connections.
fn each(evidence: &Evidence<'_>) -> &'static str {
    if evidence.is_alone() {
        ""
    } else {
        " for each connection"
    }
}

/// A pacing rate that is what a window lets through.
fn paced(evidence: &Evidence<'_>, window: Cause, held: &str) -> String {
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let most = bounds::of(&bounds, window).unwrap_or(f64::INFINITY);
    format!(
        "the pacing rate held segments back for {held} of the time, and congestion control takes it from \
         what arrives: {}, of {} that {} lets through at a round trip of {}.",
        rate_text(evidence.measured.goodput_mbps * 1e6),
        rate_text(most),
        window.words(),
        millis(evidence.measured.srtt_ms),
    )
}

fn send_buffer(evidence: &Evidence<'_>, held: &str) -> String {
    let sending = Buffer::sending(evidence.sender());
    let knob = sending
        .tuned_to
        .map_or(sending.knobs.set, |_| sending.knobs.max);
    buffer(evidence, knob, sending.text(), held)
}

/// A bound of `text` bytes on what the sender has on its way.
fn buffer(evidence: &Evidence<'_>, knob: &'static str, text: u64, held: &str) -> String {
    let spoken = names::number(evidence.sender(), knob, text);
    let carries = a_round_trip(evidence, text);
    format!(
        "{} = {} was full and all of it sent for {held} of the time; {carries}.",
        spoken.name, spoken.present,
    )
}

fn send_buffer_limit(evidence: &Evidence<'_>, held: &str) -> String {
    let sending = Buffer::sending(evidence.sender());
    let [set, limit] = [sending.knobs.set, sending.knobs.limit]
        .map(|knob| names::number(evidence.sender(), knob, sending.set));
    let carries = a_round_trip(evidence, sending.text());
    format!(
        "{} = {} is cut down to {} = {}, and that was full and all of it sent for {held} of the \
         time; {carries}.",
        set.name, set.present, limit.name, limit.present,
    )
}

/// What a window of `text` bytes carries at most.
fn a_round_trip(evidence: &Evidence<'_>, text: u64) -> String {
    let rtt_ms = evidence.measured.srtt_ms;
    format!(
        "{} a round trip of {} is at most {}{}",
        bytes(text),
        millis(rtt_ms),
        at_most(text, rtt_ms),
        each(evidence)
    )
}

fn pacing(evidence: &Evidence<'_>, held: &str) -> String {
    let sender = evidence.sender();
    let most = u64::from(sender.config.tcp.pacing_rate_max);
    let spoken = names::number(sender, "tcp.pacing_rate_max", most);
    let whose = match most {
        0 => "it is congestion control's own".to_string(),
        _ => format!(
            "{} = {} is {}",
            spoken.name,
            spoken.present,
            rate_text(most as f64 * 8.0)
        ),
    };
    format!("the pacing rate held segments back for {held} of the time; {whose}.")
}

fn processor(evidence: &Evidence<'_>) -> String {
    let (name, share) =
        processor::busiest(evidence).map_or(("", 0.0), |(host, share)| (host.name.as_str(), share));
    let (share, of_the_time) = busy(evidence, share);
    let but = match processor::text_for_calls(evidence) {
        None => "no buffer will help",
        Some(_) => "calls of its writer are a good part of that",
    };
    format!(
        "the processor of `{name}`{} was busy {share} {of_the_time}, and link `{}` {} of it; {but}.",
        shared(evidence),
        evidence.busiest().name,
        busy(evidence, evidence.measured.link_busy_share).0,
    )
}

fn descriptors(evidence: &Evidence<'_>) -> String {
    let receiver = evidence.receiver();
    let present = u64::from(receiver.device.rx_descriptors);
    let spoken = names::device(receiver, "device.rx_descriptors", present, present);
    format!(
        "`{}` lost {} frames because its receive ring ({} = {}) was full; {} of {} segments were sent again.",
        receiver.name,
        grouped(processor::lost_in_ring(evidence)),
        spoken.name,
        spoken.present,
        grouped(evidence.measured.retransmitted_segments),
        grouped(evidence.measured.data_segments),
    )
}

fn delayed_ack(evidence: &Evidence<'_>, held: &str) -> String {
    let sender = evidence.sender();
    let size = Buffer::sending(sender).text();
    let spoken = names::number(sender, "tcp.send_buffer", size);
    format!(
        "{} = {} is less than two segments of {}, so each was acknowledged when the timer of `{}` \
         ({} ms) ran out and not because a second one came: it was full for {held} of the time, and {} every {} are {}.",
        spoken.name,
        spoken.present,
        bytes(evidence.segment_bytes()),
        evidence.receiver().name,
        evidence.receiver().config.tcp.delayed_ack.as_millis(),
        bytes(size),
        millis(evidence.turn_s() * 1e3),
        rate_text(evidence.measured.goodput_mbps * 1e6),
    )
}

fn memory(evidence: &Evidence<'_>, held: &str) -> String {
    let sender = evidence.sender();
    format!(
        "the pool of {} ({} blocks of {}) had no room for a write for {held} of the time, at a round \
         trip of {}; {} of it were in use at most.",
        bytes(pool_bytes(sender)),
        sender.config.pool.blocks,
        bytes(u64::from(sender.config.pool.block_size)),
        millis(evidence.measured.srtt_ms),
        bytes(evidence.measured.peak_pool_bytes),
    )
}

fn window(evidence: &Evidence<'_>, held: &str) -> String {
    let window = evidence.peer_window;
    format!(
        "the peer's window of at most {} was used up for {held} of the time; {}. ",
        bytes(window),
        a_round_trip(evidence, window),
    )
}

fn nagle(evidence: &Evidence<'_>, held: &str) -> String {
    format!(
        "less than a segment of {} waited for {} for {held} of the time, with writes of {}; a byte waited \
         {} on average before it left.",
        bytes(evidence.measured.segment_bytes),
        if evidence.setup.flow().is_no_push() {
            "the rest of it"
        } else {
            "an acknowledgment"
        },
        bytes(u64::from(evidence.setup.flow().write)),
        millis(evidence.measured.unsent_ms),
    )
}

fn congestion(evidence: &Evidence<'_>, held: &str) -> String {
    format!(
        "the congestion window ({} at the end) was used up for {held} of the time, without a \
         loss, at a round trip of {}.",
        bytes(evidence.cwnd),
        millis(evidence.measured.srtt_ms),
    )
}

fn loss(evidence: &Evidence<'_>, held: &str) -> String {
    let measured = evidence.measured;
    format!(
        "losses kept the congestion window ({} at the end) used up, or were being repaired, for \
         {held} of the time; {} of {} segments were sent again, {}.",
        bytes(evidence.cwnd),
        grouped(measured.retransmitted_segments),
        grouped(measured.data_segments),
        match measured.timeouts {
            0 => "without a timeout".to_string(),
            timeouts => format!("after {}", counted(timeouts, "timeout")),
        },
    )
}

fn out_of_order(evidence: &Evidence<'_>, held: &str) -> String {
    let receiver = evidence.receiver();
    let spoken = names::number(receiver, "tcp.out_of_order", 0);
    format!(
        "{} The path loses {}: the rest arrived ahead of its turn and found no room ({} = {} of `{}`).",
        loss(evidence, held),
        percent(evidence.path().loss),
        spoken.name,
        spoken.present,
        receiver.name,
    )
}

/// The knob behind the peer's window.
fn its_buffer(evidence: &Evidence<'_>) -> String {
    let receiver = evidence.receiver();
    let receiving = Buffer::receiving(receiver);
    let knob = match receiving.tuned_to {
        Some(_) => receiving.knobs.max,
        None if receiving.limit < receiving.set => receiving.knobs.limit,
        None => receiving.knobs.set,
    };
    let spoken = names::number(receiver, knob, receiving.set);
    format!(
        "It comes from {} = {} of `{}`.",
        spoken.name, spoken.present, receiver.name
    )
}

/// Who keeps it closed, when it is not the size of a buffer.
fn at_peer(evidence: &Evidence<'_>, what: &str, then: &str) -> String {
    let name = &evidence.receiver().name;
    let share = percent(at_receiver(evidence).1);
    let then = if then.is_empty() {
        String::new()
    } else {
        format!("{then} ")
    };
    format!("{what} `{name}` {then}for {share} of the time.")
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

fn at_most(window: u64, rtt_ms: f64) -> String {
    if rtt_ms > 0.0 {
        rate_text(window as f64 * 8e3 / rtt_ms)
    } else {
        "any rate".to_string()
    }
}

/// How busy a link or a processor was, and of which time: of that in which it had anything
/// to do, where much of the time was spent on opening, closing and waiting to be asked.
pub fn busy(evidence: &Evidence<'_>, share: f64) -> (String, &'static str) {
    let at_work = at_work(evidence);
    let measured = evidence.measured;
    let fullest = measured
        .cpu_busy_share
        .unwrap_or(0.0)
        .max(measured.link_busy_share);
    if at_work <= 0.0 || at_work.max(fullest) >= NEARLY_ALL {
        return (percent(share), ALWAYS);
    }
    (percent(share / at_work), "of the time under way")
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
