//! Runs an experiment: one world for each row and seed, in virtual time.
//!
//! Rule: every row has the same seeds and worlds of its own, so rows differ
//! only by what the file says and may run side by side; the result does not
//! depend on how many do. What the figures mean is said elsewhere.

use std::{
    fmt, fs,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread,
};

use fullpipe_sim::WorldFailure;

use crate::{
    experiment::{Experiment, Row},
    path_facts::path_facts,
    report::{Account, Limits, Report, RowReport},
    scene::{Played, Scene},
    shares::Shares,
    verdict::{self, Evidence},
    watch::Watch,
};

/// How an experiment is run.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// The first seed of every row; those that have more count on from it.
    pub seed: u64,
    /// An existing folder for one capture a row, of its first seed.
    pub captures: Option<&'a Path>,
    /// Whether every segment and every series of the rows is wanted, of the
    /// first seed.
    pub observe: bool,
    /// What else they are watched for, of the first seed.
    pub watch: Watch,
    /// Told now and then, from any thread, how far a row has come: its place,
    /// and the share of its work from 0 to 1.
    pub progress: &'a (dyn Fn(usize, f64) + Sync),
}

impl RunOptions<'_> {
    /// Nothing is kept and nobody is told: the report is all that is wanted.
    pub const fn plain(seed: u64) -> Self {
        Self {
            seed,
            captures: None,
            observe: false,
            watch: Watch::NONE,
            progress: &|_row, _share| (),
        }
    }
}

/// Why there is no result.
#[derive(Debug)]
pub enum RunError {
    /// A checker found something: the stack is wrong.
    World {
        /// In which row.
        row: String,
        /// What.
        failure: WorldFailure,
    },
    /// A capture could not be written.
    Capture {
        /// Which.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::World { row, failure } => write!(f, "row `{row}`: {failure}"),
            Self::Capture { file, error } => write!(f, "{}: {error}", file.display()),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs every row of `experiment` with each of its seeds, as many at a time as
/// there are processors.
///
/// # Errors
/// The first row's, in the order of the file, that came to no result. No
/// capture of such a row is left behind.
pub fn run(experiment: &Experiment, options: &RunOptions<'_>) -> Result<Report, RunError> {
    let rows = &experiment.rows;
    let worlds: Vec<(usize, u32)> = rows
        .iter()
        .enumerate()
        .flat_map(|(place, row)| (0..row.seeds).map(move |number| (place, number)))
        .collect();
    let progress: Vec<_> = rows.iter().map(|row| RowProgress::new(row.seeds)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(&(place, number)) = worlds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let told = AtomicU64::new(0);
            let tell = |share| {
                (options.progress)(place, progress[place].advance(share, &told));
            };
            let world = OneWorld {
                experiment,
                place,
                number,
                progress: &tell,
            };
            done.push((place, number, world.run(options)));
        }
        done
    };
    let workers = thread::available_parallelism().map_or(1, |count| count.get().min(worlds.len()));
    let mut results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    results.sort_by_key(|(place, number, _)| (*place, *number));
    let mut ran: Vec<Vec<Played>> = rows.iter().map(|_| Vec::new()).collect();
    for (place, _, played) in results {
        ran[place].push(played?);
    }
    let ran = ran.into_iter().map(Played::of_seeds).collect();
    Ok(report(experiment, options.seed, ran))
}

/// How far all worlds of a row have come together.
struct RowProgress {
    seeds: f64,
    /// Millionths of worlds.
    done: AtomicU64,
}

impl RowProgress {
    fn new(seeds: u32) -> Self {
        Self {
            seeds: f64::from(seeds),
            done: AtomicU64::new(0),
        }
    }

