//! `fullpipe lab advise`: follows the advice of each verdict, for each row (scenario of
//! an experiment file).
//!
//! Rule: wrong arguments are refused before the first run. `fullpipe-lab` makes the
//! advice.

use std::{
    env,
    sync::{Arc, Mutex, MutexGuard},
};

use fullpipe_lab::{Advice, MOST_STEPS, RunOptions, advice_json, advice_text, catalogue};

use crate::{
    arguments::{Bytes, LabAdviseArguments},
    experiments::{refused, rows_called, with_settings},
    failure::Failure,
    output::{Terminal, print},
    progress::Progress,
};

/// Runs the subcommand.
pub fn run(arguments: &LabAdviseArguments, terminal: &Terminal) -> Result<(), Failure> {
    let found = catalogue::find(&arguments.experiment, &env::current_dir()?).map_err(refused)?;
    let experiment = with_settings(&found, &arguments.settings)?;
    let rows = rows_called(&experiment, arguments.row.as_deref())?;
    let titles = rows.iter().map(|row| row.title()).collect();
    let advice = Arc::new(Mutex::new(Vec::new()));
    let (layout, as_json, verbose) = (terminal.layout, arguments.json, arguments.verbose);
    let text = move |advice: &[Advice]| match (as_json, advice) {
        (true, _) => advice_json(advice),
        (false, []) => String::new(),
        (false, _) => advice_text(advice, layout, verbose),
    };
    let done = Arc::clone(&advice);
    let progress = Progress::new(terminal, &experiment.name, titles)
        .ending_on_interrupt(move || text(&locked(&done)))?;
    for (place, row) in rows.iter().enumerate() {
        let options = RunOptions {
            progress: &|_, share| progress.advance(place, share),
            ..RunOptions::plain(arguments.seed)
        };
        let memory = arguments.memory.map(|Bytes(bytes)| bytes);
        let taken = fullpipe_lab::advise(&experiment, row, memory, MOST_STEPS, &options)
            .map_err(|error| Failure::failed(format!("{}: {error}", experiment.name)))?;
        locked(&advice).push(taken);
    }
    drop(progress);
    let all = text(&locked(&advice));
    print(&all)
}

/// Locks the advice that exists so far. The thread that waits for Ctrl-C also reads it.
fn locked(advice: &Mutex<Vec<Advice>>) -> MutexGuard<'_, Vec<Advice>> {
    advice
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
