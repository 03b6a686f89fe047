//! The explanation of a transfer: its cause, what proves it, the smallest settings that free
//! it, what they give, and what limits it then.
//!
//! Rule: nothing is found here; `engine` fills it in.

use fullpipe_diagnose::facts::{ShownBy, VerdictParts};
use serde::Serialize;

use crate::{
    advice::Advised,
    bound::Bound,
    cause::Cause,
    lever::{Change, LeverKind},
};

/// The explanation of a transfer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Cause of the limit.
    pub limit: Cause,
    /// The levers that help most: one, or several that help only together. Names as in
    /// [`Matrix`](crate::Matrix).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levers: Vec<String>,
    /// The part of the transfer that they change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<LeverKind>,
    /// A lever of another cause within 5 % of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rival: Option<String>,
    /// The explanation as text.
    pub parts: VerdictParts,
    /// The first setting of the advice, by its name in its host's system; absent without an
    /// advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knob: Option<String>,
    /// Its present value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<String>,
    /// The smallest value that gives 98 % of what an ample one gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<String>,
    /// Every setting of the advice, as `--set` takes them.
    #[serde(rename = "changes", skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Change>,
    /// Result of the advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// Cause of the limit after the advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Cause>,
    /// Every lever that was run, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedLever>,
    /// Levers of which the runs show that they do not help.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<String>,
    /// Number of runs.
    pub runs: usize,
    /// Every setting of the advice, by its name in its host's system.
    #[serde(skip)]
    pub settings: Vec<Advised>,
    /// The changes that show the cause: the run that helps most, or one that gives more of
    /// that which is used up.
    #[serde(skip)]
    pub shown: Vec<Change>,
    /// Events of the simulator in these runs: their work, the same on every machine.
    #[serde(skip)]
    pub steps: u64,
    /// The setting behind the cause, for graphs.
    #[serde(skip)]
    pub bound: Option<Bound>,
    /// The part of the graphs that shows the cause.
    #[serde(skip)]
    pub shown_by: ShownBy,
}

/// Result of an advice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Goodput of the first flow in Mbit/s: the mean over the seeds.
    pub goodput_mbps: f64,
    /// Time of the transfer in seconds, at that goodput.
    pub elapsed_s: f64,
    /// The lowest goodput of the seeds.
    pub low_mbps: f64,
    /// The highest goodput of the seeds.
    pub high_mbps: f64,
}

/// A lever that was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriedLever {
    /// Its name.
    pub lever: String,
    /// Its settings.
    pub changes: Vec<Change>,
    /// Gain as a share of the unchanged goodput.
    pub gain_share: f64,
    /// Standard error of the gain.
    pub error_share: f64,
}

impl Explanation {
    /// An explanation that names a cause, without advice and without levers.
    pub(crate) fn of(limit: Cause, parts: VerdictParts) -> Self {
        Self {
            limit,
            levers: Vec::new(),
            kind: None,
            rival: None,
            parts,
            knob: None,
            present: None,
            needed: None,
            advice: Vec::new(),
            predicted: None,
            next: None,
            tried: Vec::new(),
            refuted: Vec::new(),
            runs: 0,
            settings: Vec::new(),
            shown: Vec::new(),
            steps: 0,
            bound: None,
            shown_by: ShownBy::default(),
        }
    }

    /// The explanation without its advice, for a `reason` that is a sentence of its own: the
    /// limit is then the one after it.
    pub fn without_advice(self, reason: String) -> Self {
        let VerdictParts {
            limited_by,
            mut because,
            then,
            ..
        } = self.parts;
        because.push(reason);
        let parts = VerdictParts {
            because,
            ..VerdictParts::limited_by(then.unwrap_or(limited_by))
        };
        let told = Self {
            tried: self.tried,
            refuted: self.refuted,
            runs: self.runs,
            steps: self.steps,
            ..Self::of(self.next.unwrap_or(self.limit), parts)
        };
        match self.next {
            // The levers are those of the other cause.
            Some(_) => told,
            None => Self {
                levers: self.levers,
                kind: self.kind,
                rival: self.rival,
                shown: self.shown,
                bound: self.bound,
                shown_by: self.shown_by,
                ..told
            },
        }
    }

    /// Adds the settings to change.
    pub(crate) fn advise(&mut self, settings: Vec<Advised>) {
        let first = &settings[0].setting;
        self.knob = Some(first.name.clone());
        self.present = Some(first.present.clone());
        self.needed = Some(first.wanted.clone());
        self.parts.change = settings.iter().map(Advised::line).collect();
        self.advice = settings.iter().map(|at| at.change.clone()).collect();
        self.settings = settings;
    }
}

impl Predicted {
    /// A result that does not depend on chance.
    pub(crate) const fn certain(goodput_mbps: f64, elapsed_s: f64) -> Self {
        Self {
            goodput_mbps,
            elapsed_s,
            low_mbps: goodput_mbps,
            high_mbps: goodput_mbps,
        }
    }
}
