//! Judges twins (simulated copies of captured transfers) by the transfers that were captured.
//!
//! A case is a transfer that is constructed so that its limit is known. A case runs once, and an
//! experiment is fitted to each of its captures. The advice of a twin is applied to the captured
//! transfer, which then runs again. The twin's prediction of the result uses only the capture.
//!
//! Rule: a fit gets only the segments and the operating system of the hosts (as with `--preset`).

use std::{fmt, ops::ControlFlow};

use fullpipe::presets;
use fullpipe_diagnose::{
    capture::{Analysis, Segment},
    observe::{Followed, Follower},
};
use fullpipe_explain::{Change, Explanation, changed};
use fullpipe_fit::{CaptureTwin, FitOptions, RecordedSizes, fit, frames::Captured};
use fullpipe_scenario::{Scene, Setup, watch::Watch};

use super::{
    draw::{Case, Family},
    view::View,
};
use crate::runs::Failure;

/// Number of runs, each with another seed, of a transfer with the advice.
const SEEDS: u64 = 3;
/// Advice is harmless if goodput with it is at least this share of goodput without it.
pub(super) const NEUTRAL: f64 = 0.98;

/// A twin, and its comparison with the captured transfer.
#[derive(Clone, Debug)]
pub struct JudgedTwin {
    /// Number of the case.
    pub number: u64,
    /// Construction of the case.
    pub family: Family,
    /// Place of the capture.
    pub view: View,
    /// Relative error of goodput, at least -1; `None` if there is no twin.
    pub goodput_error: Option<f64>,
    /// True if the twin reproduces the capture.
    pub is_reproduced: bool,
    /// One line about the twin, or the reason for which there is none.
    pub text: String,
    /// Cause that the twin's explanation names, if the twin was explained.
    pub limit: Option<&'static str>,
    /// Advice of the explanation and its result, if there is advice.
    pub advice: Option<JudgedAdvice>,
}

/// Advice and its result.
#[derive(Clone, Debug)]
pub struct JudgedAdvice {
    /// The advised settings.
    pub changes: Vec<Change>,
    /// Goodput with the advice in Mbit/s, as the twin predicts it.
    pub predicted_mbps: f64,
    /// Goodput of the transfer without the advice, in Mbit/s.
    pub before_mbps: f64,
    /// Goodput of the transfer with the advice, in Mbit/s.
    pub after_mbps: f64,
}

impl JudgedAdvice {
    /// Predicted goodput divided by the measured goodput, minus 1.
    pub fn error(&self) -> f64 {
        self.predicted_mbps / self.after_mbps.max(1e-9) - 1.0
    }

    /// Returns true if the advice does not make the transfer slower.
    pub fn is_harmless(&self) -> bool {
        self.after_mbps >= NEUTRAL * self.before_mbps
    }
}

/// Judges the twins of case `number` at three places, and the advice of the twin at one of these
/// places.
///
/// # Errors
/// Fails if a checker of the simulator found a violation.
pub fn judge_twins(number: u64) -> Result<Vec<JudgedTwin>, Failure> {
    let mut case = Case::draw(number);
    // Let the hosts know each other's addresses: a capture begins with the SYN, so no prediction
    // could include the time of an ARP request.
    case.setup
        .hosts
        .iter_mut()
        .for_each(|host| host.acquainted = true);
    let broken = |why: &dyn fmt::Display| Failure(format!("case {number}: {why}"));
    let captured = Captured::default();
    let before_mbps = played(&case.setup, number, Some(&captured)).map_err(|why| broken(&why))?;
    let Some(before_mbps) = before_mbps else {
        return Ok(Vec::new());
    };
    // Explain the twin at only one of the three places. The remainder selects the construction
    // (`Family`) of the case. Successive cases of the same construction differ by 1 in the
    // quotient, so the place changes. Successive constructions differ by 1 in the remainder, so the
    // place changes, too.
    let round = number / Family::ALL.len() as u64 + number % Family::ALL.len() as u64;
    let mut all = Vec::new();
    for (place, view) in View::ALL.into_iter().enumerate() {
        let segments = captured.seen_at(view.tap(case.middle));
        let is_explained = round % View::ALL.len() as u64 == place as u64;
        let judged = judged(&case, view, &segments, is_explained.then_some(before_mbps));
        all.push(judged.map_err(|why| broken(&why))?);
    }
    Ok(all)
}

/// Runs `setup` and returns its goodput in Mbit/s; `None` if at most two segments with payload were
/// sent.
fn played(setup: &Setup, seed: u64, captured: Option<&Captured>) -> Result<Option<f64>, String> {
    let mut scene = Scene::new(setup, seed, false, Watch::NONE);
    if let Some(captured) = captured {
        let tapped = scene.capture_hosts(Box::new(captured.clone()));
        tapped.map_err(|error| error.to_string())?;
    }
    let played = scene.play(&|_| ControlFlow::Continue(()));
    let played = played.map_err(|failure| failure.to_string())?;
    scene.finish_capture().map_err(|error| error.to_string())?;
    let played = played.filter(|played| played.measured.data_segments > 2);
    Ok(played.map(|played| played.measured.first_flow_mbps(setup)))
}

