//! For `fullpipe lab run`: runs rows (scenarios) of an experiment on kernel hosts, whose TCP/IP
//! stack is this machine's kernel.
//!
//! Rule: privileges are checked before the first row of the first experiment runs. Rows run one
//! after another, so that they do not disturb each other.

use std::path::Path;

use fullpipe_kernels::{KernelError, KernelOptions, check_privileges, run_row};
use fullpipe_lab::{
    Experiment, Report,
    experiment::{HostStack, Row},
};
use fullpipe_perf::Stop;

use crate::{arguments::LabRunArguments, failure::Failure, output::Terminal, progress::Progress};

/// If `--hosts kernel` was given, makes every host a kernel host.
pub fn choose(experiment: &mut Experiment, arguments: &LabRunArguments) {
    if arguments.hosts.is_none() {
        return;
    }
    let hosts = experiment
        .rows
        .iter_mut()
        .flat_map(|row| &mut row.setup.hosts);
    hosts.for_each(|host| host.stack = HostStack::Kernel);
}

/// Returns true if some host of the row is a kernel host.
fn is_on_kernel(row: &Row) -> bool {
    let mut hosts = row.setup.hosts.iter();
    hosts.any(|host| host.stack == HostStack::Kernel)
}

/// If a row of `experiments` has a kernel host, checks the privileges that kernel hosts need.
///
/// # Errors
/// Fails if a privilege is missing. The error is one line that names the privilege and the remedy.
pub fn check(experiments: &[Experiment]) -> Result<(), Failure> {
    let mut rows = experiments.iter().flat_map(|experiment| &experiment.rows);
    match rows.any(is_on_kernel) {
        true => check_privileges().map_err(Failure::failed),
        false => Ok(()),
    }
}

/// Runs the rows of `experiment` on kernel hosts and adds their results to `report`.
///
/// # Errors
/// Fails if the system refuses an operation, or the user presses Ctrl-C.
pub fn run(
    experiment: &Experiment,
    report: &mut Report,
    arguments: &LabRunArguments,
    terminal: &Terminal,
    captures: Option<&Path>,
    stop: &Stop,
) -> Result<(), Failure> {
    let places: Vec<_> = (0..experiment.rows.len())
        .filter(|&place| is_on_kernel(&experiment.rows[place]))
        .collect();
    if places.is_empty() {
        return Ok(());
    }
    let titles = places.iter().map(|&place| experiment.rows[place].title());
    let name = format!("{} on kernel hosts", experiment.name);
    let progress = Progress::new(terminal, &name, titles.collect());
    for (number, &place) in places.iter().enumerate() {
        let row = &experiment.rows[place];
        let file = format!("{}-{}-kernel.pcapng", experiment.name, place + 1);
        let capture = captures.map(|folder| folder.join(file));
        let options = KernelOptions {
            seed: arguments.seed,
            time: arguments.time.into(),
            capture: capture.as_deref(),
            taps: None,
            stop,
            progress: &|share| progress.advance(number, share),
        };
        let ran = run_row(&row.setup, &options).map_err(|error| match error {
            KernelError::Interrupted => Failure::Interrupted(format!(
                "{number} of {} rows of {} on kernel hosts are done",
                places.len(),
                experiment.name
            )),
            KernelError::Failed(error) => {
                let title = row.title();
                Failure::failed(format!("{}, row `{title}`: {error}", experiment.name))
            }
        })?;
        report.rows[place].kernel = Some(ran);
        progress.advance(number, 1.0);
    }
    Ok(())
}
