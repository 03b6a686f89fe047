//! Runs many worlds (random networks, settings and traffic, each drawn from a seed) on all cores,
//! with a progress bar.
//!
//! The one rule: a world that panics or fails a check is reported, and the other worlds continue. A
//! world that never ends is also reported, and ends the program.
//!
//! The simulator checks the worlds; this file does not depend on their contents.

use std::cell::RefCell;
use std::fs::File;
use std::hint::black_box;
use std::io::BufWriter;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fullpipe_sim::{WorldFailure, WorldPlan, WorldSummary, check::CheckCoverage};
use indicatif::{ProgressBar, ProgressStyle};

use super::world_files::{self, WorldSource};
use xtask::repository;

/// Real time after which a world counts as endless.
const NEVER_ENDS: Duration = Duration::from_secs(300);

/// Time between two checks of the workers by the main thread.
const LOOK: Duration = Duration::from_millis(100);

/// The worlds to run.
pub struct Plan {
    /// World files, which run first.
    pub files: Vec<PathBuf>,
    /// Seed of the first drawn world.
    pub first: u64,
    /// Number of drawn worlds, which have consecutive seeds.
    pub worlds: u64,
    /// Time after which no further world is started; `None` for no limit.
    pub seconds: Option<Duration>,
    /// Number of threads; `None` for one on each core.
    pub jobs: Option<usize>,
}

impl Plan {
    /// Returns the worlds in the order in which they run.
    pub fn order(&self) -> impl Iterator<Item = WorldSource> + Send + '_ {
        let drawn = self.first..self.first.saturating_add(self.worlds);
        let files = self.files.iter().cloned().map(WorldSource::File);
        files.chain(drawn.map(WorldSource::Seed))
    }
}

/// A world that failed.
pub struct Failure {
    /// The world.
    pub world: WorldSource,
    /// The checker's message, or the message and place of the panic.
    pub why: String,
}

/// Checks that this program was built with debug assertions and overflow checks.
///
/// # Errors
/// Fails if debug assertions or overflow checks are off, because a world could then break a rule
/// unnoticed.
pub fn check_build() -> Result<()> {
    ensure!(
        cfg!(debug_assertions) && overflow_panics(),
        "this program has no debug assertions or overflow checks, and worlds need both: run `cargo xtask soak`"
    );
    Ok(())
}

/// Returns true if an addition that overflows panics.
fn overflow_panics() -> bool {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let sum = panic::catch_unwind(|| black_box(u8::MAX) + black_box(1));
    panic::set_hook(hook);
    sum.is_err()
}

/// Runs the plan's worlds, and returns the failed ones, sorted.
///
/// # Errors
/// Fails if the number of cores is unknown.
pub fn run(plan: &Plan) -> Result<Vec<Failure>> {
    let jobs = match plan.jobs {
        Some(jobs) => jobs.max(1),
        None => thread::available_parallelism()
            .context("counting cores")?
            .get(),
    };
    let bar = progress_bar(plan);
    let run = Run {
        start: Instant::now(),
        seconds: plan.seconds,
        order: Mutex::new(Box::new(plan.order())),
        failures: Mutex::new(Vec::new()),
        judged: Mutex::new(JudgedIn::default()),
        at_work: (0..jobs).map(|_| Mutex::new(None)).collect(),
        bar: &bar,
    };
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|info| LAST_PANIC.set(Some(in_words(info)))));
    thread::scope(|scope| {
        let workers: Vec<_> = run
            .at_work
            .iter()
            .map(|slot| scope.spawn(|| run.work(slot)))
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            run.give_up_on_endless_worlds();
            thread::sleep(LOOK);
        }
    });
    panic::set_hook(hook);
    bar.finish_and_clear();
    let mut failures = run.failures.into_inner().expect("no worker died");
    failures.sort_by(|one, other| one.world.cmp(&other.world));
    println!(
        "{} worlds in {:.1} s",
        bar.position(),
        run.start.elapsed().as_secs_f64()
    );
    let JudgedIn {
        repeats,
        pace,
        rate,
    } = run.judged.into_inner().expect("no worker died");
    println!(
        "worlds without a failure in which a checker had something to check: retransmissions {repeats}, pacing {pace}, rate samples {rate}"
    );
    Ok(failures)
}

thread_local! {
    /// Message and place of the last panic in this thread.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// For each checker, the number of worlds in which it had something to check.
#[derive(Default)]
struct JudgedIn {
    repeats: u64,
    pace: u64,
    rate: u64,
}

impl JudgedIn {
    fn add(&mut self, judged: CheckCoverage) {
        self.repeats += u64::from(judged.repeats);
        self.pace += u64::from(judged.pace);
        self.rate += u64::from(judged.rate);
    }
}

/// One world in four is run twice, with and without bursts, and the frames of the two runs are
/// compared.
const COMPARED: u64 = 4;

/// Runs one world. Returns its summary, or the reason that it failed.
///
/// The simulator catches failed assertions of the stack. This function catches those of the
/// simulator.
pub fn world(plan: &WorldPlan) -> Result<WorldSummary, String> {
    caught(|| match plan.seed % COMPARED {
        0 => fullpipe_sim::soak_bursts(plan),
        _ => fullpipe_sim::soak(plan),
    })
}

/// Runs one world as [`world`] does, and captures every host's frames to `file`.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn world_captured(plan: &WorldPlan, file: &Path) -> Result<Result<WorldSummary, String>> {
    let out = BufWriter::new(File::create(file)?);
    let mut written = Ok(());
    let outcome = caught(|| {
        let outcome = fullpipe_sim::soak_captured(plan, Box::new(out));
        outcome.unwrap_or_else(|error| {
            written = Err(error);
            fullpipe_sim::soak(plan)
        })
    });
    written?;
    Ok(outcome)
}

