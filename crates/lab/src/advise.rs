//! Runs a row (scenario of an experiment), makes the change that its verdict advises, and runs the
//! changed row.
//!
//! Rule: a step makes exactly the advised change, and the predicted result is printed beside the
//! measured one. [`AdviceEnd`] lists the reasons for which the steps end.

mod text;

use fullpipe_explain::{Cause, Change, Explanation, LeverKind, Predicted, changed};
use fullpipe_scenario::{
    Account,
    experiment::{Experiment, HostPlan, Row, Setup, Stop},
    measured::Outcome,
    units::{rate_text, three_digits},
};
use serde::Serialize;

pub use text::advice_text;

use crate::{
    report::{RowReport, pretty, versioned_each},
    run::{RunError, RunOptions, run},
};

/// Largest number of steps of advice.
pub const MOST_STEPS: usize = 16;
/// A step whose goodput grows by at most this share counts as a step without gain.
const GAIN: f64 = 0.02;
/// Relative differences below this share count as rounding errors.
const NOTHING: f64 = 0.001;

/// The advice for one row, with a run of each step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The experiment's name.
    pub experiment: String,
    /// The row's label.
    pub row: String,
    /// Meaning of the experiment's labels.
    #[serde(skip)]
    pub(crate) labels: Option<String>,
    /// Seed with which the runs can be repeated.
    pub seed: u64,
    /// The runs: first the row as given, then one run after each advised change.
    pub steps: Vec<AdviceStep>,
    /// Reason that no further step was made.
    pub end: AdviceEnd,
    /// The reason for the end and its proof in words, without a full stop.
    pub ends_with: String,
    /// True if the transfer ends after an amount of data, so that its duration is the result.
    #[serde(skip)]
    pub(crate) has_end: bool,
    /// Name of the first flow, which the predicted results are about, if there are several flows.
    #[serde(skip)]
    pub(crate) predicted_flow: Option<String>,
}

/// One run of the row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceStep {
    /// Settings changed before this run; empty for the first run.
    pub changes: Vec<Change>,
    /// Result that the verdict on the previous run predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// Outcome of the transfer.
    pub outcome: &'static str,
    /// Goodput, in Mbit/s.
    pub goodput_mbps: f64,
    /// Duration, in seconds.
    pub elapsed_s: f64,
    /// True if the transfer reached its time limit before all its bytes had arrived.
    #[serde(skip)]
    pub(crate) is_cut_off: bool,
    /// Seconds and bytes by limit.
    pub account: Account,
    /// The verdict on this run.
    pub verdict: Explanation,
}

/// Reason that no further step was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AdviceEnd {
    /// The path carries no more data: the limit is a link, a host's processor, losses, or the
    /// number of round trips.
    Path,
    /// The limit is an application, which writes or reads no faster.
    Application,
    /// No known setting raises the limit, or several connections share the limit.
    NoKnob,
    /// The next step would need more packet memory than was given.
    MemorySpent,
    /// The last step gained less than 2 %, and the next step would change the same setting again.
    NoGain,
    /// The host refuses the advised change.
    Refused,
    /// The largest number of steps was taken.
    StepsSpent,
}

impl AdviceEnd {
    /// The reason in words.
    const fn words(self) -> &'static str {
        match self {
            Self::Path => "Nothing left to tune",
            Self::Application => "No further setting of the hosts helps",
            Self::NoKnob => "No setting is advised",
            Self::MemorySpent => "The next step would need more packet memory than --memory allows",
            Self::NoGain => "The last step gained less than 2 %",
            Self::Refused => "A host refuses the settings of the next step",
            Self::StepsSpent => "The maximum number of steps was reached",
        }
    }
}

/// Runs a row and makes the advised changes one after another, in at most `most` steps, until a
/// reason of [`AdviceEnd`] applies. No host gets more packet memory than `memory` bytes.
///
/// # Errors
/// Returns the error of the run that failed.
pub fn advise(
    experiment: &Experiment,
    row: &Row,
    memory: Option<u64>,
    most: usize,
    options: &RunOptions<'_>,
) -> Result<Advice, RunError> {
    let mut setup = row.setup.clone();
    let mut steps: Vec<AdviceStep> = Vec::new();
    let bounded = RunOptions { memory, ..*options };
    let end = loop {
        let report = run_row(experiment, row, &setup, &bounded)?;
        steps.push(step(report, &setup, steps.last()));
        if let Some(end) = ended(&steps, most) {
            // The bound `memory` may be the reason that there is no advice. Explain the row once
            // more without this bound: if the advice then needs more memory than the bound, memory
            // is the reason.
            let is_near = memory.is_some_and(|bytes| has_used(&setup, bytes));
            if is_near && steps[steps.len() - 1].verdict.advice.is_empty() {
                let free = run_row(experiment, row, &setup, options)?;
                if needs_memory(&setup, &free, memory) {
                    break AdviceEnd::MemorySpent;
                }
            }
            break end;
        }
        let verdict = &steps[steps.len() - 1].verdict;
        let Some(next) = changed(&setup, &verdict.advice) else {
            break AdviceEnd::Refused;
        };
        if memory.is_some_and(|bytes| outgrows(&setup, &next, bytes)) {
            break AdviceEnd::MemorySpent;
        }
        setup = next;
    };
    Ok(Advice {
        ends_with: ends_with(&steps, end),
        experiment: experiment.name.clone(),
        row: row.label.clone(),
        labels: experiment.labels.clone(),
        has_end: matches!(row.setup.flow().stop, Stop::Bytes(_)),
        predicted_flow: (row.setup.flows.len() > 1).then(|| row.setup.flow().name.clone()),
        seed: options.seed,
        steps,
        end,
    })
}

