//! Runs the setups of a search for sufficient settings, and estimates the progress of the search.
//!
//! Rule: the number of runs is unknown until the search ends, so progress is an estimate. The
//! estimate never decreases, and stays below 1.

use std::{
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use fullpipe_scenario::{
    Played, Scene, Setup,
    experiment::{Experiment, Row},
    watch::Watch,
};

use crate::{
    report::RowReport,
    run::{RunError, RunOptions, run},
};

use super::error::SizeError;

/// Largest reported progress before the search ends.
const ALMOST: f64 = 0.99;

/// Runs setups and reports progress.
pub struct Runs<'a> {
    seed: u64,
    progress: &'a (dyn Fn(f64) + Sync),
    /// Usual number of steps in a search of this kind. A step is a group of runs in parallel.
    expected: usize,
    done: AtomicUsize,
}

impl<'a> Runs<'a> {
    /// Creates the runner of a search with about `expected` steps.
    pub fn new(seed: u64, expected: usize, progress: &'a (dyn Fn(f64) + Sync)) -> Self {
        Self {
            seed,
            progress,
            expected,
            done: AtomicUsize::new(0),
        }
    }

    /// Runs `rows` (scenarios) as one step and returns their reports.
    ///
    /// # Errors
    /// Returns the error of the run that failed.
    pub fn rows(
        &self,
        experiment: &Experiment,
        rows: Vec<Row>,
    ) -> Result<Vec<RowReport>, SizeError> {
        let shares = Mutex::new(vec![0.0; rows.len()]);
        let done = self.done.fetch_add(1, Ordering::Relaxed);
        let tell = |place: usize, share: f64| {
            let mut shares = shares
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            // Keep the largest report, because reports from parallel runs may arrive out of order.
            shares[place] = share.max(shares[place]);
            let step = shares.iter().sum::<f64>() / shares.len() as f64;
            (self.progress)(self.share(done as f64 + step));
        };
        let options = RunOptions {
            progress: &tell,
            ..RunOptions::quick(self.seed)
        };
        let experiment = Experiment {
            rows,
            ..experiment.clone()
        };
        let report = run(&experiment, &options).map_err(SizeError::Run)?;
        Ok(report.rows)
    }

    /// Runs all setups as one step, each with the seed that its number selects; number 0 is the
    /// first seed. The results are in the order of `all`.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn worlds(&self, all: &[(&Setup, usize)]) -> Result<Vec<Played>, SizeError> {
        let before = self.done.fetch_add(1, Ordering::Relaxed) as f64;
        let next = AtomicUsize::new(0);
        let results = Mutex::new((0, all.iter().map(|_| None).collect::<Vec<_>>()));
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some((setup, number)) = all.get(place) else {
                    return;
                };
                let seed = self.seed.wrapping_add(*number as u64);
                let mut scene = Scene::new(setup, seed, false, Watch::NONE);
                if *number > 0 {
                    scene.check_streams_only();
                }
                let played = scene.play(&|_share| ControlFlow::Continue(()));
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                results.0 += 1;
                results.1[place] = Some(played);
                (self.progress)(self.share(before + f64::from(results.0) / all.len() as f64));
            }
        };
        let workers = thread::available_parallelism().map_or(1, |count| count.get().min(all.len()));
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
        let (_, results) = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        let played = results.into_iter().map(|played| {
            let played = played.expect("every world has run").map_err(|failure| {
                SizeError::Run(RunError::World {
                    row: "path".to_string(),
                    failure,
                })
            })?;
            Ok(played.expect("nothing interrupts it"))
        });
        played.collect()
    }

    /// Runs and explains the only row (scenario) of `experiment`. Called after the runs of the
    /// search.
    ///
    /// # Errors
    /// Fails if the run fails.
    pub fn explain(&self, experiment: &Experiment) -> Result<RowReport, SizeError> {
        let report = run(experiment, &RunOptions::plain(self.seed));
        let mut report = report.map_err(SizeError::Run)?;
        Ok(report.rows.swap_remove(0))
    }

    /// Returns the estimated share of the search that is finished after `steps` steps.
    fn share(&self, steps: f64) -> f64 {
        (steps / self.expected as f64).min(ALMOST)
    }
}
