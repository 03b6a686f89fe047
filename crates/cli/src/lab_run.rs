//! `fullpipe lab run`: runs experiments and prints each row (scenario) as soon as it is finished.
//!
//! Rule: a wrong request is refused before the first run, so a mistake in the third experiment
//! does not cost the time of the first two. Only completed runs leave captures. Ctrl-C ends the
//! run; rows that were printed before remain valid.

use std::{
    cell::RefCell,
    env, fs,
    io::{self, IsTerminal},
    ops::ControlFlow,
    path::Path,
};

use fullpipe_lab::{
    Axis, Effort, Experiment, Outline, ProcessorClock, ProcessorTime, Report, RowReport, RunError,
    RunOptions, TablePrinter, Watch,
    catalogue::{self, ExperimentFile},
    json_array, kernel_text,
    layout::Tone,
    run_by_row, sweep,
    watch::watched_text,
};
use fullpipe_perf::Stop;

use crate::{
    arguments::{FailOn, LabRunArguments, Setting},
    experiments::{refused, with_settings},
    failure::{Failure, note},
    files::{Output, Pictures},
    kernel_hosts,
    output::{Terminal, print},
    progress::Progress,
};

/// Runs the subcommand.
pub fn run(arguments: &LabRunArguments, terminal: &Terminal) -> Result<(), Failure> {
    let of_verdict = |condition: &&FailOn| matches!(condition, FailOn::Limit(_));
    let condition = arguments.fail_on.iter().find(of_verdict);
    if let Some(condition) = condition.filter(|_| arguments.quick) {
        return Err(Failure::usage(format!(
            "--fail-on {condition}: a verdict names the limit, but --quick prints no verdicts; omit --quick"
        )));
    }
    let here = env::current_dir()?;
    let found = chosen(arguments, &here)?;
    let experiments = found
        .iter()
        .map(|found| prepared(found, arguments))
        .collect::<Result<Vec<_>, _>>()?;
    kernel_hosts::check(&experiments)?;
    if let Some(interval) = arguments.ss {
        let least = experiments.iter().map(Watch::least_interval).max();
        if let Some(least) = least.filter(|least| interval < *least) {
            return Err(Failure::usage(format!(
                "--ss {interval}: too short; give at least {least}, because a row is \
                 observed at most a million times"
            )));
        }
    }
    let captures = arguments
        .pcap
        .as_deref()
        .map(CaptureFolder::create)
        .transpose()?;
    let mut batch = Batch {
        arguments,
        terminal,
        stop: Stop::on_interrupt()?,
        captures: captures.as_ref().map(|folder| folder.path),
        pictures: Pictures::new(arguments, &experiments)?,
        output: Output::new(arguments, &experiments)?,
        count: experiments.len(),
        met: 0,
        reports: Vec::new(),
        spent: Vec::new(),
    };
    let ran = experiments
        .iter()
        .enumerate()
        .try_for_each(|(place, experiment)| batch.run(place, experiment));
    // Print the complete experiments even if a later one failed.
    if arguments.json && (ran.is_ok() || !batch.reports.is_empty()) {
        match batch.reports.as_slice() {
            [report] if batch.count == 1 && !arguments.all => print(&report.json())?,
            reports => print(&json_array(reports))?,
        }
    }
    ran?;
    if let [_, _, ..] = batch.spent.as_slice() {
        let sum = |of: fn(&ProcessorTime) -> f64| batch.spent.iter().map(of).sum();
        let all = ProcessorTime {
            rows_s: sum(|time| time.rows_s),
            explanations_s: sum(|time| time.explanations_s),
        };
        batch.tell_time("in all", all);
    }
    match batch.met {
        0 => Ok(()),
        _ => Err(Failure::ConditionMet),
    }
}

/// Experiments that are run one after another.
struct Batch<'a> {
    arguments: &'a LabRunArguments,
    terminal: &'a Terminal,
    stop: Stop,
    captures: Option<&'a Path>,
    pictures: Pictures<'a>,
    output: Output<'a>,
    /// Number of experiments.
    count: usize,
    /// Number of conditions of `--fail-on` that were met, over all rows.
    met: usize,
    /// Results that are printed as JSON at the end.
    reports: Vec<Report>,
    /// Processor time of each experiment.
    spent: Vec<ProcessorTime>,
}

/// Returns the error that ended `experiment` after `printed` rows.
fn failure(experiment: &Experiment, printed: usize, error: &RunError) -> Failure {
    match error {
        RunError::Interrupted => Failure::Interrupted(format!(
            "{printed} of {} rows of {} are done",
            experiment.rows.len(),
            experiment.name
        )),
        RunError::World { .. } | RunError::Twin { .. } | RunError::Capture { .. } => {
            Failure::failed(format!("{}: {error}", experiment.name))
        }
    }
}

