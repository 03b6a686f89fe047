//! Runs an experiment in virtual time: one world (simulated network) for each row (scenario) and
//! seed.
//!
//! Rule: every row begins with the same seed and has its own worlds, so rows differ only in what
//! the file sets. Rows may run in parallel; the result does not depend on the number of threads.
//! The caller receives a row as soon as this row, all rows above it and the baseline (the row that
//! other rows are compared with) have run and are explained.

use std::{
    fmt,
    io::{self, BufWriter},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use fullpipe_explain::{Effort, Explanation, Progress, TwinFailure, explain_played};
use fullpipe_scenario::{
    Account, Limits, Shares,
    experiment::{Experiment, Row},
    scene::{Played, Scene},
    watch::Watch,
};
use fullpipe_sim::WorldFailure;

use crate::{
    path_facts::path_facts,
    processor_time::ProcessorClock,
    reference::Reference,
    report::{JSON_SCHEMA, Report, RowReport},
    whole_file::WholeFile,
};

/// Share of a row's work that running its worlds is assumed to take. The remaining share is for the
/// row's explanation.
const PLAYED: f64 = 0.3;

/// Options of a run.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// First seed of every row; a row with several seeds also uses the following numbers.
    pub seed: u64,
    /// Existing folder for the captures. The run of each row with the row's first seed writes one
    /// capture.
    pub captures: Option<&'a Path>,
    /// True to keep every segment and every series of values (such as windows) of the first seed.
    pub observe: bool,
    /// Events, sockets and counters to keep, of the first seed.
    pub watch: Watch,
    /// True to explain each row: cause, proof, smallest settings and their result.
    pub explain: bool,
    /// Work that an explanation may take.
    pub effort: Effort,
    /// Largest packet memory that an explanation may give a host, in bytes.
    pub memory: Option<u64>,
    /// Function that is called from any thread with two values: the index of a row, and the
    /// finished share of this row's work, from 0 to 1.
    pub progress: &'a (dyn Fn(usize, f64) + Sync),
    /// Largest number of worlds that run at the same time; `None` for one world per processor.
    pub workers: Option<usize>,
    /// Clock that measures the processor time.
    pub clock: Option<&'a ProcessorClock>,
    /// Function that is asked repeatedly; if it returns true, the run ends with
    /// [`RunError::Interrupted`].
    pub cancel: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl RunOptions<'_> {
    /// As [`plain`](Self::plain), without explanations.
    pub const fn quick(seed: u64) -> Self {
        Self {
            explain: false,
            ..Self::plain(seed)
        }
    }

    /// Options for a report with explanations, without captures, series or progress.
    pub const fn plain(seed: u64) -> Self {
        Self {
            seed,
            captures: None,
            observe: false,
            watch: Watch::NONE,
            explain: true,
            effort: Effort::Usual,
            memory: None,
            progress: &|_row, _share| (),
            workers: None,
            clock: None,
            cancel: None,
        }
    }
}

