//! Runs a world (a random transfer) with changed settings, and computes gains with their errors.
//!
//! Rule: a gain compares runs with equal seeds. A lever (a change) is chosen with some seeds and
//! measured with other seeds, because by chance the best of many useless levers looks useful.

use std::{cell::RefCell, collections::HashMap, fmt, ops::ControlFlow, ops::Range};

use fullpipe_explain::Change;
use fullpipe_pool::Rng;
use fullpipe_scenario::{Measured, Outcome, Scene, Setup, watch::Watch};

/// Smallest gain, as a share, at which a change counts as helpful.
pub const LEAST: f64 = 0.02;
/// Gain that stands for the step from a transfer without bytes to a transfer with bytes.
const FROM_NOTHING: f64 = 1e6;
/// Numbers of the seeds with which levers are chosen. Three runs are too few to distinguish a gain
/// from chance, so every lever that may be the best is measured again with other seeds.
pub const CHOOSING: Range<usize> = 0..3;
/// Numbers of the seeds for measuring gains.
pub const MEASURING: Range<usize> = 8..32;
/// Numbers of the seeds that must confirm that a result contradicts an answer.
pub const CONFIRMING: Range<usize> = 32..56;
/// Numbers of the seeds for applying advice.
pub const FOLLOWING: Range<usize> = 56..80;
/// A lever of a transfer with more segments than this is first tried with one seed: the run is long,
/// and its chances even out.
const MANY: u64 = 5_000;
/// Number of runs of the first measurement; more runs follow if the error is too large.
const FIRST: usize = 4;

/// Reason for which a world or a case has no judgement: a violated rule of the stack or the
/// simulator, or an error of the engine that explains.
#[derive(Clone, Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Result of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    /// Goodput of the flow under study, in Mbit/s.
    mbps: f64,
    /// True if the transfer ended with all its bytes.
    is_complete: bool,
    /// Segments with payload.
    segments: u64,
}

/// A gain as a share of the unchanged goodput, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Gain as a share; 0.1 is 10 % more.
    pub share: f64,
    /// Standard error of the share; 0 if runs do not differ by chance.
    pub error: f64,
}

impl Gain {
    /// Gain of settings that change nothing.
    pub const NONE: Self = Self {
        share: 0.0,
        error: 0.0,
    };

    /// Returns true if the gain is large enough and exceeds twice its error.
    pub fn is_real(self) -> bool {
        self.share >= LEAST && self.share > 2.0 * self.error
    }
}

/// A world and all its runs so far.
pub struct Runs {
    setup: Setup,
    number: u64,
    /// True if runs of the unchanged world with different seeds have different results.
    pub by_chance: bool,
    /// True if the unchanged world has more than [`MANY`] segments.
    is_long: bool,
    /// Results of finished runs, by settings and number of the seed.
    known: RefCell<HashMap<Vec<Change>, HashMap<usize, Run>>>,
    /// Number of runs so far.
    count: RefCell<usize>,
}

impl Runs {
    /// Runs the unchanged world with the seeds for choosing. `number` is the world's number.
    ///
    /// # Errors
    /// Fails if a checker of the simulator found a violation.
    pub fn of(setup: Setup, number: u64) -> Result<Self, Failure> {
        let mut runs = Self {
            setup,
            number,
            by_chance: true,
            is_long: false,
            known: RefCell::default(),
            count: RefCell::new(0),
        };
        let base = runs
            .runs(&[], CHOOSING)?
            .expect("the world itself is valid");
        runs.by_chance = base.iter().any(|run| *run != base[0]);
        runs.is_long = base.iter().any(|run| run.segments > MANY);
        Ok(runs)
    }

    /// Number of runs so far.
    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// The unchanged setup.
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Results of the unchanged world with its first seed.
    ///
    /// # Errors
    /// Fails if a checker of the simulator found a violation.
    pub fn measured(&self) -> Result<Measured, Failure> {
        play(&self.setup, self.seed(0))
    }