    /// One world has come to `share`; before, it had `told` so many millionths.
    /// Returns how far the row has come.
    fn advance(&self, share: f64, told: &AtomicU64) -> f64 {
        let now = (share * 1e6) as u64;
        let more = now.saturating_sub(told.swap(now, Ordering::Relaxed));
        let before = self.done.fetch_add(more, Ordering::Relaxed);
        ((before + more) as f64 / 1e6 / self.seeds).min(1.0)
    }
}

fn report(experiment: &Experiment, seed: u64, mut played: Vec<Played>) -> Report {
    let baseline = experiment.rows.iter().position(|row| row.baseline);
    if let Some(goodput) = baseline.map(|place| played[place].measured.goodput_mbps) {
        for row in &mut played {
            let share = row.measured.goodput_mbps / goodput;
            row.measured.goodput_of_baseline = (goodput > 0.0).then_some(share);
        }
    }
    let published = |row: &Row| row.published.figure("fraction").is_some();
    if experiment.columns.contains(&"fraction") || experiment.rows.iter().any(published) {
        for (row, played) in experiment.rows.iter().zip(&mut played) {
            let allowed = row.setup.allowed_bps();
            played.measured.fraction = allowed.map(|bps| played.measured.goodput_mbps * 1e6 / bps);
        }
    }
    let rows = experiment.rows.iter().zip(played);
    Report {
        experiment: experiment.name.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        seed,
        overrides: Vec::new(),
        columns: experiment.columns.clone(),
        rows: rows.map(|(row, played)| row_report(row, played)).collect(),
    }
}

fn row_report(row: &Row, played: Played) -> RowReport {
    let Played {
        measured,
        sender,
        receiver,
        demand,
        peer_window,
        cwnd,
        min_rtt,
        busiest,
        activity,
        silence,
        observed,
        watched,
    } = played;
    let limits = Limits {
        sender: Shares::of(sender.times()),
        receiver: Shares::of(receiver.times()),
    };
    let evidence = Evidence {
        setup: &row.setup,
        measured: &measured,
        limits: &limits,
        demand,
        peer_window,
        cwnd,
        min_rtt,
        busiest,
        activity,
        silence: silence.as_ref(),
    };
    let verdict = verdict::of(&evidence);
    let path = observed
        .is_some()
        .then(|| path_facts(&evidence, verdict.limit));
    RowReport {
        label: row.label.clone(),
        point: row.point.clone(),
        seeds: row.seeds,
        peers: row.peers.clone(),
        published: row.published.clone(),
        verdict,
        path,
        measured,
        limits,
        account: Account { sender, receiver },
        fitted: row.fitted.clone(),
        baseline: row.baseline,
        note: row.note.clone(),
        watched,
        observed,
    }
}

/// A row with one of its seeds.
struct OneWorld<'a> {
    experiment: &'a Experiment,
    place: usize,
    /// Which of the row's seeds, from 0.
    number: u32,
    progress: &'a dyn Fn(f64),
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
        let capture =
            folder.map(|folder| CaptureFile::new(folder, &self.experiment.name, self.place));
        if let Some(capture) = &capture {
            capture
                .start(&mut scene)
                .map_err(|error| capture.failed(error))?;
        }
        let played = scene
            .play(self.progress)
            .map_err(|failure| RunError::World {
                row: row.title(),
                failure,
            })?;
        if let Some(capture) = capture {
            capture.finish(&mut scene)?;
        }
        Ok(played)
    }
}

/// A row's capture, under another name until it is whole.
struct CaptureFile {
    part: PathBuf,
    whole: PathBuf,
    kept: bool,
}

impl CaptureFile {
    fn new(folder: &Path, experiment: &str, place: usize) -> Self {
        let name = format!("{experiment}-{}.pcapng", place + 1);
        Self {
            part: folder.join(format!(".{name}.part")),
            whole: folder.join(name),
            kept: false,
        }
    }

    fn start(&self, scene: &mut Scene<'_>) -> io::Result<()> {
        let file = BufWriter::with_capacity(1 << 18, fs::File::create(&self.part)?);
        scene.capture(Box::new(file))
    }

    fn finish(mut self, scene: &mut Scene<'_>) -> Result<(), RunError> {
        scene
            .finish_capture()
            .and_then(|()| fs::rename(&self.part, &self.whole))
            .map_err(|error| self.failed(error))?;
        self.kept = true;
        Ok(())
    }

    fn failed(&self, error: io::Error) -> RunError {
        RunError::Capture {
            file: self.whole.clone(),
            error,
        }
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        if !self.kept {
            // It may never have been there; then nothing is left behind either.
            let _ = fs::remove_file(&self.part);
        }
    }
}
