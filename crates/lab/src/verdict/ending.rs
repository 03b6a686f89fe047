//! What is left when no knob moves what binds.
//!
//! Rule: the path is everything between the two applications that no knob moves:
//! its links, their length, what is lost on them, and the processors of the hosts.
//! Losses count where the path loses by itself; applications never do. What binds
//! is told elsewhere, and whether a knob moves it, too.

use fullpipe_tcp::CongestionAlgorithm;
use serde::Serialize;

use super::{
    binding::{at_receiver, holds_the_path, thinking},
    bounds,
    buffers::Buffer,
    cause::Cause,
    evidence::Evidence,
    gone, processor, words,
};
use crate::{
    experiment::Stop,
    measured::Outcome,
    units::{grouped, rate_text, seconds_text, three_digits},
};

/// Slow start takes no more round trips than this on any path.
const FEW_TRIPS: f64 = 40.0;

/// The part of the path that lets least through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Narrowest {
    /// A link's rate.
    Link,
    /// A host's processor.
    HostCpu,
    /// Frames that are lost on the way.
    Loss,
    /// The length of the path: what there is to send is on its way at once.
    RoundTrip,
}

/// Who is left to bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The path.
    Path(Narrowest),
    /// An application, which writes or reads no faster.
    Application,
    /// Something that no knob is known for.
    Unmoved,
}

/// Where advice ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Who is left.
    pub left: Left,
    /// That with its proof, for people.
    pub words: String,
}

/// What is left where `cause` binds and no knob moves it.
pub fn of(evidence: &Evidence<'_>, cause: Cause) -> Ending {
    let left = left(evidence, cause);
    let words = match left {
        Left::Path(narrowest) => format!("path ({})", narrowest_words(evidence, narrowest)),
        Left::Application => application(evidence, cause) + came_to(evidence),
        Left::Unmoved => unmoved(evidence, cause),
    };
    Ending { left, words }
}

