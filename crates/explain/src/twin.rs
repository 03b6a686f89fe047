//! Runs the row, the transfer that is explained, with changed settings. A [`Twin`] is a simulated
//! copy of the row, and stores the results of its runs.
//!
//! Rule: a change is run with the same seeds as the unchanged row, so that a gain is the effect of
//! the change. Equal setups are run once. The number of runs depends only on counts of events,
//! never on time, so an explanation is the same on every machine. The budget (`work`) is the number
//! of events that an explanation may take.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use fullpipe_scenario::{
    Played, Scene, Setup,
    scene::{Foretold, Look, Part, shortened},
    watch::Watch,
};
use fullpipe_sim::WorldFailure;

use crate::{
    clue::Clues,
    lever::{Change, changed},
    path,
    work::Work,
};

/// Number of seeds with which each change is run, if the row's runs differ by chance.
pub const SEEDS: usize = 5;
/// Largest number of seeds with which a change is run to predict its result, or to distinguish its
/// gain from chance.
pub const MOST_SEEDS: usize = 20;
/// A mean is precise enough for a prediction if its standard error is at most this share of the
/// mean.
const CERTAIN: f64 = 0.02;
/// Smallest number of seeds after which runs with a small spread are precise enough.
const FEW_SEEDS: usize = 3;
/// A gain with at most this standard error needs no further seeds. The bound is a quarter of the
/// smallest gain that counts.
const EXACT: f64 = 0.005;

/// Further entries in each table of connections, besides two for each connection of the flows.
const SPARE_CONNECTIONS: u32 = 16;

/// Reason that an explanation has no result.
#[derive(Debug)]
pub enum TwinFailure {
    /// A checker of the simulator found a violation in a run.
    Violation {
        /// The changed settings.
        changes: Vec<Change>,
        /// The violation.
        failure: WorldFailure,
    },
    /// The caller interrupted the explanation.
    Interrupted,
}

impl fmt::Display for TwinFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Violation { changes, failure } = self else {
            return f.write_str("interrupted");
        };
        let settings = changes.iter().map(ToString::to_string);
        let settings: Vec<_> = settings.collect();
        match settings.is_empty() {
            true => write!(f, "{failure}"),
            false => write!(f, "with {}: {failure}", settings.join(" ")),
        }
    }
}

impl std::error::Error for TwinFailure {}

/// Speed of the row with one set of changes: the goodput for each seed, in Mbit/s.
#[derive(Clone, Debug)]
pub struct Speed {
    /// Goodput of the first flow for each seed.
    pub mbps: Vec<f64>,
    /// For each seed, true if the transfer completed.
    pub complete: Vec<bool>,
    /// The run with the first seed.
    pub first: Played,
    /// Clues (signs that suggest levers) of the runs with all seeds.
    pub clues: Clues,
    /// For each seed, the states that the run passed through.
    looks: Vec<Arc<[Look]>>,
}

impl Speed {
    /// The result of the first seed.
    fn first_seed(&self) -> Self {
        Self {
            mbps: vec![self.mbps[0]],
            complete: vec![self.complete[0]],
            looks: vec![Arc::clone(&self.looks[0])],
            ..self.clone()
        }
    }

    /// Returns this speed with the result of one run in place of all results.
    pub fn with_result(&self, mbps: f64, is_complete: bool) -> Self {
        Self {
            mbps: vec![mbps],
            complete: vec![is_complete],
            looks: Vec::new(),
            ..self.clone()
        }
    }

    /// Adds the results of further seeds.
    fn append(&mut self, run: &Self) {
        self.clues.add(&run.clues);
        self.mbps.extend(&run.mbps);
        self.complete.extend(&run.complete);
        self.looks.extend(run.looks.iter().cloned());
    }

    /// The mean over the seeds.
    pub fn mean_mbps(&self) -> f64 {
        self.mbps.iter().sum::<f64>() / self.mbps.len() as f64
    }

