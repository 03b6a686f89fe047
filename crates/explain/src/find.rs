//! Finds the cause of a transfer's limit: the lever (a thing that could be changed) that helps
//! most.
//!
//! Rule: levers of hosts take precedence over other levers; [`find`] has the exceptions. Among
//! levers of equal precedence, the best gain decides.

use crate::{
    cause::Cause,
    hosts::{self, Hosts},
    lever::LeverKind,
    search::{Gain, Search, WORTH},
    twin::TwinFailure,
    work::CONFIRMED,
};

/// A resource does not help if its gain is certainly below this share: half of [`WORTH`].
const CERTAINLY_NOTHING: f64 = WORTH / 2.0;
/// An impairment of the path is named in addition to the lever of the hosts if its removal saves at
/// least this share of the time that the lever saves.
pub const FAULT: f64 = 0.25;
/// A pause of the application is named before additional connections if its end saves at least this
/// share of the time that they save.
const EVADED: f64 = 0.5;
/// Settings that divide packet memory: what one direction gets, the other loses. A run with the
/// largest amount does not exclude that an amount between helps.
const DIVISIONS: [&str; 2] = ["pool.send_floor", "pool.receive_floor"];
/// A combination whose needless levers are not known is worth a larger budget if it gains more than
/// this many times as much as the levers of the hosts that are known to be needed.
const MANIFOLD: f64 = 2.0;
/// At most this number of single levers, the best ones, run with further seeds.
const RIVALS: usize = 2;

/// Result of a search.
#[derive(Default)]
pub struct Found {
    /// The lever, or the combination of levers, that helps most; `None` if nothing helps.
    pub best: Option<Gain>,
    /// A lever of another cause, or several that help together, whose result is within 5 % of the
    /// best result.
    pub rival: Option<Gain>,
    /// The impairment of the path that costs most time, if that time is at least [`FAULT`] of the
    /// time that the best lever of the hosts saves.
    pub fault: Option<Gain>,
    /// Time that the removal of `fault` saves, as a multiple of the time that the best lever of the
    /// hosts saves, in runs of the same part or of the whole transfer.
    pub fault_saves: f64,
    /// Index of the lever for the rate of a full link, or for the rate of an application if at
    /// least 99 % of its datagrams arrive. Set only if no lever helps.
    pub used_up: Option<usize>,
    /// Levers of the hosts that help together, if the budget ended before it was known which of them
    /// are needed. Set only if they gain more than `best`, or more than twice as much if `best` has
    /// levers of the hosts.
    pub unproven: Option<Gain>,
    /// Every single lever that was run, those of hosts first.
    pub tried: Vec<Gain>,
}

impl Found {
    /// Returns the cause; [`Cause::NOTHING`] if no lever helps.
    pub fn cause(&self, search: &Search<'_>) -> Cause {
        let place = self.place();
        place.map_or(Cause::NOTHING, |place| search.levers[place].cause)
    }

    /// Index of the lever that is named first.
    pub fn place(&self) -> Option<usize> {
        let best = self.best.as_ref().map(|best| best.places[0]);
        best.or(self.used_up)
    }
}

