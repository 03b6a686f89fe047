//! `fullpipe try`: one transfer from flags, with one result.
//!
//! Rule: wrong arguments are refused before the run, and a file is written only after
//! everything was accepted. `fullpipe-lab` runs the transfer.

use std::io::Write;

use fullpipe_lab::{HostRole, TrialEnd, TrialError, TrialPlan, WholeFile, trial_text};

use crate::{
    arguments::{Bytes, TryArguments, TryDirection},
    failure::Failure,
    output::{Terminal, print},
    progress::Progress,
};

/// Runs the subcommand.
pub fn run(arguments: &TryArguments, terminal: &Terminal) -> Result<(), Failure> {
    let plan = plan(arguments)?;
    let file = plan.file().map_err(refused)?;
    if let Some(path) = &arguments.save {
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
            })?;
    }
    let progress =
        Progress::new(terminal, "try", vec![String::new()]).ending_on_interrupt(String::new)?;
    let trial = plan.run(&|share| progress.advance(0, share));
    drop(progress);
    let trial = trial.map_err(refused)?;
    if arguments.json {
        return print(&trial.json());
    }
    let mut text = trial_text(&trial, terminal.layout);
    if let Some(path) = &arguments.save {
        let seed = match arguments.seed {
            1 => String::new(),
            seed => format!(" --seed {seed}"),
        };
        text += &format!(
            "Saved; run it again: fullpipe lab run {}{seed}\n",
            runnable(path)
        );
    }
    print(&text)
}

fn plan(arguments: &TryArguments) -> Result<TrialPlan, Failure> {
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
        rate_bps: arguments.rate,
        rtt: arguments.rtt,
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

/// Returns the path as `lab run` accepts it: with a folder, so that it is not taken for a
/// name.
fn runnable(path: &std::path::Path) -> String {
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
