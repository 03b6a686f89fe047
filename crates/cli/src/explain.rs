//! `fullpipe lab explain`: prints the verdict of a row (a scenario of an experiment file), or the
//! effect of each change of a setting.
//!
//! Rule: wrong arguments are refused before the first run. `fullpipe-explain` tries the changes.

use std::env;

use fullpipe_lab::{
    Effort, Experiment, RunOptions, catalogue, experiment::Row, layout::Tone, matrix, matrix_json,
    matrix_text, verdict_text,
};

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
    if !arguments.matrix {
        let label = arguments.row.as_deref();
        let chosen = |row: &Row| label.is_none_or(|label| row.label == label);
        let mut chosen_rows = experiment.clone();
        chosen_rows.rows.retain(chosen);
        return verdicts(&chosen_rows, arguments, terminal);
    }
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

/// Prints the verdict of each row.
fn verdicts(
    experiment: &Experiment,
    arguments: &LabExplainArguments,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let titles = experiment.rows.iter().map(Row::title).collect();
    let progress =
        Progress::new(terminal, &experiment.name, titles).ending_on_interrupt(String::new)?;
    let options = RunOptions {
        progress: &|place, share| progress.advance(place, share),
        // A single row may take longer.
        effort: match experiment.rows.len() {
            1 => Effort::High,
            _ => Effort::Usual,
        },
        ..RunOptions::plain(arguments.seed)
    };
    let report = fullpipe_lab::run(experiment, &options)
        .map_err(|error| Failure::failed(format!("{}: {error}", experiment.name)))?;
    drop(progress);
    let mut text = String::new();
    if let Some(labels) = report.labels.as_ref().filter(|_| !arguments.json) {
        terminal.layout.paragraph(&mut text, "rows: ", 2, labels);
    }
    for row in &report.rows {
        if arguments.json {
            continue;
        }
        let title = terminal.layout.paint(Tone::Heading, &row.title());
        terminal.layout.paragraph(&mut text, "", 2, &title);
        text += &verdict_text(&row.verdict_parts(), terminal.layout);
    }
    print(&match arguments.json {
        true => report.json(),
        false => text,
    })
}
