//! The limit that remains when no setting is advised.
//!
//! Rule: the path is everything between the two applications that no setting changes: its
//! links, their length, random losses on them, and the hosts' processors. Applications
//! are never the path. Other files decide which limit it is and whether a setting raises
//! it.

use fullpipe_scenario::{
    experiment::Stop,
    measured::Outcome,
    units::{grouped, rate_text, seconds_text, three_digits},
};
use fullpipe_tcp::CongestionAlgorithm;
use serde::Serialize;

use super::{
    binding::{at_receiver, holds_the_path, thinking},
    bounds,
    buffers::Buffer,
    cause::Cause,
    evidence::Evidence,
    gone, processor, wording,
};

/// Slow start takes at most this many round trips on any path.
const FEW_TRIPS: f64 = 40.0;

/// The bottleneck of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// A link's rate.
    Link,
    /// A host's processor.
    HostCpu,
    /// Frames that are lost on the path.
    Loss,
    /// The round trip: the transfer ends while windows grow, or fits into one round trip.
    RoundTrip,
}

/// Kind of limit that remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// The path.
    Path(Bottleneck),
    /// An application, which writes or reads no faster.
    Application,
    /// A limit that no known setting raises.
    NoSetting,
}

/// The limit that remains when nothing is advised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemainingLimit {
    /// Its kind.
    pub kind: Remaining,
    /// The end of the advice in words: a sentence without its full stop.
    pub words: String,
}

/// Returns the limit that remains if `cause` limits and nothing is advised.
pub fn of(evidence: &Evidence<'_>, cause: Cause) -> RemainingLimit {
    let kind = kind(evidence, cause);
    let words = match kind {
        Remaining::Path(bottleneck) => path_words(evidence, bottleneck),
        Remaining::Application => application(evidence, cause) + outcome_words(evidence),
        Remaining::NoSetting => no_setting(evidence, cause),
    };
    RemainingLimit { kind, words }
}

fn kind(evidence: &Evidence<'_>, cause: Cause) -> Remaining {
    let can_advise = evidence.measured.outcome == Outcome::Complete && evidence.is_alone();
    match cause {
        Cause::Path => Remaining::Path(Bottleneck::Link),
        Cause::Cpu => Remaining::Path(Bottleneck::HostCpu),
        Cause::Application | Cause::SlowReader => Remaining::Application,
        // Congestion control derives its pacing rate from the losses.
        Cause::Loss | Cause::Reassembly | Cause::RangeTable | Cause::Pacing
            if can_advise && evidence.path().loss > 0.0 =>
        {
            Remaining::Path(Bottleneck::Loss)
        }
        Cause::SlowStart | Cause::InitialReceiveWindow | Cause::Handshake | Cause::Closing
            if can_advise && amount(evidence).is_some() =>
        {
            Remaining::Path(Bottleneck::RoundTrip)
        }
        Cause::SendBuffer
        | Cause::SendBufferLimit
        | Cause::Unacknowledged
        | Cause::ReceiveWindow
        | Cause::ReceiveBufferLimit
        | Cause::Memory
        | Cause::PeerMemory
            if can_advise
                && (fits(evidence) || is_short(evidence) && holds_the_path(evidence, cause)) =>
        {
            Remaining::Path(Bottleneck::RoundTrip)
        }
        // The window was still growing.
        Cause::ReceiveWindow
            if can_advise && Buffer::receiving(evidence.receiver()).tuned_to.is_some() =>
        {
            Remaining::Path(Bottleneck::RoundTrip)
        }
        Cause::SendBuffer
        | Cause::SendBufferLimit
        | Cause::Unacknowledged
        | Cause::DelayedAck
        | Cause::Memory
        | Cause::ReceiveWindow
        | Cause::ReceiveBufferLimit
        | Cause::PeerMemory
        | Cause::Reassembly
        | Cause::OutOfOrder
        | Cause::RangeTable
        | Cause::ZeroWindow
        | Cause::InitialReceiveWindow
        | Cause::SlowStart
        | Cause::Congestion
        | Cause::Loss
        | Cause::Pacing
        | Cause::Descriptors
        | Cause::ReceiveQueue
        | Cause::PeerGone
        | Cause::Device
        | Cause::Nagle
        | Cause::Cork
        | Cause::Handshake
        | Cause::Closing
        | Cause::Nothing => Remaining::NoSetting,
    }
}

/// Bytes to send, if the transfer ends after an amount.
fn amount(evidence: &Evidence<'_>) -> Option<u64> {
    match evidence.setup.flow().stop {
        Stop::Bytes(bytes) => Some(bytes),
        Stop::After(_) => None,
    }
}

/// Returns true if the transfer took so few round trips that windows grew for much of it.
fn is_short(evidence: &Evidence<'_>) -> bool {
    let under_way = 1.0 - thinking(evidence);
    evidence.measured.elapsed_s * under_way < FEW_TRIPS * evidence.scale().rtt_s
}

/// Returns true if everything to be sent may be in flight at once.
fn fits(evidence: &Evidence<'_>) -> bool {
    let memory = bounds::send_memory(evidence.sender())
        .min(bounds::receive_memory(evidence.receiver())) as u64;
    let most = bounds::largest_flight(evidence.setup).min(memory);
    amount(evidence).is_some_and(|bytes| bytes <= most)
}

