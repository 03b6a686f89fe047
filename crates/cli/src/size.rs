//! `fullpipe size`: the smallest sufficient settings for a path.
//!
//! Rule: wrong arguments are refused before the first run. `fullpipe-lab` does the search.

use std::ops::ControlFlow;

use fullpipe_lab::{SizeError, SizeRequest, SizedPath, size_text};

use crate::{
    arguments::{Bytes, SizeArguments},
    experiments::one_row,
    failure::Failure,
    output::{Terminal, print},
    progress::Progress,
};

/// Runs the subcommand.
pub fn run(arguments: &SizeArguments, terminal: &Terminal) -> Result<(), Failure> {
    let path = match (&arguments.experiment, arguments.rate, arguments.rtt) {
        (Some(name), ..) => of_row(name, arguments.row.as_deref())?,
        (None, Some(rate_bps), Some(rtt)) => SizedPath {
            rate_bps,
            rtt,
            loss: arguments.loss,
            preset: fullpipe::presets::find(&arguments.preset).map_err(Failure::usage)?,
        },
        (None, ..) => return Err(Failure::usage("give --rate and --rtt, or an experiment")),
    };
    let settings = arguments.settings.iter();
    let request = SizeRequest {
        rate_bps: path.rate_bps,
        rtt: path.rtt,
        loss: path.loss,
        memory: arguments.memory.map(|Bytes(bytes)| bytes),
        preset: path.preset,
        settings: settings
            .map(|setting| (setting.name.clone(), setting.value.clone()))
            .collect(),
        low_water: arguments.low_water,
        share: arguments.share,
        seed: arguments.seed,
    };
    let progress =
        Progress::new(terminal, "size", vec![String::new()]).ending_on_interrupt(String::new)?;
    let size = fullpipe_lab::size(&request, &|share| {
        progress.advance(0, share);
        ControlFlow::Continue(())
    });
    drop(progress);
    let size = size.map_err(|error| match error {
        SizeError::Setting { .. } => Failure::usage(format!("--set: {error}")),
        SizeError::Memory(_) => Failure::usage(format!("--memory: {error}")),
        SizeError::TooFar => Failure::usage(format!("--rtt: {error}")),
        SizeError::TooLong(_) | SizeError::Path(_) => Failure::usage(error),
        SizeError::Nothing(_) | SizeError::Run(_) => Failure::failed(error),
    })?;
    print(&match arguments.json {
        true => size.json(),
        false => size_text(&size, terminal.layout),
    })
}

/// Returns the path and the host of a row (scenario) of the experiment `name`.
fn of_row(name: &str, label: Option<&str>) -> Result<SizedPath, Failure> {
    let experiment = one_row(name, label, &[])?;
    SizedPath::of(&experiment.rows[0].setup).ok_or_else(|| {
        Failure::usage(format!(
            "{name}: the path of this row has no rate; give --rate and --rtt instead of the \
                 experiment"
        ))
    })
}
