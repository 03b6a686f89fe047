//! Finds levers of the hosts (settings that could be changed) that, alone or together, make a
//! transfer faster.
//!
//! A lever is either a resource, such as a buffer, or a rule, such as Nagle's algorithm. Rule: the
//! scarcest resource hides the next one. Therefore all suggested resources are made ample (so large
//! that more would not help) at once, and rules are added to them one at a time. Levers that the
//! fastest combination does not need are then removed from it. The budget (`work`) bounds the
//! events of all runs.

use std::cmp::Ordering;

use crate::{
    clue::Clues,
    lever::{Change, LeverKind},
    search::{Gain, Search},
    twin::{Speed, TwinFailure},
    work::{COMBINED, CONFIRMED, EXTENDED, FEWEST, OTHERS, SINGLES},
};

/// Rounds in which ample resources may reveal the next scarce resource.
const ROUNDS: usize = 3;
/// Number of the best single levers among which all pairs are tried.
const PAIRED: usize = 4;
/// Number of combinations that are run with all seeds.
const PROMISING: usize = 4;
/// Largest combination that may be named without proof that each of its levers is needed.
const MOST_UNPROVEN: usize = 4;
/// Largest combination that may be named.
const MOST_NEEDED: usize = 8;
/// Levers are removed from a combination as long as the others keep this share of its gain. A
/// further lever that is not added may cost as much again.
const WITHOUT: f64 = 0.9;

/// Results of the runs with levers of the hosts.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// Single levers, the best first.
    pub singles: Vec<Gain>,
    /// At most two combinations of levers, the better one last. The first gains clearly more than
    /// each of its levers alone. The second adds levers to the first, or to the best single lever.
    pub together: Vec<Gain>,
    /// A combination that gains about as much as the best single lever and does not contain it.
    pub equal: Option<Gain>,
    /// A combination that gains clearly more than any single lever, but whose needless levers were
    /// not removed, because the budget ended. Set only if there is no other combination that gains as
    /// much.
    pub unproven: Option<Gain>,
}

/// Runs the levers of the hosts; if `deep`, also resources combined with rules.
///
/// # Errors
/// Returns a violation that a checker of the simulator found.
pub fn of(search: &Search<'_>, deep: bool) -> Result<Hosts, TwinFailure> {
    search.twin.work().allow(SINGLES);
    let mut clues = search.clues.clone();
    let all = with_all_resources(search, &[], &mut clues, &search.base)?;
    if let Some(all) = &all
        && all.is_worth()
    {
        search.twin.notice_chance(&all.changes)?;
    }
    // Conclude that no resource matters only if the run with all ample resources is identical to the
    // unchanged run. If the runs differ, helpful and harmful changes may cancel each other out.
    let is_same = |gain: &Gain| gain.speed.is_same(&search.base);
    // If all resources together have no effect, a single resource rarely has an effect. Run single
    // resources last in this case.
    let (mut alone, late) = match all {
        Some(all) if is_same(&all) => (Vec::new(), all.places),
        Some(all) => (all.places, Vec::new()),
        None => Default::default(),
    };
    alone.extend(search.suggested(&search.clues, |kind| kind == LeverKind::Rule));
    let mut singles = search.singles(&alone)?;
    if !singles.iter().any(Gain::is_worth) {
        // Run the levers of applications, processors and links while the budget allows, because
        // perhaps no lever of the hosts helps.
        search.twin.work().allow(OTHERS);
        search.singles(&search.of_others())?;
    }
    // If no single lever helps, combinations may take most of the budget. The rest is for the
    // levers of the path.
    let share = match Gain::first_worth(&singles) {
        Some(_) => COMBINED,
        None => CONFIRMED,
    };
    search.twin.work().allow(share);
    let mut tries = combinations(search, &mut clues, &singles, deep)?;
    tries.extend(of_helpful(search, &singles)?);
    let equal = equal_of(search, &tries, Gain::first_worth(&singles))?;
    let (best, unproven) = best_of(search, tries, Gain::first_worth(&singles))?;
    let is_together = |best: &Gain| best.places.len() > 1;
    let (together, alone): (Vec<Gain>, Vec<Gain>) = best.into_iter().partition(is_together);
    // If the best combination was reduced to one lever, count it as a single lever. Its run
    // replaces an earlier run of that lever.
    singles.retain(|known| alone.iter().all(|gain| gain.places != known.places));
    singles.extend(alone);
    search.settle(&mut singles)?;
    let (together, single) = (together.into_iter().next(), Gain::first_worth(&singles));
    search.twin.work().allow(EXTENDED);
    let more = match together.as_ref().or(single) {
        Some(best) if deep => extended(search, best, &singles)?,
        _ => None,
    };
    if !late.is_empty() {
        search.twin.work().allow(CONFIRMED);
        singles.extend(search.singles(&late)?);
        search.settle(&mut singles)?;
    }
    Ok(Hosts {
        together: together.into_iter().chain(more).collect(),
        equal,
        unproven,
        singles,
    })
}

