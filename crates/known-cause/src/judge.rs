//! Judges the verdict on a world, and its advice.
//!
//! Rule: the world runs like any experiment, and the cause that the verdict names is
//! compared with the cause that was built in. The advice is followed once.

use fullpipe_lab::{
    Advice, AdviceStep, Cause, Predicted, RunError, RunOptions, SettingChange, advise,
};

use super::KnownWorld;

/// The advice has helped if goodput grew by more than this share. Advice against Nagle or
/// a cork has also helped if the application is the limit afterwards and goodput did not
/// fall by this share.
const HELP: f64 = 0.05;

/// A world and the verdict on it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Number of the world.
    pub number: u64,
    /// The cause that was built in.
    pub built: Cause,
    /// The cause that the verdict named.
    pub named: Cause,
    /// The verdict in prose.
    pub sentence: String,
    /// Result of following the advice, if it named a knob.
    pub treated: Option<Treated>,
}

/// Advice that was followed.
#[derive(Clone, Debug)]
pub struct Treated {
    /// Changed settings.
    pub changes: Vec<SettingChange>,
    /// Goodput before the change, in Mbit/s.
    pub before_mbps: f64,
    /// Goodput after the change, in Mbit/s.
    pub after_mbps: f64,
    /// True if the advice helped.
    pub helped: bool,
    /// Predicted result, and the measured time in seconds.
    pub predicted: Option<(Predicted, f64)>,
}

impl Treated {
    /// Relative error of the predicted time or of the predicted goodput, whichever is
    /// larger; `None` without a prediction.
    pub fn error(&self) -> Option<f64> {
        let (predicted, elapsed_s) = self.predicted?;
        let of_time = (predicted.elapsed_s / elapsed_s - 1.0).abs();
        let of_goodput = (predicted.goodput_mbps / self.after_mbps - 1.0).abs();
        Some(of_time.max(of_goodput))
    }
}

/// Runs the world of this number, follows the advice, and compares.
///
/// # Errors
/// A violation that a checker found: the stack is wrong.
///
/// # Panics
/// If the world's file has a mistake.
pub fn judge(number: u64) -> Result<Judged, RunError> {
    let world = KnownWorld::draw(number);
    let experiment = world
        .experiment()
        .unwrap_or_else(|mistake| panic!("world {number}: {mistake}\n{}", world.file));
    let options = RunOptions::plain(number);
    let Advice { steps, .. } = advise(&experiment, &experiment.rows[0], None, 1, &options)?;
    let first = &steps[0];
    Ok(Judged {
        number,
        built: world.cause,
        named: first.verdict.limit,
        sentence: first.verdict.parts.line(),
        treated: steps.get(1).map(|second| treated(first, second)),
    })
}

fn treated(before: &AdviceStep, after: &AdviceStep) -> Treated {
    let gained = after.goodput_mbps > before.goodput_mbps * (1.0 + HELP);
    // Without Nagle small writes arrive earlier; goodput does not grow.
    let sooner = matches!(before.verdict.limit, Cause::Nagle | Cause::Cork)
        && after.verdict.limit == Cause::Application
        && after.goodput_mbps > before.goodput_mbps * (1.0 - HELP);
    Treated {
        changes: after.changes.clone(),
        before_mbps: before.goodput_mbps,
        after_mbps: after.goodput_mbps,
        helped: gained || sooner,
        predicted: after
            .predicted
            .map(|predicted| (predicted, after.elapsed_s)),
    }
}