/// Reason that a run has no result.
#[derive(Debug)]
pub enum RunError {
    /// A checker of the simulator found a violation, that is, an error of the stack.
    World {
        /// Title of the row.
        row: String,
        /// The violation.
        failure: WorldFailure,
    },
    /// A checker found a violation in a run for the explanation of a row.
    Twin {
        /// Title of the row.
        row: String,
        /// The changed settings and the violation.
        failure: Box<TwinFailure>,
    },
    /// A capture file could not be written.
    Capture {
        /// Path of the capture file.
        file: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// [`RunOptions::cancel`] returned true, or the caller of the run stopped it.
    Interrupted,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::World { row, failure } => write!(f, "row `{row}`: {failure}"),
            Self::Twin { row, failure } => write!(f, "row `{row}`: {failure}"),
            Self::Capture { file, error } => write!(f, "{}: {error}", file.display()),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs every row of `experiment` with each of its seeds.
///
/// # Errors
/// Returns the error of the first row, in the order of the file, that has no result. The captures
/// of failed rows are removed.
pub fn run(experiment: &Experiment, options: &RunOptions<'_>) -> Result<Report, RunError> {
    run_by_row(experiment, options, &mut |_row| ControlFlow::Continue(()))
}

/// Runs as [`run`] does. Calls `each` with a row as soon as the row, all rows above it, and the
/// baseline of the experiment have run.
///
/// # Errors
/// Returns the errors of [`run`]; [`RunError::Interrupted`] if `each` returns `ControlFlow::Break`.
pub fn run_by_row(
    experiment: &Experiment,
    options: &RunOptions<'_>,
    each: &mut dyn FnMut(&RowReport) -> ControlFlow<()>,
) -> Result<Report, RunError> {
    let row_workers = RowWorkers::new(experiment, options);
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    let workers = options.workers.unwrap_or_else(processors).max(1);
    let workers = workers.min(row_workers.worlds.len());
    let mut gathered = Gathered::new(experiment, options.seed);
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        let threads: Vec<_> = (0..workers)
            .map(|_| {
                let sender = sender.clone();
                scope.spawn(|| row_workers.work(sender))
            })
            .collect();
        drop(sender);
        for result in results {
            gathered.add(result);
            if gathered.hand_on(each).is_break() {
                row_workers.is_over.store(true, Ordering::Relaxed);
                break;
            }
        }
        for thread in threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    match row_workers.is_over.load(Ordering::Relaxed) {
        true => Err(RunError::Interrupted),
        false => gathered.report(),
    }
}

/// Returns a list of all worlds: each row's index with the number of each of its seeds.
fn worlds(rows: &[Row]) -> Vec<(usize, u32)> {
    let all = rows.iter().enumerate();
    all.flat_map(|(place, row)| (0..row.seeds).map(move |number| (place, number)))
        .collect()
}

/// Results of a row's worlds, by the number of the seed; `None` for a world that has not finished.
type RowWorlds = Vec<Option<Result<Played, RunError>>>;
/// A row's results, and its explanation if one was requested.
type ExplainedRow = (Played, Option<Explanation>);
/// A row's index and results.
type RowResult = (usize, Result<ExplainedRow, RunError>);

/// Work of all threads. Worlds run in the order of the file; the thread that runs the last world
/// of a row explains the row.
struct RowWorkers<'a> {
    experiment: &'a Experiment,
    options: &'a RunOptions<'a>,
    /// All worlds: a row's index and the number of one of its seeds.
    worlds: Vec<(usize, u32)>,
    /// Index of the next world that no thread has begun.
    next: AtomicUsize,
    /// True after the caller has stopped the run.
    is_over: AtomicBool,
    progress: Vec<RowProgress>,
    played: Mutex<Vec<RowWorlds>>,
}

impl<'a> RowWorkers<'a> {
    fn new(experiment: &'a Experiment, options: &'a RunOptions<'a>) -> Self {
        let rows = &experiment.rows;
        let none = |row: &Row| (0..row.seeds).map(|_| None).collect();
        Self {
            experiment,
            options,
            worlds: worlds(rows),
            next: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            progress: rows.iter().map(|row| RowProgress::new(row.seeds)).collect(),
            played: Mutex::new(rows.iter().map(none).collect()),
        }
    }

    /// Runs worlds and explains rows until no world is left. Sends each finished row.
    fn work(&self, results: mpsc::Sender<RowResult>) {
        while let Some(&(place, number)) =
            self.worlds.get(self.next.fetch_add(1, Ordering::Relaxed))
        {
            if self.go_on().is_break() {
                return;
            }
            let result = self.play(place, number);
            let Some(worlds) = self.finished(place, number, result) else {
                continue;
            };
            let row = worlds.and_then(|worlds| self.explain(place, worlds));
            // Ignore the error: sending fails if the run ended early and dropped the receiver.
            let _ = results.send((place, row));
        }
    }

