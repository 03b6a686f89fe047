//! The matrix of a row (one transfer of an experiment): every lever (thing that could be changed)
//! with its gain, alone and in the best combination.
//!
//! Rule: each number comes from a run. To find levers that help only together, all resources of the
//! hosts are made ample (so large that more would not help) at once, first alone and then with each
//! rule. Each lever whose removal costs almost nothing is then removed from the best of these
//! combinations.

use serde::Serialize;

use std::sync::Arc;

use crate::{
    lever::{Ample, Change, Lever, LeverKind, changed},
    levers,
    twin::{Speed, Twin, TwinFailure},
    work::Work,
};
use fullpipe_scenario::{experiment::Setup, scene::Part};

/// A combination is reported only if its goodput is more than this many times the best goodput of a
/// single lever of the hosts.
const WORTH: f64 = 1.02;
/// A lever is removed from a combination if at least this share of the gain remains.
const KEPT: f64 = 0.98;

/// Every lever of a row, with the results of its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// Label of the row.
    pub row: String,
    /// Seed of the first run.
    pub seed: u64,
    /// Number of seeds of each run; 1 if the runs do not differ by chance.
    pub seeds: usize,
    /// Goodput of the unchanged row's first flow, in Mbit/s: the mean over the seeds.
    pub goodput_mbps: f64,
    /// False if the unchanged transfer does not end with all bytes.
    pub is_complete: bool,
    /// Every lever, the largest gain first.
    pub levers: Vec<MatrixLine>,
    /// The best combination of the hosts' levers, if its goodput clearly exceeds the goodput of
    /// every single lever of the hosts.
    pub together: Option<Together>,
    /// Number of simulated transfers, one for each setup and seed.
    pub runs: usize,
}

/// A lever and its gains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixLine {
    /// The lever's name: the name of its first setting, followed by the value if the setting takes
    /// one of several named values.
    pub lever: String,
    /// The setting of the host's system that makes the ample change, with its value; absent if the
    /// system has no such setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// The part of the transfer that the lever changes.
    pub kind: LeverKind,
    /// Result with about twice the present amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twice: Option<Tried>,
    /// Result with the ample amount.
    pub ample: Tried,
}

/// Result of one change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The changed settings, as `--set` takes them.
    pub changes: Vec<Change>,
    /// Goodput of the first flow, in Mbit/s: the mean over the seeds.
    pub goodput_mbps: f64,
    /// Gain as a share of the unchanged goodput; 0.1 is 10 % more.
    pub gain_share: f64,
    /// Standard error of the gain; 0 if the runs do not differ by chance.
    pub error_share: f64,
    /// False if the transfer did not end with all bytes.
    pub is_complete: bool,
}

/// Levers that are changed together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Together {
    /// Names of the levers.
    pub levers: Vec<String>,
    /// The result.
    pub tried: Tried,
}

