//! The twin of one connection, as text and as JSON.
//!
//! Rule: a twin that does not reproduce the capture gives no advice; its differences are printed.
//! `fullpipe-captures` makes the twin.

#[cfg(test)]
mod tests;

use std::{io::Write, ops::ControlFlow, path::Path};

use fullpipe_captures::{Connections, TwinAnswer, limit_words};
use fullpipe_explain::Explanation;
use fullpipe_fit::{Basis, Candidate, Compared, Figures, FittedValue};
use fullpipe_lab::{
    WholeFile,
    experiment::with_bytes,
    grid::{Align, Grid, GridColumn},
    layout::{Layout, Tone, columns},
    units::{grouped, rate_text, seconds_text},
    verdict_text,
};
use fullpipe_perf::Stop;
use serde::Serialize;

use super::{
    account,
    recordings::{self, Recording},
};
use crate::{arguments::WhyArguments, failure::Failure, output::Terminal, progress::Progress};

/// Candidates (experiments that may behave like the connection) with a likelihood below this one
/// are omitted.
const LEAST_ODDS: f64 = 0.05;
/// Limits are omitted if their share is smaller than this in both capture and twin.
const LEAST_SHARE: f64 = 0.01;
/// Spaces before each line of the comparison.
const INDENT: usize = 2;
/// Smallest number of columns of a name in the comparison's table.
const LEAST_NAME: usize = 12;

/// The twin in the output of `--json`.
#[derive(Serialize)]
pub struct JsonTwin<'a> {
    preset: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    #[serde(flatten)]
    found: Option<JsonFound<'a>>,
}

#[derive(Serialize)]
struct JsonFound<'a> {
    reproduces: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_advice: Option<&'a str>,
    compared: Compared,
    capture: &'a Figures,
    run: &'a Figures,
    values: &'a [FittedValue],
    candidates: &'a [Candidate],
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a Explanation>,
}

/// Returns false if the one connection was refused or never answered, so no transfer is to be
/// simulated.
fn was_established(connections: &Connections) -> bool {
    connections
        .full()
        .is_none_or(|flow| account::was_established(&flow.outcome))
}

/// Fits an experiment to the connection that is printed in full, and explains this twin. Returns
/// `None` if no connection is printed in full, or if `--quick` requests only the account (time by
/// limit).
pub fn of(
    arguments: &WhyArguments,
    terminal: &Terminal,
    connections: &Connections,
    recordings: &[Recording],
) -> Result<Option<TwinAnswer>, Failure> {
    let preset = fullpipe::presets::find(&arguments.preset).map_err(Failure::usage)?;
    let is_one = connections.log().is_some();
    if !is_one || arguments.quick || arguments.csv {
        return match &arguments.scenario {
            None => Ok(None),
            Some(_) => Err(Failure::usage(
                "--scenario needs one connection: name it with --flow N",
            )),
        };
    }
    if arguments.scenario.is_none() && !was_established(connections) {
        return Ok(None);
    }
    let stop = Stop::on_interrupt()?;
    let progress = Progress::new(terminal, "twin", vec![String::new()]);
    let advance = |share: f64| {
        progress.advance(0, share);
        match stop.is_raised() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let recorded = connections.full_row();
    let recorded = recorded.map(|row| recordings::sizes(recordings, &row));
    let recorded = recorded.unwrap_or_default();
    let answer = fullpipe_captures::twin(connections, preset, recorded, &advance);
    drop(progress);
    if stop.is_raised() {
        return Err(Failure::Interrupted(
            "the simulation that is fitted to the connection was not finished".to_string(),
        ));
    }
    if let (Some(path), Some(answer)) = (&arguments.scenario, &answer) {
        save(answer, path)?;
    }
    Ok(answer)
}

fn save(answer: &TwinAnswer, path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let (twin, _) = answer.found.as_ref().map_err(|why| {
        Failure::failed(format!(
            "--scenario {shown}: no file was written, because no experiment fits the connection: \
                 {why}"
        ))
    })?;
    let text = twin.file();
    let created = WholeFile::create_new(path).and_then(|created| {
        created.writer().write_all(text.as_bytes())?;
        created.finish()
    });
    created.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::usage(format!(
            "--scenario {shown}: the file exists; choose another name"
        )),
        _ => Failure::failed(format!("--scenario {shown}: {error}")),
    })
}

/// Returns the verdict of the twin, or the reason for which the connection has no verdict.
pub fn verdict(answer: &TwinAnswer, layout: Layout) -> String {
    let mut out = String::new();
    match &answer.found {
        Err(why) => layout.field(
            &mut out,
            "Twin",
            &format!("no simulation was fitted to this connection: {why}."),
        ),
        Ok((twin, Ok(explanation))) => {
            out += &verdict_text(&explanation.parts, layout);
            let compared = twin.compared;
            let how = format!(
                "a simulation fitted to this capture. Its goodput differs from the capture's by {:+.1} %. Its limit differs from the capture's for {:.0} % of the time. All predictions come from the simulation.",
                compared.goodput_error * 100.0,
                compared.account_error * 100.0
            );
            layout.field(&mut out, "Twin", &how);
        }
        Ok((_, Err(why))) => {
            let text = format!("{}: {why}.", layout.paint(Tone::Doubtful, "no advice"));
            layout.field(&mut out, "Twin", &text);
        }
    }
    out + "\n"
}

