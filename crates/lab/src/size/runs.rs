//! Runs the setups of a search for sufficient settings, and estimates the progress of the search.
//!
//! Rule: the number of runs is unknown until the search ends, so progress is an estimate. The
//! estimate never decreases, and stays below 1.

use std::{
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
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

/// Function that receives the finished share of a search, from any thread. After it returns
/// `ControlFlow::Break`, the search ends with [`RunError::Interrupted`].
pub type SizeProgress<'a> = dyn Fn(f64) -> ControlFlow<()> + Sync + 'a;

/// Runs setups and reports progress.
pub struct Runs<'a> {
    seed: u64,
    progress: &'a SizeProgress<'a>,
    /// True after `progress` stopped the search.
    is_over: AtomicBool,
    /// Usual number of steps in a search of this kind. A step is a group of runs in parallel.
    expected: usize,
    done: AtomicUsize,
}

impl<'a> Runs<'a> {
    /// Creates the runner of a search with about `expected` steps.
    pub fn new(seed: u64, expected: usize, progress: &'a SizeProgress<'a>) -> Self {
        Self {
            seed,
            progress,
            is_over: AtomicBool::new(false),
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
            // Keep the largest share, because reports from parallel runs may arrive out of order.
            shares[place] = share.max(shares[place]);
            let step = shares.iter().sum::<f64>() / shares.len() as f64;
            self.tell(done as f64 + step);
        };
        let is_over = || self.is_over();
        let options = RunOptions {
            progress: &tell,
            cancel: Some(&is_over),
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
                let played = scene.play(&|_share| match self.is_over() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                });
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                results.0 += 1;
                results.1[place] = Some(played);
                self.tell(before + f64::from(results.0) / all.len() as f64);
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
            played.ok_or(SizeError::Run(RunError::Interrupted))
        });
        played.collect()
    }

    /// Runs and explains the only row (scenario) of `experiment`. Called after the runs of the
    /// search.
    ///
    /// # Errors
    /// Fails if the run fails.
    pub fn explain(&self, experiment: &Experiment) -> Result<RowReport, SizeError> {
        let is_over = || self.is_over();
        let options = RunOptions {
            cancel: Some(&is_over),
            ..RunOptions::plain(self.seed)
        };
        let mut report = run(experiment, &options).map_err(SizeError::Run)?;
        Ok(report.rows.swap_remove(0))
    }

    /// Reports the progress after `steps` steps.
    fn tell(&self, steps: f64) {
        if (self.progress)(self.share(steps)).is_break() {
            self.is_over.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if the caller stopped the search.
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Returns the estimated share of the search that is finished after `steps` steps.
    fn share(&self, steps: f64) -> f64 {
        (steps / self.expected as f64).min(ALMOST)
    }
}
