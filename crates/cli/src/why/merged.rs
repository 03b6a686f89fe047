//! The results of merging two captures of one connection, in words and for programs.
//!
//! Rule: each capture is called by its name on the command line. The assumption about the clocks
//! is printed.

use fullpipe_captures::{Capture, Connections};
use fullpipe_diagnose::merge::{MergeFacts, PassageFacts};
use fullpipe_lab::{
    layout::{Layout, Tone},
    units::{counted, grouped, rate_text, seconds_text},
};
use serde::Serialize;

/// Largest number of losses that are printed.
const LOSSES: usize = 10;

/// Returns the merge of the connection that is printed in full, or the reason for which its two
/// captures were not merged. Returns an empty text if only one capture contains the connection.
pub fn text(captures: &[Capture], connections: &Connections, layout: Layout) -> String {
    let mut out = String::new();
    let Some((places, merged)) = connections.merged() else {
        return out;
    };
    let [first, second] = places.map(|place| captures[place].name.as_str());
    out.push('\n');
    match merged {
        Err(why) => {
            let text = format!("The connection is also in {second}, but was not merged: {why}.");
            layout.paragraph(&mut out, "", 0, &text);
        }
        Ok(merged) => {
            let facts = &merged.facts;
            let names = if facts.near == 0 {
                [first, second]
            } else {
                [second, first]
            };
            let title = layout.paint(Tone::Heading, "Two captures of this connection, merged");
            layout.paragraph(&mut out, "", 2, &title);
            layout.field(&mut out, "captures", &places_text(names));
            layout.field(&mut out, "clocks", &clocks(facts, names[1]));
            layout.field(&mut out, "forward", &passage(&facts.forward, true));
            layout.field(&mut out, "back", &passage(&facts.back, false));
            layout.field(&mut out, "added", &added(facts, names[0]));
            losses(&mut out, facts, layout);
        }
    }
    out
}

fn places_text([near, far]: [&str; 2]) -> String {
    format!(
        "{near} was captured nearer to the sender and gives the times of the limits; {far} was \
         captured nearer to the receiver and gives the arrived payload, its order, and the \
         receiver's segments"
    )
}

fn clocks(facts: &MergeFacts, far: &str) -> String {
    let ahead = facts.clock_ahead_ns;
    let direction = if ahead < 0 { "behind" } else { "ahead of" };
    let drift = match facts.drift_ppm {
        Some(ppm) => format!("and drifts by {ppm:+.1} parts in a million"),
        None => "and no drift was found".to_string(),
    };
    let half = seconds_text(facts.round_trip_ns as f64 / 2e9);
    format!(
        "the clock of {far} is {} {direction} the other clock when the connection begins, {drift}. \
         The round trip between the two capture points is at least {}; half of it ({half}) is \
         assumed for each direction, so the clock difference may be wrong by up to {half}",
        seconds_text(ahead.unsigned_abs() as f64 / 1e9),
        seconds_text(facts.round_trip_ns as f64 / 1e9),
    )
}

/// Describes one direction. The rate is printed only for payload, because the spacing of ACKs is
/// determined by the receiver.
fn passage(facts: &PassageFacts, has_payload: bool) -> String {
    let mut parts = vec![format!(
        "{} of {} lost between the captures",
        grouped(facts.lost),
        counted(facts.segments, "segment")
    )];
    if !facts.reasons.is_empty() {
        let reasons = facts.reasons.iter();
        let reasons: Vec<_> = reasons
            .map(|(name, count)| format!("{} {name}", grouped(*count)))
            .collect();
        parts[0] += &format!(" ({})", reasons.join(", "));
    }
    for (count, name) in [
        (
            facts.uncaptured,
            "arrived, but are missing in the later capture, which dropped frames",
        ),
        (facts.duplicated, "duplicated"),
        (facts.reordered, "reordered"),
        (facts.unseen, "only in the later capture"),
    ] {
        if count > 0 {
            parts.push(format!("{} {name}", grouped(count)));
        }
    }
    if let (Some(mean), Some(largest)) = (facts.queue_mean_ms, facts.queue_largest_ms) {
        parts.push(format!(
            "queueing delay {} on average, {} at most",
            seconds_text(mean / 1e3),
            seconds_text(largest / 1e3)
        ));
    }
    if let Some(rate) = facts.rate_bps.filter(|_| has_payload) {
        parts.push(format!("bottleneck rate {}", rate_text(rate)));
    }
    parts.join("; ")
}

fn added(facts: &MergeFacts, near: &str) -> String {
    let mut parts = vec![match facts.needless {
        0 => "no retransmission was spurious".to_string(),
        1 => "1 retransmission was spurious: all of its bytes had already arrived".to_string(),
        count => format!(
            "{} retransmissions were spurious: all of their bytes had already arrived",
            grouped(count)
        ),
    }];
    if facts.filled_bytes > 0 {
        parts.push(format!(
            "{} bytes that {near} lacks were taken from the other capture",
            grouped(facts.filled_bytes)
        ));
    }
    parts.join("; ")
}

/// Appends the first losses with their times.
fn losses(out: &mut String, facts: &MergeFacts, layout: Layout) {
    if facts.losses.is_empty() {
        return;
    }
    let heading = format!(
        "{:>12} {:>14} {:>8}  lost",
        "sent at", "first byte", "bytes"
    );
    *out += &format!("  {}\n", layout.paint(Tone::Heading, &heading));
    for loss in facts.losses.iter().take(LOSSES) {
        *out += &format!(
            "  {:>12} {:>14} {:>8}\n",
            seconds_text(loss.at_ns as f64 / 1e9),
            grouped(loss.seq),
            grouped(loss.payload.into())
        );
    }
    let more = facts.losses.len().saturating_sub(LOSSES);
    if more > 0 {
        let more = counted(more as u64, "more segment");
        *out += &format!("  {more} lost and retransmitted (listed by --json)\n");
    }
}

/// The merge in the output of `--json`.
#[derive(Serialize)]
pub struct JsonMerge<'a> {
    captures: [&'a str; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    #[serde(flatten)]
    facts: Option<&'a MergeFacts>,
}

/// Returns the merge for `--json`.
pub fn json<'a>(captures: &'a [Capture], connections: &'a Connections) -> Option<JsonMerge<'a>> {
    let (places, merged) = connections.merged()?;
    Some(JsonMerge {
        captures: places.map(|place| captures[place].name.as_str()),
        failure: merged.as_ref().err().map(ToString::to_string),
        facts: merged.as_ref().ok().map(|merged| &merged.facts),
    })
}