fn left(evidence: &Evidence<'_>, cause: Cause) -> Left {
    let is_told = evidence.measured.outcome == Outcome::Complete && evidence.is_alone();
    match cause {
        Cause::Path => Left::Path(Narrowest::Link),
        Cause::Cpu => Left::Path(Narrowest::HostCpu),
        Cause::Application | Cause::SlowReader => Left::Application,
        // Congestion control's own pacing is what it makes of the losses.
        Cause::Loss | Cause::Reassembly | Cause::Pacing
            if is_told && evidence.path().loss > 0.0 =>
        {
            Left::Path(Narrowest::Loss)
        }
        Cause::SlowStart | Cause::Handshake | Cause::Closing
            if is_told && amount(evidence).is_some() =>
        {
            Left::Path(Narrowest::RoundTrip)
        }
        Cause::SendBuffer
        | Cause::SendBufferLimit
        | Cause::Unacknowledged
        | Cause::ReceiveWindow
        | Cause::ReceiveBufferLimit
        | Cause::Memory
        | Cause::PeerMemory
            if is_told
                && (fits(evidence) || is_short(evidence) && holds_the_path(evidence, cause)) =>
        {
            Left::Path(Narrowest::RoundTrip)
        }
        // It was still growing.
        Cause::ReceiveWindow
            if is_told && Buffer::receiving(evidence.receiver()).tuned_to.is_some() =>
        {
            Left::Path(Narrowest::RoundTrip)
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
        | Cause::ZeroWindow
        | Cause::SlowStart
        | Cause::Congestion
        | Cause::Loss
        | Cause::Pacing
        | Cause::Descriptors
        | Cause::ReceiveQueue
        | Cause::PeerGone
        | Cause::Device
        | Cause::Nagle
        | Cause::Handshake
        | Cause::Closing
        | Cause::Nothing => Left::Unmoved,
    }
}

/// Bytes that are to be sent, where that is how it ends.
fn amount(evidence: &Evidence<'_>) -> Option<u64> {
    match evidence.setup.flow().stop {
        Stop::Bytes(bytes) => Some(bytes),
        Stop::After(_) => None,
    }
}

/// Whether it took so few round trips that windows were growing for much of it.
fn is_short(evidence: &Evidence<'_>) -> bool {
    let under_way = 1.0 - thinking(evidence);
    evidence.measured.elapsed_s * under_way < FEW_TRIPS * evidence.scale().rtt_s
}

/// Whether everything there is to send may be on its way at once.
fn fits(evidence: &Evidence<'_>) -> bool {
    let memory = bounds::send_memory(evidence.sender())
        .min(bounds::receive_memory(evidence.receiver())) as u64;
    let most = bounds::largest_flight(evidence.setup).min(memory);
    amount(evidence).is_some_and(|bytes| bytes <= most)
}

fn narrowest_words(evidence: &Evidence<'_>, narrowest: Narrowest) -> String {
    let link = &evidence.busiest().name;
    let (share, of) = words::busy(evidence, evidence.measured.link_busy_share);
    match narrowest {
        Narrowest::Link => {
            format!("link `{link}` is its narrowest part: busy {share} {of}")
        }
        Narrowest::HostCpu => {
            let (host, busy) = processor::busiest(evidence)
                .map_or(("", 0.0), |(host, busy)| (host.name.as_str(), busy));
            format!(
                "the processor of `{host}` is its narrowest part: busy {} {of}, link `{link}` {share}",
                words::busy(evidence, busy).0,
            )
        }
        Narrowest::Loss => format!(
            "its losses are its narrowest part: {} % of the frames{}; link `{link}` was busy {share} {of}",
            three_digits(evidence.path().loss * 100.0),
            why_no_other(evidence),
        ),
        Narrowest::RoundTrip => round_trip(evidence),
    }
}

/// Why no other congestion control is advised against losses.
fn why_no_other(evidence: &Evidence<'_>) -> String {
    let tcp = &evidence.sender().config.tcp;
    let threshold = tcp.bbr_loss_threshold;
    let is_much = evidence.path().loss * 100.0 >= f64::from(threshold);
    match tcp.congestion {
        CongestionAlgorithm::Bbr if is_much => {
            format!(", above the {threshold} % (tcp.bbr_loss_threshold) that bbr takes for chance")
        }
        CongestionAlgorithm::Bbr => {
            ", with the congestion control that minds them least".to_string()
        }
        CongestionAlgorithm::NewReno | CongestionAlgorithm::Cubic => {
            ", of which bbr would make hardly more".to_string()
        }
    }
}

fn round_trip(evidence: &Evidence<'_>) -> String {
    let scale = evidence.scale();
    let rtt = seconds_text(scale.rtt_s);
    let before_s = thinking(evidence) * evidence.measured.elapsed_s;
    let took_s = evidence.measured.elapsed_s - before_s;
    let trips = three_digits(took_s / scale.rtt_s.max(f64::MIN_POSITIVE));
    let before = if before_s > 0.0 {
        format!(
            " after the {} before the first byte was written",
            seconds_text(before_s)
        )
    } else {
        String::new()
    };
    let Some(bytes) = amount(evidence).filter(|_| fits(evidence)) else {
        return format!(
            "its length is its narrowest part: {}{before} are {trips} round trips of {rtt}, in which \
             windows grow",
            seconds_text(took_s)
        );
    };
    format!(
        "its length is its narrowest part: all {} bytes fit into one window, and {}{before} are {trips} \
         round trips of {rtt}",
        grouped(bytes),
        seconds_text(took_s),
    )
}

fn application(evidence: &Evidence<'_>, cause: Cause) -> String {
    let who = cause.words();
    if cause == Cause::SlowReader {
        return format!(
            "{who} (`{}` was behind with its reading for {} of the time)",
            evidence.receiver().name,
            words::percent(at_receiver(evidence).1),
        );
    }
    if evidence.setup.flow().is_udp() {
        let rate = rate_text(evidence.measured.goodput_mbps * 1e6);
        return format!("{who} (it sends no more, and all {rate} of it arrive)");
    }
    let share = evidence
        .limits
        .sender
        .share(fullpipe_tcp::Limit::Application.name());
    let thinking = thinking(evidence);
    format!(
        "{who} (all that it had written was sent for {} of the time)",
        words::percent((share - thinking) / (1.0 - thinking).max(f64::MIN_POSITIVE)),
    )
}

/// Why nothing can be said, or done.
fn unmoved(evidence: &Evidence<'_>, cause: Cause) -> String {
    let what = cause.words();
    if cause == Cause::PeerGone {
        let why = if gone::is_waited_for(evidence) {
            "whom no shorter timeout would tell from those who are slow"
        } else {
            "and nobody waits for the memory that they hold"
        };
        return format!("{what}, {why}");
    }
    match evidence.measured.outcome {
        Outcome::Complete if !evidence.is_alone() => {
            format!("{what}; what one of several connections would gain is not for it alone to say")
        }
        Outcome::Complete if matches!(cause, Cause::Loss | Cause::Reassembly) => {
            format!("{what} in a queue on the way, which no knob of a host prevents")
        }
        Outcome::Complete => format!("{what}, which no knob moves"),
        Outcome::Dropped | Outcome::Stalled => format!("{what}{}", came_to(evidence)),
    }
}

/// What became of a transfer that did not end.
fn came_to(evidence: &Evidence<'_>) -> &'static str {
    match evidence.measured.outcome {
        Outcome::Complete => "",
        Outcome::Dropped => ", and the connection was dropped",
        Outcome::Stalled => ", and the transfer stalled",
    }
}
