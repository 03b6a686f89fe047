//! `fullpipe lab explain`: what each change of a setting would do to a row.
//!
//! Rule: wrong arguments are refused before the first run. `fullpipe-explain` tries the
//! levers.

use std::env;

use fullpipe_lab::{catalogue, matrix, matrix_json, matrix_text};

use crate::{
    arguments::LabExplainArguments,
    experiments::{refused, rows_called, with_settings},
    failure::Failure,
    output::{Terminal, print},
    progress::Progress,
};

/// Runs the subcommand.
pub fn run(arguments: &LabExplainArguments, terminal: &Terminal) -> Result<(), Failure> {
    let found = catalogue::find(&arguments.experiment, &env::current_dir()?).map_err(refused)?;
    let experiment = with_settings(&found, &arguments.settings)?;
    let rows = rows_called(&experiment, arguments.row.as_deref())?;
    let titles = rows.iter().map(|row| row.title()).collect();
    let progress =
        Progress::new(terminal, &experiment.name, titles).ending_on_interrupt(String::new)?;
    let mut matrices = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let advance = |done: usize, all: usize| progress.advance(place, done as f64 / all as f64);
        let found = matrix(&row.title(), &row.setup, arguments.seed, &advance)
            .map_err(|error| Failure::failed(format!("{}: {error}", experiment.name)))?;
        matrices.push(found);
    }
    drop(progress);
    let text = match arguments.json {
        true => matrix_json(&matrices),
        false => {
            let texts = matrices
                .iter()
                .map(|found| matrix_text(found, terminal.layout));
            texts.collect::<Vec<_>>().join("\n")
        }
    };
    print(&text)
}
