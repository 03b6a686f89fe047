//! A verdict (the explanation of what limits a transfer) in five short parts of text.
//!
//! Rule: a part is plain text with names in backticks. A part that does not apply is absent.
//! `fullpipe_explain` writes the parts, and the lab arranges them for printing.

use serde::Serialize;

/// The five parts of a verdict: limit, proof, change, prediction, next limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerdictParts {
    /// The limit and its value, written to follow "Limited by": ``link `wifi`: 100 % busy
    /// at 5.04 Mbit/s``.
    pub limited_by: String,
    /// Sentences that prove the limit; each contains a measured or computed number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// Settings to change, all together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<ChangeLine>,
    /// Predicted result of the change: `3.78 s instead of 24.3 s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gives: Option<String>,
    /// Limit after the change: `the cap on send buffers, at most 9.3 Mbit/s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
}

/// One setting to change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangeLine {
    /// Host on which the setting is changed.
    pub host: String,
    /// The setting as the host's system writes it, ready to paste: `sysctl -w
    /// net.core.wmem_max=210097`.
    pub paste: String,
    /// Present value of the setting, in the unit of `paste`.
    pub from: String,
    /// Sentences about the change: the computation of the new value, what the change needs, and its
    /// risks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl VerdictParts {
    /// Creates a verdict that has only a limit.
    pub fn limited_by(limit: impl Into<String>) -> Self {
        Self {
            limited_by: limit.into(),
            ..Self::default()
        }
    }

    /// All parts as one line, for a cell of a table or a log.
    pub fn line(&self) -> String {
        let Self {
            limited_by,
            because,
            change,
            gives,
            then,
        } = self;
        let mut sentences = vec![format!("Limited by {limited_by}.")];
        sentences.extend(because.iter().cloned());
        let change: Vec<_> = change.iter().map(|line| line.paste.as_str()).collect();
        if !change.is_empty() {
            sentences.push(format!("Change: {}.", change.join("; ")));
        }
        sentences.extend(gives.as_ref().map(|gives| format!("Gives {gives}.")));
        sentences.extend(then.as_ref().map(|then| format!("Then limited by {then}.")));
        sentences.join(" ")
    }
}
