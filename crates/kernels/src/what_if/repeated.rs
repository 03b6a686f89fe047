//! The goodput of a transfer over several runs.

use std::fmt;

/// Mean goodput of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeated {
    /// The mean, in Mbit/s.
    pub mbps: f64,
    /// Standard error of the mean, in Mbit/s; 0 for a single run.
    pub error: f64,
}

impl Repeated {
    /// Computes the mean from the goodput of each run, in Mbit/s; there must be at least one run.
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

    /// Standard error of the difference between this mean and `other`, in Mbit/s.
    pub fn error_with(&self, other: &Self) -> f64 {
        self.error.hypot(other.error)
    }
}

impl fmt::Display for Repeated {
    /// Writes `8.46`, or `8.46 ± 0.31` for several runs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.mbps)?;
        match self.error > 0.0 {
            true => write!(f, " ± {:.2}", self.error),
            false => Ok(()),
        }
    }
}
