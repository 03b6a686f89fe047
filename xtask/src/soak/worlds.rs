//! Many worlds on all cores, with a progress bar.
//!
//! The one rule: a world that panics, fails a check or never ends costs only
//! itself; its seed is reported and the others go on.
//!
//! It does not look into a world: the simulator says whether it held.

use std::cell::RefCell;
use std::fs::File;
use std::io::BufWriter;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fullpipe_sim::{WorldFailure, WorldSummary, check::CheckCoverage};
use indicatif::{ProgressBar, ProgressStyle};

/// A world that takes longer than this on the wall clock will never end.
const NEVER_ENDS: Duration = Duration::from_secs(300);

/// How often the main thread looks at the clock.
const LOOK: Duration = Duration::from_millis(100);

/// Which worlds to run.
pub struct Plan {
    /// These first.
    pub seeds: Vec<u64>,
    /// Then `worlds` worlds from here on.
    pub first: u64,
    /// See `first`.
    pub worlds: u64,
    /// Start no world after this long.
    pub seconds: Option<Duration>,
    /// Threads; one for each core when absent.
    pub jobs: Option<usize>,
}

impl Plan {
    /// The seeds in the order in which their worlds run, each once.
    pub fn order(&self) -> impl Iterator<Item = u64> + Send + '_ {
        let numbered = self.first..self.first.saturating_add(self.worlds);
        let fresh = numbered.filter(|seed| !self.seeds.contains(seed));
        self.seeds.iter().copied().chain(fresh)
    }
}

/// A world that did not hold.
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// What the checker or the panic said; the first line says it all.
    pub why: String,
}

/// Runs the plan's worlds; returns those that failed, sorted by seed.
///
/// # Errors
/// When the number of cores can't be told.
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
    failures.sort_by_key(|failure| failure.seed);
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
        "judged of those that held: repeats in {repeats}, pace in {pace}, rate samples in {rate}"
    );
    Ok(failures)
}

thread_local! {
    /// What the panic hook heard on this thread, with the place of the panic.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// In how many worlds each checker that needs more than a frame judged.
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

/// Runs one world; `Ok` tells of it, the error is why it failed.
///
/// The simulator catches what the stack asserts; what the simulator itself
/// asserts is caught here.
pub fn world(seed: u64) -> Result<WorldSummary, String> {
    told(|| fullpipe_sim::soak(seed))
}

/// Runs one world as [`world`] does, and captures every host's frames to `file`.
///
/// # Errors
/// When the file cannot be written.
pub fn world_captured(seed: u64, file: &Path) -> Result<Result<WorldSummary, String>> {
    let out = BufWriter::new(File::create(file)?);
    let mut written = Ok(());
    let lived = told(|| {
        let lived = fullpipe_sim::soak_captured(seed, Box::new(out));
        lived.unwrap_or_else(|error| {
            written = Err(error);
            fullpipe_sim::soak(seed)
        })
    });
    written?;
    Ok(lived)
}

fn told(live: impl FnOnce() -> Result<WorldSummary, WorldFailure>) -> Result<WorldSummary, String> {
    let lived = panic::catch_unwind(AssertUnwindSafe(live));
    match lived {
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

/// A failure in one line, without the command that replays it.
fn at_place(failure: &WorldFailure) -> String {
    let WorldFailure {
        at, place, finding, ..
    } = failure;
    format!("{place}: {finding} (at {:.6} s)", at.as_secs_f64())
}

/// What is to be told of a world that held.
pub fn in_a_line(summary: &WorldSummary) -> String {
    let WorldSummary {
        seed,
        hosts,
        conversations,
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
        "world {} held: {hosts} hosts, {finished} of {conversations} conversations finished, \
         {bytes} bytes in {frames} frames and {steps} steps, {:.1} s of virtual time; \
         judged: repeats {repeats}, pace {pace}, rate samples {rate}",
        seed.0,
        lasted.as_secs_f64()
    )
}

/// What a panic said, and where.
fn in_words(info: &PanicHookInfo<'_>) -> String {
    let said = info.payload_as_str().unwrap_or("panicked without words");
    match info.location() {
        Some(place) => format!("{said}\nat {}:{}", place.file(), place.line()),
        None => said.to_owned(),
    }
}

/// What the workers share.
struct Run<'a> {
    start: Instant,
    seconds: Option<Duration>,
    order: Mutex<Box<dyn Iterator<Item = u64> + Send + 'a>>,
    failures: Mutex<Vec<Failure>>,
    judged: Mutex<JudgedIn>,
    /// For each worker: the seed it is at, and since when.
    at_work: Vec<Mutex<Option<(u64, Instant)>>>,
    bar: &'a ProgressBar,
}

impl Run<'_> {
    fn work(&self, slot: &Mutex<Option<(u64, Instant)>>) {
        while let Some(seed) = self.take() {
            *slot.lock().expect("only this worker writes") = Some((seed, Instant::now()));
            match world(seed) {
                Ok(summary) => {
                    let mut judged = self.judged.lock().expect("no worker died");
                    judged.add(summary.judged);
                }
                Err(why) => {
                    self.bar.println(format!("world {seed}: {why}"));
                    let mut failures = self.failures.lock().expect("no worker died");
                    failures.push(Failure { seed, why });
                }
            }
            self.bar.inc(1);
        }
        *slot.lock().expect("only this worker writes") = None;
    }

    fn take(&self) -> Option<u64> {
        if self
            .seconds
            .is_some_and(|limit| self.start.elapsed() >= limit)
        {
            return None;
        }
        self.order.lock().expect("no worker died").next()
    }

    /// A thread can't be stopped, so a world without end ends the program,
    /// after all failures so far are reported.
    fn give_up_on_endless_worlds(&self) {
        for slot in &self.at_work {
            let at = *slot.lock().expect("no worker died");
            if let Some((seed, since)) = at
                && since.elapsed() > NEVER_ENDS
            {
                let mut failures = self.failures.lock().expect("no worker died");
                let why = format!("still running after {} s", NEVER_ENDS.as_secs());
                failures.push(Failure { seed, why });
                self.bar.finish_and_clear();
                if let Err(error) = super::report(&failures) {
                    eprintln!("xtask: {error:#}");
                }
                std::process::exit(1);
            }
        }
    }
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