    fn seed(&self, number: usize) -> u64 {
        let world = Rng::seeded(self.number).fork_named("judge");
        world.fork(number as u64).next_u64() >> 1
    }

    /// The runs with `changes` and these seeds; `None` if the settings are refused.
    fn runs(&self, changes: &[Change], seeds: Range<usize>) -> Result<Option<Vec<Run>>, Failure> {
        let mut setup = None;
        let mut runs = Vec::new();
        for seed in seeds {
            if let Some(run) = self.known(changes, seed) {
                runs.push(run);
                continue;
            }
            if setup.is_none() {
                setup = changed(&self.setup, changes);
            }
            let Some(setup) = &setup else {
                return Ok(None);
            };
            let measured = play(setup, self.seed(seed)).map_err(|failure| {
                let set = changes.iter().map(|change| format!("--set {change}"));
                Failure(format!("{} {failure}", set.collect::<Vec<_>>().join(" ")))
            })?;
            *self.count.borrow_mut() += 1;
            let run = run_of(setup, &measured);
            let mut known = self.known.borrow_mut();
            known.entry(changes.to_vec()).or_default().insert(seed, run);
            runs.push(run);
        }
        Ok(Some(runs))
    }

    fn known(&self, changes: &[Change], seed: usize) -> Option<Run> {
        self.known.borrow().get(changes)?.get(&seed).copied()
    }

    /// The gain of `changes` over these seeds. Returns `None` if the settings are refused, or if
    /// more runs end without all bytes than without the changes.
    ///
    /// # Errors
    /// Fails if a checker of the simulator found a violation.
    pub fn gain(&self, changes: &[Change], seeds: Range<usize>) -> Result<Option<Gain>, Failure> {
        let Some(runs) = self.runs(changes, seeds.clone())? else {
            return Ok(None);
        };
        let base = self.runs(&[], seeds)?.expect("the world itself is valid");
        let incomplete = |runs: &[Run]| runs.iter().filter(|run| !run.is_complete).count();
        let is_worse = incomplete(&runs) > incomplete(&base);
        Ok((!is_worse).then(|| gain_over(&runs, &base)))
    }

    /// The gain with the seeds for choosing. One seed suffices if results do not differ by chance, or
    /// if the change gains nothing in a long world. Two seeds suffice if the change has no effect
    /// with either seed.
    ///
    /// # Errors
    /// Fails if a checker of the simulator found a violation.
    pub fn rough_gain(&self, changes: &[Change]) -> Result<Option<Gain>, Failure> {
        if self.is_long && self.by_chance {
            let gain = self.gain(changes, 0..1)?;
            if gain.is_none_or(|gain| gain.share < LEAST / 2.0) {
                return Ok(gain);
            }
        }
        let first = if self.by_chance { 2 } else { 1 };
        let Some(runs) = self.runs(changes, 0..first)? else {
            return Ok(None);
        };
        let base = self
            .runs(&[], 0..first)?
            .expect("the world itself is valid");
        let seeds = if runs == base || !self.by_chance {
            0..first
        } else {
            CHOOSING
        };
        self.gain(changes, seeds)
    }

    /// The gain over the first few of `seeds`. Seeds are added until twice the error of the gain is
    /// at most `within`, or until the gain is clearly below `enough`.
    ///
    /// # Errors
    /// Fails if a checker of the simulator found a violation.
    pub fn exact_gain(
        &self,
        changes: &[Change],
        seeds: Range<usize>,
        within: f64,
        enough: f64,
    ) -> Result<Option<Gain>, Failure> {
        let mut count = if self.by_chance { FIRST } else { 2 };
        loop {
            let Some(gain) = self.gain(changes, seeds.start..seeds.start + count)? else {
                return Ok(None);
            };
            let is_certain = 2.0 * gain.error <= within || gain.share + 3.0 * gain.error < enough;
            if is_certain || count == seeds.len() {
                return Ok(Some(gain));
            }
            count = (count * 2).min(seeds.len());
        }
    }

