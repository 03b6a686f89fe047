//! Counts how often inference and truth agree, by impairment and direction, and prints the counts
//! as a table.

use std::fmt;

use super::drawn::{KINDS, Kind};

/// Number of comparisons, and number in which inference and truth agree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreed {
    pub right: u32,
    pub all: u32,
}

impl Agreed {
    /// Counts one comparison.
    pub fn add(&mut self, is_right: bool) {
        self.all += 1;
        self.right += u32::from(is_right);
    }

    /// Share of comparisons that agree.
    pub fn share(self) -> f64 {
        f64::from(self.right) / f64::from(self.all.max(1))
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            right: self.right + other.right,
            all: self.all + other.all,
        }
    }
}

impl fmt::Display for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.right, self.all))
    }
}

/// The comparisons of one impairment and direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// Frames that were really lost.
    pub lost: u64,
    /// Sum of the differences between true and inferred numbers of lost frames.
    pub lost_off: u64,
    /// Directions whose losses have one main reason. A comparison is right if the inference names
    /// this reason.
    pub reasons: Agreed,
    /// Directions with a queue delay of high confidence. A comparison is right if the inferred mean
    /// is within 10 % or 1 ms of the true mean.
    pub delays: Agreed,
    /// Directions with a busy share of high confidence. A comparison is right if the inferred and
    /// the true share differ by at most two percentage points.
    pub shares: Agreed,
    /// MTU holes, policers and outages. A comparison is right if presence, size, rate and time
    /// agree.
    pub events: Agreed,
}

/// All comparisons.
#[derive(Debug, Default)]
pub struct Table([[Line; 2]; KINDS.len()]);

impl Table {
    /// The line of an impairment and a direction.
    pub fn row(&mut self, kind: Kind, way: usize) -> &mut Line {
        &mut self.0[kind as usize][way]
    }

    /// The sum of all lines.
    pub fn sum(&self) -> Line {
        let lines = self.0.iter().flatten();
        lines.fold(Line::default(), |sum, line| Line {
            lost: sum.lost + line.lost,
            lost_off: sum.lost_off + line.lost_off,
            reasons: sum.reasons.plus(line.reasons),
            delays: sum.delays.plus(line.delays),
            shares: sum.shares.plus(line.shares),
            events: sum.events.plus(line.events),
        })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lost,
            lost_off,
            reasons,
            delays,
            shares,
            events,
        } = self;
        write!(
            f,
            "{lost:>8} {lost_off:>5} {reasons:>9} {delays:>9} {shares:>9} {events:>9}"
        )
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<20} {:>8} {:>5} {:>9} {:>9} {:>9} {:>9}",
            "impairment", "lost", "off", "reason", "delay", "busy", "events"
        )?;
        for kind in KINDS {
            for (line, way) in self.0[kind as usize].iter().zip(["forward", "back"]) {
                writeln!(f, "{:<20} {line}", format!("{kind:?} {way}"))?;
            }
        }
        writeln!(f, "{:<20} {}", "all", self.sum())
    }
}
