//! The list of all levers of a transfer, that is, of all settings that could be changed.
//!
//! Rule: a value of a lever is omitted if it would change nothing or if the host refuses
//! it. A lever without a value is omitted.

use fullpipe_scenario::experiment::Setup;

use crate::{
    application, host,
    lever::{Ample, Change, Lever, changed},
    path,
};

/// Returns every lever of the first flow: of both hosts, both directions and both
/// applications.
pub fn all(setup: &Setup, ample: Ample) -> Vec<Lever> {
    let hosts = host::levers(setup, ample);
    let more = path::levers(setup).into_iter();
    let levers = hosts.into_iter().chain(more);
    let levers = levers.chain(application::levers(setup, ample));
    levers.filter_map(|lever| possible(setup, lever)).collect()
}

/// Returns the lever without values that are refused or change nothing; `None` if no value
/// remains.
fn possible(setup: &Setup, lever: Lever) -> Option<Lever> {
    let is_possible =
        |changes: &Vec<Change>| changed(setup, changes).is_some_and(|other| other != *setup);
    let twice = lever.twice.filter(is_possible);
    let ample = Some(lever.ample).filter(is_possible);
    let twice = twice.filter(|changes| Some(changes) != ample.as_ref());
    let (twice, ample) = match (twice, ample) {
        (twice, Some(ample)) => (twice, ample),
        (Some(twice), None) => (None, twice),
        (None, None) => return None,
    };
    Some(Lever {
        twice,
        ample,
        ..lever
    })
}
