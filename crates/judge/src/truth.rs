//! Finds the lever (the setting to change) that helps most, by trying all levers.
//!
//! Rule: levers of the hosts come first, because somebody can set them. The best lever of the
//! hosts, or their best combination, is the truth if its gain is at least 2 % and more than twice
//! the gain's error. Otherwise the truth is the best of the other levers. Every lever is tried with
//! few seeds. Levers that may be the best are then measured with other seeds.

use fullpipe_explain::{Ample, Change, Lever, levers_of};

use crate::{
    family::{NOTHING, SEVERAL, family},
    runs::{Failure, Gain, LEAST, MEASURING, Runs},
    together,
    world::World,
};

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
}

/// A world (a random transfer) after all its levers were tried.
pub struct Truth {
    pub(crate) runs: Runs,
    /// Every lever of the world.
    pub levers: Vec<Lever>,
    /// Largest gain of each lever over the lever's values (see [`changes`](Self::changes)),
    /// measured with few seeds.
    pub(crate) rough: Vec<f64>,
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
}

impl Truth {
    /// Tries every lever of `world`.
    ///
    /// # Errors
    /// Fails if a checker of the simulator found a violation.
    pub fn of(world: &World) -> Result<Self, Failure> {
        let runs = Runs::of(world.setup(), world.number)?;
        let measured = runs.measured()?;
        let setup = runs.setup();
        let ample = Ample::of(setup, measured.goodput_mbps * 1e6, measured.srtt_ms / 1e3);
        let levers = levers_of(setup, ample);
        let (rough, mut contenders) = try_all(&runs, &levers)?;
        if let Some(found) = together::best(&runs, &levers, &rough)? {
            let gain = runs.rough_gain(&found.changes)?.unwrap_or(Gain::NONE);
            contenders.push(Contender {
                names: found
                    .places
                    .iter()
                    .map(|place| levers[*place].name.clone())
                    .collect(),
                changes: found.changes,
                is_of_host: true,
                family: SEVERAL.into(),
                rough: gain.share,
            });
        }
        contenders.sort_by(|a, b| b.rough.total_cmp(&a.rough));
        let best = contest(&runs, &contenders)?;
        Ok(Self {
            runs,
            levers,
            rough,
            best,
        })
    }

    /// Returns the lever with this name.
    pub fn lever(&self, name: &str) -> Option<&Lever> {
        self.levers.iter().find(|lever| lever.name == name)
    }

    /// The changes of these levers together: first with ample values, then with twice the present
    /// values. The ample value of an amount is too large to be the limit. If a setting takes one of
    /// several named values, the ample value is the named value to which the lever changes it. A
    /// lever that cannot be doubled has its ample value both times. `None` if a name is not the
    /// name of a lever.
    pub fn changes(&self, names: &[String]) -> Option<[Vec<Change>; 2]> {
        let levers: Option<Vec<&Lever>> = names.iter().map(|name| self.lever(name)).collect();
        let levers = levers?;
        let ample = levers.iter().flat_map(|lever| lever.ample.iter().cloned());
        let twice = levers
            .iter()
            .flat_map(|lever| lever.twice.as_ref().unwrap_or(&lever.ample).iter().cloned());
        Some([ample.collect(), twice.collect()])
    }
}

/// Tries each lever at each of its values. Returns the largest rough gain of each lever, and all
/// tries that help.
fn try_all(runs: &Runs, levers: &[Lever]) -> Result<(Vec<f64>, Vec<Contender>), Failure> {
    let mut rough = Vec::new();
    let mut contenders = Vec::new();
    for lever in levers {
        let mut most = 0.0_f64;
        for changes in lever.twice.iter().chain([&lever.ample]) {
            let gain = runs.rough_gain(changes)?.unwrap_or(Gain::NONE);
            most = most.max(gain.share);
            if gain.share > LEAST / 2.0 {
                contenders.push(Contender {
                    names: vec![lever.name.clone()],
                    changes: changes.clone(),
                    is_of_host: lever.kind.is_of_host(),
                    family: family(&lever.name, lever.kind),
                    rough: gain.share,
                });
            }
        }
        rough.push(most);
    }
    Ok((rough, contenders))
}

/// Measures the contenders among the levers of the hosts. If no lever of the hosts helps, measures
/// the other contenders.
fn contest(runs: &Runs, contenders: &[Contender]) -> Result<Best, Failure> {
    for is_of_host in [true, false] {
        let own = contenders
            .iter()
            .filter(|contender| contender.is_of_host == is_of_host);
        let mut best: Option<Best> = None;
        for contender in own.take(CONTENDERS) {
            let most = best.as_ref().map_or(0.0, |best| best.gain);
            if contender.rough < most * FAR {
                break;
            }
            let within = (0.1 * contender.rough.max(most)).max(LEAST / 4.0);
            let gain = runs.exact_gain(&contender.changes, MEASURING, within, most.max(LEAST))?;
            let Some(gain) = gain.filter(|gain| gain.is_real() && gain.share > most) else {
                continue;
            };
            best = Some(Best {
                levers: contender.names.clone(),
                changes: contender.changes.clone(),
                gain: gain.share,
                error: gain.error,
                is_of_host,
                family: contender.family.clone(),
            });
        }
        if let Some(best) = best {
            return Ok(best);
        }
    }
    Ok(Best {
        levers: Vec::new(),
        changes: Vec::new(),
        gain: 0.0,
        error: 0.0,
        is_of_host: true,
        family: NOTHING.into(),
    })
}
