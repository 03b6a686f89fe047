//! The lever that helps most.
//!
//! Rule: the account and busy resources only choose what is run; the runs choose the cause.
//! A lever counts if it gains more than [`WORTH`] and more than twice its standard error.

use fullpipe_scenario::{
    Setup,
    path::{Path, full_segment, smallest_mtu},
    scene::Part,
};

use crate::{
    cause::Cause,
    clue::Clues,
    lever::{Ample, Change, Lever, LeverKind, changed},
    levers,
    twin::{Speed, Twin, TwinFailure},
};

/// A gain counts from this share on.
pub const WORTH: f64 = 0.02;
/// A value suffices, and a lever can be left out, if this share of the gain stays.
pub const KEPT: f64 = 0.98;
/// Two causes whose speeds differ by less than this share are both named.
const EQUAL: f64 = 0.05;
/// Levers together have at least this many times the gain of each of them alone.
const TOGETHER: f64 = 1.25;
/// A lever joins others if the gain becomes at least this many times what it was.
const JOINS: f64 = 1.1;
/// Headers of a segment with timestamps, in bytes.
const USUAL_OVERHEAD: u64 = 52;
/// Rounds in which an ample resource may show the next one that is scarce.
const ROUNDS: usize = 3;
/// Speeds that differ by less than this share are the same.
const SAME: f64 = 0.001;
/// Levers that are run with all seeds after all have run with few.
const FINALISTS: usize = 4;

/// The result of a run with one lever, or with several.
#[derive(Clone, Debug)]
pub struct Gain {
    /// The levers, by their places in the list.
    pub places: Vec<usize>,
    /// Their settings.
    pub changes: Vec<Change>,
    /// The speed.
    pub speed: Speed,
    /// Goodput over that of the unchanged row.
    pub ratio: f64,
    /// Standard error of `ratio`.
    pub error: f64,
    /// True if the changed transfer ends, and the unchanged one does not.
    pub ends: bool,
}

impl Gain {
    /// Returns true if the gain is worth a change, and not chance.
    pub fn is_worth(&self) -> bool {
        self.ends || (self.speed.is_complete && self.ratio - 1.0 > WORTH.max(2.0 * self.error))
    }

    /// Order of gains: transfers that end, then the faster one.
    fn rank(&self) -> (bool, bool, f64) {
        (self.ends, self.speed.is_complete, self.ratio)
    }

    /// Returns true if this is faster than `other`.
    fn beats(&self, other: &Self) -> bool {
        let [own, other] = [self.rank(), other.rank()];
        (own.0, own.1) > (other.0, other.1)
            || ((own.0, own.1) == (other.0, other.1) && own.2 > other.2)
    }

    /// Returns true if both are about as fast.
    pub fn equals(&self, other: &Self) -> bool {
        self.ends == other.ends && (self.ratio / other.ratio - 1.0).abs() < EQUAL
    }
}

/// The levers of the hosts that were run.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// Single levers, the best first.
    pub singles: Vec<Gain>,
    /// Levers that help only together: none of them alone does half of it.
    pub together: Option<Gain>,
    /// A run of many ample resources, and those among them that do not matter in it.
    pub idle: Option<(Gain, Vec<usize>)>,
}

/// A row, its levers, and what is known of them.
pub struct Search<'a> {
    setup: &'a Setup,
    /// The runs.
    pub twin: Twin<'a>,
    /// The unchanged row.
    pub base: Speed,
    /// Every lever.
    pub levers: Vec<Lever>,
    clues: Clues,
}

