//! Runs of a row with changed settings, and their speed.
//!
//! Rule: a run is repeated with the same seeds as the unchanged row, so that a gain
//! compares like with like. Equal changes run once.

use std::{
    collections::HashMap,
    fmt,
    ops::ControlFlow,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use fullpipe_sim::WorldFailure;

use crate::{
    lever::{Change, changed},
    path,
};
use fullpipe_scenario::{Outcome, Played, Scene, Setup, watch::Watch};

/// Seeds of a row whose runs differ by chance.
const SEEDS: u64 = 5;

/// A run in which a checker of the simulator found a violation: the stack is wrong.
#[derive(Debug)]
pub struct TwinFailure {
    /// Settings of the run, besides the row's own.
    pub changes: Vec<Change>,
    /// The violation.
    pub failure: WorldFailure,
}

impl fmt::Display for TwinFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { changes, failure } = self;
        for Change { set, to } in changes {
            write!(f, "--set {set}={to} ")?;
        }
        write!(f, "{failure}")
    }
}

impl std::error::Error for TwinFailure {}

/// Speed of a run with each of its seeds, in Mbit/s of payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// Goodput of the first flow for each seed.
    mbps: Vec<f64>,
    /// False if a run ended without all bytes.
    pub is_complete: bool,
}

impl Speed {
    /// The mean over the seeds.
    pub fn mean_mbps(&self) -> f64 {
        self.mbps.iter().sum::<f64>() / self.mbps.len() as f64
    }

    /// Ratio of the mean speeds.
    pub fn over(&self, base: &Self) -> f64 {
        match base.mean_mbps() {
            0.0 if self.mean_mbps() > 0.0 => f64::INFINITY,
            0.0 => 1.0,
            mean => self.mean_mbps() / mean,
        }
    }

    /// Standard error of the mean of the ratios of equal seeds.
    pub fn error(&self, base: &Self) -> f64 {
        let ratios: Vec<f64> = self
            .mbps
            .iter()
            .zip(&base.mbps)
            .filter(|(_, base)| **base > 0.0)
            .map(|(mbps, base)| mbps / base)
            .collect();
        let count = ratios.len() as f64;
        if count < 2.0 {
            return 0.0;
        }
        let mean = ratios.iter().sum::<f64>() / count;
        let squares = ratios.iter().map(|ratio| (ratio - mean).powi(2));
        (squares.sum::<f64>() / (count - 1.0) / count).sqrt()
    }
}

/// The row that is explained, and every run of it so far.
pub struct Twin<'a> {
    setup: &'a Setup,
    seeds: Vec<u64>,
    /// Runs by their settings.
    speeds: Mutex<HashMap<Vec<Change>, Speed>>,
    /// Number of runs so far.
    runs: AtomicUsize,
    /// The unchanged row with its first seed.
    pub first: Played,
}

impl<'a> Twin<'a> {
    /// Runs the row unchanged, with enough seeds to tell a gain from chance: one if no link
    /// draws anything and two seeds give the same result.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn of(setup: &'a Setup, seed: u64) -> Result<Self, TwinFailure> {
        let first = play(setup, seed, &[])?;
        let second = play(setup, seed.wrapping_add(1), &[])?;
        let by_chance = path::is_random(setup) || first.measured != second.measured;
        let count = if by_chance { SEEDS } else { 1 };
        let twin = Self {
            setup,
            seeds: (0..count).map(|number| seed.wrapping_add(number)).collect(),
            speeds: Mutex::default(),
            runs: AtomicUsize::new(2),
            first: first.clone(),
        };
        let known = [first, second].into_iter().take(twin.seeds.len());
        let speed = twin.speed_after(known.collect(), setup, &[])?;
        locked(&twin.speeds).insert(Vec::new(), speed);
        Ok(twin)
    }

    /// Number of seeds of each run.
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// Number of worlds that have run.
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// The speed with `changes`; `None` if the settings are refused.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn speed(&self, changes: &[Change]) -> Result<Option<Speed>, TwinFailure> {
        if let Some(known) = self.known(changes) {
            return Ok(Some(known));
        }
        let Some(setup) = changed(self.setup, changes) else {
            return Ok(None);
        };
        let speed = self.speed_after(Vec::new(), &setup, changes)?;
        locked(&self.speeds).insert(changes.to_vec(), speed.clone());
        Ok(Some(speed))
    }

    /// The speed of `setup`, which the row is with `changes`. Its first seeds have been
    /// `played`.
    fn speed_after(
        &self,
        mut played: Vec<Played>,
        setup: &Setup,
        changes: &[Change],
    ) -> Result<Speed, TwinFailure> {
        for seed in &self.seeds[played.len()..] {
            played.push(play(setup, *seed, changes)?);
            self.runs.fetch_add(1, Ordering::Relaxed);
        }
        let is_complete = |played: &Played| played.measured.outcome == Outcome::Complete;
        Ok(Speed {
            mbps: played.iter().map(goodput_mbps).collect(),
            is_complete: played.iter().all(is_complete),
        })
    }

    /// Runs each of `all`, as many at a time as there are processors; [`speed`](Self::speed)
    /// then knows them. `progress` is called with the number of finished ones.
    ///
    /// # Errors
    /// As [`speed`](Self::speed); the first one that came about.
    pub fn run(
        &self,
        all: &[&[Change]],
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<(), TwinFailure> {
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let work = || {
            while let Some(changes) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(found) = self.speed(changes) {
                    next.store(all.len(), Ordering::Relaxed);
                    locked(&failure).get_or_insert(found);
                }
                progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            }
        };
        let workers = thread::available_parallelism().map_or(1, |count| count.get().min(all.len()));
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    fn known(&self, changes: &[Change]) -> Option<Speed> {
        locked(&self.speeds).get(changes).cloned()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn play(setup: &Setup, seed: u64, changes: &[Change]) -> Result<Played, TwinFailure> {
    let mut scene = Scene::new(setup, seed, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(()));
    let played = played.map_err(|failure| TwinFailure {
        changes: changes.to_vec(),
        failure,
    })?;
    Ok(played.expect("nothing interrupts it"))
}

/// Goodput of the flow under study.
fn goodput_mbps(played: &Played) -> f64 {
    let flows = played.measured.flows.first();
    flows.map_or(played.measured.goodput_mbps, |flow| flow.goodput_mbps)
}
