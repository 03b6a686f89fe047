//! Finds levers (settings to change) of the hosts that help only together.
//!
//! Rule: a lever of the hosts is a resource (more of it limits the transfer less) or a rule
//! (another value may help or harm). These combinations are tried: all resources, all resources
//! with one rule, pairs of the levers that help most alone, and all levers that help alone. Levers
//! are then removed from the best combination as long as nearly all of its gain ([`KEPT`]) remains.
//! Levers that the judged engine lacks are removed first, so that such a lever remains only if no
//! lever of the engine replaces it.

use fullpipe_explain::{Change, LeverKind};

use crate::{
    levers::Lever,
    runs::{Failure, Gain, LEAST, Runs},
};

/// Number of levers whose pairs are all tried: the levers that help most alone.
const PAIRED: usize = 4;
/// Number of combinations that are tried with more than one seed.
const PROMISING: usize = 6;
/// Share of a combination's gain that must remain when levers are removed.
const KEPT: f64 = 0.98;

/// Levers that are changed together, as indices in the list of levers, and the changes.
pub struct Combination {
    pub places: Vec<usize>,
    pub changes: Vec<Change>,
}

/// Returns the best combination of the hosts' `places`, reduced to the fewest levers. Returns `None`
/// if the combination is not faster by [`LEAST`] than the best single lever, or if one of its levers
/// suffices. `rough` contains the rough gain of each lever, measured with few seeds. `is_known` is
/// false for levers that the engine lacks.
///
/// # Errors
/// Fails if a checker of the simulator found a violation.
pub fn best(
    runs: &Runs,
    levers: &[Lever],
    rough: &[f64],
    places: &[usize],
    is_known: &dyn Fn(usize) -> bool,
) -> Result<Option<Combination>, Failure> {
    let alone = places.iter().map(|place| rough[*place]);
    let alone = alone.fold(0.0, f64::max);
    // Run all combinations once. Only the combinations with the largest gains are run with more
    // seeds.
    let mut tries = Vec::new();
    for wanted in combinations(levers, rough, places) {
        let places = compatible(runs, levers, &wanted);
        let gain = runs.gain(&changes_of(levers, &places), 0..1)?;
        tries.push((places, gain.unwrap_or(Gain::NONE).share));
    }
    tries.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut best: Option<(Vec<usize>, f64)> = None;
    for (places, _) in tries.into_iter().take(PROMISING) {
        let gain = runs.rough_gain(&changes_of(levers, &places))?;
        let gain = gain.unwrap_or(Gain::NONE).share;
        if best.as_ref().is_none_or(|(_, most)| gain > *most) {
            best = Some((places, gain));
        }
    }
    let better = |(_, gain): &(Vec<usize>, f64)| *gain > (1.0 + alone) * (1.0 + LEAST) - 1.0;
    let Some((places, gain)) = best.filter(better) else {
        return Ok(None);
    };
    let (known, mut places): (Vec<_>, Vec<_>) =
        places.into_iter().partition(|place| is_known(*place));
    places.extend(known);
    let mut places = fewest(runs, levers, places, gain * KEPT)?;
    places.sort_unstable();
    let changes = changes_of(levers, &places);
    Ok((places.len() > 1).then_some(Combination { places, changes }))
}

/// Indices of the levers of each combination to try, all of them among `places`.
fn combinations(levers: &[Lever], rough: &[f64], places: &[usize]) -> Vec<Vec<usize>> {
    let of = |kind: LeverKind| {
        let all = places.iter().copied();
        all.filter(move |place| levers[*place].kind == kind)
    };
    let resources: Vec<_> = of(LeverKind::Resource).collect();
    let mut all = vec![resources.clone()];
    for rule in of(LeverKind::Rule) {
        all.push([&[rule], resources.as_slice()].concat());
    }
    let mut helpful = places.to_vec();
    helpful.retain(|place| rough[*place] > LEAST);
    helpful.sort_by(|a, b| rough[*b].total_cmp(&rough[*a]));
    for (rank, first) in helpful.iter().take(PAIRED).enumerate() {
        let others = helpful.iter().take(PAIRED).skip(rank + 1);
        all.extend(others.map(|second| vec![*first, *second]));
    }
    all.push(helpful);
    all.retain(|places| places.len() > 1);
    all
}

/// Returns `wanted` without levers that contradict an earlier lever of `wanted`.
fn compatible(runs: &Runs, levers: &[Lever], wanted: &[usize]) -> Vec<usize> {
    let mut setup = runs.setup().clone();
    let mut places = Vec::new();
    for place in wanted {
        let mut next = setup.clone();
        let mut changes = levers[*place].ample().iter();
        let is_set = changes.all(|change| next.set(&change.set, &change.to).is_ok());
        if is_set && next.validate().is_ok() {
            setup = next;
            places.push(*place);
        }
    }
    places
}

/// Removes levers as long as the gain stays at least `enough`. Tries to remove large groups of
/// levers first.
fn fewest(
    runs: &Runs,
    levers: &[Lever],
    mut places: Vec<usize>,
    enough: f64,
) -> Result<Vec<usize>, Failure> {
    let mut part = places.len().div_ceil(2);
    while part > 0 && places.len() > 1 {
        let mut from = 0;
        while from < places.len() && places.len() > 1 {
            let to = (from + part).min(places.len());
            let mut fewer = places.clone();
            fewer.drain(from..to);
            let gain = runs.rough_gain(&changes_of(levers, &fewer))?;
            match gain.is_some_and(|gain| gain.share >= enough) && !fewer.is_empty() {
                true => places = fewer,
                false => from = to,
            }
        }
        part /= 2;
    }
    Ok(places)
}

pub fn changes_of(levers: &[Lever], places: &[usize]) -> Vec<Change> {
    let all = places
        .iter()
        .flat_map(|place| levers[*place].ample().iter());
    all.cloned().collect()
}
