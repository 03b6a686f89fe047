//! Finds the lever (the setting to change) that helps most, by trying all levers.
//!
//! Rule: levers of the hosts come first, because somebody can set them. The best lever of the
//! hosts, or their best combination, is the truth if its gain is at least 2 % and more than twice
//! the gain's error. Otherwise the truth is the best of the other levers. Every lever is tried with
//! few seeds. Levers that may be the best are then measured with other seeds.

use fullpipe_explain::Change;
use fullpipe_scenario::{Measured, Setup};

use crate::{
    family::{MISSING, NOTHING, SEVERAL, family},
    known::Known,
    levers::{self, Lever},
    runs::{Failure, Gain, LEAST, MEASURING, Runs},
    together,
    world::World,
};

/// The named levers are right if they give at least this share of the best gain.
pub const RIGHT: f64 = 0.8;

/// Largest number of levers of the hosts that are measured; also the largest number of other levers
/// that are measured.
const CONTENDERS: usize = 8;
/// A lever cannot be the best if its rough gain (measured with few seeds) is below this share of
/// the best measured gain.
const FAR: f64 = 0.7;

/// The best levers: the changes, and their gain.
#[derive(Clone, Debug)]
pub struct Best {
    /// Names of the levers: one lever, or several that help only together; empty if no lever helps.
    pub levers: Vec<String>,
    /// The changes.
    pub changes: Vec<Change>,
    /// Gain as a share; 0.1 is 10 % more.
    pub gain: f64,
    /// Standard error of the gain.
    pub error: f64,
    /// True if the best levers are levers of the hosts.
    pub is_of_host: bool,
    /// Family of the levers, for a table.
    pub family: String,
    /// Levers among the best that the engine lacks, if the engine's other levers have less than
    /// `RIGHT` of the gain.
    pub missing: Vec<String>,
}

impl Best {
    /// No lever helps.
    fn nothing() -> Self {
        Self {
            levers: Vec::new(),
            changes: Vec::new(),
            gain: 0.0,
            error: 0.0,
            is_of_host: true,
            family: NOTHING.into(),
            missing: Vec::new(),
        }
    }
}

/// A world (a random transfer) after all its levers were tried.
pub struct Truth {
    pub(crate) runs: Runs,
    /// Every lever of the world.
    pub(crate) levers: Vec<Lever>,
    /// The levers of the engine.
    pub(crate) known: Known,
    /// The lever or levers that help most.
    pub best: Best,
}

/// Changes that may be the best.
struct Contender {
    names: Vec<String>,
    changes: Vec<Change>,
    is_of_host: bool,
    family: String,
    rough: f64,
    /// Names of the levers that the engine lacks.
    unknown: Vec<String>,
}

impl Truth {
    /// Tries every lever of `world`.
    ///
    /// # Errors
    /// Fails if a checker of the simulator found a violation.
    pub fn of(world: &World) -> Result<Self, Failure> {
        Self::against(world, Known::of)
    }

    /// As [`of`](Self::of), for an engine whose levers `known` lists.
    pub(crate) fn against(
        world: &World,
        known: impl Fn(&Setup, &Measured) -> Known,
    ) -> Result<Self, Failure> {
        let runs = Runs::of(world.setup(), world.number)?;
        let measured = runs.measured()?;
        let levers = levers::all(runs.setup(), &measured);
        let known = known(runs.setup(), &measured);
        let (rough, mut contenders) = try_all(&runs, &levers, &known)?;
        contenders.extend(combinations(&runs, &levers, &known, &rough)?);
        contenders.sort_by(|a, b| b.rough.total_cmp(&a.rough));
        let best = with_missing(&runs, &contenders)?;
        Ok(Self {
            runs,
            levers,
            known,
            best,
        })
    }

    /// Returns the judge's lever with this name.
    pub(crate) fn lever(&self, name: &str) -> Option<&Lever> {
        self.levers.iter().find(|lever| lever.name == name)
    }

    /// The changes that these names in an answer may mean: all levers at their ample values, and all
    /// at their other values. A name is looked up among the engine's levers first. One name alone
    /// also means each value of the judge's lever with this name. `None` if a name is not the name
    /// of a lever.
    pub(crate) fn changes(&self, names: &[String]) -> Option<Vec<Vec<Change>>> {
        let of = |name: &String| {
            let of_engine = self.known.lever(name).map(|lever| {
                let twice = lever.twice.as_ref().unwrap_or(&lever.ample);
                [lever.ample.clone(), twice.clone()]
            });
            of_engine.or_else(|| {
                let lever = self.lever(name)?;
                Some([lever.ample().to_vec(), lever.values[0].clone()])
            })
        };
        let levers: Option<Vec<_>> = names.iter().map(of).collect();
        let (ample, twice): (Vec<_>, Vec<_>) = levers?
            .into_iter()
            .map(|[ample, twice]| (ample, twice))
            .unzip();
        let mut all = vec![ample.concat(), twice.concat()];
        if let [name] = names {
            all.extend(
                self.lever(name)
                    .into_iter()
                    .flat_map(|lever| lever.values.clone()),
            );
        }
        Some(all)
    }
}

