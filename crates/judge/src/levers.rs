//! The judge's own list of levers: everything that a person could change about a transfer.
//!
//! Rule: the list is made from the settings of a scenario, never from the list of the engine that
//! is judged. Therefore the judge also finds changes that help and that the engine cannot try.
//! A value is left out if the setup refuses it or if it changes nothing.

mod applications;
mod hosts;
mod lever;
mod path;
mod sizes;

use fullpipe_explain::Change;
use fullpipe_scenario::{Measured, Setup};

pub use hosts::present;
pub use lever::Lever;

use crate::runs::changed;
use sizes::Sizes;

/// Returns every lever of the first flow of `setup`, whose unchanged run was `measured`.
pub fn all(setup: &Setup, measured: &Measured) -> Vec<Lever> {
    let sizes = Sizes::of(setup, measured);
    let levers = hosts::levers(setup, sizes)
        .into_iter()
        .chain(applications::levers(setup, sizes))
        .chain(path::levers(setup));
    levers
        .filter_map(|lever| {
            let values = lever.values.into_iter();
            let values: Vec<_> = values.filter(|value| is_other(setup, value)).collect();
            (!values.is_empty()).then_some(Lever { values, ..lever })
        })
        .collect()
}

/// Returns true if the setup accepts `changes`, and they change something.
fn is_other(setup: &Setup, changes: &[Change]) -> bool {
    changed(setup, changes).is_some_and(|other| other != *setup)
}

#[cfg(test)]
mod tests;