/// Runs the levers `with` together with ample values of all resources that `clues` (signs in a run)
/// suggest. Adds to `clues` the clues of this run that the run `like` does not have. Then repeats
/// both steps, at most [`ROUNDS`] times, because the new clues may suggest further resources.
/// Returns the best of these runs. A run that repeats the events of `like` ends early. Runs with
/// rules have one seed, because only the best of them decide.
fn with_all_resources(
    search: &Search<'_>,
    with: &[usize],
    clues: &mut Clues,
    like: &Speed,
) -> Result<Option<Gain>, TwinFailure> {
    let mut best: Option<Gain> = None;
    let mut last = Vec::new();
    for _ in 0..ROUNDS {
        let mut wanted = search.suggested(clues, |kind| kind == LeverKind::Resource);
        // Put the least likely levers first, because `fewest` tries to remove levers in this order.
        // Of equally likely levers, put those without a name in the host's system first.
        wanted.sort_by_key(|place| search.levers[*place].called.is_some());
        let mut places = search.without_contradiction(&[with, &wanted].concat());
        let fixed = with.len().min(places.len());
        places[fixed..].reverse();
        search.likely_first(&search.clues, &mut places[fixed..]);
        places[fixed..].reverse();
        if places == last {
            break;
        }
        let changes = search.changes_of(&places);
        let seeds = match with {
            [] => search.twin.few_seeds(),
            _ => 1,
        };
        let Some(gain) = search.gain_like(like, (&places, &changes), seeds)? else {
            break;
        };
        clues.add(&gain.speed.clues.without(&like.clues));
        if best.as_ref().is_none_or(|best| !best.beats(&gain)) {
            best = Some(gain);
        }
        last = places;
    }
    Ok(best)
}

/// Returns combinations of ample resources, without rules and, if `deep`, with one rule. They may
/// gain more than each lever alone.
fn combinations(
    search: &Search<'_>,
    clues: &mut Clues,
    singles: &[Gain],
    deep: bool,
) -> Result<Vec<Gain>, TwinFailure> {
    let all = with_all_resources(search, &[], clues, &search.base)?;
    // A rule cannot increase the goodput of a full link.
    let is_full = |all: &Gain| search.is_full_in(&all.speed.first);
    let last = all.clone().filter(Gain::is_worth);
    // Reduce the combination before further runs, because it is the result if the budget ends here.
    let reduced = match all.clone().filter(Gain::is_worth) {
        Some(all) => Some(fewest(search, all, WITHOUT)?),
        None => None,
    };
    let mut tries: Vec<Gain> = reduced.into_iter().chain(all).collect();
    if deep && !tries.iter().any(is_full) {
        tries.extend(with_rules(search, clues, singles, last.as_ref())?);
    }
    Ok(tries)
}

