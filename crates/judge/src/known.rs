//! Levers (things to change) of the engine that is judged.
//!
//! Rule: this list is only a dictionary. It translates the names in an answer into settings, and it
//! shows which levers of the judge the engine lacks. The truth never comes from it.

use fullpipe_explain::{Ample, Change, Lever, levers_of};
use fullpipe_pool::{Duration, knobs::parse_count};
use fullpipe_scenario::{Measured, Setup};

use crate::levers;

/// The levers of the engine for one world (a random transfer).
pub struct Known {
    setup: Setup,
    levers: Vec<Lever>,
}

impl Known {
    /// Lists the engine's levers for `setup`, whose unchanged run was `measured`.
    pub fn of(setup: &Setup, measured: &Measured) -> Self {
        let ample = Ample::of(setup, measured.goodput_mbps * 1e6, measured.srtt_ms / 1e3);
        Self {
            setup: setup.clone(),
            levers: levers_of(setup, ample),
        }
    }

    /// These levers without those that change the setting `set`.
    #[cfg(test)]
    pub fn without(mut self, set: &str) -> Self {
        let changes = |lever: &Lever| lever.ample.iter().any(|change| change.set == set);
        self.levers.retain(|lever| !changes(lever));
        self
    }

    /// The lever with this name.
    pub fn lever(&self, name: &str) -> Option<&Lever> {
        self.levers.iter().find(|lever| lever.name == name)
    }

    /// Returns true if some lever of the engine changes the first setting of `changes` in the same
    /// direction, or to the same value if the setting is not a number.
    pub fn has(&self, changes: &[Change]) -> bool {
        let Some(wanted) = changes.first() else {
            return true;
        };
        let present = self.present(&wanted.set);
        let all = self.levers.iter().flat_map(|lever| {
            let values = lever.twice.iter().chain([&lever.ample]);
            values.flatten()
        });
        let mut same = all.filter(|change| change.set == wanted.set);
        same.any(|change| is_alike(&change.to, &wanted.to, present))
    }

    /// The present number or time of a setting of a host.
    fn present(&self, set: &str) -> Option<f64> {
        let (name, knob) = set.split_once('.')?;
        let host = self.setup.hosts.iter().find(|host| host.name == name)?;
        levers::present(host, knob).and_then(|text| number(&text))
    }
}

/// Returns true if two values are equal, or are numbers on the same side of the present one.
fn is_alike(one: &str, other: &str, present: Option<f64>) -> bool {
    let numbers = number(one).zip(number(other));
    one == other
        || numbers.is_some_and(|(one, other)| {
            present.is_none_or(|present| (one > present) == (other > present))
        })
}

/// `text` as a number, or as a time in microseconds.
fn number(text: &str) -> Option<f64> {
    let time = || {
        let time: Duration = text.parse().ok()?;
        Some(time.as_secs_f64() * 1e6)
    };
    let count = parse_count(text).map(|count| count as f64);
    count.or_else(time).or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests;
