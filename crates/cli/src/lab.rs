//! `fullpipe lab`: finds experiments, runs them, prints their results.
//!
//! Rule: everything that can be refused is refused before the first run, so a
//! mistake in the third experiment does not cost the time of the first two, and
//! captures are left behind only by runs that came to their end.

use std::{env, fs, io, path::Path};

use fullpipe_lab::{
    Axis, Experiment, Report, RunOptions,
    catalogue::{self, CatalogueError, Found},
    json_array, report_text,
};

use crate::{
    arguments::{LabAction, LabArguments, LabAttacksArguments, LabRunArguments, Setting},
    failure::Failure,
    files::{Output, Pictures},
    output::{print, terminal_width},
    progress::Progress,
};

/// Runs the subcommand.
pub fn run(arguments: LabArguments) -> Result<(), Failure> {
    match arguments.action {
        None => list(),
        Some(LabAction::Run(arguments)) => run_experiments(&arguments),
        Some(LabAction::Attacks(arguments)) => play_attacks(&arguments),
    }
}

fn play_attacks(arguments: &LabAttacksArguments) -> Result<(), Failure> {
    let rows = fullpipe_lab::attacks();
    print(&match arguments.json {
        true => fullpipe_lab::attacks_json(&rows),
        false => fullpipe_lab::attacks_text(&rows),
    })
}

fn list() -> Result<(), Failure> {
    let here = env::current_dir()?;
    let mut text = String::new();
    for found in catalogue::all(&here).map_err(refused)? {
        let experiment = found.parse().map_err(refused)?;
        text.push_str(&format!(
            "{:<16} {:>2} rows  {}  ({})\n",
            experiment.name,
            experiment.rows.len(),
            experiment.title,
            found.file
        ));
    }
    print(&text)
}

fn run_experiments(arguments: &LabRunArguments) -> Result<(), Failure> {
    let here = env::current_dir()?;
    let found = chosen(arguments, &here)?;
    let experiments = found
        .iter()
        .map(|found| prepared(found, arguments))
        .collect::<Result<Vec<_>, _>>()?;
    let captures = arguments
        .pcap
        .as_deref()
        .map(CaptureFolder::create)
        .transpose()?;
    let pictures = Pictures::new(arguments, &experiments)?;
    let output = Output::new(arguments, &experiments)?;
    let overrides: Vec<_> = arguments.settings.iter().map(ToString::to_string).collect();

    let mut reports: Vec<Report> = Vec::new();
    for experiment in &experiments {
        let progress = Progress::new(&experiment.name, experiment.rows.len());
        let options = RunOptions {
            seed: arguments.seed,
            observe: pictures.are_wanted(),
            captures: captures.as_ref().map(|folder| folder.path),
            progress: &|row, share| progress.advance(row, share),
        };
        let mut report = fullpipe_lab::run(experiment, &options)
            .map_err(|error| Failure::failed(format!("{}: {error}", experiment.name)))?;
        drop(progress);
        report.overrides.clone_from(&overrides);
        pictures.write(&mut report)?;
        output.write(&report)?;
        if !arguments.json {
            print(&report_text(&report, terminal_width()))?;
        }
        reports.push(report);
    }
    match (arguments.json, reports.as_slice()) {
        (false, _) => Ok(()),
        (true, [report]) if !arguments.all => print(&report.json()),
        (true, reports) => print(&json_array(reports)),
    }
}

fn chosen(arguments: &LabRunArguments, here: &Path) -> Result<Vec<Found>, Failure> {
    if arguments.all {
        return catalogue::all(here).map_err(refused);
    }
    arguments
        .experiments
        .iter()
        .map(|name| catalogue::find(name, here).map_err(refused))
        .collect()
}

/// The experiment with the command line's settings in every row, and its rows
/// at every point of a sweep.
fn prepared(found: &Found, arguments: &LabRunArguments) -> Result<Experiment, Failure> {
    let mut experiment = found.parse().map_err(refused)?;
    for setting in &arguments.settings {
        experiment
            .set(&setting.name, &setting.value)
            .map_err(|error| Failure::usage(format!("--set {setting}: {error}")))?;
    }
    experiment
        .validate()
        .map_err(|error| Failure::usage(format!("--set: {error}")))?;
    let axes: Vec<_> = arguments
        .sweeps
        .iter()
        .map(|Setting { name, value }| Axis::parse(name, value))
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::usage(format!("--sweep: {error}")))?;
    experiment
        .sweep(&axes)
        .map_err(|error| Failure::usage(format!("--sweep: {error}")))?;
    Ok(experiment)
}

/// A name that is wrong is the user's; a file that cannot be read is not.
fn refused(error: CatalogueError) -> Failure {
    match error {
        CatalogueError::Unknown { .. } | CatalogueError::Mistake(_) => Failure::usage(error),
        CatalogueError::Unreadable { file, error } => {
            let why = format!("{file}: {error}");
            if error.kind() == io::ErrorKind::NotFound {
                Failure::Usage(why)
            } else {
                Failure::Failed(why)
            }
        }
    }
}

/// The folder for captures. It is taken away again, if it was made here and
/// nothing came of it.
struct CaptureFolder<'a> {
    path: &'a Path,
    made: bool,
}

impl<'a> CaptureFolder<'a> {
    fn create(path: &'a Path) -> Result<Self, Failure> {
        let made = !path.exists();
        fs::create_dir_all(path)
            .map_err(|error| Failure::failed(format!("--pcap {}: {error}", path.display())))?;
        Ok(Self { path, made })
    }
}

impl Drop for CaptureFolder<'_> {
    fn drop(&mut self) {
        if self.made {
            // Succeeds only while the folder is empty, which is what is wanted.
            let _ = fs::remove_dir(self.path);
        }
    }
}