    fn go_on(&self) -> ControlFlow<()> {
        let is_cancelled = || self.options.cancel.is_some_and(|cancel| cancel());
        match self.is_over.load(Ordering::Relaxed) || is_cancelled() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn play(&self, place: usize, number: u32) -> Result<Played, RunError> {
        let options = self.options;
        let reported = AtomicU64::new(0);
        let advance = |share| {
            let share = self.progress[place].advance(share, &reported);
            // Let the worlds report only a part of the row's progress if an explanation follows.
            let part = if options.explain { PLAYED } else { 1.0 };
            (options.progress)(place, share * part);
            self.go_on()
        };
        let world = OneWorld {
            experiment: self.experiment,
            place,
            number,
            progress: &advance,
        };
        match options.clock {
            Some(clock) => clock.of_row(|| world.run(options)),
            None => world.run(options),
        }
    }

    /// Stores the result of world `number` of a row. If this was the row's last world, returns all
    /// its worlds, or the first of their errors.
    fn finished(
        &self,
        place: usize,
        number: u32,
        result: Result<Played, RunError>,
    ) -> Option<Result<Vec<Played>, RunError>> {
        let mut rows = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let worlds = &mut rows[place];
        worlds[number as usize] = Some(result);
        let is_last = worlds.iter().all(Option::is_some);
        is_last.then(|| std::mem::take(worlds).into_iter().flatten().collect())
    }

    fn explain(&self, place: usize, worlds: Vec<Played>) -> Result<ExplainedRow, RunError> {
        let options = self.options;
        let advance = |share: f64| {
            (options.progress)(place, PLAYED + share * (1.0 - PLAYED));
            self.go_on()
        };
        let row = explained(&self.experiment.rows[place], worlds, options, &advance);
        (options.progress)(place, 1.0);
        row
    }
}

/// Summarises the worlds of a row, and explains the row if requested.
fn explained(
    row: &Row,
    worlds: Vec<Played>,
    options: &RunOptions<'_>,
    progress: &Progress<'_>,
) -> Result<ExplainedRow, RunError> {
    let played = Played::of_seeds(worlds);
    if !options.explain {
        return Ok((played, None));
    }
    let explain = || {
        let (seed, memory, effort) = (options.seed, options.memory, options.effort);
        explain_played(&row.setup, seed, &played, memory, effort, progress)
    };
    let found = match options.clock {
        Some(clock) => clock.of_explanation(explain),
        None => explain(),
    };
    let found = found.map_err(|failure| match failure {
        TwinFailure::Interrupted => RunError::Interrupted,
        failure => RunError::Twin {
            row: row.title(),
            failure: Box::new(failure),
        },
    })?;
    Ok((played, Some(found)))
}

/// Finished rows, and the reports that are built from them.
struct Gathered<'a> {
    experiment: &'a Experiment,
    seed: u64,
    /// Results of finished rows. A result stays here until the rows above it are finished too.
    played: Vec<Option<Result<ExplainedRow, RunError>>>,
    /// Goodput of the baseline in Mbit/s; `None` until it has run.
    baseline_mbps: Option<f64>,
    rows: Vec<RowReport>,
}

impl<'a> Gathered<'a> {
    fn new(experiment: &'a Experiment, seed: u64) -> Self {
        Self {
            experiment,
            seed,
            played: experiment.rows.iter().map(|_| None).collect(),
            baseline_mbps: None,
            rows: Vec::with_capacity(experiment.rows.len()),
        }
    }

    fn add(&mut self, (place, result): RowResult) {
        if self.experiment.rows[place].baseline {
            let goodput = |(played, _): &ExplainedRow| played.measured.goodput_mbps;
            self.baseline_mbps = Some(result.as_ref().map_or(0.0, goodput));
        }
        self.played[place] = Some(result);
    }

    /// Builds the reports of finished rows in the order of the file, up to the first unfinished
    /// row, and calls `each` with each report.
    fn hand_on(&mut self, each: &mut dyn FnMut(&RowReport) -> ControlFlow<()>) -> ControlFlow<()> {
        let has_baseline = self.experiment.rows.iter().any(|row| row.baseline);
        if has_baseline && self.baseline_mbps.is_none() {
            return ControlFlow::Continue(());
        }
        // Stop at a failed row: the caller does not receive the rows below it.
        while let Some(Some(Ok(_))) = self.played.get(self.rows.len()) {
            let place = self.rows.len();
            let Some(Some(Ok(played))) = self.played.get_mut(place).map(Option::take) else {
                break;
            };
            let row = self.row(&self.experiment.rows[place], played);
            each(&row)?;
            self.rows.push(row);
        }
        ControlFlow::Continue(())
    }

    fn row(&self, row: &Row, (mut played, verdict): ExplainedRow) -> RowReport {
        if let Some(baseline) = self.baseline_mbps {
            let share = played.measured.goodput_mbps / baseline;
            played.measured.goodput_of_baseline = (baseline > 0.0).then_some(share);
        }
        let published = |row: &Row| row.published.figure("fraction").is_some();
        let columns = &self.experiment.columns;
        if columns.contains(&"fraction") || self.experiment.rows.iter().any(published) {
            let allowed = row.setup.allowed_bps();
            played.measured.fraction = allowed.map(|bps| played.measured.goodput_mbps * 1e6 / bps);
        }
        row_report(row, played, verdict)
    }

