//! The cause of a transfer's limit.
//!
//! Rule: of the levers that were run, that of a host comes first, and the one that helps most.

use crate::{
    cause::Cause,
    hosts::{self, Hosts},
    lever::LeverKind,
    search::{Gain, Search, WORTH},
    twin::TwinFailure,
    work::CONFIRMED,
};

/// A lever does not help if its gain is below this share: half of what counts.
const CERTAINLY_NOTHING: f64 = WORTH / 2.0;
/// Part of the time that the hosts can save from which on an impairment is named beside them.
const FAULT: f64 = 0.25;
/// Levers that help most alone, of which a run with more seeds chooses.
const RIVALS: usize = 2;

/// Result of a search.
#[derive(Default)]
pub struct Found {
    /// The lever, or the levers together, that help most; `None` if nothing helps.
    pub best: Option<Gain>,
    /// Another cause within 5 %.
    pub rival: Option<Gain>,
    /// The impairment of the path that costs most, beside what the hosts can gain, if that is
    /// not much more.
    pub fault: Option<Gain>,
    /// The lever of what the account shows to be used up, if no lever helps: the rate of a
    /// full link, or the rate of an application of which all arrives.
    pub used_up: Option<usize>,
    /// Every single lever that was run, those of hosts first.
    pub tried: Vec<Gain>,
    /// A run of many ample resources, and those among them that do not matter in it.
    pub idle: Option<(Gain, Vec<usize>)>,
}

impl Found {
    /// The cause; [`Cause::NOTHING`] if no lever helps.
    pub fn cause(&self, search: &Search<'_>) -> Cause {
        let place = self.place();
        place.map_or(Cause::NOTHING, |place| search.levers[place].cause)
    }

    /// The lever that is named first.
    pub fn place(&self) -> Option<usize> {
        let best = self.best.as_ref().map(|best| best.places[0]);
        best.or(self.used_up)
    }
}

/// The lever that helps most: of the hosts, if one does; otherwise of applications,
/// processors and path. Where the path carries all that it can, only levers of the path are
/// run, because no other can gain [`WORTH`].
pub fn find(search: &Search<'_>, deep: bool) -> Result<Found, TwinFailure> {
    if let Some(found) = of_full_path(search)? {
        return Ok(found);
    }
    let Hosts {
        singles: mut tried,
        together,
        idle,
    } = hosts::of(search, deep)?;
    search.twin.work().allow(CONFIRMED);
    let few = tried.iter().filter(|gain| gain.is_worth()).take(RIVALS);
    let single = search.confirmed(few.cloned().collect())?;
    let together = search.confirmed(together)?;
    let together = together.filter(|gain| gain.is_more_than(single.as_ref()));
    let together = together.map(|gain| search.strongest_first(gain, &tried));
    search.twin.work().allow(1.0);
    let best = match together.or(single) {
        Some(host) => {
            let readers = search.singles(&search.of_slow_reader())?;
            let reader = Gain::first_worth(&readers).cloned();
            tried.extend(readers);
            // Of both, the reader is what the user can see to be wrong: a buffer hides it.
            if let Some(reader) = reader.filter(|reader| reader.saves_as_much_time(&host)) {
                return Ok(Found {
                    best: Some(reader),
                    rival: Some(host),
                    used_up: None,
                    fault: None,
                    tried,
                    idle,
                });
            }
            Some(host)
        }
        None => None,
    };
    let best = match best {
        Some(host) if host.is_faster() => Some(host),
        // What only saves datagrams comes after what gains goodput.
        host => {
            let others = search.singles(&search.of_others())?;
            let best = Gain::first_worth(&others).cloned();
            tried.extend(others);
            match best.as_ref().is_some_and(Gain::is_faster) {
                true => best,
                false => host.or(best),
            }
        }
    };
    let (best, rival) = with_rival(search, best, &tried);
    let fault = match &best {
        Some(best) if deep => worse_fault(search, best)?,
        _ => None,
    };
    let used_up = || {
        search
            .full_link(&search.base.first.path)
            .or_else(|| search.offered_rate())
    };
    Ok(Found {
        used_up: best.is_none().then(used_up).flatten(),
        fault,
        best,
        rival,
        tried,
        idle,
    })
}

/// The lever of a full path that helps most, if one does.
fn of_full_path(search: &Search<'_>) -> Result<Option<Found>, TwinFailure> {
    if !search.is_path_full() {
        return Ok(None);
    }
    let tried = search.singles(&search.of_path())?;
    let best = Gain::first_worth(&tried).cloned();
    Ok(best.map(|best| Found {
        best: Some(best),
        rival: None,
        used_up: None,
        fault: None,
        tried,
        idle: None,
    }))
}

/// `best` and, of `tried`, another cause that helps as much.
fn with_rival(
    search: &Search<'_>,
    best: Option<Gain>,
    tried: &[Gain],
) -> (Option<Gain>, Option<Gain>) {
    let best = match best {
        Some(best) if best.places.len() == 1 => best,
        together => return (together, None),
    };
    let cause = |gain: &Gain| search.levers[gain.places[0]].cause;
    let is_host = |gain: &Gain| search.levers[gain.places[0]].kind.is_of_host();
    let rival = tried.iter().find(|other| {
        let is_same_side = is_host(other) == is_host(&best);
        is_same_side && other.is_worth() && cause(other) != cause(&best) && other.equals(&best)
    });
    match rival {
        // More connections are a way around a limit: what they get around comes first.
        Some(rival) if cause(&best) == Cause::CONNECTIONS => (Some(rival.clone()), Some(best)),
        rival => (Some(best), rival.cloned()),
    }
}

/// The impairment of the path that costs most, if that is at least [`FAULT`] of the time that
/// `best`, a lever of the hosts, saves.
fn worse_fault(search: &Search<'_>, best: &Gain) -> Result<Option<Gain>, TwinFailure> {
    if !search.levers[best.places[0]].kind.is_of_host() {
        return Ok(None);
    }
    let faults = search.singles(&search.faults())?;
    let worst = Gain::first_worth(&faults).filter(|fault| fault.saves_of(best) >= FAULT);
    Ok(worst.cloned())
}

/// Places of the resources of which a run shows that more of them does not help.
pub fn refuted(search: &Search<'_>, found: &Found) -> Vec<usize> {
    let own = found.tried.iter().filter(|gain| {
        // A few seeds cannot exclude a small gain.
        let is_sure = search.twin.seeds() == 1;
        let is_small = gain.ratio - 1.0 + 2.0 * gain.error < CERTAINLY_NOTHING;
        is_sure && is_small && !gain.ends
    });
    let own = own.map(|gain| gain.places[0]);
    let idle = found.idle.iter().filter(|_| search.twin.seeds() == 1);
    let idle = idle.flat_map(|(_, places)| places.iter().copied());
    // A lever that helps only together with others is no useless one.
    let named = |place: &usize| {
        let best = found.best.iter().flat_map(|best| &best.places);
        best.into_iter().any(|known| known == place)
    };
    own.chain(idle)
        .filter(|place| search.levers[*place].kind == LeverKind::Resource && !named(place))
        .collect()
}
