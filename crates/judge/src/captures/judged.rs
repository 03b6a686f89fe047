//! Judges one case (a transfer that is constructed so that its limit is known) by captures
//! at three places.
//!
//! Rule: an account (time by limit) is inferred from each capture. The capture's answer is the
//! group of limits with the largest share of this account. The answer is right if the group's true
//! share is at most [`TOLERANCE`] below the largest true share.

use std::{fmt, ops::ControlFlow};

use fullpipe_diagnose::{
    account::Times,
    facts::Observed,
    inferred::Confidence,
    observe::{ConnectionObserver, ObservedConnection, SeenLimit},
};
use fullpipe_fit::frames::{Captured, TapPlace};
use fullpipe_scenario::{Scene, watch::Watch};
use fullpipe_tcp::Limit;

use super::{
    draw::{Case, Family, KernelCase},
    truth::{LimitGroup, TrueAccount},
    view::View,
};
use crate::runs::Failure;

/// Difference at which two shares still count as equal.
pub const TOLERANCE: f64 = 0.05;

/// The account that was inferred from a capture, and the true account.
#[derive(Clone, Debug)]
pub struct JudgedCapture {
    /// Number of the case.
    pub number: u64,
    /// Construction of the case.
    pub family: Family,
    /// Place of the capture.
    pub view: View,
    /// The sender's own account.
    pub truth: TrueAccount,
    /// The groups that the construction of the case permits as the longest limit.
    pub constructed: &'static [LimitGroup],
    /// The account that was inferred from the capture.
    pub seen: TrueAccount,
    /// The group that the capture's account names.
    pub named: LimitGroup,
    /// Confidence that the named group is right.
    pub confidence: Confidence,
    /// Everything that the capture showed.
    pub observed: ObservedConnection,
}

impl JudgedCapture {
    /// The group with the largest true share, of those that the construction permits.
    pub fn main(&self) -> LimitGroup {
        self.truth.main_of(self.constructed)
    }

    /// Returns true if the construction permits the named group, and the group has the largest true
    /// share or a share nearly as large.
    pub fn is_right(&self) -> bool {
        let longest = self.truth.share(self.main());
        let is_permitted = self.constructed.contains(&self.named);
        is_permitted && self.truth.share(self.named) >= longest - TOLERANCE
    }

    /// Returns true if the capture names the wrong group with high confidence.
    pub fn is_surely_wrong(&self) -> bool {
        !self.is_right() && self.confidence == Confidence::High
    }

    /// Largest error of a share, from 0 to 1.
    pub fn error(&self) -> f64 {
        self.truth.difference(&self.seen)
    }
}

/// Runs case `number` and judges its three captures. Returns nothing if at most two segments with
/// payload were sent.
///
/// # Errors
/// Fails if a checker of the simulator found a violation.
pub fn judge_case(number: u64) -> Result<Vec<JudgedCapture>, Failure> {
    let case = Case::draw(number);
    let broken = |why: &dyn std::fmt::Display| Failure(format!("case {number}: {why}"));
    let mut scene = Scene::new(&case.setup, number, true, Watch::NONE);
    let captured = Captured::default();
    scene
        .capture_hosts(Box::new(captured.clone()))
        .map_err(|error| broken(&error))?;
    let played = scene
        .play(&|_| ControlFlow::Continue(()))
        .map_err(|failure| broken(&failure))?;
    scene.finish_capture().map_err(|error| broken(&error))?;
    let Some(played) = played.filter(|played| played.measured.data_segments > 2) else {
        return Ok(Vec::new());
    };
    let known = Known {
        number,
        family: case.family,
        has_rate: case.has_rate,
        truth: truth(&case, played.observed.as_ref()),
        constructed: &LimitGroup::ALL,
    };
    Ok(judge_captures(&known, &captured, case.middle))
}

/// Judges the three captures of a case that ran on kernel hosts. `own` is the account that follows
/// from the kernel's reports about the sender's socket. If that account contradicts the construction
/// of the case, returns it instead.
///
/// # Errors
/// Returns the account of a case whose permitted groups had less than half of the time.
pub fn judge_kernel(
    case: &KernelCase,
    captured: &Captured,
    own: &Times<SeenLimit>,
) -> Result<Vec<JudgedCapture>, TrueAccount> {
    let truth = TrueAccount::of_times(own, case.has_rate);
    let permitted: f64 = case
        .constructed
        .iter()
        .map(|group| truth.share(*group))
        .sum();
    if permitted < 0.5 {
        return Err(truth);
    }
    let known = Known {
        number: case.number,
        family: case.family,
        has_rate: case.has_rate,
        truth,
        constructed: case.constructed,
    };
    Ok(judge_captures(&known, captured, case.middle))
}

/// Facts about a case that are known before its captures are read.
struct Known {
    number: u64,
    family: Family,
    has_rate: bool,
    truth: TrueAccount,
    constructed: &'static [LimitGroup],
}

fn judge_captures(known: &Known, captured: &Captured, middle: TapPlace) -> Vec<JudgedCapture> {
    let judge_view = |view: View| {
        let segments = captured.seen_at(view.tap(middle));
        let mut observer = ConnectionObserver::new();
        segments.iter().for_each(|one| observer.on_segment(one));
        let end_ns = segments.last().map_or(0, |last| last.at_ns);
        judged(known, view, observer.finish(end_ns))
    };
    View::ALL.map(judge_view).into()
}

/// Returns the account that the sender's stack kept during the transfer (its limit clock).
fn truth(case: &Case, observed: Option<&Observed>) -> TrueAccount {
    let connections = observed.iter().flat_map(|observed| &observed.connections);
    let mut ends = connections.flat_map(|connection| connection.ends());
    let Some(sender) = ends.find(|end| end.host == 0) else {
        return TrueAccount::default();
    };
    let limits = &sender.limits;
    let bands = (0..limits.len()).map(|place| {
        let length = limits.end_ns[place] - limits.at_ns[place];
        let limit = Limit::ALL[usize::from(limits.reason[place])];
        (limit.into(), length as f64)
    });
    TrueAccount::of(bands, case.has_rate)
}

fn judged(known: &Known, view: View, observed: ObservedConnection) -> JudgedCapture {
    let bands = observed.bands.iter().map(|band| {
        let length = band.end_ns - band.at_ns;
        (band.limit, length as f64)
    });
    let seen = TrueAccount::of(bands, known.has_rate);
    let named = seen.main();
    let is_sure = observed.is_certain(named, LimitGroup::of);
    let confidence = match is_sure && named != LimitGroup::Unknown {
        true => Confidence::High,
        false => Confidence::Low,
    };
    JudgedCapture {
        number: known.number,
        family: known.family,
        view,
        truth: known.truth,
        constructed: known.constructed,
        seen,
        named,
        confidence,
        observed,
    }
}

impl fmt::Display for JudgedCapture {
    /// Writes the answer and both accounts in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = match (self.is_right(), self.confidence) {
            (true, _) => "right",
            (false, Confidence::High) => "surely wrong",
            (false, Confidence::Low) => "wrong",
        };
        write!(
            f,
            "case {} ({:?}) at the {}: {answer}; truth {}; named {}",
            self.number,
            self.family,
            self.view.name(),
            self.truth,
            self.seen
        )
    }
}
