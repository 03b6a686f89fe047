//! Applies advice to real kernels: runs a transfer, gets advice from its capture, and runs the
//! transfer again with that advice over the same link.
//!
//! Rule: the prediction is made before the second run, from the capture of the first run. The
//! prediction comes from a *twin* of the capture, a simulated copy that behaves like the captured
//! transfer. If no twin reproduces the capture, the prediction comes from simulating the experiment
//! itself, and the result mentions this. If the link drops frames at random, the transfer runs
//! several times without the advice and several times with it. Each repetition has other losses,
//! and the mean goodputs are compared.

mod draw;
mod repeated;
mod tally;

#[cfg(test)]
mod tests;

use std::{fmt, ops::ControlFlow, time::Duration};

use fullpipe::presets;
use fullpipe_diagnose::observe::Followed;
use fullpipe_explain::{Change, Explanation, explain, is_random};
use fullpipe_fit::{FitOptions, RecordedSizes, fit};
use fullpipe_lab::{KernelMeasured, MainLimit};
use fullpipe_perf::Stop;
use fullpipe_scenario::Setup;

use crate::{
    plan::KernelPlan,
    run::{KernelError, KernelOptions, run_followed},
};
pub use draw::WhatIfCase;
pub use repeated::Repeated;
pub use tally::WhatIfTally;

/// Longest real time that one transfer may take.
const TIME: Duration = Duration::from_secs(30);
/// Seed of the first run's link, and of every run in virtual time.
const SEED: u64 = 1;
/// Number of runs without the advice, and also of runs with it, if the link drops frames at random.
const RUNS: u64 = 5;
/// Advice is neutral if it changes goodput by less than this share.
const NEUTRAL: f64 = 0.03;
/// Prefixes of settings that belong to the hosts and their programs. Advice about the path is not
/// applied, because both transfers use the same link.
const APPLICABLE: [&str; 3] = ["sender.", "receiver.", "workload."];

/// The source of advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdvisedBy {
    /// The twin of the capture: a simulated copy of the captured transfer.
    Capture,
    /// A simulation of the experiment itself, because the capture has no twin. Contains the reason
    /// for this.
    Row(String),
}

/// The effect of an advice on the real hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Goodput is higher with the advice.
    Helps,
    /// Goodput changes by less than 3 %, or by less than two standard errors, which may be chance.
    Neutral,
    /// Goodput is lower with the advice.
    Worse,
}

/// Advice that was applied to a transfer, and its result.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The source of the advice.
    pub by: AdvisedBy,
    /// The advised settings; a setting with a Linux name is given by that name.
    pub advice: String,
    /// Predicted goodput, in Mbit/s.
    pub predicted_mbps: f64,
    /// Measured goodput with the advice.
    pub after: Repeated,
}

/// The outcome of a case.
#[derive(Clone, Debug)]
pub enum Ending {
    /// Advice was applied.
    Applied(Applied),
    /// The case has no advice that kernel hosts can apply. Contains the cause that the explanation
    /// names.
    NoAdvice(String),
}

/// A case that was run.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// Number of the case.
    pub number: u64,
    /// Description of the case in one line.
    pub title: String,
    /// Goodput without advice.
    pub before: Repeated,
    /// Main limit without advice: first by the account (time by limit) of the sender's socket, then
    /// by the account of the capture.
    pub limits: [Option<MainLimit>; 2],
    /// True if the account of the socket and the account of the capture have a main limit in
    /// common.
    pub agrees: bool,
    /// Outcome of the case.
    pub ending: Ending,
}

impl Applied {
    /// Predicted goodput divided by the measured goodput with the advice, minus 1.
    pub fn error(&self) -> f64 {
        self.predicted_mbps / self.after.mbps.max(1e-9) - 1.0
    }
}

impl WhatIf {
    /// The effect of the advice; `None` if no advice was applied.
    pub fn effect(&self) -> Option<Effect> {
        let Ending::Applied(applied) = &self.ending else {
            return None;
        };
        let gain = applied.after.mbps - self.before.mbps;
        let chance = self.before.error_with(&applied.after);
        let is_other = gain.abs() > (NEUTRAL * self.before.mbps).max(2.0 * chance);
        Some(match (is_other, gain > 0.0) {
            (true, true) => Effect::Helps,
            (true, false) => Effect::Worse,
            (false, _) => Effect::Neutral,
        })
    }
}

/// Headings of the columns in the lines of [`WhatIf`].
pub const WHAT_IF_HEADINGS: &str = "\
| case | transfer | limited by: socket, capture | before | predicted | after | error | effect | advice of | advice |
| ---: | --- | --- | ---: | ---: | ---: | ---: | --- | --- | --- |";

impl fmt::Display for WhatIf {
    /// Writes the case as a line of the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            title,
            before,
            limits,
            agrees: _,
            ending,
        } = self;
        let name = |main: &Option<MainLimit>| {
            let limit = main.map_or("nothing", |main| main.limit.name());
            limit.replace('_', " ")
        };
        let limits = match limits.each_ref().map(name) {
            [socket, capture] if socket == capture => socket,
            [socket, capture] => format!("{socket}, {capture}"),
        };
        write!(f, "| {number} | {title} | {limits} | {before} | ")?;
        match ending {
            Ending::NoAdvice(cause) => write!(f, " | | | | | none: {cause} |"),
            Ending::Applied(applied) => {
                let effect = match self.effect() {
                    Some(Effect::Helps) => "helps",
                    Some(Effect::Worse) => "worse",
                    Some(Effect::Neutral) | None => "neutral",
                };
                let by = match &applied.by {
                    AdvisedBy::Capture => "capture".to_string(),
                    AdvisedBy::Row(why) => format!("experiment (twin: {why})"),
                };
                write!(
                    f,
                    "{:.2} | {} | {:+.0} % | {effect} | {by} | {} |",
                    applied.predicted_mbps,
                    applied.after,
                    applied.error() * 100.0,
                    applied.advice
                )
            }
        }
    }
}

