//! Summarises cases (transfers that ran first without and then with advice).
//!
//! Rule: errors of predictions from captures and of predictions from simulated experiments are
//! kept apart.

use std::fmt;

use super::{AdvisedBy, Effect, Ending, WhatIf};

/// Largest allowed median of the errors, and largest allowed 90th percentile.
const LIMITS: [f64; 2] = [0.15, 0.35];

/// A summary of cases.
#[derive(Clone, Debug)]
pub struct WhatIfTally {
    cases: usize,
    /// Number of cases in which the socket's account and the capture's account agree on the main
    /// limit.
    agree: usize,
    /// Numbers of cases: advice helps; advice is neutral; advice makes the transfer slower.
    effects: [usize; 3],
    /// Absolute errors of the predictions from captures, and of those from simulated experiments;
    /// both lists are sorted.
    errors: [Vec<f64>; 2],
}

impl WhatIfTally {
    /// Summarises `cases`.
    pub fn new(cases: &[WhatIf]) -> Self {
        let mut tally = Self {
            cases: cases.len(),
            agree: cases.iter().filter(|case| case.agrees).count(),
            effects: [0; 3],
            errors: [Vec::new(), Vec::new()],
        };
        for case in cases {
            let (Some(effect), Ending::Applied(applied)) = (case.effect(), &case.ending) else {
                continue;
            };
            tally.effects[match effect {
                Effect::Helps => 0,
                Effect::Neutral => 1,
                Effect::Worse => 2,
            }] += 1;
            let place = usize::from(applied.by != AdvisedBy::Capture);
            tally.errors[place].push(applied.error().abs());
        }
        for errors in &mut tally.errors {
            errors.sort_by(f64::total_cmp);
        }
        tally
    }

    /// Returns the median and the 90th percentile of the errors: first for predictions from
    /// captures, then for predictions from simulated experiments. `None` if there are none of that
    /// kind.
    pub fn errors(&self) -> [Option<[f64; 2]>; 2] {
        self.errors
            .each_ref()
            .map(|errors| Self::percentiles(errors))
    }

    fn percentiles(errors: &[f64]) -> Option<[f64; 2]> {
        let last = errors.len().checked_sub(1)?;
        Some([0.5, 0.9].map(|share: f64| errors[(last as f64 * share).round() as usize]))
    }

    /// Returns true if no advice makes a transfer slower, and if the errors of predictions from
    /// captures are within `LIMITS`.
    pub fn is_met(&self) -> bool {
        let small = |errors: [f64; 2]| {
            errors
                .iter()
                .zip(LIMITS)
                .all(|(error, most)| *error <= most)
        };
        self.effects[2] == 0 && self.errors()[0].is_none_or(small)
    }
}

impl fmt::Display for WhatIfTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [helps, neutral, worse] = self.effects;
        let applied = helps + neutral + worse;
        writeln!(
            f,
            "{} cases, {applied} with advice: {helps} help, {neutral} neutral, {worse} worse",
            self.cases
        )?;
        writeln!(
            f,
            "socket and capture agree on the main limit in {} of {} cases",
            self.agree, self.cases
        )?;
        for (errors, name) in self.errors.iter().zip(["captures", "experiments"]) {
            let count = errors.len();
            if let Some([median, ninetieth]) = Self::percentiles(errors) {
                writeln!(
                    f,
                    "{count} predictions from {name}: error {:.0} % at the median, {:.0} % at the \
                     ninetieth percentile",
                    median * 100.0,
                    ninetieth * 100.0
                )?;
            }
        }
        write!(
            f,
            "goals: no advice makes a transfer slower; errors of predictions from captures at most {:.0} % at the \
             median and {:.0} % at the ninetieth percentile",
            LIMITS[0] * 100.0,
            LIMITS[1] * 100.0
        )
    }
}