/// Returns the runs of the [`PROMISING`] rules that help most together with ample resources. `all` is
/// a run of the ample resources alone.
fn with_rules(
    search: &Search<'_>,
    clues: &Clues,
    singles: &[Gain],
    all: Option<&Gain>,
) -> Result<Vec<Gain>, TwinFailure> {
    // A rule that helps once resources are ample usually leaves a clue in the run with ample
    // resources.
    let shown = all.map_or(clues, |all| &all.speed.clues);
    let like = all.map_or(&search.base, |all| &all.speed);
    let mut rules = search.suggested(clues, |kind| kind == LeverKind::Rule);
    search.likely_first(shown, &mut rules);
    helpful_first(singles, &mut rules);
    let mut gains: Vec<Gain> = Vec::new();
    for rule in rules {
        let gain = with_all_resources(search, &[rule], &mut clues.clone(), like)?;
        gains.extend(gain.filter(|gain| gain.places.first() == Some(&rule)));
    }
    best_first(&mut gains);
    gains.truncate(PROMISING);
    Ok(gains)
}

/// Moves the levers that help alone to the front of `places`, the best first. `singles` are the
/// sorted results of single levers.
fn helpful_first(singles: &[Gain], places: &mut [usize]) {
    let worth: Vec<&Gain> = singles.iter().filter(|gain| gain.is_worth()).collect();
    let rank = |place: &usize| worth.iter().position(|gain| gain.places == [*place]);
    places.sort_by_key(|place| rank(place).unwrap_or(worth.len()));
}

/// Takes the levers that help alone. Runs all of these levers together, and each pair of the best
/// [`PAIRED`] of them.
fn of_helpful(search: &Search<'_>, singles: &[Gain]) -> Result<Vec<Gain>, TwinFailure> {
    let helpful: Vec<&Gain> = singles.iter().filter(|gain| gain.is_worth()).collect();
    let mut sets: Vec<Vec<&Gain>> = vec![helpful.clone()];
    for (rank, first) in helpful.iter().take(PAIRED).enumerate() {
        let others = helpful.iter().take(PAIRED).skip(rank + 1);
        sets.extend(others.map(|second| vec![*first, *second]));
    }
    let mut tries = Vec::new();
    for set in sets.iter().filter(|set| set.len() > 1) {
        let (places, changes) = compatible(search, set);
        if places.len() > 1 {
            tries.extend(search.gain(&places, &changes, search.twin.few_seeds())?);
        }
    }
    Ok(tries)
}

/// Returns the indices and changes of the gains in `set`. Omits a gain that changes the same
/// setting as an earlier gain, or that the host refuses together with the earlier gains.
fn compatible(search: &Search<'_>, set: &[&Gain]) -> (Vec<usize>, Vec<Change>) {
    let (mut places, mut changes) = (Vec::new(), Vec::new());
    for gain in set {
        let more = [changes.as_slice(), gain.changes.as_slice()].concat();
        let is_set = |place: &usize| search.is_same_setting(*place, gain.places[0]);
        if !places.iter().any(is_set) && search.is_possible(&more) {
            places.extend(&gain.places);
            changes = more;
        }
    }
    (places, changes)
}