impl<'a> Search<'a> {
    /// Prepares the search for `setup`, of which `part` is run.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn new(setup: &'a Setup, seed: u64, part: Part) -> Result<Self, TwinFailure> {
        let twin = Twin::of(setup, seed, part)?;
        let base = twin.base()?;
        let measured = &base.first.measured;
        let ample = Ample::of(setup, base.mean_mbps() * 1e6, measured.srtt_ms / 1e3);
        Ok(Self {
            setup,
            levers: levers::all(setup, ample),
            clues: Clues::of(setup, &base.first),
            twin,
            base,
        })
    }

    /// Leaves the levers of `causes` out.
    pub fn without(&mut self, causes: &[Cause]) {
        self.levers.retain(|lever| !causes.contains(&lever.cause));
    }

    /// The result of a run with `changes`, which are those of the levers at `places`; `None`
    /// if they are refused.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn gain(
        &self,
        places: &[usize],
        changes: &[Change],
        seeds: usize,
    ) -> Result<Option<Gain>, TwinFailure> {
        let speed = self.twin.speed(changes, seeds)?;
        Ok(speed.map(|speed| Gain {
            places: places.to_vec(),
            changes: changes.to_vec(),
            ratio: speed.over(&self.base),
            error: speed.error(&self.base),
            ends: speed.is_complete && !self.base.is_complete,
            speed,
        }))
    }

    /// The better of a lever's two values. The smaller one is run only if the ample one does
    /// not help: too much of a resource can harm.
    fn of_lever(&self, place: usize, seeds: usize) -> Result<Option<Gain>, TwinFailure> {
        let lever = &self.levers[place];
        let ample = self.gain(&[place], &lever.ample, seeds)?;
        let is_amount = matches!(lever.kind, LeverKind::Resource | LeverKind::Path);
        let Some(twice) = lever.twice.as_ref().filter(|_| is_amount) else {
            return Ok(ample);
        };
        // An ample amount that changes nothing makes a smaller one needless.
        let is_settled = |gain: &Gain| gain.is_worth() || (gain.ratio - 1.0).abs() < SAME;
        if ample.as_ref().is_some_and(is_settled) {
            return Ok(ample);
        }
        let twice = self.gain(&[place], twice, seeds)?;
        Ok(match (ample, twice) {
            (Some(ample), Some(twice)) if ample.beats(&twice) => Some(ample),
            (ample, twice) => twice.or(ample),
        })
    }

    /// Runs the levers at `places`: all with few seeds, the best with all seeds. The best
    /// comes first.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn singles(&self, places: &[usize]) -> Result<Vec<Gain>, TwinFailure> {
        let mut gains = Vec::new();
        for place in places {
            gains.extend(self.of_lever(*place, self.twin.few_seeds())?);
        }
        self.settle(&mut gains)?;
        Ok(gains)
    }

    /// Sorts `gains` after the best have run with all seeds.
    fn settle(&self, gains: &mut [Gain]) -> Result<(), TwinFailure> {
        self.sort(gains);
        let Some(best) = gains.first().cloned() else {
            return Ok(());
        };
        // Only those that may be the best or its rival deserve more runs.
        let is_near = |gain: &Gain| {
            gain.is_worth()
                && gain.ends == best.ends
                && gain.ratio * (1.0 + 2.0 * EQUAL) >= best.ratio
        };
        for gain in gains
            .iter_mut()
            .take(FINALISTS)
            .filter(|gain| is_near(gain))
        {
            let again = self.gain(&gain.places, &gain.changes, self.twin.seeds())?;
            *gain = again.expect("it has run before");
        }
        self.sort(gains);
        Ok(())
    }

    /// The levers of the hosts that help, alone and together.
    ///
    /// `deep`: also resources together with one rule. Resources are first made ample all at once: if that changes nothing, none of them
    /// matters, and otherwise the fewest that keep the gain are found by halves. Only these
    /// are run alone, with all rules that the account suggests.
    ///
    /// # Errors
    /// A violation that a checker of the simulator found.
    pub fn of_hosts(&self, deep: bool) -> Result<Hosts, TwinFailure> {
        let (clues, all) = self.all_resources()?;
        let is_same = |gain: &Gain| {
            gain.speed.is_complete == self.base.is_complete && (gain.ratio - 1.0).abs() < SAME
        };
        let fewest = match all.is_worth() {
            true => self.fewest(all.clone())?,
            false => None,
        };
        // Without any effect of all together, none of them matters. Those that can be removed
        // from a gain may still be another way to it.
        let (alone, idle) = match &fewest {
            Some(fewest) => (fewest.places.clone(), Vec::new()),
            None if is_same(&all) => (Vec::new(), all.places.clone()),
            None => (all.places.clone(), Vec::new()),
        };
        let mut singles = self.singles(&alone)?;
        singles.extend(self.singles(&self.suggested(&self.clues, |kind| kind == LeverKind::Rule))?);
        self.settle(&mut singles)?;
        let best = singles.first().map_or(1.0, |best| best.ratio.max(1.0));
        let is_more = |gain: &Gain, than: f64| {
            gain.is_worth() && (gain.ratio - 1.0) > (than - 1.0) * TOGETHER
        };
        let mut together = fewest.filter(|gain| is_more(gain, best));
        let alone = together.as_ref().map_or(best, |gain| gain.ratio);
        let with_rule = match deep {
            true => self.with_rules(&clues, &all.places, &singles)?,
            false => None,
        };
        let with_rule = with_rule.filter(|gain| gain.beats(&all) && is_more(gain, alone));
        if let Some(gain) = with_rule {
            let fewest = self.fewest(gain)?;
            together = fewest.filter(|gain| is_more(gain, alone)).or(together);
        }
        if deep {
            let joined = self.joined(together.as_ref(), &singles)?;
            together = joined.filter(|gain| is_more(gain, best)).or(together);
        }
        Ok(Hosts {
            together: together.filter(|gain| gain.places.len() > 1),
            idle: Some((all, idle)).filter(|(_, idle)| !idle.is_empty()),
            singles,
        })
    }

    /// All scarce resources made ample, with those that this shows to be scarce next, and the
    /// clues of all these runs; the row itself if the account suggests none.
    fn all_resources(&self) -> Result<(Clues, Gain), TwinFailure> {
        let mut clues = self.clues.clone();
        let mut best: Option<Gain> = None;
        for _ in 0..ROUNDS {
            let mut wanted = self.suggested(&clues, |kind| kind == LeverKind::Resource);
            // The first ones are the first to be removed: those that no system has a name for.
            wanted.sort_by_key(|place| self.levers[*place].called.is_some());
            let places = self.without_contradiction(&wanted);
            if places.is_empty() || best.as_ref().is_some_and(|best| best.places == places) {
                break;
            }
            let changes = self.changes_of(&places);
            let Some(gain) = self.gain(&places, &changes, self.twin.few_seeds())? else {
                break;
            };
            clues.add(&Clues::of(self.setup, &gain.speed.first));
            if best.as_ref().is_none_or(|best| !best.beats(&gain)) {
                best = Some(gain);
            }
        }
        let nothing = || {
            let gain = self.gain(&[], &[], self.twin.seeds());
            gain.map(|gain| gain.expect("the row itself is valid"))
        };
        Ok((clues, best.map_or_else(nothing, Ok)?))
    }

    /// The best of the resources at `places`, all ample, with one rule in addition.
    fn with_rules(
        &self,
        clues: &Clues,
        places: &[usize],
        singles: &[Gain],
    ) -> Result<Option<Gain>, TwinFailure> {
        let mut best: Option<Gain> = None;
        for rule in self.rules_to_combine(clues, singles) {
            let places = self.without_contradiction(&[&[rule], places].concat());
            let changes = self.changes_of(&places);
            let gain = self.gain(&places, &changes, self.twin.few_seeds())?;
            if let Some(gain) = gain
                && best.as_ref().is_none_or(|best| gain.beats(best))
            {
                best = Some(gain);
            }
        }
        Ok(best)
    }

    /// Sorts gains, the best first. Of equal ones a setting that the host's system has comes
    /// first, then the one that changes fewer settings.
    fn sort(&self, gains: &mut [Gain]) {
        let effort = |gain: &Gain| {
            let lever = &self.levers[gain.places[0]];
            let is_hardware = lever.kind == LeverKind::Processor && lever.field != "cpu";
            let has_name = lever.called.is_some();
            (is_hardware, !has_name, gain.changes.len(), gain.places[0])
        };
        let nearly = |gain: &Gain| {
            let (ends, complete, ratio) = gain.rank();
            // Steps of half a percent.
            (
                ends,
                complete,
                (ratio.max(1e-9).ln() / 0.005).round() as i64,
            )
        };
        gains.sort_by(|one, other| {
            let by_speed = nearly(other).cmp(&nearly(one));
            by_speed.then_with(|| effort(one).cmp(&effort(other)))
        });
    }

    /// Places of the levers of some kinds that `clues` suggest.
    fn suggested(&self, clues: &Clues, is_wanted: impl Fn(LeverKind) -> bool) -> Vec<usize> {
        let all = self.levers.iter().enumerate();
        let found = all.filter(|(_, lever)| {
            is_wanted(lever.kind) && (lever.clues.is_empty() || clues.suggest(lever.clues))
        });
        found.map(|(place, _)| place).collect()
    }

    /// Returns true if the first flow's path carries as much payload as it can: no lever of a
    /// host can then gain [`WORTH`]. Not known where other flows share the path, or where
    /// segments could be larger.
    pub fn is_path_full(&self) -> bool {
        let setup = self.setup;
        let segment = full_segment(setup);
        let payload_bps = Path::of(setup, segment).payload_bps;
        let is_alone = setup.flows.len() == 1 && !setup.flow().is_udp();
        let is_large = segment + USUAL_OVERHEAD >= smallest_mtu(setup);
        is_alone
            && is_large
            && payload_bps.is_finite()
            && self.base.mean_mbps() * 1e6 * (1.0 + WORTH) >= payload_bps
    }

    /// Places of the levers of the path.
    pub fn of_path(&self) -> Vec<usize> {
        self.suggested(&self.clues, |kind| kind == LeverKind::Path)
    }

    /// Places of the levers of applications, processors and path.
    pub fn of_others(&self) -> Vec<usize> {
        self.suggested(&self.clues, |kind| !kind.is_of_host())
    }

    /// The best lever or levers, and those of the helpful `singles` that help in addition.
    fn joined(
        &self,
        together: Option<&Gain>,
        singles: &[Gain],
    ) -> Result<Option<Gain>, TwinFailure> {
        let Some(mut best) = together
            .or(singles.first())
            .filter(|best| best.is_worth())
            .cloned()
        else {
            return Ok(None);
        };
        for other in singles
            .iter()
            .filter(|other| other.is_worth())
            .take(FINALISTS)
        {
            let place = other.places[0];
            let is_other = |known: &usize| self.levers[*known].field == self.levers[place].field;
            if best.places.iter().any(is_other) {
                continue;
            }
            let places = [best.places.as_slice(), &[place]].concat();
            let changes = [best.changes.as_slice(), other.changes.as_slice()].concat();
            let gain = self.gain(&places, &changes, self.twin.seeds())?;
            if let Some(gain) = gain
                && gain.speed.is_complete
                && gain.ratio - 1.0 >= (best.ratio - 1.0) * JOINS
            {
                best = gain;
            }
        }
        Ok(Some(best))
    }

    /// Rules that are combined with ample resources: each congestion control, window scaling, and
    /// those that help alone.
    fn rules_to_combine(&self, clues: &Clues, singles: &[Gain]) -> Vec<usize> {
        let rules = self.suggested(clues, |kind| kind == LeverKind::Rule);
        let helps = |place: usize| {
            let mut own = singles.iter().filter(|gain| gain.places == [place]);
            own.any(Gain::is_worth)
        };
        // A window above 65,535 bytes takes both a larger buffer and window scaling.
        let is_control = |place: usize| {
            ["tcp.congestion", "tcp.window_scaling"].contains(&self.levers[place].field)
        };
        let wanted = rules.into_iter();
        wanted
            .filter(|place| is_control(*place) || helps(*place))
            .collect()
    }

    /// `wanted` without the levers that contradict those before them.
    fn without_contradiction(&self, wanted: &[usize]) -> Vec<usize> {
        let mut places = Vec::new();
        for place in wanted {
            places.push(*place);
            if changed(self.setup, &self.changes_of(&places)).is_none() {
                places.pop();
            }
        }
        places
    }

    /// The ample settings of several levers.
    fn changes_of(&self, places: &[usize]) -> Vec<Change> {
        let all = places
            .iter()
            .flat_map(|place| self.levers[*place].ample.iter());
        all.cloned().collect()
    }

    /// The fewest levers of `whole` that keep its gain.
    fn fewest(&self, whole: Gain) -> Result<Option<Gain>, TwinFailure> {
        let seeds = self.twin.seeds();
        let again = self.gain(&whole.places, &whole.changes, seeds)?;
        let Some(mut whole) = again else {
            return Ok(None);
        };
        let enough = 1.0 + (whole.ratio - 1.0) * KEPT;
        // Tries to remove large groups first, so that few runs remove most levers.
        let mut part = whole.places.len().div_ceil(2);
        while part > 0 && whole.places.len() > 1 {
            let mut from = 0;
            while from < whole.places.len() && whole.places.len() > 1 {
                let to = (from + part).min(whole.places.len());
                let mut fewer = whole.places.clone();
                fewer.drain(from..to);
                let gain = match fewer.is_empty() {
                    true => None,
                    false => self.gain(&fewer, &self.changes_of(&fewer), seeds)?,
                };
                match gain {
                    Some(gain) if gain.ratio >= enough && gain.ends == whole.ends => whole = gain,
                    _ => from = to,
                }
            }
            part /= 2;
        }
        Ok(Some(whole))
    }
}