/// Finds the lever that helps most: one of the hosts if any helps, otherwise one of the
/// applications, processors or links. If a link already carries all that it can, levers of the path
/// are run first, because no other lever can gain [`WORTH`]. If a lever of the path helps, it is
/// the result.
pub fn find(search: &Search<'_>, deep: bool) -> Result<Found, TwinFailure> {
    if let Some(found) = of_full_path(search)? {
        return Ok(found);
    }
    let Hosts {
        singles: mut tried,
        together,
        equal,
        unproven,
    } = hosts::of(search, deep)?;
    search.twin.work().allow(CONFIRMED);
    let few = tried.iter().filter(|gain| gain.is_worth()).take(RIVALS);
    let single = search.confirmed(few.cloned().collect())?;
    let together = search.confirmed(together)?;
    let together = together.filter(|gain| gain.is_more_than(single.as_ref()));
    let together = together.map(|gain| search.strongest_first(gain, &tried));
    search.twin.work().allow(1.0);
    let best = match together.or(single) {
        Some(host) => match first_named(search, &host, &mut tried)? {
            Some(first) => {
                return Ok(Found {
                    best: Some(first),
                    rival: Some(host),
                    tried,
                    ..Found::default()
                });
            }
            None => Some(host),
        },
        None => None,
    };
    let best = match best {
        Some(host) if host.is_faster() => Some(host),
        // A lever that gains goodput takes precedence over one that only saves datagrams.
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
    let (best, rival) = with_rival(search, best, &tried, equal);
    let fault = match &best {
        Some(best) if deep => worse_fault(search, best)?,
        _ => None,
    };
    let used_up = best.is_none().then(|| search.used_up()).flatten();
    Ok(Found {
        used_up,
        unproven: unproven.filter(|all| is_worth_a_proof(search, all, best.as_ref())),
        fault_saves: fault.as_ref().map_or(0.0, |(_, saves)| *saves),
        fault: fault.map(|(fault, _)| fault),
        best,
        rival,
        tried,
    })
}

/// Returns true if `all`, a combination of levers of the hosts whose needless levers are not known,
/// gains enough more than `best` to search with a larger budget.
fn is_worth_a_proof(search: &Search<'_>, all: &Gain, best: Option<&Gain>) -> bool {
    let is_more = |best: &Gain| {
        let times = if search.is_of_host(best) {
            MANIFOLD
        } else {
            1.0
        };
        (all.ends && !best.ends) || all.ratio - 1.0 > (best.ratio - 1.0) * times
    };
    best.is_none_or(is_more)
}

/// Returns the lever that is named before `host`, the best of the hosts: a faster reader, or the
/// removal of an event of the path or of a pause of the application. Adds the runs to `tried`.
fn first_named(
    search: &Search<'_>,
    host: &Gain,
    tried: &mut Vec<Gain>,
) -> Result<Option<Gain>, TwinFailure> {
    let readers = search.singles(&search.of_slow_reader())?;
    let reader = Gain::first_worth(&readers).cloned();
    tried.extend(readers);
    // If a larger buffer and a faster reader save the same time, the reader is named: the buffer
    // would only hide the slow reader.
    if let Some(reader) = reader.filter(|reader| is_named_before(search, reader, host)) {
        return Ok(Some(reader));
    }
    let events = search.singles(&search.of_events())?;
    let event = Gain::first_worth(&events).cloned();
    tried.extend(events);
    Ok(event.filter(|event| is_named_before(search, event, host)))
}

/// Returns true if `first`, a faster reader or the removal of an event or a pause, is named before
/// `host`, a lever of the hosts. A reader only has to save about as much time, because a larger
/// buffer would hide the slow reader.
pub fn is_named_before(search: &Search<'_>, first: &Gain, host: &Gain) -> bool {
    match search.levers[first.places[0]].cause {
        Cause::SLOW_READER => first.saves_as_much_time(host),
        _ => first.is_clearly_better_than(host),
    }
}

/// Finds the lever that helps most on a full path; `None` if the path is not full or no lever
/// helps. The rates of the path run first. The other levers of the path run only if no rate helps
/// and no lever of a host can help.
fn of_full_path(search: &Search<'_>) -> Result<Option<Found>, TwinFailure> {
    let is_full = search.is_path_full();
    if !is_full && !search.is_path_nearly_full() {
        return Ok(None);
    }
    let mut tried = search.singles(&search.rates())?;
    if is_full && Gain::first_worth(&tried).is_none() {
        tried = search.singles(&search.of_path())?;
    }
    let best = Gain::first_worth(&tried).cloned();
    Ok(best.map(|best| Found {
        best: Some(best),
        tried,
        ..Found::default()
    }))
}

/// Returns `best`, and the lever of another cause in `tried` that helps about as much. If there is
/// none, `equal` is used: a combination of levers of the hosts.
fn with_rival(
    search: &Search<'_>,
    best: Option<Gain>,
    tried: &[Gain],
    equal: Option<Gain>,
) -> (Option<Gain>, Option<Gain>) {
    let Some(best) = best else {
        return (None, None);
    };
    // Additional connections evade a limit, so a pause that causes the limit is named first, even if
    // its end saves less. A pause that costs far less time is not the limit.
    let is_evasion = search.levers[best.places[0]].cause == Cause::CONNECTIONS;
    let is_pause = |gain: &&Gain| {
        let is_pause = gain.is_worth() && search.is_pause(gain.places[0]);
        is_pause && gain.saves_of(&best) >= EVADED
    };
    if let Some(pause) = tried.iter().find(is_pause).filter(|_| is_evasion) {
        return (Some(pause.clone()), Some(best));
    }
    let is_other = |other: &&Gain| is_rival(search, &best, other);
    let rival = tried.iter().find(is_other).cloned();
    let rival = rival.or_else(|| equal.filter(|equal| is_rival(search, &best, equal)));
    match rival {
        // The same holds for a limit that costs about as much.
        Some(rival) if is_evasion => (Some(rival), Some(best)),
        rival => (Some(best), rival),
    }
}

/// Returns true if `other` is a rival of `best`: levers of other causes, of the same side (hosts, or
/// everything else), that help about as much.
pub fn is_rival(search: &Search<'_>, best: &Gain, other: &Gain) -> bool {
    let cause = |place: &usize| search.levers[*place].cause;
    let is_host = |gain: &Gain| search.levers[gain.places[0]].kind.is_of_host();
    let mut causes = other.places.iter().map(cause);
    let is_new = causes.all(|own| best.places.iter().all(|place| cause(place) != own));
    let is_same_side = is_host(other) == is_host(best);
    is_same_side && is_new && other.is_worth() && other.equals(best)
}

/// Returns the impairment of the path that costs most, if it costs at least [`FAULT`] of the time
/// that `best`, a lever of the hosts, saves. The second value is this share.
fn worse_fault(search: &Search<'_>, best: &Gain) -> Result<Option<(Gain, f64)>, TwinFailure> {
    if !search.levers[best.places[0]].kind.is_of_host() {
        return Ok(None);
    }
    let faults = search.singles(&search.faults())?;
    let worst = Gain::first_worth(&faults).map(|fault| (fault.clone(), fault.saves_of(best)));
    Ok(worst.filter(|(_, saves)| *saves >= FAULT))
}

/// Returns the indices of the resources for which a run shows that more of them does not help.
pub fn refuted(search: &Search<'_>, found: &Found) -> Vec<usize> {
    let measured = &search.base.first.measured;
    let is_without_loss =
        measured.retransmitted_segments == 0 && measured.lost_share.unwrap_or_default() == 0.0;
    let is_refuted = |gain: &&Gain| {
        // Runs with random impairments cannot exclude a small gain, and neither can runs with losses:
        // with another amount, other segments may be lost. If the largest amount harms, an amount
        // between may help.
        let is_sure = search.twin.seeds() == 1 && is_without_loss;
        let is_small = (gain.ratio - 1.0).abs() + 2.0 * gain.error < CERTAINLY_NOTHING;
        is_sure && is_small && !gain.ends
    };
    // Omit the levers of the best combination: they are useful together, although they do not help
    // alone.
    let named = |place: &usize| {
        let best = found.best.iter().flat_map(|best| &best.places);
        best.into_iter().any(|known| known == place)
    };
    let is_amount = |place: &usize| {
        let lever = &search.levers[*place];
        let is_plain = !lever.is_rare && !DIVISIONS.contains(&lever.field);
        is_plain && lever.kind == LeverKind::Resource
    };
    let refuted = found.tried.iter().filter(is_refuted);
    refuted
        .map(|gain| gain.places[0])
        .filter(|place| is_amount(place) && !named(place))
        .collect()
}
