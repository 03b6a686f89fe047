//! Runs of the row with changes: the twins of the transfer that is explained.
//!
//! Rule: every run uses the row's own seeds, so that a gain is the effect of the change. Equal
//! runs are run once.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use fullpipe_scenario::{
    Played, Scene, Setup,
    scene::{Foretold, Part},
    watch::Watch,
};
use fullpipe_sim::WorldFailure;

use crate::{
    clue::Clues,
    lever::{Change, changed},
    path,
};

/// Seeds of a row whose runs differ by chance.
pub const SEEDS: usize = 5;
/// Most seeds of a run that predicts.
const MOST_SEEDS: usize = 20;
/// A mean is precise enough to predict if its standard error is at most this share of it.
const CERTAIN: f64 = 0.02;

/// Connections that a host may have beside those of the flows.
const SPARE_CONNECTIONS: u32 = 16;

/// A violation that a checker of the simulator found in a run.
#[derive(Debug)]
pub struct TwinFailure {
    /// The changed settings.
    pub changes: Vec<Change>,
    /// The violation.
    pub failure: WorldFailure,
}

impl fmt::Display for TwinFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { changes, failure } = self;
        let settings = changes.iter().map(|at| format!("{}={}", at.set, at.to));
        let settings: Vec<_> = settings.collect();
        match settings.is_empty() {
            true => write!(f, "{failure}"),
            false => write!(f, "with {}: {failure}", settings.join(" ")),
        }
    }
}

impl std::error::Error for TwinFailure {}

/// Speed of a run with each of its seeds, in Mbit/s of payload.
#[derive(Clone, Debug)]
pub struct Speed {
    /// Goodput of the first flow for each seed.
    pub mbps: Vec<f64>,
    /// False if a run ended without all bytes.
    pub is_complete: bool,
    /// The run with the first seed.
    pub first: Played,
    /// Clues of all runs.
    pub clues: Clues,
}

impl Speed {
    /// The mean over the seeds.
    pub fn mean_mbps(&self) -> f64 {
        self.mbps.iter().sum::<f64>() / self.mbps.len() as f64
    }

    /// Standard error of the mean, as a share of it.
    fn spread(&self) -> f64 {
        let (count, mean) = (self.mbps.len() as f64, self.mean_mbps());
        let squares = self.mbps.iter().map(|mbps| (mbps - mean).powi(2));
        let variance = squares.sum::<f64>() / (count - 1.0).max(1.0);
        match mean {
            0.0 => 0.0,
            mean => (variance / count).sqrt() / mean,
        }
    }

    /// Ratio of the mean speeds over the seeds that both have run with.
    pub fn over(&self, base: &Self) -> f64 {
        let count = self.mbps.len().min(base.mbps.len());
        let [own, base] = [self, base].map(|speed| speed.mbps[..count].iter().sum::<f64>());
        match base {
            0.0 if own > 0.0 => f64::INFINITY,
            0.0 => 1.0,
            base => own / base,
        }
    }

    /// Standard error of [`over`](Self::over): of the ratio of sums over pairs of equal seeds.
    pub fn error(&self, base: &Self) -> f64 {
        let count = self.mbps.len().min(base.mbps.len()) as f64;
        let mean = base.mbps.iter().take(count as usize).sum::<f64>() / count;
        if count < 2.0 || mean <= 0.0 {
            return 0.0;
        }
        let ratio = self.over(base);
        let pairs = self.mbps.iter().zip(&base.mbps);
        let squares = pairs.map(|(mbps, base)| ((mbps - ratio * base) / mean).powi(2));
        (squares.sum::<f64>() / (count - 1.0) / count).sqrt()
    }
}

/// The row that is explained, and every run of it so far.
pub struct Twin<'a> {
    setup: &'a Setup,
    /// Seed of the first run.
    seed: u64,
    /// The part of the transfer that is run.
    part: Part,
    /// True if runs of different seeds differ.
    by_chance: bool,
    /// Runs by their settings.
    speeds: Mutex<HashMap<Vec<Change>, Speed>>,
    /// Number of runs so far.
    runs: AtomicUsize,
}

