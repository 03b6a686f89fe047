//! Conditions of `lab run --fail-on`.
//!
//! Rule: a condition is about the result of one row (one scenario of an experiment file). It is
//! parsed and evaluated here; the caller prints the message.

use std::fmt;

use fullpipe_lab::{Cause, Outcome, Quantity, RowReport};

/// A result of a row after which the run fails.
#[derive(Clone, Debug, PartialEq)]
pub enum FailOn {
    /// The transfer stalled.
    Stalled,
    /// The connection was dropped.
    Dropped,
    /// The verdict names this limit.
    Limit(&'static str),
    /// A result differs from its published figure by more than this share.
    Deviation(f64),
}

const EXPECTED: &str = "expected stalled, dropped, limit=NAME or deviation=PERCENT";

impl std::str::FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == Outcome::Stalled.name() => Ok(Self::Stalled),
            None if text == Outcome::Dropped.name() => Ok(Self::Dropped),
            Some(("limit", name)) => limit(name),
            Some(("deviation", percent)) => deviation(percent),
            Some(_) | None => Err(EXPECTED.to_string()),
        }
    }
}

fn limit(name: &str) -> Result<FailOn, String> {
    let names: Vec<_> = Cause::all().map(|cause| cause.name).collect();
    match names.iter().find(|known| **known == name) {
        Some(name) => Ok(FailOn::Limit(name)),
        None => Err(format!(
            "no limit is called `{name}`; {}",
            fullpipe_lab::hint(name, names.iter().copied())
        )),
    }
}

fn deviation(text: &str) -> Result<FailOn, String> {
    let percent = text.trim().trim_end_matches('%').trim_end();
    let percent: Option<f64> = percent.parse().ok();
    match percent.filter(|percent| *percent >= 0.0 && percent.is_finite()) {
        Some(percent) => Ok(FailOn::Deviation(percent / 100.0)),
        None => Err("expected a percentage of at least 0, such as deviation=10%".to_string()),
    }
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stalled => f.write_str("stalled"),
            Self::Dropped => f.write_str("dropped"),
            Self::Limit(name) => write!(f, "limit={name}"),
            Self::Deviation(share) => write!(f, "deviation={}%", share * 100.0),
        }
    }
}

impl FailOn {
    /// Returns a message with the row's result if the row meets the condition, otherwise `None`.
    pub fn met_by(&self, row: &RowReport) -> Option<String> {
        match self {
            Self::Stalled => {
                let is_met = row.measured.outcome == Outcome::Stalled;
                is_met.then(|| "stalled".to_string())
            }
            Self::Dropped => {
                let is_met = row.measured.outcome == Outcome::Dropped;
                is_met.then(|| "the connection was dropped".to_string())
            }
            Self::Limit(name) => {
                let limit = row.verdict.as_ref().map(|verdict| verdict.limit.name);
                let is_met = limit == Some(name);
                is_met.then(|| format!("limited by {name}"))
            }
            Self::Deviation(share) => Quantity::ALL.iter().find_map(|quantity| {
                let published = row.published.figure(quantity.name);
                let published = published.filter(|figure| *figure != 0.0)?;
                let deviation = (quantity.of)(&row.measured)? / published - 1.0;
                let name = quantity.name;
                (deviation.abs() > *share).then(|| {
                    format!(
                        "{name} differs by {:+.1} % from its published figure",
                        deviation * 100.0
                    )
                })
            }),
        }
    }
}
