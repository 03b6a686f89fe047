//! `fullpipe knobs`: every knob, as a table or as JSON.
//!
//! Rule: the rows are the stack's; nothing is added.

use fullpipe::presets;
use fullpipe_lab::knobs_page::{knobs_json, knobs_table};

use crate::{arguments::KnobsArguments, failure::Failure, output::print};

/// Runs the subcommand.
pub fn run(arguments: &KnobsArguments) -> Result<(), Failure> {
    let preset = presets::find(&arguments.preset)
        .map_err(|error| Failure::usage(format!("--preset: {error}")))?;
    print(&if arguments.json {
        knobs_json(preset)
    } else {
        knobs_table(preset)
    })
}