    /// Returns true if the transfer completed with every seed.
    pub fn is_complete(&self) -> bool {
        !self.complete.contains(&false)
    }

    /// Returns true if the transfer completed with every seed with which `base` completed.
    pub fn completes_with(&self, base: &Self) -> bool {
        let mut pairs = self.complete.iter().zip(&base.complete);
        pairs.all(|(own, base)| *own || !base)
    }

    /// Returns true if each seed gave the same goodput and the same end in `self` and in `other`.
    pub fn is_same(&self, other: &Self) -> bool {
        let pairs = self.mbps.iter().zip(&other.mbps);
        let mut pairs = pairs.map(|(one, other)| one.to_bits() == other.to_bits());
        self.complete == other.complete && pairs.all(|is_same| is_same)
    }

    /// Returns the results without those of the first `count` seeds; `None` if fewer than two
    /// remain.
    pub fn after(&self, count: usize) -> Option<Self> {
        let is_enough = self.mbps.len() >= count + 2;
        is_enough.then(|| Self {
            mbps: self.mbps[count..].to_vec(),
            complete: self.complete[count..].to_vec(),
            looks: self.looks[count..].to_vec(),
            ..self.clone()
        })
    }

    /// Standard error of the mean, as a share of the mean.
    fn spread(&self) -> f64 {
        let (count, mean) = (self.mbps.len() as f64, self.mean_mbps());
        let squares = self.mbps.iter().map(|mbps| (mbps - mean).powi(2));
        let variance = squares.sum::<f64>() / (count - 1.0).max(1.0);
        match mean {
            0.0 => 0.0,
            mean => (variance / count).sqrt() / mean,
        }
    }

    /// Mean goodput divided by the mean goodput of `base`, over the seeds with which both ran.
    pub fn over(&self, base: &Self) -> f64 {
        let count = self.mbps.len().min(base.mbps.len());
        let [own, base] = [self, base].map(|speed| speed.mbps[..count].iter().sum::<f64>());
        match base {
            0.0 if own > 0.0 => f64::INFINITY,
            0.0 => 1.0,
            base => own / base,
        }
    }

    /// The mean over the first `count` seeds.
    pub fn mean_mbps_of(&self, count: usize) -> f64 {
        let count = count.clamp(1, self.mbps.len());
        self.mbps[..count].iter().sum::<f64>() / count as f64
    }

    /// Standard error of [`over`](Self::over), from the pairs of runs with equal seeds.
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

/// Every run so far, by its setup and part.
type Known = Vec<(Setup, Part, Speed)>;

/// The row that is explained, and every run of it so far.
pub struct Twin<'a> {
    setup: &'a Setup,
    /// Seed of the first run.
    seed: u64,
    /// The part of the transfer that is run.
    part: Part,
    /// Number of seeds with which a change is run before the verdict may name it.
    seeds: AtomicUsize,
    /// True if the unchanged row gives the same result with every seed.
    is_steady: bool,
    /// Speed of the unchanged row; `None` before it has run.
    base: Option<Speed>,
    /// Results by setup and part.
    known: Arc<Mutex<Known>>,
    /// Number of runs so far.
    runs: Arc<AtomicUsize>,
    /// The budget of work.
    work: Arc<Work<'a>>,
}

/// Runs the whole transfer of `setup`, which is the row with `changes`. The budget does not bound
/// the run.
///
/// # Errors
/// Returns a violation that a checker of the simulator found, or an interrupted run.
pub fn of_row(
    setup: &Setup,
    seed: u64,
    changes: &[Change],
    work: &Work<'_>,
) -> Result<Played, TwinFailure> {
    let mut scene = Scene::new(setup, seed, false, Watch::NONE);
    let played = scene.play(&|_share| work.advance());
    let played = played.map_err(|failure| TwinFailure::Violation {
        changes: changes.to_vec(),
        failure,
    })?;
    let played = played.ok_or(TwinFailure::Interrupted)?;
    work.add_beside(played.steps);
    Ok(played)
}