/// Tries each lever at each of its values. Returns the largest rough gain of each lever, and all
/// tries that help.
fn try_all(
    runs: &Runs,
    levers: &[Lever],
    known: &Known,
) -> Result<(Vec<f64>, Vec<Contender>), Failure> {
    let mut rough = Vec::new();
    let mut contenders = Vec::new();
    for lever in levers {
        let mut most = 0.0_f64;
        for changes in &lever.values {
            let gain = runs.rough_gain(changes)?.unwrap_or(Gain::NONE);
            most = most.max(gain.share);
            if gain.share > LEAST / 2.0 {
                let is_known = known.has(changes);
                contenders.push(Contender {
                    names: vec![lever.name.clone()],
                    changes: changes.clone(),
                    is_of_host: lever.kind.is_of_host(),
                    family: family(&lever.name, lever.kind),
                    rough: gain.share,
                    unknown: (!is_known)
                        .then(|| lever.name.clone())
                        .into_iter()
                        .collect(),
                });
            }
        }
        rough.push(most);
    }
    Ok((rough, contenders))
}

/// The best combination of the hosts' levers. If the engine lacks one of its levers, also the best
/// combination of the levers that the engine has.
fn combinations(
    runs: &Runs,
    levers: &[Lever],
    known: &Known,
    rough: &[f64],
) -> Result<Vec<Contender>, Failure> {
    let is_known = |place: usize| known.has(levers[place].ample());
    let hosts = (0..levers.len()).filter(|place| levers[*place].kind.is_of_host());
    let mut places: Vec<_> = hosts.collect();
    let mut found = Vec::new();
    loop {
        let best = together::best(runs, levers, rough, &places, &is_known)?;
        let Some(best) = best else {
            return Ok(found);
        };
        let name = |place: &usize| levers[*place].name.clone();
        let unknown = best.places.iter().filter(|place| !is_known(**place));
        let unknown: Vec<_> = unknown.map(name).collect();
        let is_last = unknown.is_empty();
        found.push(Contender {
            rough: runs.rough_gain(&best.changes)?.unwrap_or(Gain::NONE).share,
            names: best.places.iter().map(name).collect(),
            changes: best.changes,
            is_of_host: true,
            family: SEVERAL.into(),
            unknown,
        });
        if is_last {
            return Ok(found);
        }
        places.retain(|place| is_known(*place));
    }
}

/// The best contender. If the engine lacks one of its levers, and the contenders of the engine's
/// levers have less than `RIGHT` of its gain, these levers are missing.
fn with_missing(runs: &Runs, contenders: &[Contender]) -> Result<Best, Failure> {
    let all: Vec<_> = contenders.iter().collect();
    let (best, unknown) = contest(runs, &all)?;
    if unknown.is_empty() {
        return Ok(best);
    }
    let known = contenders.iter().filter(|own| own.unknown.is_empty());
    let same = known.filter(|own| own.is_of_host == best.is_of_host);
    let (second, _) = contest(runs, &same.collect::<Vec<_>>())?;
    if second.gain >= RIGHT * best.gain {
        return Ok(best);
    }
    Ok(Best {
        family: MISSING.into(),
        missing: unknown,
        ..best
    })
}

/// Measures the contenders among the levers of the hosts. If no lever of the hosts helps, measures
/// the other contenders. Also returns the best levers that the engine lacks.
fn contest(runs: &Runs, contenders: &[&Contender]) -> Result<(Best, Vec<String>), Failure> {
    for is_of_host in [true, false] {
        let own = contenders
            .iter()
            .filter(|contender| contender.is_of_host == is_of_host);
        let mut best: Option<(Best, Vec<String>)> = None;
        for contender in own.take(CONTENDERS) {
            let most = best.as_ref().map_or(0.0, |(best, _)| best.gain);
            if contender.rough < most * FAR {
                break;
            }
            let within = (0.1 * contender.rough.max(most)).max(LEAST / 4.0);
            let gain = runs.exact_gain(&contender.changes, MEASURING, within, most.max(LEAST))?;
            let Some(gain) = gain.filter(|gain| gain.is_real() && gain.share > most) else {
                continue;
            };
            let found = Best {
                levers: contender.names.clone(),
                changes: contender.changes.clone(),
                gain: gain.share,
                error: gain.error,
                is_of_host,
                family: contender.family.clone(),
                missing: Vec::new(),
            };
            best = Some((found, contender.unknown.clone()));
        }
        if let Some(best) = best {
            return Ok(best);
        }
    }
    Ok((Best::nothing(), Vec::new()))
}
