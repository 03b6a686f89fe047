//! The words of a prediction, with what it leaves out.
//!
//! Rule: nothing is predicted here. The next limit is a steady rate, and losses in the
//! queues of the path are not predicted; the words say so where that matters.

use fullpipe_scenario::{
    experiment::Stop,
    units::{rate_text, seconds_text},
};
use fullpipe_sim::link::Queue;
use fullpipe_tcp::CongestionAlgorithm;

use super::{bounds::Bound, cause::Cause, evidence::Evidence, predict::Predicted, wording::millis};

/// A transfer whose predicted rate is below this share of its next limit is mostly opening
/// and slow start.
const SHORT: f64 = 0.75;

/// The predicted result beside the measured one; `next` is the limit after the change.
pub fn gives(
    evidence: &Evidence<'_>,
    cause: Cause,
    predicted: &Predicted,
    next: Option<Cause>,
) -> String {
    let measured = evidence.measured;
    let without = short_queue(evidence)
        .filter(|_| next == Some(Cause::Path))
        .map_or_else(String::new, |link| {
            format!(", without losses in the queue of `{link}`")
        });
    if matches!(cause, Cause::Nagle | Cause::Cork) {
        return format!(
            "each byte leaves when it is written, instead of {} later on average (predicted)",
            millis(measured.unsent_ms)
        );
    }
    let stop = evidence.setup.flow().stop;
    let has_end = matches!(stop, Stop::Bytes(_));
    let more = match stop {
        Stop::Bytes(bytes) if measured.delivered_bytes < bytes => "more than ",
        _ => "",
    };
    let [about, present] = if has_end {
        [predicted.elapsed_s, measured.elapsed_s].map(seconds_text)
    } else {
        [predicted.goodput_mbps, measured.goodput_mbps].map(|mbps| rate_text(mbps * 1e6))
    };
    let ends = predicted.quartiles.map(|quartiles| {
        if has_end {
            quartiles.elapsed_s.map(seconds_text)
        } else {
            quartiles.goodput_mbps.map(|mbps| rate_text(mbps * 1e6))
        }
    });
    match ends.filter(|[least, most]| least != most) {
        Some([least, most]) => format!(
            "about {about} instead of {more}{present} (predicted; half of the simulated courses give \
             {least} to {most})"
        ),
        None => format!("about {about} instead of {more}{present} (predicted{without})"),
    }
}

/// A link on the path whose queue has room for less than the bandwidth-delay product, if
/// congestion control reacts to losses there. The prediction has no such losses.
fn short_queue<'a>(evidence: &Evidence<'a>) -> Option<&'a str> {
    if evidence.sender().config.tcp.congestion == CongestionAlgorithm::Bbr {
        return None;
    }
    let flow = evidence.setup.flow();
    let product = evidence.path().payload_bps / 8.0 * evidence.scale().rtt_s;
    let is_short = |queue| match queue {
        Queue::Unlimited | Queue::Device => false,
        Queue::Packets(packets) => f64::from(packets) * evidence.scale().segment < product,
        Queue::Bytes(bytes) => (bytes as f64) < product,
    };
    let mut route = evidence.setup.route(flow.from, flow.to).into_iter();
    let (number, _) =
        route.find(|&(number, way)| is_short(evidence.setup.links[number].link(way).queue))?;
    Some(&evidence.setup.links[number].name)
}

/// The words for a limit that is steady: it is reached only after slow start, which takes
/// much of a short transfer, and losses in a queue can keep a connection below it.
pub fn after_slow_start(
    evidence: &Evidence<'_>,
    predicted: Option<Predicted>,
    bound: Bound,
) -> &'static str {
    let flow = evidence.setup.flow();
    let Stop::Bytes(bytes) = flow.stop else {
        return "";
    };
    let thinks_s = flow
        .question()
        .map_or(0.0, |(_, think)| think.as_secs_f64());
    let is_short = predicted.is_some_and(|predicted| {
        bytes as f64 * 8.0 < SHORT * bound.bps * (predicted.elapsed_s - thinks_s)
    });
    match bound.cause {
        // These words say so, or the bound is no steady one.
        Cause::Loss | Cause::Application | Cause::SlowReader => "",
        _ if is_short => " once slow start is over",
        Cause::Path if short_queue(evidence).is_some() => ", unless losses in its queue cost more",
        _ => "",
    }
}