/// Returns the best of `tries` without the levers that it does not need; one lever may be left.
/// Returns `None` unless this combination gains clearly more than the best `single` lever. The second
/// value is the value of [`Hosts::unproven`].
fn best_of(
    search: &Search<'_>,
    mut tries: Vec<Gain>,
    single: Option<&Gain>,
) -> Result<(Option<Gain>, Option<Gain>), TwinFailure> {
    let is_more = |gain: &Gain| gain.is_more_than(single);
    best_first(&mut tries);
    let mut promising = Vec::new();
    for gain in tries.iter().take(PROMISING) {
        let again = search.gain(&gain.places, &gain.changes, search.twin.seeds())?;
        promising.push(again.expect("it has run before"));
    }
    promising.retain(|gain| is_more(gain));
    best_first(&mut promising);
    search.twin.work().allow(FEWEST);
    let mut unproven = None;
    for best in promising {
        let is_enough = |gain: &&Gain| is_more(gain) && keeps(gain, &best, WITHOUT);
        let fewer = tries.iter().filter(is_enough);
        let fewer = fewer.min_by_key(|gain| gain.places.len()).unwrap_or(&best);
        let best = fewest(search, fewer.clone(), least_share(fewer, &best))?;
        // If the budget ended before needless levers were removed, a large combination is not named.
        if search.twin.work().is_done() && best.places.len() > MOST_UNPROVEN {
            unproven = Some(best);
            break;
        }
        // If no lever can be removed from a large combination, it gains by coincidence: any other
        // course of the transfer ends the gain.
        if best.places.len() <= MOST_NEEDED {
            return Ok((Some(best).filter(is_more), None));
        }
    }
    let mut few = tries.into_iter();
    let few = few.find(|gain| gain.places.len() <= MOST_UNPROVEN && is_more(gain));
    let unproven = unproven.filter(|all| all.is_more_than(few.as_ref().or(single)));
    Ok((few, unproven))
}

/// Sorts combinations, the best first. Of equal gains, the smaller combination comes first.
fn best_first(gains: &mut [Gain]) {
    gains.sort_by(|one, other| match (one.beats(other), other.beats(one)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => one.places.len().cmp(&other.places.len()),
    });
}

/// Returns the smallest of `tries` that gains about as much as the best `single` lever, but does
/// not change the setting of that lever. Each of its levers must be needed for this gain.
fn equal_of(
    search: &Search<'_>,
    tries: &[Gain],
    single: Option<&Gain>,
) -> Result<Option<Gain>, TwinFailure> {
    let Some(single) = single else {
        return Ok(None);
    };
    let is_equal = |gain: &&Gain| {
        let mut places = gain.places.iter();
        (2..=MOST_UNPROVEN).contains(&gain.places.len())
            && places.all(|place| !search.is_same_setting(*place, single.places[0]))
            && gain.equals(single)
    };
    let equal = tries.iter().filter(is_equal);
    let Some(equal) = equal.min_by_key(|gain| gain.places.len()) else {
        return Ok(None);
    };
    let equal = fewest(search, equal.clone(), WITHOUT)?;
    Ok(Some(equal).filter(|gain| gain.places.len() > 1 && gain.is_worth()))
}

/// Extends `best` by at most [`ROUNDS`] levers, each of which makes it clearly faster, the best
/// lever first. Returns `None` if no lever makes `best` clearly faster. Also tries levers that no
/// clue suggests, because the limit that remains with `best` may leave no clue. Levers that help
/// alone, according to `singles`, are tried first.
fn extended(
    search: &Search<'_>,
    best: &Gain,
    singles: &[Gain],
) -> Result<Option<Gain>, TwinFailure> {
    let mut all: Option<Gain> = None;
    for _ in 0..ROUNDS {
        let best = all.as_ref().unwrap_or(best);
        if search.is_full_in(&best.speed.first) {
            break;
        }
        let mut places: Vec<usize> = (0..search.levers.len()).collect();
        search.likely_first(&best.speed.clues, &mut places);
        // Try resources last: all suggested resources were ample in an earlier run, so those that
        // `best` does not contain are less likely to help.
        places.sort_by_key(|place| {
            let lever = &search.levers[*place];
            (lever.is_rare, lever.kind == LeverKind::Resource)
        });
        helpful_first(singles, &mut places);
        let mut gains = Vec::new();
        for place in places {
            let is_set = |known: &usize| search.is_same_setting(*known, place);
            let lever = &search.levers[place];
            if !lever.kind.is_of_host() || best.places.iter().any(is_set) {
                continue;
            }
            let with = [best.places.as_slice(), &[place]].concat();
            let changes = [best.changes.as_slice(), &lever.ample].concat();
            let seeds = search.twin.few_seeds();
            gains.extend(search.gain_like(&best.speed, (&with, &changes), seeds)?);
        }
        gains.retain(|gain| gain.is_more_than(Some(best)));
        search.settle(&mut gains)?;
        match gains.into_iter().find(|gain| gain.is_more_than(Some(best))) {
            Some(more) => all = Some(more),
            None => break,
        }
    }
    Ok(all)
}

