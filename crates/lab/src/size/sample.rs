//! Goodput over several seeds, and its confidence interval.
//!
//! Rule: two settings are compared over the seeds with which both ran. Runs with equal seeds lose
//! the same frames, so the ratio of two goodputs varies much less than each goodput. A sample of
//! one seed is exact, because one seed is used only if nothing is random.

/// Student's t for 95 % confidence, by degrees of freedom. For a number that is not in the table,
/// the row with the next lower number is used.
const STUDENT: &[(usize, f64)] = &[
    (1, 12.71),
    (2, 4.31),
    (3, 3.19),
    (5, 2.58),
    (7, 2.37),
    (15, 2.14),
    (31, 2.04),
    (63, 2.0),
    (127, 1.98),
];

/// Goodput in Mbit/s by seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The goodput with each seed, in the order of the seeds.
    pub mbps: Vec<f64>,
}

/// An estimate, and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimated value.
    pub value: f64,
    /// Width of its 95 % confidence interval, as a share of the value.
    pub interval: f64,
}

impl Sample {
    /// Returns the mean.
    pub fn mean(&self) -> Estimate {
        let mean = self.mbps.iter().sum::<f64>() / self.mbps.len().max(1) as f64;
        Estimate::of(mean, self.mbps.iter().map(|mbps| mbps - mean), mean)
    }

    /// Returns the mean goodput divided by the mean goodput of `other`, over the seeds with which
    /// both ran.
    pub fn over(&self, other: &Self) -> Estimate {
        let pairs = || self.mbps.iter().zip(&other.mbps);
        let own: f64 = pairs().map(|(own, _)| own).sum();
        let base: f64 = pairs().map(|(_, base)| base).sum();
        let ratio = own / base.max(f64::MIN_POSITIVE);
        let apart = pairs().map(|(own, base)| own - ratio * base);
        Estimate::of(ratio, apart, own / pairs().count().max(1) as f64)
    }

    /// Returns the quartiles; `None` for a single seed.
    pub fn quartiles(&self) -> Option<[f64; 2]> {
        let mut sorted = self.mbps.clone();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        (count > 1).then(|| [sorted[(count - 1) / 4], sorted[(count - 1) * 3 / 4]])
    }
}

impl Estimate {
    /// Creates an estimate of `value`. `apart` are the deviations of the samples. Their standard
    /// error is divided by `mean`, so that the interval is a share.
    fn of(value: f64, apart: impl Iterator<Item = f64>, mean: f64) -> Self {
        let squares: Vec<_> = apart.map(|apart| apart * apart).collect();
        let count = squares.len() as f64;
        let interval = match squares.len() {
            0 | 1 => 0.0,
            seeds => {
                let variance = squares.iter().sum::<f64>() / (count - 1.0);
                let error = (variance / count).sqrt() / mean.max(f64::MIN_POSITIVE);
                2.0 * student(seeds - 1) * error
            }
        };
        Self { value, interval }
    }

    /// Returns the lower end of the interval.
    pub fn least(&self) -> f64 {
        self.value * (1.0 - self.interval / 2.0)
    }

    /// Returns true if `other` is outside the interval.
    pub fn excludes(&self, other: f64) -> bool {
        (other / self.value.max(f64::MIN_POSITIVE) - 1.0).abs() > self.interval / 2.0
    }
}

fn student(freedom: usize) -> f64 {
    let row = STUDENT.iter().rev().find(|(least, _)| *least <= freedom);
    row.map_or(STUDENT[0].1, |(_, t)| *t)
}

#[cfg(test)]
mod tests;
