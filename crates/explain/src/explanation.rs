//! The explanation of a transfer: its cause, the proof, the smallest settings that remove the
//! limit, their predicted result, and the next limit.
//!
//! Rule: this file only holds the result; `engine` fills it in.

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
    /// The words with which `parts` names the limit. If the best lever (a thing that could be
    /// changed) has words of its own, these words; otherwise the words of the cause.
    #[serde(skip)]
    pub limit_words: &'static str,
    /// Names, as in [`Matrix`](crate::Matrix), of the levers that help most: one lever, or several
    /// that help only together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levers: Vec<String>,
    /// The part of the transfer that the first of `levers` changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<LeverKind>,
    /// A lever of another cause whose result is within 5 % of the best lever's result, or several
    /// that help together. If the best lever is a slow reader, an event of the path or a pause of
    /// the application: the best lever of the hosts, or several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rival: Vec<String>,
    /// The impairment of the path that costs most time, if it costs at least a quarter of the time
    /// that the hosts' best lever saves.
    #[serde(skip)]
    pub fault: Option<PathFault>,
    /// The explanation as text.
    pub parts: VerdictParts,
    /// The first setting of the advice, by the name in its host's system. Absent without an
    /// advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knob: Option<String>,
    /// The present value of the first setting of the advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<String>,
    /// Value that the advice gives to its first setting: the smallest value that keeps 98 % of the
    /// gain of the ample value. A value is ample if a larger one would not help.
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
    /// Levers that do not help, as runs show.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<String>,
    /// Number of runs.
    pub runs: usize,
    /// Every setting of the advice, by its name in its host's system.
    #[serde(skip)]
    pub settings: Vec<Advised>,
    /// The changes that demonstrate the cause: the changes of the run that helps most. If no run
    /// helps, and a link or an application is fully used, this is a higher rate of that link or
    /// application.
    #[serde(skip)]
    pub shown: Vec<Change>,
    /// Events of the simulator in all runs: a measure of work that is equal on every machine.
    #[serde(skip)]
    pub steps: u64,
    /// The setting that bounds the goodput, for graphs.
    #[serde(skip)]
    pub bound: Option<Bound>,
    /// The part of the graphs that shows the cause.
    #[serde(skip)]
    pub shown_by: ShownBy,
}

/// An impairment of the path, such as random losses or an outage.
#[derive(Clone, Debug, PartialEq)]
pub struct PathFault {
    /// The cause.
    pub cause: Cause,
    /// The words that follow "limited by": the cause and its place.
    pub words: String,
    /// True if the impairment costs more time than the hosts' best lever saves.
    pub is_most: bool,
}

/// Result of an advice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Goodput of the first flow in Mbit/s: the mean over the seeds.
    pub goodput_mbps: f64,
    /// Goodput without the advice, with the seeds of the prediction.
    pub unchanged_mbps: f64,
    /// Duration of the transfer in seconds, at `goodput_mbps`.
    pub elapsed_s: f64,
    /// The lowest goodput of the seeds.
    pub low_mbps: f64,
    /// The highest goodput of the seeds.
    pub high_mbps: f64,
}

/// A lever that was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriedLever {
    /// The lever's name.
    pub lever: String,
    /// The changed settings.
    pub changes: Vec<Change>,
    /// Gain as a share of the unchanged goodput.
    pub gain_share: f64,
    /// Standard error of the gain.
    pub error_share: f64,
}

impl Explanation {
    /// Creates an explanation that names a cause, without an advice and without levers.
    pub(crate) fn of(limit: Cause, parts: VerdictParts) -> Self {
        Self {
            limit,
            limit_words: limit.words,
            levers: Vec::new(),
            kind: None,
            rival: Vec::new(),
            fault: None,
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

    /// Returns the explanation without its advice. `reason`, a complete sentence, says why there is
    /// no advice. The advice gains too little, so the limit that it removes is not the answer. If
    /// an impairment of the path costs more time than the advice saves, the result names the
    /// impairment. Otherwise the result names the limit that would remain after the advice. If the
    /// explanation names no such limit, the result keeps the limit of the explanation.
    pub fn without_advice(self, reason: String) -> Self {
        let VerdictParts {
            limited_by,
            mut because,
            then,
            ..
        } = self.parts;
        because.push(reason);
        if let Some(fault) = self.fault.filter(|fault| fault.is_most) {
            let parts = VerdictParts {
                because,
                ..VerdictParts::limited_by(fault.words.clone())
            };
            return Self {
                tried: self.tried,
                refuted: self.refuted,
                runs: self.runs,
                steps: self.steps,
                ..Self::of(fault.cause, parts)
            };
        }
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
            // Omit the levers: they belong to the cause that the advice removes.
            Some(_) => told,
            None => Self {
                limit_words: self.limit_words,
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
    /// Creates a prediction whose runs do not differ between seeds.
    pub(crate) const fn certain(goodput_mbps: f64, unchanged_mbps: f64, elapsed_s: f64) -> Self {
        Self {
            goodput_mbps,
            unchanged_mbps,
            elapsed_s,
            low_mbps: goodput_mbps,
            high_mbps: goodput_mbps,
        }
    }
}