/// Returns a comparison of capture and twin, and the fitted values.
pub fn beside(answer: &TwinAnswer, layout: Layout) -> String {
    let Ok((twin, _)) = &answer.found else {
        return String::new();
    };
    let mut out = String::new();
    out.push('\n');
    out += &comparison(&lines(&twin.capture, &twin.twin), layout);
    out.push('\n');
    let text = format!(
        "The hosts of the twin (the fitted simulation) have the preset `{}`. The other values come from the capture:",
        answer.preset
    );
    layout.paragraph(&mut out, "", 0, &text);
    for value in &twin.plan.values {
        let FittedValue {
            set,
            to,
            basis,
            why,
            ..
        } = value;
        let doubt = match basis {
            Basis::Seen | Basis::Inferred => basis.name().to_string(),
            Basis::Guessed | Basis::Assumed => layout.paint(Tone::Doubtful, basis.name()),
        };
        let to = with_bytes(set, to);
        layout.paragraph(&mut out, "  ", 4, &format!("{set} = {to} ({doubt}: {why})"));
    }
    let rivals = rivals(&twin.candidates);
    if !rivals.is_empty() {
        let own = twin.candidates[0].odds * 100.0;
        let text =
            format!("The likelihood of this twin is {own:.0} %. Other candidates: {rivals}.");
        layout.paragraph(&mut out, "", 0, &text);
    }
    out
}

/// Returns the comparison as a table, or as a list if the table has no room for the names. Names are
/// wrapped.
fn comparison(lines: &[[String; 3]], layout: Layout) -> String {
    let widest = |place: usize| lines.iter().map(|line| columns(&line[place])).max();
    let [name, capture, run] = [0, 1, 2].map(|place| widest(place).unwrap_or(0));
    let mut grid = Grid {
        columns: vec![
            GridColumn::new(&[""], 0, Align::Left),
            GridColumn::new(&["capture"], capture, Align::Right),
            GridColumn::new(&["twin"], run, Align::Right),
        ],
    };
    let room = layout.width.saturating_sub(INDENT + grid.width());
    let room = room.min(name);
    grid.columns[0].width = room;
    let rows = lines.iter().map(|[name, capture, run]| {
        let [capture, run] = [capture, run].map(|value| vec![value.clone()]);
        grid.row(&[layout.lines(name, room), capture, run])
    });
    let rows: Option<String> = match room >= LEAST_NAME {
        true => rows.collect(),
        false => None,
    };
    let mut out = String::new();
    match rows {
        Some(rows) => {
            for line in (grid.head(layout) + &rows).lines() {
                out += format!("{:INDENT$}{line}", "").trim_end();
                out.push('\n');
            }
        }
        None => {
            for [name, capture, run] in lines {
                let values = format!("{name}: capture {capture}, twin {run}");
                layout.paragraph(&mut out, &format!("{:INDENT$}", ""), 2 * INDENT, &values);
            }
        }
    }
    out
}

/// Returns a text about the candidates that are nearly as likely as the twin; empty if there
/// are none.
fn rivals(candidates: &[Candidate]) -> String {
    let rivals = candidates.iter().skip(1);
    let likely = rivals.filter(|one| one.odds >= LEAST_ODDS);
    let names: Vec<String> = likely
        .map(|one| {
            let name = match one.name.as_str() {
                "" => "the first estimate",
                name => name,
            };
            format!("{name} ({:.0} %)", one.odds * 100.0)
        })
        .collect();
    names.join(", ")
}

/// Returns the answer for `--json`.
pub fn json(answer: &TwinAnswer) -> JsonTwin<'_> {
    let found = answer.found.as_ref();
    JsonTwin {
        preset: answer.preset,
        failure: found.err().map(String::as_str),
        found: found.ok().map(|(twin, explanation)| JsonFound {
            reproduces: twin.compared.is_reproduced(),
            no_advice: explanation.as_ref().err().map(String::as_str),
            compared: twin.compared,
            capture: &twin.capture,
            run: &twin.twin,
            values: &twin.plan.values,
            candidates: &twin.candidates,
            verdict: explanation.as_ref().ok(),
        }),
    }
}

/// Returns the lines of the comparison. Each has a name, the capture's value and the twin's
/// value.
fn lines(capture: &Figures, twin: &Figures) -> Vec<[String; 3]> {
    type Line = (&'static str, fn(&Figures) -> String);
    const LINES: [Line; 7] = [
        ("payload", |one| format!("{} bytes", grouped(one.bytes))),
        ("time, handshake to last ACK", |one| {
            seconds_text(one.seconds)
        }),
        ("goodput in this time", |one| {
            rate_text(one.goodput_mbps * 1e6)
        }),
        ("round trip, smallest", |one| {
            seconds_text(one.base_rtt_ms / 1e3)
        }),
        ("round trip, median", |one| {
            seconds_text(one.median_rtt_ms / 1e3)
        }),
        ("round trip, 95 % below", |one| {
            seconds_text(one.high_rtt_ms / 1e3)
        }),
        ("retransmitted", |one| {
            format!("{:.1} %", one.retransmitted_share * 100.0)
        }),
    ];
    let rows = LINES
        .iter()
        .map(|(name, of)| [name.to_string(), of(capture), of(twin)]);
    let mut all: Vec<_> = rows.collect();
    let share = |of: &Figures, limit: &str| {
        let known = of.shares.iter().find(|(name, _)| *name == limit);
        known.map_or(0.0, |(_, share)| *share)
    };
    let others = twin
        .shares
        .iter()
        .filter(|(name, _)| share(capture, name) == 0.0);
    for (limit, _) in capture.shares.iter().chain(others) {
        let [own, other] = [capture, twin].map(|of| share(of, limit));
        if own.max(other) >= LEAST_SHARE {
            let percent = |share: f64| format!("{:.1} %", share * 100.0);
            all.push([limit_words(limit), percent(own), percent(other)]);
        }
    }
    all
}