/// Runs the case, then runs it again with the advice from its capture.
///
/// # Errors
/// Fails if the system refuses an operation, the user interrupts, or a checker of the simulator
/// finds a violation.
pub fn what_if(case: &WhatIfCase, stop: &Stop) -> Result<WhatIf, KernelError> {
    let (first, followed) = transfer(&case.setup, SEED, stop)?;
    let of_capture = match followed {
        Some(followed) => of_capture(&followed)?,
        None => Err("no connection".to_string()),
    };
    let (by, explanation) = match of_capture {
        Ok(explanation) => (AdvisedBy::Capture, explanation),
        Err(why) => {
            let of_row = explain(&case.setup, SEED).map_err(failed)?;
            (AdvisedBy::Row(why), of_row)
        }
    };
    let ending = match applicable(&explanation) {
        None => Ending::NoAdvice(explanation.limit.name.to_string()),
        Some((changes, predicted_mbps)) => {
            let mut changed = case.setup.clone();
            for Change { set, to } in changes {
                changed.set(set, to).map_err(failed)?;
            }
            Ending::Applied(Applied {
                by,
                advice: advice_text(changes, &changed),
                predicted_mbps,
                after: repeated(&changed, Vec::new(), stop)?,
            })
        }
    };
    let before = match &ending {
        Ending::Applied(_) => repeated(&case.setup, vec![first.goodput_mbps], stop)?,
        Ending::NoAdvice(_) => Repeated::of(&[first.goodput_mbps]),
    };
    Ok(WhatIf {
        number: case.number,
        title: case.title.clone(),
        before,
        limits: [first.by_socket.main, first.by_capture.main],
        agrees: first.by_socket.agrees(&first.by_capture),
        ending,
    })
}

fn failed(error: impl fmt::Display) -> KernelError {
    KernelError::Failed(std::io::Error::other(error.to_string()))
}

/// The advice of an explanation and its prediction; `None` if kernel hosts cannot apply the advice.
fn applicable(explanation: &Explanation) -> Option<(&[Change], f64)> {
    let predicted = explanation.predicted?;
    let can = |change: &Change| APPLICABLE.iter().any(|own| change.set.starts_with(own));
    let advice = &explanation.advice;
    (!advice.is_empty() && advice.iter().all(can)).then_some((advice, predicted.goodput_mbps))
}

/// The changes as text, with a remark on settings that the kernel does not support.
fn advice_text(changes: &[Change], changed: &Setup) -> String {
    let named = |change: &Change| format!("{} = {}", change.set, change.to);
    let mut text = changes.iter().map(named).collect::<Vec<_>>().join(", ");
    let left_out = KernelPlan::of(changed).map(|plan| plan.not_applied);
    if let Some(left_out) = left_out.ok().filter(|left_out| !left_out.is_empty()) {
        text += &format!(" (not applied: {})", left_out.join("; "));
    }
    text
}

/// Returns the mean goodput of [`RUNS`] runs of a transfer, or of one run if its link drops no
/// frames at random. Earlier runs, whose goodputs are `known`, count as runs and are not repeated.
fn repeated(setup: &Setup, mut known: Vec<f64>, stop: &Stop) -> Result<Repeated, KernelError> {
    let runs = if is_random(setup) { RUNS } else { 1 };
    for seed in SEED + known.len() as u64..SEED + runs {
        let (measured, _) = transfer(setup, seed, stop)?;
        known.push(measured.goodput_mbps);
    }
    Ok(Repeated::of(&known))
}

/// Runs a transfer on kernel hosts. Returns its results, and the connection of its capture.
fn transfer(
    setup: &Setup,
    seed: u64,
    stop: &Stop,
) -> Result<(KernelMeasured, Option<Followed>), KernelError> {
    let options = KernelOptions {
        seed,
        time: TIME,
        capture: None,
        taps: None,
        stop,
        progress: &|_share| (),
    };
    let plan = KernelPlan::of(setup).map_err(failed)?;
    run_followed(&plan, &options)
}

/// The explanation of the capture's twin, or the reason for which no twin reproduces the capture.
fn of_capture(followed: &Followed) -> Result<Result<Explanation, String>, KernelError> {
    let Some(log) = &followed.log else {
        return Ok(Err("no segments".to_string()));
    };
    let options = FitOptions {
        preset: presets::find("linux").expect("the preset is there"),
        title: "A kernel".to_string(),
        seed: SEED,
        recorded: RecordedSizes::default(),
    };
    let go_on = |_share: f64| ControlFlow::Continue(());
    let twin = match fit(&followed.observed, log, &options, &go_on) {
        Ok(twin) => twin,
        Err(failure) => return Ok(Err(failure.to_string())),
    };
    twin.explain(&go_on).map_err(failed)
}