fn caught(
    run: impl FnOnce() -> Result<WorldSummary, WorldFailure>,
) -> Result<WorldSummary, String> {
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(summary)) => Ok(summary),
        Ok(Err(failure)) => Err(match LAST_PANIC.take() {
            Some(panic) => format!("{}\n{panic}", at_place(&failure)),
            None => at_place(&failure),
        }),
        Err(_) => Err(LAST_PANIC
            .take()
            .unwrap_or_else(|| "panicked, as printed above".to_owned())),
    }
}

/// Returns a failure in one line, without the seed.
fn at_place(failure: &WorldFailure) -> String {
    let WorldFailure {
        at, place, finding, ..
    } = failure;
    format!("{place}: {finding} (at {:.6} s)", at.as_secs_f64())
}

/// Returns the summary of a world that did not fail, in one line.
pub fn in_a_line(summary: &WorldSummary) -> String {
    let WorldSummary {
        seed: _,
        hosts,
        flows,
        finished,
        bytes,
        frames,
        judged,
        steps,
        lasted,
    } = summary;
    let CheckCoverage {
        repeats,
        pace,
        rate,
    } = judged;
    format!(
        "no failure: {hosts} hosts, {finished} of {flows} flows finished, \
         {bytes} bytes in {frames} frames and {steps} steps, {:.1} s of virtual time; \
         checked: retransmissions {repeats}, pacing {pace}, rate samples {rate}",
        lasted.as_secs_f64()
    )
}

/// Returns the message and the place of a panic.
fn in_words(info: &PanicHookInfo<'_>) -> String {
    let said = info
        .payload_as_str()
        .unwrap_or("panicked without a message");
    match info.location() {
        Some(place) => format!("{said}\nat {}:{}", place.file(), place.line()),
        None => said.to_owned(),
    }
}

/// State that all workers share.
struct Run<'a> {
    start: Instant,
    seconds: Option<Duration>,
    order: Mutex<Box<dyn Iterator<Item = WorldSource> + Send + 'a>>,
    failures: Mutex<Vec<Failure>>,
    judged: Mutex<JudgedIn>,
    /// For each worker: its world, and the time at which the world started.
    at_work: Vec<Mutex<Option<(WorldSource, Instant)>>>,
    bar: &'a ProgressBar,
}

impl Run<'_> {
    fn work(&self, slot: &Mutex<Option<(WorldSource, Instant)>>) {
        while let Some(source) = self.take() {
            *slot.lock().expect("only this worker writes") = Some((source.clone(), Instant::now()));
            let outcome = match source.plan() {
                Ok(plan) => world(&plan),
                Err(error) => Err(format!("{error:#}")),
            };
            match outcome {
                Ok(summary) => {
                    let mut judged = self.judged.lock().expect("no worker died");
                    judged.add(summary.judged);
                }
                Err(why) => {
                    self.bar.println(format!("{source}: {why}"));
                    let mut failures = self.failures.lock().expect("no worker died");
                    failures.push(Failure { world: source, why });
                }
            }
            self.bar.inc(1);
        }
        *slot.lock().expect("only this worker writes") = None;
    }

    fn take(&self) -> Option<WorldSource> {
        if self
            .seconds
            .is_some_and(|limit| self.start.elapsed() >= limit)
        {
            return None;
        }
        self.order.lock().expect("no worker died").next()
    }

    /// If a world never ends, reports all failures so far and ends the program, because a thread
    /// cannot be stopped.
    fn give_up_on_endless_worlds(&self) {
        for slot in &self.at_work {
            let at = slot.lock().expect("no worker died").clone();
            if let Some((world, since)) = at
                && since.elapsed() > NEVER_ENDS
            {
                let mut failures = self.failures.lock().expect("no worker died");
                let why = format!("still running after {} s", NEVER_ENDS.as_secs());
                failures.push(Failure { world, why });
                self.bar.finish_and_clear();
                if let Err(error) = report(&failures) {
                    eprintln!("xtask: {error:#}");
                }
                std::process::exit(1);
            }
        }
    }
}

/// Stores each failed world in a file, and prints the command that replays it.
///
/// # Errors
/// Fails if there are failures, or if a file cannot be written.
pub fn report(failures: &[Failure]) -> Result<()> {
    for failure in failures {
        let Failure { world, why } = failure;
        let file = world_files::keep(&failure.world, &failure.why)?;
        let file = file.strip_prefix(repository::root()).unwrap_or(&file);
        println!(
            "{world}: {why}\n  replay: cargo xtask soak --replay {}",
            file.display()
        );
    }
    ensure!(failures.is_empty(), "{} worlds failed", failures.len());
    Ok(())
}

fn progress_bar(plan: &Plan) -> ProgressBar {
    let (bar, template) = match plan.seconds {
        Some(_) => (
            ProgressBar::no_length(),
            "{spinner} {pos} worlds, {elapsed}, {per_sec}",
        ),
        None => (
            ProgressBar::new(plan.order().count() as u64),
            "{bar:40} {pos}/{len} worlds, {elapsed}, {eta} left",
        ),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("the template is written here"))
}