fn path_words(evidence: &Evidence<'_>, bottleneck: Bottleneck) -> String {
    let link = &evidence.busiest().name;
    let busy = wording::busy(evidence, evidence.measured.link_busy_share);
    match bottleneck {
        Bottleneck::Link => format!("Nothing left to tune: link `{link}` was {busy}"),
        Bottleneck::HostCpu => {
            let (host, share) = processor::busiest(evidence)
                .map_or(("", 0.0), |(host, busy)| (host.name.as_str(), busy));
            let own = wording::busy(evidence, share);
            format!(
                "Nothing left to tune: the processor of `{host}` was {own}, and link `{link}` {busy}"
            )
        }
        Bottleneck::Loss => {
            let (heading, why) = why_no_other(evidence);
            format!(
                "{heading}: the path loses {} % of the frames, {why}; link `{link}` was {busy}",
                three_digits(evidence.path().loss * 100.0),
            )
        }
        Bottleneck::RoundTrip => round_trip(evidence),
    }
}

/// The end of the advice against losses, and the reason for which no other congestion
/// control is advised.
fn why_no_other(evidence: &Evidence<'_>) -> (&'static str, String) {
    const NO_GAIN: &str = "No single setting is predicted to help";
    let tcp = &evidence.sender().config.tcp;
    let threshold = tcp.bbr_loss_threshold;
    let is_much = evidence.path().loss * 100.0 >= f64::from(threshold);
    match tcp.congestion {
        CongestionAlgorithm::Bbr if is_much => {
            let why =
                format!("above the {threshold} % (tcp.bbr_loss_threshold) that bbr tolerates");
            (NO_GAIN, why)
        }
        CongestionAlgorithm::Bbr => (
            "Nothing left to tune",
            "and bbr, which tolerates losses best, is already in use".to_string(),
        ),
        CongestionAlgorithm::NewReno | CongestionAlgorithm::Cubic => (
            NO_GAIN,
            "and bbr is predicted to gain less than 2 %".to_string(),
        ),
    }
}

fn round_trip(evidence: &Evidence<'_>) -> String {
    let scale = evidence.scale();
    let rtt = seconds_text(scale.rtt_s);
    let before_s = thinking(evidence) * evidence.measured.elapsed_s;
    let took_s = evidence.measured.elapsed_s - before_s;
    let trips = three_digits(took_s / scale.rtt_s.max(f64::MIN_POSITIVE));
    let mut words =
        format!("Nothing left to tune: the transfer takes {trips} round trips of {rtt}");
    if before_s > 0.0 {
        words += &format!(
            ", besides the {} before the first byte was written",
            seconds_text(before_s)
        );
    }
    let first = bounds::first_window(evidence.setup, &evidence.scale());
    match amount(evidence).filter(|_| fits(evidence)) {
        Some(bytes) if bytes > first => {
            words
                + &format!(
                    "; the first window has {} bytes, and all {} bytes fit into the next",
                    grouped(first),
                    grouped(bytes)
                )
        }
        Some(bytes) => words + &format!("; all {} bytes fit into one window", grouped(bytes)),
        None => words + ", while windows still grow",
    }
}

fn application(evidence: &Evidence<'_>, cause: Cause) -> String {
    let who = cause.words();
    if cause == Cause::SlowReader {
        return format!(
            "Limited by {who}: `{}` did not read what had arrived {} of the time",
            evidence.receiver().name,
            wording::percent(at_receiver(evidence).1),
        );
    }
    if evidence.setup.flow().is_udp() {
        let rate = rate_text(evidence.measured.goodput_mbps * 1e6);
        return format!("Limited by {who}: it sends {rate}, and all of that arrives");
    }
    let share = evidence
        .limits
        .sender
        .share(fullpipe_tcp::Limit::Application);
    let thinking = thinking(evidence);
    format!(
        "Limited by {who}: {} of the time everything that it had written was already sent",
        wording::percent((share - thinking) / (1.0 - thinking).max(f64::MIN_POSITIVE)),
    )
}

/// The reason for which nothing is advised.
fn no_setting(evidence: &Evidence<'_>, cause: Cause) -> String {
    let what = format!("Limited by {}", cause.words());
    if cause == Cause::PeerGone {
        let why = if gone::is_waited_for(evidence) {
            "a shorter timeout could not tell them from slow peers"
        } else {
            "no other connection waits for their memory"
        };
        return format!("{what}: {why}");
    }
    match evidence.measured.outcome {
        Outcome::Complete if !evidence.is_alone() => {
            format!("{what}: with several connections, the gain of one may be the loss of another")
        }
        Outcome::Complete if matches!(cause, Cause::Loss | Cause::Reassembly) => {
            format!(
                "{what} in a queue on the path; no setting of a host is known that prevents them"
            )
        }
        Outcome::Complete => format!("{what}: no setting is known that changes this"),
        Outcome::Dropped | Outcome::Stalled => format!("{what}{}", outcome_words(evidence)),
    }
}

/// The outcome of a transfer that did not end.
fn outcome_words(evidence: &Evidence<'_>) -> &'static str {
    match evidence.measured.outcome {
        Outcome::Complete => "",
        Outcome::Dropped => ", and the connection was dropped",
        Outcome::Stalled => ", and the transfer stalled",
    }
}
