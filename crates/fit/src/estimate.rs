//! The first estimate: an experiment from the segments alone, before anything runs.
//!
//! Rule: `ends`, `path`, `losses`, `application` and `reader` each add their values; none reads the
//! values of another.

use fullpipe::presets::Preset;

use crate::{application, ends, evidence::Evidence, losses, path, plan::Plan, reader};

/// Returns the experiment that the segments suggest.
pub fn estimate(evidence: &Evidence<'_>, preset: &'static Preset, title: String) -> Plan {
    let mut plan = Plan::new(preset, title);
    ends::add(&mut plan, evidence);
    path::add(&mut plan, evidence);
    losses::add(&mut plan, evidence);
    application::add(&mut plan, evidence);
    reader::add(&mut plan, evidence);
    plan
}
