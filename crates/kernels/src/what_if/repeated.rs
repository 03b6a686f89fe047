//! The goodput of a transfer that ran several times.

use std::fmt;

/// Mean goodput of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeated {
    /// The mean, in Mbit/s.
    pub mbps: f64,
    /// Its standard error, in Mbit/s; 0 of a single run.
    pub error: f64,
}

impl Repeated {
    /// The mean of the goodput of each run, in Mbit/s; at least one run.
    pub fn of(runs: &[f64]) -> Self {
        let count = runs.len() as f64;
        let mbps = runs.iter().sum::<f64>() / count;
        let squares: f64 = runs.iter().map(|run| (run - mbps).powi(2)).sum();
        let error = match runs.len() {
            1 => 0.0,
            _ => (squares / (count - 1.0) / count).sqrt(),
        };
        Self { mbps, error }
    }

    /// Standard error of the difference from `other`, in Mbit/s.
    pub fn error_with(&self, other: &Self) -> f64 {
        self.error.hypot(other.error)
    }
}

impl fmt::Display for Repeated {
    /// `8.46`, or `8.46 ± 0.31` of several runs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.mbps)?;
        match self.error > 0.0 {
            true => write!(f, " ± {:.2}", self.error),
            false => Ok(()),
        }
    }
}
