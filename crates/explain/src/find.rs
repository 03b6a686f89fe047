//! The cause of a transfer's limit.
//!
//! Rule: of the levers that were run, that of a host comes first, and the one that helps most.

use crate::{
    cause::Cause,
    hosts::{self, Hosts},
    lever::LeverKind,
    search::{Gain, Search, WORTH},
    twin::TwinFailure,
};

/// A lever does not help if its gain is below this share: half of what counts.
const CERTAINLY_NOTHING: f64 = WORTH / 2.0;

/// Result of a search.
pub struct Found {
    /// The lever, or the levers together, that help most; `None` if nothing helps.
    pub best: Option<Gain>,
    /// Another cause within 5 %.
    pub rival: Option<Gain>,
    /// Every single lever that was run, those of hosts first.
    pub tried: Vec<Gain>,
    /// A run of many ample resources, and those among them that do not matter in it.
    pub idle: Option<(Gain, Vec<usize>)>,
}

impl Found {
    /// The cause; [`Cause::NOTHING`] if no lever helps.
    pub fn cause(&self, search: &Search<'_>) -> Cause {
        let best = self.best.as_ref();
        best.map_or(Cause::NOTHING, |best| search.levers[best.places[0]].cause)
    }
}

/// The lever that helps most: of the hosts, if one does; otherwise of applications,
/// processors and path. Where the path carries all that it can, only levers of the path are
/// run, because no other can gain [`WORTH`].
pub fn find(search: &Search<'_>, deep: bool) -> Result<Found, TwinFailure> {
    if search.is_path_full() {
        let tried = search.singles(&search.of_path())?;
        let best = tried.first().filter(|best| best.is_worth()).cloned();
        if best.is_some() {
            return Ok(Found {
                best,
                rival: None,
                tried,
                idle: None,
            });
        }
    }
    let Hosts {
        singles: mut tried,
        together,
        idle,
    } = hosts::of(search, deep)?;
    let single = tried.first().filter(|best| best.is_worth()).cloned();
    let best = match together.or(single) {
        Some(best) => Some(best),
        None => {
            let others = search.singles(&search.of_others())?;
            let best = others.first().filter(|best| best.is_worth()).cloned();
            tried.extend(others);
            best
        }
    };
    let cause = |gain: &Gain| search.levers[gain.places[0]].cause;
    let rival = best
        .as_ref()
        .filter(|best| best.places.len() == 1)
        .and_then(|best| {
            let is_host = |gain: &Gain| search.levers[gain.places[0]].kind.is_of_host();
            let mut others = tried.iter().filter(|other| is_host(other) == is_host(best));
            let other = others.find(|other| {
                other.is_worth() && cause(other) != cause(best) && other.equals(best)
            });
            other.cloned()
        });
    // More connections are a way around a limit: what they get around comes first.
    let is_detour = |gain: &Gain| cause(gain) == Cause::CONNECTIONS;
    let (best, rival) = match (best, rival) {
        (Some(best), Some(rival)) if is_detour(&best) => (Some(rival), Some(best)),
        both => both,
    };
    Ok(Found {
        best,
        rival,
        tried,
        idle,
    })
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
    own.chain(idle)
        .filter(|place| search.levers[*place].kind == LeverKind::Resource)
        .collect()
}