    /// The gain of the first flow without the other flows, with the seeds for measuring. Returns
    /// `None` if there is only one flow, or if more runs end without all bytes than with the other
    /// flows.
    ///
    /// # Errors
    /// Fails if a checker of the simulator found a violation.
    pub fn gain_alone(&self) -> Result<Option<Gain>, Failure> {
        if self.setup.flows.len() == 1 {
            return Ok(None);
        }
        let mut setup = self.setup.clone();
        setup.flows.truncate(1);
        let alone = Self::of(setup, self.number)?;
        let seeds = MEASURING.start..MEASURING.start + FIRST;
        let [runs, base] = [&alone, self].map(|runs| runs.runs(&[], seeds.clone()));
        let [runs, base] = [runs?, base?].map(|runs| runs.expect("the world itself is valid"));
        let complete = |runs: &[Run]| runs.iter().filter(|run| run.is_complete).count();
        let is_worse = complete(&runs) < complete(&base);
        Ok((!is_worse).then(|| gain_over(&runs, &base)))
    }

    /// Mean goodput in Mbit/s with `changes`, over the first few of `seeds`. Seeds are added until
    /// the standard error is at most 1 % of the mean. Returns `None` if the settings are refused.
    /// The second value is false if some run ended without all bytes.
    ///
    /// # Errors
    /// Fails if a checker of the simulator found a violation.
    pub fn goodput(
        &self,
        changes: &[Change],
        seeds: Range<usize>,
    ) -> Result<Option<(f64, bool)>, Failure> {
        let mut count = FIRST;
        loop {
            let Some(runs) = self.runs(changes, seeds.start..seeds.start + count)? else {
                return Ok(None);
            };
            let values: Vec<f64> = runs.iter().map(|run| run.mbps).collect();
            if count == seeds.len() || standard_error(&values) <= 0.01 * mean(&runs) {
                return Ok(Some((mean(&runs), runs.iter().all(|run| run.is_complete))));
            }
            count = (count * 2).min(seeds.len());
        }
    }
}

/// Returns `setup` with `changes`; `None` if a change is refused or the changes contradict each
/// other.
pub fn changed(setup: &Setup, changes: &[Change]) -> Option<Setup> {
    let mut setup = setup.clone();
    for change in changes {
        setup.set(&change.set, &change.to).ok()?;
    }
    setup.validate().ok().map(|()| setup)
}

fn play(setup: &Setup, seed: u64) -> Result<Measured, Failure> {
    let mut scene = Scene::new(setup, seed, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(()));
    let played = played.map_err(|failure| Failure(failure.to_string()))?;
    Ok(played.expect("nothing interrupts it").measured)
}

fn run_of(setup: &Setup, measured: &Measured) -> Run {
    Run {
        mbps: measured.first_flow_mbps(setup),
        is_complete: measured.outcome == Outcome::Complete,
        segments: measured.data_segments,
    }
}

fn mean(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.mbps).sum::<f64>() / runs.len().max(1) as f64
}

/// Standard error of the mean of `values`; 0 for fewer than two values.
fn standard_error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if count < 2.0 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / (count - 1.0) / count).sqrt()
}

/// Ratio of the mean goodputs of `runs` and `base` minus 1, and its standard error over pairs of
/// runs with equal seeds.
fn gain_over(runs: &[Run], base: &[Run]) -> Gain {
    let (mean, base_mean) = (mean(runs), mean(base));
    if base_mean == 0.0 {
        let share = if mean > 0.0 { FROM_NOTHING } else { 0.0 };
        return Gain { share, error: 0.0 };
    }
    let ratio = mean / base_mean;
    let residuals = runs.iter().zip(base);
    let residuals: Vec<f64> = residuals
        .map(|(run, base)| (run.mbps - ratio * base.mbps) / base_mean)
        .collect();
    Gain {
        share: ratio - 1.0,
        error: standard_error(&residuals),
    }
}

#[cfg(test)]
mod tests;