impl<'a> Twin<'a> {
    /// Runs `part` of the unchanged row with two seeds. If no link uses random numbers and both
    /// seeds give the same result, one seed suffices for every run.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn of(
        setup: &'a Setup,
        seed: u64,
        part: Part,
        work: Arc<Work<'a>>,
    ) -> Result<Self, TwinFailure> {
        Self {
            setup,
            seed,
            part,
            seeds: AtomicUsize::new(SEEDS),
            is_steady: false,
            base: None,
            known: Arc::default(),
            runs: Arc::default(),
            work,
        }
        .begun(SEEDS)
    }

    /// Returns the twin of another setup or of another part of the transfer. The new twin shares
    /// all results and the budget with this one.
    ///
    /// # Errors
    /// Returns the errors of [`of`](Self::of).
    pub fn other<'b>(
        &self,
        setup: &'b Setup,
        part: Part,
        most_seeds: usize,
    ) -> Result<Twin<'b>, TwinFailure>
    where
        'a: 'b,
    {
        Twin {
            setup,
            seed: self.seed,
            part,
            seeds: AtomicUsize::new(SEEDS),
            is_steady: false,
            base: None,
            known: Arc::clone(&self.known),
            runs: Arc::clone(&self.runs),
            work: Arc::clone(&self.work),
        }
        .begun(most_seeds)
    }

    /// Runs the unchanged row with the number of seeds that it needs, at most `most`.
    fn begun(mut self, most: usize) -> Result<Self, TwinFailure> {
        let both = self.forced(&[], 2)?.expect("the row itself is valid");
        let is_random = path::is_random(self.setup);
        let by_chance = is_random || both.mbps[0].to_bits() != both.mbps[1].to_bits();
        let seeds = if by_chance { most } else { 1 };
        let base = self.forced(&[], seeds)?;
        let base = base.expect("the row itself is valid");
        self.seeds = AtomicUsize::new(seeds.min(base.mbps.len()));
        self.is_steady = !by_chance;
        self.base = Some(base);
        Ok(self)
    }

    /// Number of seeds of a run whose result decides: 1 if runs with different seeds do not differ.
    pub fn seeds(&self) -> usize {
        self.seeds.load(Ordering::Relaxed)
    }

    /// Runs `changes` with a second seed, if runs have one seed. If the two results differ, the
    /// changed row depends on chance although the unchanged row does not: all further runs have
    /// several seeds. Returns true in this case.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn notice_chance(&self, changes: &[Change]) -> Result<bool, TwinFailure> {
        if self.seeds() > 1 {
            return Ok(false);
        }
        let speed = self.speed(changes, 2)?;
        let is_other = |speed: &Speed| {
            speed
                .mbps
                .iter()
                .any(|mbps| mbps.to_bits() != speed.mbps[0].to_bits())
        };
        let is_chance = speed.as_ref().is_some_and(is_other);
        if is_chance {
            self.seeds.store(SEEDS, Ordering::Relaxed);
        }
        Ok(is_chance)
    }

    /// Number of seeds of a run that only selects the levers (things that could be changed) for
    /// further runs.
    pub fn few_seeds(&self) -> usize {
        self.seeds().min(2)
    }

    /// Number of simulated transfers so far, one for each setup and seed.
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// Returns the speed with `changes`, over enough seeds that the standard error of its mean is
    /// small; `None` if the settings are refused.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn certain(&self, changes: &[Change]) -> Result<Option<Speed>, TwinFailure> {
        let mut seeds = self.seeds();
        loop {
            let speed = self.speed(changes, seeds)?;
            let is_certain = |speed: &Speed| speed.spread() <= CERTAIN || speed.mbps.len() < seeds;
            if seeds == 1 || seeds >= MOST_SEEDS || speed.as_ref().is_none_or(is_certain) {
                return Ok(speed);
            }
            seeds *= 2;
        }
    }

    /// The budget of work.
    pub fn work(&self) -> &Work<'a> {
        &self.work
    }

    /// The speed of the unchanged row.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn base(&self) -> Result<Speed, TwinFailure> {
        let base = self.forced(&[], self.seeds())?;
        Ok(base.expect("the row itself is valid"))
    }

    /// Returns the twin that runs the whole transfer. It has the seeds of this twin, and shares all
    /// results and the budget with it. Its unchanged row has not run.
    pub fn of_whole(&self) -> Self {
        Twin {
            setup: self.setup,
            seed: self.seed,
            part: Part::WHOLE,
            seeds: AtomicUsize::new(self.seeds()),
            is_steady: false,
            base: None,
            known: Arc::clone(&self.known),
            runs: Arc::clone(&self.runs),
            work: Arc::clone(&self.work),
        }
    }

    /// Returns true if `changes` have run with `seeds` seeds.
    pub fn has(&self, changes: &[Change], seeds: usize) -> bool {
        let known = changed(self.setup, changes).and_then(|setup| self.known(&setup));
        known.is_some_and(|speed| speed.mbps.len() >= seeds)
    }

    /// Returns the speed with `changes`, over `seeds` seeds, or fewer if more would not change the
    /// result or the budget is used up. Returns `None` if the settings are refused, or if the
    /// budget allowed no run.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    pub fn speed(&self, changes: &[Change], seeds: usize) -> Result<Option<Speed>, TwinFailure> {
        self.within(changes, seeds, self.base.as_ref(), || !self.work.is_done())
    }

    /// As [`speed`](Self::speed), for changes that extend or reduce those of `like`. If the
    /// difference has no effect, the run repeats `like` and ends early.
    ///
    /// # Errors
    /// Returns the errors of [`speed`](Self::speed).
    pub fn speed_like(
        &self,
        like: &Speed,
        changes: &[Change],
        seeds: usize,
    ) -> Result<Option<Speed>, TwinFailure> {
        self.within(changes, seeds, Some(like), || !self.work.is_done())
    }

    /// As [`speed`](Self::speed), even if the budget is used up.
    pub fn forced(&self, changes: &[Change], seeds: usize) -> Result<Option<Speed>, TwinFailure> {
        self.within(changes, seeds, self.base.as_ref(), || true)
    }

    fn within(
        &self,
        changes: &[Change],
        seeds: usize,
        like: Option<&Speed>,
        may_run: impl Fn() -> bool,
    ) -> Result<Option<Speed>, TwinFailure> {
        let Some(setup) = changed(self.setup, changes) else {
            return Ok(None);
        };
        let mut speed = self.known(&setup);
        let before = speed.as_ref().map_or(0, |known| known.mbps.len());
        for number in before..seeds {
            // Once `base` is known, run the unchanged row with every requested seed, because the
            // unchanged row is the reference for all gains.
            let may_be_exact = self.base.is_none() || !changes.is_empty();
            let is_exact = |speed: &Speed| may_be_exact && self.is_exact(speed);
            if speed.as_ref().is_some_and(is_exact) || !may_run() {
                break;
            }
            // The unchanged row repeats its first result if it does not depend on chance.
            let repeated = speed
                .as_ref()
                .filter(|_| self.is_steady && changes.is_empty());
            if let Some(first) = repeated.map(Speed::first_seed) {
                speed.iter_mut().for_each(|speed| speed.append(&first));
                continue;
            }
            let run = self.play(&setup, number, changes, like)?;
            let speed = speed.get_or_insert_with(|| Speed {
                mbps: Vec::new(),
                complete: Vec::new(),
                first: run.first.clone(),
                looks: Vec::new(),
                clues: Clues::default(),
            });
            speed.append(&run);
        }
        if let Some(speed) = speed.as_ref().filter(|speed| speed.mbps.len() > before) {
            let mut all = locked(&self.known);
            all.retain(|(known, part, _)| *part != self.part || *known != setup);
            all.push((setup, self.part, speed.clone()));
        }
        Ok(speed)
    }

    fn known(&self, setup: &Setup) -> Option<Speed> {
        let all = locked(&self.known);
        let mut own = all.iter().filter(|(_, part, _)| *part == self.part);
        let own = own.find(|(known, ..)| known == setup);
        own.map(|(.., speed)| speed.clone())
    }

    /// Returns true if runs with further seeds would hardly change the result.
    fn is_exact(&self, speed: &Speed) -> bool {
        if !self.work.is_bounded() {
            return false;
        }
        let base = self.base.as_ref();
        let count = speed.mbps.len();
        let is_same = |base: &Speed| speed.mbps == base.mbps[..count.min(base.mbps.len())];
        let error = match base {
            Some(base) => speed.error(base),
            None => speed.spread(),
        };
        (count >= 2 && base.is_some_and(is_same)) || (count >= FEW_SEEDS && error <= EXACT)
    }

    /// Runs seed `number` of `setup`, which is the row with `changes`. Ends the run early if it
    /// repeats `like`.
    fn play(
        &self,
        setup: &Setup,
        number: usize,
        changes: &[Change],
        like: Option<&Speed>,
    ) -> Result<Speed, TwinFailure> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let seed = self.seed.wrapping_add(number as u64);
        let lean = lean(setup);
        let lean = shortened(&lean, self.part.share).unwrap_or(lean);
        let mut scene = Scene::new(&lean, seed, false, Watch::NONE);
        scene.check_streams_only();
        let looks = like.and_then(|like| like.looks.get(number));
        let looks = looks.map_or(&[][..], |looks| &looks[..]);
        let run = scene.foretell(self.part, looks, &|| self.work.advance());
        let run = run.map_err(|failure| TwinFailure::Violation {
            changes: changes.to_vec(),
            failure,
        })?;
        let run: Foretold = run.ok_or(TwinFailure::Interrupted)?;
        self.work.add(run.played.steps);
        // Take the result of `like`: a run that repeats `like` ends early.
        if let Some(like) = like.filter(|_| run.is_known) {
            return Ok(Speed {
                mbps: vec![like.mbps[number]],
                complete: vec![like.complete[number]],
                looks: vec![Arc::clone(&like.looks[number])],
                ..like.clone()
            });
        }
        let clues = Clues::of(setup, &run.played);
        Ok(Speed {
            mbps: vec![run.mbps],
            complete: vec![run.is_complete],
            first: run.played,
            looks: vec![run.looks.into()],
            clues,
        })
    }

    /// Runs the row with each set of changes in `all`, one run on each processor at a time;
    /// [`speed`](Self::speed) then finds the results. Calls `progress` with the number of finished
    /// runs.
    ///
    /// # Errors
    /// Returns the first error of [`speed`](Self::speed).
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

/// Events of one run of the row whose own runs are `played`.
pub fn steps(played: &Played) -> f64 {
    played.steps.max(1) as f64 / f64::from(played.worlds.max(1))
}

/// Returns `setup` with shorter tables of connections, because filling a table of thousands of
/// entries takes longer than simulating a short transfer. Each table has at most two entries for
/// each connection of all flows, and [`SPARE_CONNECTIONS`] more, so no host runs out of entries.
fn lean(setup: &Setup) -> Setup {
    let connections = setup.flows.iter().map(|flow| flow.count).sum::<u32>();
    let needed = connections * 2 + SPARE_CONNECTIONS;
    let mut lean = setup.clone();
    for host in &mut lean.hosts {
        let stack = &mut host.config.stack;
        for table in [
            &mut stack.connections,
            &mut stack.half_open,
            &mut stack.time_wait_entries,
        ] {
            *table = needed.min(*table);
        }
    }
    lean
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
