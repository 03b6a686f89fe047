//! `fullpipe try`: runs one transfer, from flags or from a row (scenario) of an experiment, and
//! prints one result.
//!
//! Rule: wrong arguments are refused before the run, and a file is written only after all arguments
//! were accepted. `fullpipe-lab` runs the transfer.

use std::{io::Write, path::Path};

use fullpipe_lab::{
    HostRole, Trial, TrialEnd, TrialError, TrialPlan, WholeFile, trial_text, units::Time,
};

use crate::{
    arguments::{Bytes, Setting, TryArguments, TryDirection},
    experiments::one_row,
    failure::Failure,
    output::{Terminal, print},
    progress::Progress,
};

/// Runs the subcommand.
pub fn run(arguments: &TryArguments, terminal: &Terminal) -> Result<(), Failure> {
    let (trial, saved) = match (&arguments.experiment, arguments.rate, arguments.rtt) {
        (Some(name), ..) => (of_row(name, arguments, terminal)?, String::new()),
        (None, Some(rate_bps), Some(rtt)) => of_flags(rate_bps, rtt, arguments, terminal)?,
        (None, ..) => return Err(Failure::usage("give --rate and --rtt, or an experiment")),
    };
    print(&match arguments.json {
        true => trial.json(),
        false => trial_text(&trial, terminal.layout) + &saved,
    })
}

/// Runs a row of an experiment.
fn of_row(name: &str, arguments: &TryArguments, terminal: &Terminal) -> Result<Trial, Failure> {
    let experiment = one_row(name, arguments.row.as_deref(), &arguments.settings)?;
    let settings = arguments.settings.iter().map(Setting::to_string).collect();
    with_progress(terminal, |advance| {
        Trial::of_row(&experiment, Vec::clone(&settings), arguments.seed, advance)
    })
}

/// Runs the transfer that the flags describe. If a file was written, also returns a line about the
/// file.
fn of_flags(
    rate_bps: u64,
    rtt: Time,
    arguments: &TryArguments,
    terminal: &Terminal,
) -> Result<(Trial, String), Failure> {
    let plan = plan(rate_bps, rtt, arguments)?;
    let file = plan.file().map_err(refused)?;
    let mut saved = String::new();
    if let Some(path) = &arguments.save {
        save(path, &file)?;
        let seed = match arguments.seed {
            1 => String::new(),
            seed => format!(" --seed {seed}"),
        };
        let path = runnable(path);
        saved = format!("Saved; run it again: fullpipe lab run {path}{seed}\n");
    }
    let trial = with_progress(terminal, |advance| plan.run(advance))?;
    Ok((trial, saved))
}

/// A callback that receives the finished share of a run, from 0 to 1.
type Advance<'a> = dyn Fn(f64) + Sync + 'a;

/// Returns the result of `run`, and shows the progress that `run` reports.
fn with_progress(
    terminal: &Terminal,
    run: impl Fn(&Advance<'_>) -> Result<Trial, TrialError>,
) -> Result<Trial, Failure> {
    let progress =
        Progress::new(terminal, "try", vec![String::new()]).ending_on_interrupt(String::new)?;
    let trial = run(&|share| progress.advance(0, share));
    drop(progress);
    trial.map_err(refused)
}

/// Writes the experiment file with the transfer that the flags describe.
fn save(path: &Path, file: &str) -> Result<(), Failure> {
    let shown = path.display();
    WholeFile::create_new(path)
        .and_then(|created| {
            created.writer().write_all(file.as_bytes())?;
            created.finish()
        })
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Failure::usage(format!(
                "--save {shown}: the file exists; choose another name"
            )),
            _ => Failure::failed(format!("--save {shown}: {error}")),
        })
}

fn plan(rate_bps: u64, rtt: Time, arguments: &TryArguments) -> Result<TrialPlan, Failure> {
    let settings = arguments.settings.iter();
    Ok(TrialPlan {
        preset: fullpipe::presets::find(&arguments.preset).map_err(Failure::usage)?,
        role: match arguments.direction {
            TryDirection::Send => HostRole::Send,
            TryDirection::Receive => HostRole::Receive,
        },
        settings: settings
            .map(|setting| (setting.name.clone(), setting.value.clone()))
            .collect(),
        rate_bps,
        rtt,
        loss: arguments.loss,
        queue: arguments.queue.clone(),
        congestion: arguments.congestion.clone(),
        end: match (arguments.bytes, arguments.time) {
            (Some(Bytes(bytes)), _) => Some(TrialEnd::Bytes(bytes)),
            (None, Some(time)) => Some(TrialEnd::Time(time)),
            (None, None) => None,
        },
        seed: arguments.seed,
    })
}

/// Returns the path as `lab run` needs it. Adds `./` to a path without a folder, because `lab run`
/// would take such a path for the name of an experiment.
fn runnable(path: &Path) -> String {
    let has_folder = path
        .parent()
        .is_some_and(|folder| !folder.as_os_str().is_empty());
    match has_folder {
        true => path.display().to_string(),
        false => format!("./{}", path.display()),
    }
}

fn refused(error: TrialError) -> Failure {
    match error {
        TrialError::Setting { .. } | TrialError::Refused(_) => Failure::usage(error),
        TrialError::Run(_) => Failure::failed(error),
    }
}
