//! Presents one connection of a capture as the run of an experiment, for a page and for graphs.
//!
//! Rule: the row (the result of a scenario) shows the results of the capture and of its twin, the
//! simulated copy of the connection; nothing is computed here.

use fullpipe_diagnose::{
    capture::EndedFlow,
    facts::{Connection, Figure, Host, Observed, PathFacts, Peer, Row, Run, ShownBy, VerdictParts},
    observe::{ObservedConnection, SeenLimit},
};
use fullpipe_fit::Figures;

use crate::twin::TwinAnswer;

/// Returns the connection `flow` of the capture `capture` as a run with one row. `omitted` is the
/// number of segments that are missing in `ends`.
pub fn run_facts(
    capture: &str,
    flow: &EndedFlow<ObservedConnection>,
    ends: Connection,
    omitted: u64,
    twin: Option<&TwinAnswer>,
) -> Run {
    let seen = &flow.outcome;
    let [sender, receiver] = [seen.sender, seen.sender.other()].map(|end| flow.key.address(end));
    let fitted = twin.and_then(TwinAnswer::fitted);
    let explained = twin.and_then(TwinAnswer::explained);
    let notes = [
        twin.and_then(TwinAnswer::doubt),
        (omitted > 0).then(|| {
            format!(
                "The graphs do not show the last {omitted} segments, which were not kept in memory."
            )
        }),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let label = format!("{sender} to {receiver}");
    let row = Row {
        name: label.clone(),
        label,
        peers: fitted.map_or(Vec::new(), |twin| {
            vec![peer("capture", &twin.capture), peer("twin", &twin.twin)]
        }),
        outcome: "complete".to_string(),
        verdict: explained.map_or_else(|| account(seen), |found| found.parts.clone()),
        shown_by: explained.map_or_else(|| longest(seen), |found| found.shown_by.clone()),
        path: Some(PathFacts {
            sender: 0,
            receiver: 1,
            payload_bps: seen.path.dispersion_bps,
            rtt_ns: seen.path.base_rtt_ns.unwrap_or(0),
            ..PathFacts::default()
        }),
        note: (!notes.is_empty()).then(|| notes.join(" ")),
        seeds: 1,
        observed: Observed {
            end_ns: seen.lifetime_ns,
            hosts: [sender, receiver]
                .map(|address| host(&address.to_string()))
                .into(),
            connections: vec![ends],
            ..Observed::default()
        },
        ..Row::default()
    };
    Run {
        experiment: format!("{}-{}", stem(capture), flow.number),
        title: format!("a connection in {capture}"),
        rows: vec![row],
        ..Run::default()
    }
}

/// Returns the name of a limit for use in a sentence.
pub fn limit_words(name: &str) -> String {
    name.replace('_', " ")
}

/// Returns the name of a capture without its folder and its extensions.
fn stem(capture: &str) -> String {
    let name = capture.rsplit('/').next().unwrap_or(capture);
    let name = name.split('.').find(|part| !part.is_empty());
    name.unwrap_or("capture").replace(' ', "-")
}

fn host(address: &str) -> Host {
    Host {
        name: address.to_string(),
        ..Host::default()
    }
}

/// For a connection without a twin, returns a verdict (an explanation) that names the limit with
/// the most time.
fn account(seen: &ObservedConnection) -> VerdictParts {
    match seen.main_limit() {
        Some((limit, share, _)) => VerdictParts::limited_by(format!(
            "{} for {:.0} % of the time",
            limit_words(limit.name()),
            share * 100.0
        )),
        None => VerdictParts::limited_by("something that the capture does not show"),
    }
}

fn longest(seen: &ObservedConnection) -> ShownBy {
    match seen.main_limit() {
        Some((SeenLimit::Known(limit), ..)) => ShownBy::Limits(vec![limit]),
        Some((SeenLimit::Unknown, ..)) | None => ShownBy::default(),
    }
}

fn peer(name: &str, figures: &Figures) -> Peer {
    let figure = |name, heading, value| Figure {
        name,
        heading,
        value,
    };
    Peer {
        name: name.to_string(),
        figures: vec![
            figure("goodput_mbps", "Mbit/s", figures.goodput_mbps),
            figure("elapsed_s", "seconds", figures.seconds),
            figure("median_rtt_ms", "ms RTT", figures.median_rtt_ms),
            figure(
                "retransmitted_percent",
                "% retransmitted",
                figures.retransmitted_share * 100.0,
            ),
        ],
    }
}