impl Batch<'_> {
    fn run(&mut self, place: usize, experiment: &Experiment) -> Result<(), Failure> {
        let arguments = self.arguments;
        let overrides: Vec<_> = arguments.settings.iter().map(Setting::to_string).collect();
        let layout = self.terminal.layout;
        let outline = Outline::of(experiment, &overrides);
        let printer = TablePrinter::new(outline, layout, arguments.columns.as_ref())
            .watched(io::stdout().is_terminal());
        let mut name = experiment.name.clone();
        if self.count > 1 {
            name = format!("{}/{} {name}", place + 1, self.count);
        }
        let titles = experiment.rows.iter().map(|row| row.title()).collect();
        let progress = Progress::new(self.terminal, &name, titles);
        let cancel = || self.stop.is_raised();
        let clock = ProcessorClock::default();
        let options = RunOptions {
            seed: arguments.seed,
            observe: self.pictures.are_wanted(),
            watch: Watch {
                events: arguments.events.is_some(),
                sockets: arguments.ss,
                counters: arguments.nstat,
            },
            explain: !arguments.quick,
            effort: Effort::Usual,
            memory: None,
            captures: self.captures,
            progress: &|row, share| progress.advance(row, share),
            workers: None,
            clock: Some(&clock),
            cancel: Some(&cancel),
        };
        let show = |text: &str| match arguments.json {
            true => Ok(()),
            false => progress.suspended(|| print(text)),
        };
        if place > 0 {
            show("\n")?;
        }
        show(&printer.head())?;
        let (mut printed, mut met) = (0, 0);
        let failed = RefCell::new(None);
        let ran = run_by_row(experiment, &options, &mut |row| {
            met += progress.suspended(|| self.complain(experiment, row));
            printed += 1;
            match show(&printer.row(row)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(failure) => {
                    *failed.borrow_mut() = Some(failure);
                    ControlFlow::Break(())
                }
            }
        });
        drop(progress);
        if let Some(failure) = failed.into_inner() {
            return Err(failure);
        }
        let mut report = ran.map_err(|error| failure(experiment, printed, &error))?;
        report.set_overrides(overrides);
        self.met += met;
        self.spent.push(clock.total());
        self.tell_time(&experiment.name, clock.total());
        if !arguments.json {
            print(&printer.tail(&report.rows))?;
        }
        self.conclude(experiment, report)
    }

    /// Runs the rows with kernel hosts (hosts that use this machine's TCP/IP stack), and writes or
    /// prints all results that `run` has not printed.
    fn conclude(&mut self, experiment: &Experiment, mut report: Report) -> Result<(), Failure> {
        kernel_hosts::run(
            experiment,
            &mut report,
            self.arguments,
            self.terminal,
            self.captures,
            &self.stop,
        )?;
        self.pictures.write(&mut report)?;
        self.output.write(&mut report)?;
        if self.arguments.json {
            self.reports.push(report);
            return Ok(());
        }
        print(&kernel_text(&report, self.terminal.layout))?;
        print(&watched_text(&report))
    }

    /// Prints the processor time of the rows and of their explanations to standard error, if
    /// standard error is a terminal or `--all` was given. The time is not part of the results,
    /// because it differs from run to run.
    fn tell_time(&self, name: &str, time: ProcessorTime) {
        if self.terminal.quiet || !(self.arguments.all || io::stderr().is_terminal()) {
            return;
        }
        let ProcessorTime {
            rows_s,
            explanations_s,
        } = time;
        let explanations = match self.arguments.quick {
            true => String::new(),
            false => format!(", {explanations_s:.2} s for the verdicts"),
        };
        note(format_args!(
            "{name}: {rows_s:.2} s of processor time for the rows{explanations}"
        ));
    }

    /// Prints each condition of `--fail-on` that the row meets. Returns the number of these
    /// conditions.
    fn complain(&self, experiment: &Experiment, row: &RowReport) -> usize {
        let mut met = 0;
        for condition in &self.arguments.fail_on {
            if let Some(what) = condition.met_by(row) {
                met += 1;
                let key = self.terminal.errors().paint(Tone::Bad, "failed:");
                let (name, title) = (&experiment.name, row.title());
                note(format_args!(
                    "{key} {name}, row `{title}`: {what} (--fail-on {condition})"
                ));
            }
        }
        met
    }
}

fn chosen(arguments: &LabRunArguments, here: &Path) -> Result<Vec<ExperimentFile>, Failure> {
    if arguments.all {
        return catalogue::all(here).map_err(refused);
    }
    arguments
        .experiments
        .iter()
        .map(|name| catalogue::find(name, here).map_err(refused))
        .collect()
}

/// The experiment with the command line's settings, and with each row repeated for every
/// combination of the values that are swept.
fn prepared(found: &ExperimentFile, arguments: &LabRunArguments) -> Result<Experiment, Failure> {
    let mut experiment = with_settings(found, &arguments.settings)?;
    let axes: Vec<_> = arguments
        .sweeps
        .iter()
        .map(|Setting { name, value }| Axis::parse(name, value))
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::usage(format!("--sweep: {error}")))?;
    kernel_hosts::choose(&mut experiment, arguments);
    sweep(&mut experiment, &axes).map_err(|error| Failure::usage(format!("--sweep: {error}")))?;
    Ok(experiment)
}

/// The folder for captures. The folder is removed if it was created here and is empty at the end.
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
            // Ignore the error: removing fails, as intended, if the folder contains captures.
            let _ = fs::remove_dir(self.path);
        }
    }
}