impl<'a> Twin<'a> {
    /// Runs `part` of the row unchanged, with two seeds: if no link draws anything and both
    /// give the same result, chance plays no part.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn of(setup: &'a Setup, seed: u64, part: Part) -> Result<Self, TwinFailure> {
        let mut twin = Self {
            setup,
            seed,
            part,
            by_chance: true,
            speeds: Mutex::default(),
            runs: AtomicUsize::new(0),
        };
        let both = twin.speed(&[], 2)?.expect("the row itself is valid");
        twin.by_chance = path::is_random(setup) || both.mbps[0].to_bits() != both.mbps[1].to_bits();
        Ok(twin)
    }

    /// Number of seeds of a run that decides something: 1 if chance plays no part.
    pub fn seeds(&self) -> usize {
        if self.by_chance { SEEDS } else { 1 }
    }

    /// Number of seeds of a run that only tells which levers deserve more.
    pub fn few_seeds(&self) -> usize {
        if self.by_chance { 2 } else { 1 }
    }

    /// Number of worlds that have run.
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// The speed with `changes`, over so many seeds that the standard error of its mean is
    /// small; `None` if the settings are refused.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn certain(&self, changes: &[Change]) -> Result<Option<Speed>, TwinFailure> {
        let mut seeds = self.seeds();
        loop {
            let speed = self.speed(changes, seeds)?;
            let is_certain = |speed: &Speed| speed.spread() <= CERTAIN;
            if seeds == 1 || seeds >= MOST_SEEDS || speed.as_ref().is_none_or(is_certain) {
                return Ok(speed);
            }
            seeds *= 2;
        }
    }

    /// The speed of the unchanged row.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn base(&self) -> Result<Speed, TwinFailure> {
        let base = self.speed(&[], self.seeds())?;
        Ok(base.expect("the row itself is valid"))
    }

    /// The speed with `changes`, over at least `seeds` seeds; `None` if the settings are
    /// refused.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn speed(&self, changes: &[Change], seeds: usize) -> Result<Option<Speed>, TwinFailure> {
        let known = locked(&self.speeds).get(changes).cloned();
        if known
            .as_ref()
            .is_some_and(|known| known.mbps.len() >= seeds)
        {
            return Ok(known);
        }
        let Some(setup) = changed(self.setup, changes) else {
            return Ok(None);
        };
        let mut speed = known;
        for number in speed.as_ref().map_or(0, |known| known.mbps.len())..seeds {
            let seed = self.seed.wrapping_add(number as u64);
            let foretold = self.play(&setup, seed, changes)?;
            let known = speed.get_or_insert_with(|| Speed {
                mbps: Vec::new(),
                is_complete: true,
                first: foretold.played.clone(),
                clues: Clues::default(),
            });
            known.clues.add(&Clues::of(&setup, &foretold.played));
            known.mbps.push(foretold.mbps);
            known.is_complete &= foretold.is_complete;
        }
        let speed = speed.expect("there is at least one seed");
        locked(&self.speeds).insert(changes.to_vec(), speed.clone());
        Ok(Some(speed))
    }

    fn play(&self, setup: &Setup, seed: u64, changes: &[Change]) -> Result<Foretold, TwinFailure> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let lean = lean(setup);
        let mut scene = Scene::new(&lean, seed, false, Watch::NONE);
        scene.trust_hosts();
        scene.foretell(self.part).map_err(|failure| TwinFailure {
            changes: changes.to_vec(),
            failure,
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
                if let Err(found) = self.speed(changes, self.seeds()) {
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
}

/// `setup` with tables of connections that are only as long as its flows need. To build and
/// to drop a table of thousands takes longer than a short transfer.
fn lean(setup: &Setup) -> Setup {
    let connections = setup.flows.iter().map(|flow| flow.count).sum::<u32>();
    let needed = connections * 2 + SPARE_CONNECTIONS;
    let mut lean = setup.clone();
    for host in &mut lean.hosts {
        let stack = &mut host.config.stack;
        stack.connections = stack.connections.min(needed);
    }
    lean
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