/// Returns the advice for several rows as a JSON array, indented.
pub fn advice_json(advice: &[Advice]) -> String {
    pretty(&versioned_each(advice))
}

fn run_row(
    experiment: &Experiment,
    row: &Row,
    setup: &Setup,
    options: &RunOptions<'_>,
) -> Result<RowReport, RunError> {
    let row = Row {
        setup: setup.clone(),
        baseline: false,
        ..row.clone()
    };
    let alone = Experiment {
        rows: vec![row],
        ..experiment.clone()
    };
    let mut report = run(&alone, options)?;
    Ok(report.rows.remove(0))
}

fn step(report: RowReport, setup: &Setup, before: Option<&AdviceStep>) -> AdviceStep {
    AdviceStep {
        changes: before.map_or_else(Vec::new, |before| before.verdict.advice.clone()),
        predicted: before.and_then(|before| before.verdict.predicted),
        outcome: report.measured.outcome.name(),
        goodput_mbps: report.measured.goodput_mbps,
        elapsed_s: report.measured.elapsed_s,
        is_cut_off: setup.flows.len() == 1 && report.measured.is_cut_off(setup.flow()),
        account: report.account,
        verdict: report.verdict.expect("it was asked for"),
    }
}

/// Returns the reason for the end if no step may follow the last one.
fn ended(steps: &[AdviceStep], most: usize) -> Option<AdviceEnd> {
    let [before @ .., last] = steps else {
        return None;
    };
    let verdict = &last.verdict;
    if verdict.advice.is_empty() {
        return Some(match verdict.kind {
            Some(LeverKind::Path | LeverKind::Processor) => AdviceEnd::Path,
            Some(LeverKind::Application) => AdviceEnd::Application,
            Some(LeverKind::Resource | LeverKind::Rule) | None => AdviceEnd::NoKnob,
        });
    }
    // Without gain, end only if the next step would change the same setting: another setting may
    // raise the same limit.
    let same = |before: &AdviceStep| {
        let is_same =
            before.verdict.limit == last.verdict.limit && before.verdict.knob == last.verdict.knob;
        is_same && has_gained_nothing(before, last)
    };
    if before.last().is_some_and(same) {
        return Some(AdviceEnd::NoGain);
    }
    (steps.len() > most).then_some(AdviceEnd::StepsSpent)
}

fn has_gained_nothing(before: &AdviceStep, last: &AdviceStep) -> bool {
    let is_complete = last.outcome == Outcome::Complete.name();
    is_complete && last.goodput_mbps <= before.goodput_mbps * (1.0 + GAIN)
}

/// Returns the reason for the end in words, with the gain of the last step if it was small.
fn ends_with(steps: &[AdviceStep], end: AdviceEnd) -> String {
    let [before @ .., last] = steps else {
        return end.words().to_string();
    };
    let words = match end {
        AdviceEnd::Path | AdviceEnd::Application | AdviceEnd::NoKnob => format!(
            "{}: limited by {}",
            end.words(),
            last.verdict.parts.limited_by
        ),
        _ => end.words().to_string(),
    };
    // Do not print the gain of advice about a vanished peer: such advice frees memory, and does not
    // raise the goodput.
    let is_of_rate = |before: &&AdviceStep| {
        before.verdict.limit != Cause::PEER_GONE && has_gained_nothing(before, last)
    };
    before.last().filter(is_of_rate).map_or_else(
        || words.clone(),
        |before| {
            let [was, is] = [before, last].map(|step| rate_text(step.goodput_mbps * 1e6));
            let gained = last.goodput_mbps / before.goodput_mbps - 1.0;
            let gain = if gained < -NOTHING {
                "lowered the goodput".to_string()
            } else if gained < NOTHING {
                "gained nothing".to_string()
            } else {
                format!("gained {} %", three_digits(gained * 100.0))
            };
            match end {
                AdviceEnd::NoGain => format!("{words}: {is} instead of {was}"),
                _ => format!("{words}. The last step {gain}: {is} instead of {was}"),
            }
        },
    )
}

/// Returns true if the packet memory of a host is larger than half of `most` bytes.
fn has_used(setup: &Setup, most: u64) -> bool {
    setup.hosts.iter().any(|host| host.pool_bytes() > most / 2)
}

/// Returns true if the advice of `report` gives a host more packet memory than `most` bytes.
fn needs_memory(setup: &Setup, report: &RowReport, most: Option<u64>) -> bool {
    let advice = report.verdict.iter().map(|verdict| &verdict.advice);
    let next = advice.filter_map(|advice| changed(setup, advice)).next();
    next.zip(most)
        .is_some_and(|(next, bytes)| outgrows(setup, &next, bytes))
}

/// Returns true if a host would get more packet memory than before, and more than `most` bytes.
fn outgrows(present: &Setup, next: &Setup, most: u64) -> bool {
    let mut hosts = present.hosts.iter().zip(&next.hosts);
    hosts.any(|(before, after)| {
        let [before, after] = [before, after].map(HostPlan::pool_bytes);
        after > before && after > most
    })
}

#[cfg(test)]
mod gone_tests;
#[cfg(test)]
mod tests;
