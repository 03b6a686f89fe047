//! `fullpipe knobs`: prints the knobs as a readable list or as JSON.
//!
//! Rule: the rows are those of the stack's knob table, without additions.

use fullpipe::presets;
use fullpipe_lab::knobs_page::{knobs_json, knobs_table};

use crate::{
    arguments::KnobsArguments,
    failure::Failure,
    output::{Terminal, print},
};

/// Runs the subcommand.
pub fn run(arguments: &KnobsArguments, terminal: &Terminal) -> Result<(), Failure> {
    let preset = presets::find(&arguments.preset)
        .map_err(|error| Failure::usage(format!("--preset: {error}")))?;
    let filter = arguments.filter.as_deref();
    let text = match arguments.json {
        true => knobs_json(preset, filter),
        false => knobs_table(preset, filter, terminal.layout),
    };
    print(&text.map_err(Failure::usage)?)
}
