//! Takes the advice of a verdict, runs again, and says what came of it.
//!
//! Rule: a step changes what the verdict names and nothing else, and what was
//! predicted stands beside what came out. It ends when nothing is left but the path or
//! an application, when no knob moves what binds, or when the memory that was given is
//! spent.

use std::fmt::Write;

use serde::Serialize;

use crate::{
    experiment::{Experiment, Row, Setup},
    measured::Outcome,
    report::{Account, RowReport, pretty},
    run::{RunError, RunOptions, run},
    shares::Times,
    units::{grouped, rate_text, seconds_text, three_digits},
    verdict::{
        Bottleneck, Cause, Predicted, Remaining, RemainingLimit, SettingChange, Verdict, changed,
        pool_bytes,
    },
};

/// Steps after which advice that has not ended never will.
pub const MOST_STEPS: usize = 16;
/// A step that gives less than this part more has given nothing.
const GAIN: f64 = 0.02;
/// The part of a gain that is none at all.
const NOTHING: f64 = 0.001;

/// One row, advised to its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The experiment's name.
    pub experiment: String,
    /// The row's label.
    pub row: String,
    /// The seed that repeats it.
    pub seed: u64,
    /// The row as it is, and then as each verdict advised.
    pub steps: Vec<Step>,
    /// Why there is no further step.
    pub end: End,
    /// The part of the path that lets least through, where it ends with that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub narrowest: Option<Bottleneck>,
    /// The end with its proof, for people.
    pub ends_with: String,
}

/// One run of the row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// What was changed before it; nothing before the first.
    pub changes: Vec<SettingChange>,
    /// What the verdict before it said would come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// How it ended.
    pub outcome: &'static str,
    /// What came, in Mbit/s.
    pub goodput_mbps: f64,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// How long each limit held, and what moved meanwhile.
    pub account: Account,
    /// What bound.
    pub verdict: Verdict,
}

/// Why advice ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The path carries no more: a link, a host's processor, losses, or its length.
    Path,
    /// An application writes or reads no more.
    Application,
    /// No knob moves what binds, or there are several connections and what one of
    /// them gets is not for one of them to say.
    NoKnob,
    /// The next step would take more packet memory than was given.
    MemorySpent,
    /// The last step changed nothing.
    NoGain,
    /// The advice cannot be followed on this host.
    Refused,
    /// Advice was taken as often as it may be.
    StepsSpent,
}

impl End {
    /// The word or two for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Application => "application",
            Self::NoKnob => "no advice",
            Self::MemorySpent => "memory is spent",
            Self::NoGain => "no further gain",
            Self::Refused => "the advice is refused",
            Self::StepsSpent => "no more steps",
        }
    }
}

/// Runs a row, takes the advice, and runs it again until that ends, or until it
/// has been taken `most` times. `memory` is the most packet memory, in bytes, that
/// a host may be given.
///
/// # Errors
/// A run's.
pub fn advise(
    experiment: &Experiment,
    row: &Row,
    memory: Option<u64>,
    most: usize,
    options: &RunOptions<'_>,
) -> Result<Advice, RunError> {
    let mut setup = row.setup.clone();
    let mut steps: Vec<Step> = Vec::new();
    let end = loop {
        let report = run_row(experiment, row, &setup, options)?;
        steps.push(step(report, steps.last()));
        if let Some(end) = ended(&steps, most) {
            break end;
        }
        let verdict = &steps[steps.len() - 1].verdict;
        let Some(next) = changed(&setup, &verdict.changes) else {
            break End::Refused;
        };
        if memory.is_some_and(|bytes| outgrows(&setup, &next, bytes)) {
            break End::MemorySpent;
        }
        setup = next;
    };
    Ok(Advice {
        narrowest: narrowest(&steps, end),
        ends_with: ends_with(&steps, end),
        experiment: experiment.name.clone(),
        row: row.label.clone(),
        seed: options.seed,
        steps,
        end,
    })
}

/// Several rows' advice as a JSON array, indented.
pub fn advice_json(advice: &[Advice]) -> String {
    pretty(&advice)
}

/// Advice for people: each step with what was predicted, what came, and why.
pub fn advice_text(advice: &[Advice]) -> String {
    let mut text = String::new();
    for Advice {
        experiment,
        row,
        steps,
        ends_with,
        ..
    } in advice
    {
        let _ = writeln!(text, "{experiment}, row `{row}`");
        for (number, step) in steps.iter().enumerate() {
            step_text(&mut text, number, step);
        }
        let _ = writeln!(text, "  ends with: {ends_with}\n");
    }
    text
}