    fn report(self) -> Result<Report, RunError> {
        let failed = self.played.into_iter().flatten().find_map(Result::err);
        if let Some(error) = failed {
            return Err(error);
        }
        let experiment = self.experiment;
        if self.rows.len() < experiment.rows.len() {
            return Err(RunError::Interrupted);
        }
        Ok(Report {
            schema: JSON_SCHEMA,
            experiment: experiment.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            labels: experiment.labels.clone(),
            seed: self.seed,
            overrides: Vec::new(),
            reference: Reference::of(
                &experiment.origins,
                self.rows.iter().map(RowReport::published_row),
            ),
            origins: experiment.origins.clone(),
            columns: experiment.columns.clone(),
            rows: self.rows,
        })
    }
}

/// Progress of all worlds of one row.
struct RowProgress {
    seeds: f64,
    /// Sum of the finished shares of all worlds, in millionths.
    done: AtomicU64,
}

impl RowProgress {
    fn new(seeds: u32) -> Self {
        Self {
            seeds: f64::from(seeds),
            done: AtomicU64::new(0),
        }
    }

    /// Adds the progress of one world, which has finished `share` of its work. `reported` contains
    /// the millionths that this world had reported before. Returns the finished share of the row's
    /// work.
    fn advance(&self, share: f64, reported: &AtomicU64) -> f64 {
        let now = (share * 1e6) as u64;
        let more = now.saturating_sub(reported.swap(now, Ordering::Relaxed));
        let before = self.done.fetch_add(more, Ordering::Relaxed);
        ((before + more) as f64 / 1e6 / self.seeds).min(1.0)
    }
}

fn row_report(row: &Row, played: Played, verdict: Option<Explanation>) -> RowReport {
    let path =
        (played.observed.is_some()).then(|| path_facts(&row.setup, &played, verdict.as_ref()));
    let Played {
        measured,
        sender,
        receiver,
        path: path_account,
        observed,
        watched,
        ..
    } = played;
    let limits = Limits {
        sender: Shares::of(sender.times()),
        receiver: Shares::of(receiver.times()),
    };
    RowReport {
        label: row.label.clone(),
        point: row.point.clone(),
        overridden: row.overridden.clone(),
        changed_by_set: row.changed_by_set,
        seeds: row.seeds,
        subject: row.setup.hosts[row.setup.subject].name.clone(),
        peers: row.peers.clone(),
        published: row.published.clone(),
        verdict,
        path,
        measured,
        limits,
        account: Account {
            sender,
            receiver,
            path: path_account,
        },
        fitted: row.fitted.clone(),
        baseline: row.baseline,
        note: row.note.clone(),
        watched,
        kernel: None,
        observed,
    }
}

/// One world: a row with one of its seeds.
struct OneWorld<'a> {
    experiment: &'a Experiment,
    place: usize,
    /// Number of the row's seed, from 0.
    number: u32,
    progress: &'a dyn Fn(f64) -> ControlFlow<()>,
}

impl OneWorld<'_> {
    fn run(&self, options: &RunOptions<'_>) -> Result<Played, RunError> {
        let row = &self.experiment.rows[self.place];
        let mut scene = Scene::new(
            &row.setup,
            options.seed.wrapping_add(u64::from(self.number)),
            options.observe && self.number == 0,
            if self.number == 0 {
                options.watch
            } else {
                Watch::NONE
            },
        );
        let folder = options.captures.filter(|_| self.number == 0);
        let capture = folder.map(|folder| {
            CaptureFile::start(folder, &self.experiment.name, self.place, &mut scene)
        });
        let capture = capture.transpose()?;
        let played = scene
            .play(self.progress)
            .map_err(|failure| RunError::World {
                row: row.title(),
                failure,
            })?
            .ok_or(RunError::Interrupted)?;
        if let Some(capture) = capture {
            capture.finish(&mut scene)?;
        }
        Ok(played)
    }
}

/// Capture file of a row.
struct CaptureFile {
    path: PathBuf,
    file: WholeFile,
}

impl CaptureFile {
    /// Begins to capture `scene`.
    fn start(
        folder: &Path,
        experiment: &str,
        place: usize,
        scene: &mut Scene<'_>,
    ) -> Result<Self, RunError> {
        let path = folder.join(format!("{experiment}-{}.pcapng", place + 1));
        let started = WholeFile::create(&path).and_then(|file| {
            let out = BufWriter::with_capacity(1 << 18, file.writer());
            scene.capture(Box::new(out)).map(|()| file)
        });
        match started {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => Err(RunError::Capture { file: path, error }),
        }
    }

    fn finish(self, scene: &mut Scene<'_>) -> Result<(), RunError> {
        let Self { path, file } = self;
        scene
            .finish_capture()
            .and_then(|()| file.finish())
            .map_err(|error| RunError::Capture { file: path, error })
    }
}