/// Fits a twin to the capture at one place. If `before_mbps` is given, also explains the twin and
/// applies its advice.
fn judged(
    case: &Case,
    view: View,
    segments: &[Segment],
    before_mbps: Option<f64>,
) -> Result<JudgedTwin, String> {
    let mut follower = Follower::new(true);
    segments.iter().for_each(|one| follower.on_segment(one));
    let end_ns = segments.last().map_or(0, |last| last.at_ns);
    let Followed { observed, log } = follower.conclude(end_ns);
    let options = FitOptions {
        preset: presets::find("default").expect("it is the first preset"),
        title: format!("Case {}", case.number),
        seed: 1,
        recorded: RecordedSizes::default(),
    };
    let on = |_| ControlFlow::Continue(());
    let log = log.expect("the segments were kept");
    let mut found = JudgedTwin {
        number: case.number,
        family: case.family,
        view,
        goodput_error: None,
        is_reproduced: false,
        text: String::new(),
        limit: None,
        advice: None,
    };
    let twin = match fit(&observed, &log, &options, &on) {
        Ok(twin) => twin,
        Err(failure) => {
            found.text = failure.to_string();
            return Ok(found);
        }
    };
    found.goodput_error = Some(twin.compared.goodput_error);
    found.is_reproduced = twin.compared.is_reproduced();
    found.text = text(&twin);
    let Some(before_mbps) = before_mbps else {
        return Ok(found);
    };
    let explained = twin.explain(&on).map_err(|failure| failure.to_string())?;
    if let Ok(explained) = explained {
        found.limit = Some(explained.limit.name);
        found.advice = advice(case, &explained, before_mbps)?;
    }
    Ok(found)
}

/// Runs the captured transfer again with the advice. Returns `None` if there is no advice, or if
/// the advised settings cannot be applied to the captured transfer.
fn advice(
    case: &Case,
    explained: &Explanation,
    before_mbps: f64,
) -> Result<Option<JudgedAdvice>, String> {
    let Some(predicted) = explained.predicted else {
        return Ok(None);
    };
    let Some(setup) = changed(&case.setup, &explained.advice) else {
        return Ok(None);
    };
    let mut sum = 0.0;
    for seed in 0..SEEDS {
        sum += played(&setup, case.number + seed, None)?.unwrap_or(0.0);
    }
    Ok(Some(JudgedAdvice {
        changes: explained.advice.clone(),
        predicted_mbps: predicted.goodput_mbps,
        before_mbps,
        after_mbps: sum / SEEDS as f64,
    }))
}

fn text(twin: &CaptureTwin) -> String {
    let values = twin.plan.values.iter();
    let values: Vec<_> = values
        .map(|value| format!("{}={}", value.set, value.to))
        .collect();
    let shares = |of: &fullpipe_fit::Figures| {
        let largest = of.shares.iter().take(3);
        let parts: Vec<_> = largest
            .map(|(name, share)| format!("{name} {:.0} %", share * 100.0))
            .collect();
        parts.join(", ")
    };
    let (capture, run) = (&twin.capture, &twin.twin);
    format!(
        "{:.2} Mbit/s ({:.2} in the capture), round trip {:.1} ms ({:.1} in the capture), {} ({} in the capture); {}",
        run.goodput_mbps,
        capture.goodput_mbps,
        run.median_rtt_ms,
        capture.median_rtt_ms,
        shares(run),
        shares(capture),
        values.join(" ")
    )
}

impl fmt::Display for JudgedTwin {
    /// Writes one line about the twin, and one line about the limit and the advice if the twin was
    /// explained.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match (self.goodput_error, self.is_reproduced) {
            (None, _) => "no twin".to_string(),
            (Some(error), true) => format!("a twin (goodput {:+.1} %)", error * 100.0),
            (Some(error), false) => format!(
                "a twin that does not reproduce the capture (goodput {:+.1} %)",
                error * 100.0
            ),
        };
        let view = self.view.name();
        write!(
            f,
            "case {} ({:?}) at the {view}: {verdict}: {}",
            self.number, self.family, self.text
        )?;
        if let Some(limit) = self.limit {
            write!(f, "\n    limit {limit}")?;
        }
        if let Some(advice) = &self.advice {
            let changes = advice.changes.iter();
            let changes: Vec<_> = changes.map(ToString::to_string).collect();
            write!(
                f,
                "; {}: {:.2} Mbit/s without the advice, {:.2} with it; predicted with it: {:.2} \
                 (prediction error {:+.1} %)",
                changes.join(" "),
                advice.before_mbps,
                advice.after_mbps,
                advice.predicted_mbps,
                advice.error() * 100.0
            )?;
        }
        Ok(())
    }
}