/// Share of the gain of `fewer` that must remain if levers are removed from it, so that the share
/// [`WITHOUT`] of the gain of `best` remains.
fn least_share(fewer: &Gain, best: &Gain) -> f64 {
    let share = WITHOUT * (best.ratio - 1.0) / (fewer.ratio - 1.0);
    match share.is_finite() {
        true => share.min(1.0),
        false => WITHOUT,
    }
}

/// Returns `whole` without the levers that it does not need to keep the share `least` of its gain.
/// Runs with few seeds select groups of such levers. A run with all seeds then checks that the
/// remaining levers keep this share, and further runs with all seeds try to remove single levers.
/// If the remaining levers do not keep it, all runs are repeated with all seeds.
fn fewest(search: &Search<'_>, whole: Gain, least: f64) -> Result<Gain, TwinFailure> {
    let (few, seeds) = (search.twin.few_seeds(), search.twin.seeds());
    let run = |gain: &Gain, seeds| search.gain(&gain.places, &gain.changes, seeds);
    let whole = run(&whole, seeds)?.unwrap_or(whole);
    let half = whole.places.len().div_ceil(2);
    if few == seeds {
        return without_groups(search, (&whole, least), whole.clone(), half, seeds);
    }
    if let Some(part) = run(&whole, few)? {
        let part = without_groups(search, (&part, least), part.clone(), half, few)?;
        if let Some(again) = run(&part, seeds)?.filter(|again| keeps(again, &whole, least)) {
            return without_groups(search, (&whole, least), again, 1, seeds);
        }
    }
    without_groups(search, (&whole, least), whole.clone(), half, seeds)
}

/// Returns `best`, a part of the combination `whole`, without unnecessary levers: those without
/// which the share `least` of the gain of `whole` remains. Each run has `seeds` seeds. Groups of `size` levers are
/// removed first, so that few runs remove most levers. Then groups of half the size are removed,
/// and so on.
fn without_groups(
    search: &Search<'_>,
    (whole, least): (&Gain, f64),
    mut best: Gain,
    mut size: usize,
    seeds: usize,
) -> Result<Gain, TwinFailure> {
    let mut parts = search.parts(&best);
    // Rules come last: a rule that was added to ample resources is probably needed.
    parts.sort_by_key(|(place, _)| search.levers[*place].kind == LeverKind::Rule);
    while size > 0 && parts.len() > 1 {
        let mut from = 0;
        while from < parts.len() && parts.len() > 1 {
            let mut fewer = parts.clone();
            fewer.drain(from..(from + size).min(parts.len()));
            let (places, changes): (Vec<usize>, Vec<Vec<Change>>) = fewer.iter().cloned().unzip();
            let gain = match places.is_empty() {
                true => None,
                false => search.gain_like(&best.speed, (&places, &changes.concat()), seeds)?,
            };
            match gain {
                Some(gain) if keeps(&gain, whole, least) => (best, parts) = (gain, fewer),
                _ => from += size,
            }
        }
        size /= 2;
    }
    Ok(best)
}

/// Returns true if `part` keeps the share `least` of the gain of the combination `whole`.
fn keeps(part: &Gain, whole: &Gain, least: f64) -> bool {
    part.ends == whole.ends && part.ratio >= 1.0 + (whole.ratio - 1.0) * least
}