impl MatrixLine {
    /// The larger gain of `twice` and `ample`; a run that did not end with all bytes is ignored.
    pub fn best_gain(&self) -> f64 {
        let runs = self.twice.iter().chain([&self.ample]);
        let gains = runs
            .filter(|tried| tried.is_complete)
            .map(|tried| tried.gain_share);
        gains.fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Runs `setup` with every lever. Calls `progress` with the number of finished runs and the number
/// of all runs.
///
/// # Errors
/// Returns a violation that a checker of the simulator found.
pub fn matrix(
    row: &str,
    setup: &Setup,
    seed: u64,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Matrix, TwinFailure> {
    let twin = Twin::of(setup, seed, Part::WHOLE, Arc::new(Work::any()))?;
    let base = twin.base()?;
    let measured = &base.first.measured;
    let ample = Ample::of(setup, measured.goodput_mbps * 1e6, measured.srtt_ms / 1e3);
    let levers = levers::all(setup, ample);
    let combinations = combinations(setup, &levers);
    let singles = levers.iter().flat_map(|lever| {
        let twice = lever.twice.as_deref();
        twice.into_iter().chain([lever.ample.as_slice()])
    });
    let together = combinations.iter().map(|(_, changes)| changes.as_slice());
    let all: Vec<&[Change]> = singles.chain(together).collect();
    twin.run(&all, &|done| progress(done, all.len()))?;
    let tried = |changes: &[Change]| -> Result<Option<Tried>, TwinFailure> {
        let speed = twin.speed(changes, twin.seeds())?;
        Ok(speed.map(|speed| tried(changes, &speed, &base)))
    };
    let mut lines = Vec::new();
    for lever in &levers {
        let twice = lever.twice.as_deref().map(&tried).transpose()?.flatten();
        let Some(ample) = tried(&lever.ample)? else {
            continue;
        };
        lines.push(MatrixLine {
            lever: lever.name.clone(),
            called: lever.called.clone(),
            kind: lever.kind,
            twice,
            ample,
        });
    }
    lines.sort_by(|a, b| b.best_gain().total_cmp(&a.best_gain()));
    let together = best_together(&twin, &base, &levers, &combinations)?;
    Ok(Matrix {
        row: row.to_string(),
        seed,
        seeds: twin.seeds(),
        goodput_mbps: base.mean_mbps(),
        is_complete: base.is_complete(),
        levers: lines,
        together,
        runs: twin.runs(),
    })
}

fn tried(changes: &[Change], speed: &Speed, base: &Speed) -> Tried {
    Tried {
        changes: changes.to_vec(),
        goodput_mbps: speed.mean_mbps(),
        gain_share: speed.over(base) - 1.0,
        error_share: speed.error(base),
        is_complete: speed.is_complete(),
    }
}

/// Indices of the levers that are changed together, and their changes.
type Combination = (Vec<usize>, Vec<Change>);

/// Returns all resources of the hosts as one combination, and these resources with each rule as
/// further combinations. Omits a resource that cannot be set together with the earlier ones.
fn combinations(setup: &Setup, levers: &[Lever]) -> Vec<Combination> {
    let of = |kind: LeverKind| -> Vec<usize> {
        let places = levers.iter().enumerate();
        places
            .filter(|(_, lever)| lever.kind == kind)
            .map(|(place, _)| place)
            .collect()
    };
    let resources = of(LeverKind::Resource);
    let with_rule = of(LeverKind::Rule).into_iter().map(|rule| {
        let all = [rule].into_iter().chain(resources.iter().copied());
        all.collect::<Vec<_>>()
    });
    let sets = [resources.clone()].into_iter().chain(with_rule);
    sets.map(|wanted| {
        let mut places = Vec::new();
        for place in wanted {
            places.push(place);
            if changed(setup, &changes_of(levers, &places)).is_none() {
                places.pop();
            }
        }
        let changes = changes_of(levers, &places);
        (places, changes)
    })
    .collect()
}

fn changes_of(levers: &[Lever], places: &[usize]) -> Vec<Change> {
    let all = places.iter().flat_map(|place| levers[*place].ample.iter());
    all.cloned().collect()
}

/// Returns the best combination without the levers that it does not need to keep its gain. Returns
/// `None` if a single lever of the hosts has nearly the same goodput.
fn best_together(
    twin: &Twin<'_>,
    base: &Speed,
    levers: &[Lever],
    combinations: &[Combination],
) -> Result<Option<Together>, TwinFailure> {
    let mut best: Option<(Vec<usize>, f64)> = None;
    for (places, changes) in combinations {
        let Some(speed) = twin.speed(changes, twin.seeds())? else {
            continue;
        };
        let ratio = if speed.is_complete() {
            speed.over(base)
        } else {
            0.0
        };
        if best.as_ref().is_none_or(|(_, most)| ratio > *most) {
            best = Some((places.clone(), ratio));
        }
    }
    let mut alone = 1.0_f64;
    for lever in levers.iter().filter(|lever| lever.kind.is_of_host()) {
        for changes in lever.twice.iter().chain([&lever.ample]) {
            let speed = twin
                .speed(changes, twin.seeds())?
                .filter(Speed::is_complete);
            alone = alone.max(speed.map_or(0.0, |speed| speed.over(base)));
        }
    }
    let Some((mut places, ratio)) = best.filter(|(_, ratio)| *ratio > alone * WORTH) else {
        return Ok(None);
    };
    let enough = 1.0 + (ratio - 1.0) * KEPT;
    // Large groups are removed first, so that few runs remove most levers.
    let mut part = places.len().div_ceil(2);
    while part > 0 && places.len() > 1 {
        let mut from = 0;
        while from < places.len() && places.len() > 1 {
            let to = (from + part).min(places.len());
            let mut fewer = places.clone();
            fewer.drain(from..to);
            let speed = twin.speed(&changes_of(levers, &fewer), twin.seeds())?;
            let is_enough =
                speed.is_some_and(|speed| speed.is_complete() && speed.over(base) >= enough);
            match is_enough && !fewer.is_empty() {
                true => places = fewer,
                false => from = to,
            }
        }
        part /= 2;
    }
    let changes = changes_of(levers, &places);
    let speed = twin.speed(&changes, twin.seeds())?;
    Ok(speed.filter(|_| places.len() > 1).map(|speed| Together {
        levers: places
            .iter()
            .map(|place| levers[*place].name.clone())
            .collect(),
        tried: tried(&changes, &speed, base),
    }))
}
