//! `fullpipe lab`: finds experiments, runs them, prints their results.
//!
//! Rule: everything that can be refused is refused before the first run, so a
//! mistake in the third experiment does not cost the time of the first two, and
//! captures are left behind only by runs that came to their end.

use std::{
    env, fs,
    io::{self, Write},
    path::Path,
};

use fullpipe_lab::{
    Axis, Experiment, Report, RunOptions, Watch,
    catalogue::{self, CatalogueError, Found},
    json_array, report_text,
    watch::watched_text,
};

use crate::{
    advise,
    arguments::{
        LabAction, LabArguments, LabAttacksArguments, LabCheckArguments, LabNewArguments,
        LabRunArguments, LabSchemaArguments, Setting,
    },
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
        Some(LabAction::Advise(arguments)) => advise::run(&arguments),
        Some(LabAction::New(arguments)) => write_template(&arguments),
        Some(LabAction::Check(arguments)) => check(&arguments),
        Some(LabAction::Schema(LabSchemaArguments {})) => print(&fullpipe_lab::schema()),
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

/// Writes a file to start from; never over one that is there.
fn write_template(arguments: &LabNewArguments) -> Result<(), Failure> {
    let given = &arguments.name;
    let file = match given.extension() {
        Some(ending) if ending == "toml" => given.clone(),
        Some(_) | None => {
            let mut name = given.clone().into_os_string();
            name.push(".toml");
            name.into()
        }
    };
    let shown = file.display();
    let Some(name) = file.file_stem().and_then(|stem| stem.to_str()) else {
        return Err(Failure::usage(format!(
            "{shown}: this is no name for a file"
        )));
    };
    let created = fs::File::create_new(&file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{shown} is there already; take another name"))
        }
        io::ErrorKind::NotFound => Failure::usage(format!("{shown}: there is no such folder")),
        _ => Failure::failed(format!("{shown}: {error}")),
    });
    created?
        .write_all(fullpipe_lab::template(name).as_bytes())
        .map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
    let at = match file
        .parent()
        .is_some_and(|folder| folder.as_os_str().is_empty())
    {
        true => format!("./{shown}"),
        false => shown.to_string(),
    };
    print(&format!(
        "{shown} is written; run it: fullpipe lab run {at}"
    ))
}

/// Prints every mistake of every file, a line each, on standard error.
fn check(arguments: &LabCheckArguments) -> Result<(), Failure> {
    let here = env::current_dir()?;
    let mut wrong = false;
    for name in &arguments.experiments {
        let found = match catalogue::find(name, &here) {
            Ok(found) => found,
            Err(error) => {
                wrong = true;
                eprintln!("{error}");
                continue;
            }
        };
        match found.check() {
            Ok(experiment) => print(&format!(
                "{}: {} rows, nothing wrong",
                found.file,
                experiment.rows.len()
            ))?,
            Err(mistakes) => {
                wrong = true;
                for mistake in mistakes {
                    eprintln!("{mistake}");
                }
            }
        }
    }
    match wrong {
        true => Err(Failure::Refused),
        false => Ok(()),
    }
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
            watch: Watch {
                events: arguments.events.is_some(),
                sockets: arguments.ss,
                counters: arguments.nstat,
            },
            captures: captures.as_ref().map(|folder| folder.path),
            progress: &|row, share| progress.advance(row, share),
        };
        let mut report = fullpipe_lab::run(experiment, &options)
            .map_err(|error| Failure::failed(format!("{}: {error}", experiment.name)))?;
        drop(progress);
        report.overrides.clone_from(&overrides);
        pictures.write(&mut report)?;
        output.write(&mut report)?;
        if arguments.json {
            reports.push(report);
        } else {
            print(&report_text(&report, terminal_width()))?;
            print(&watched_text(&report))?;
        }
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

/// The experiment with the command line's settings in every row.
pub fn with_settings(found: &Found, settings: &[Setting]) -> Result<Experiment, Failure> {
    let mut experiment = found.parse().map_err(refused)?;
    for setting in settings {
        experiment
            .set(&setting.name, &setting.value)
            .map_err(|error| Failure::usage(format!("--set {setting}: {error}")))?;
    }
    experiment
        .validate()
        .map_err(|error| Failure::usage(format!("--set: {error}")))?;
    Ok(experiment)
}

/// The experiment as the command line changes it, and its rows at every point of
/// a sweep.
fn prepared(found: &Found, arguments: &LabRunArguments) -> Result<Experiment, Failure> {
    let mut experiment = with_settings(found, &arguments.settings)?;
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
pub fn refused(error: CatalogueError) -> Failure {
    match error {
        CatalogueError::Unknown { .. } | CatalogueError::Mistakes(_) => Failure::usage(error),
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