fn step_text(text: &mut String, number: usize, step: &Step) {
    let changes: Vec<_> = step
        .changes
        .iter()
        .map(|change| format!("{} {} -> {}", change.set, change.from, change.to))
        .collect();
    let what = match number {
        0 => "as it is".to_string(),
        _ => changes.join(", "),
    };
    let came = format!(
        "{}, {} Mbit/s",
        seconds_text(step.elapsed_s),
        three_digits(step.goodput_mbps)
    );
    let outcome = match step.outcome {
        "complete" => String::new(),
        other => format!(" ({other})"),
    };
    let predicted = step.predicted.map_or_else(String::new, |predicted| {
        format!(
            "predicted {}, {} Mbit/s; ",
            seconds_text(predicted.elapsed_s),
            three_digits(predicted.goodput_mbps)
        )
    });
    let _ = writeln!(text, "  {number}. {what}");
    let _ = writeln!(text, "     {predicted}measured {came}{outcome}");
    let _ = writeln!(text, "     sender: {}", held(&step.account.sender));
    let _ = writeln!(text, "     receiver: {}", held(&step.account.receiver));
    let _ = writeln!(text, "     {}", step.verdict.parts.line());
}

/// Every limit that held, with its time and its bytes.
fn held(times: &Times) -> String {
    let parts = times
        .parts()
        .filter(|(_, time, bytes)| !time.is_zero() || *bytes > 0);
    let words: Vec<_> = parts
        .map(|(name, time, bytes)| {
            let seconds = seconds_text(time.as_secs_f64());
            format!("{name} {seconds} {} bytes", grouped(bytes))
        })
        .collect();
    words.join(", ")
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

fn step(report: RowReport, before: Option<&Step>) -> Step {
    Step {
        changes: before.map_or_else(Vec::new, |before| before.verdict.changes.clone()),
        predicted: before.and_then(|before| before.verdict.predicted),
        outcome: report.measured.outcome.name(),
        goodput_mbps: report.measured.goodput_mbps,
        elapsed_s: report.measured.elapsed_s,
        account: report.account,
        verdict: report.verdict,
    }
}

/// Whether the last step is the end.
fn ended(steps: &[Step], most: usize) -> Option<End> {
    let [before @ .., last] = steps else {
        return None;
    };
    if let Some(RemainingLimit { kind, .. }) = last.verdict.remaining {
        return Some(match kind {
            Remaining::Path(_) => End::Path,
            Remaining::Application => End::Application,
            Remaining::NoSetting => End::NoKnob,
        });
    }
    // Another knob may move the same limit.
    let same = |before: &Step| {
        let is_same =
            before.verdict.limit == last.verdict.limit && before.verdict.knob == last.verdict.knob;
        is_same && has_gained_nothing(before, last)
    };
    if before.last().is_some_and(same) {
        return Some(End::NoGain);
    }
    (steps.len() > most).then_some(End::StepsSpent)
}

fn has_gained_nothing(before: &Step, last: &Step) -> bool {
    let is_complete = last.outcome == Outcome::Complete.name();
    is_complete && last.goodput_mbps <= before.goodput_mbps * (1.0 + GAIN)
}

fn narrowest(steps: &[Step], end: End) -> Option<Bottleneck> {
    let ending = steps.last()?.verdict.remaining.as_ref()?;
    match ending.kind {
        Remaining::Path(narrowest) if end == End::Path => Some(narrowest),
        Remaining::Path(_) | Remaining::Application | Remaining::NoSetting => None,
    }
}

/// The end for people, and whether the last step was worth taking.
fn ends_with(steps: &[Step], end: End) -> String {
    let [before @ .., last] = steps else {
        return end.words().to_string();
    };
    let words = match (&last.verdict.remaining, end) {
        (Some(ending), End::Path | End::Application | End::NoKnob) => &ending.words,
        _ => end.words(),
    };
    // Small writes that nothing holds come no faster, only sooner; and what is freed is
    // memory, and not time.
    let is_of_rate = |before: &&Step| {
        let gains = !matches!(before.verdict.limit, Cause::Nagle | Cause::PeerGone);
        gains && has_gained_nothing(before, last)
    };
    before.last().filter(is_of_rate).map_or_else(
        || words.to_string(),
        |before| {
            let [was, is] = [before, last].map(|step| rate_text(step.goodput_mbps * 1e6));
            let gained = last.goodput_mbps / before.goodput_mbps - 1.0;
            let what = if gained < -NOTHING {
                "made it worse".to_string()
            } else if gained < NOTHING {
                "gained nothing".to_string()
            } else {
                format!("gained {} %", three_digits(gained * 100.0))
            };
            match end {
                End::NoGain => format!("{words}: {is} after {was}"),
                _ => format!("{words}; the last step {what}: {is} after {was}"),
            }
        },
    )
}

/// Whether a host would be given more packet memory than `most` bytes.
fn outgrows(present: &Setup, next: &Setup, most: u64) -> bool {
    let mut hosts = present.hosts.iter().zip(&next.hosts);
    hosts.any(|(before, after)| {
        let [before, after] = [before, after].map(pool_bytes);
        after > before && after > most
    })
}

#[cfg(test)]
mod tests;
