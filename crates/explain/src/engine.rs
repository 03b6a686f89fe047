//! From a transfer to its explanation.
//!
//! Rule: every statement about a change is a run. The account only says what to try, and how
//! long the sender waited for what.

use fullpipe_diagnose::facts::VerdictParts;
use fullpipe_scenario::{Outcome, Played, Setup, experiment::Stop, scene::Part};

use crate::{
    advice, bound,
    cause::Cause,
    explanation::{Explanation, Predicted, TriedLever},
    find::{Found, find, refuted},
    gone,
    lever::{Change, changed},
    proof,
    search::{Gain, Search},
    shown_by,
    twin::{Speed, TwinFailure},
    wording,
};

/// A transfer of fewer segments is run whole.
const SEGMENTS: f64 = 4_000.0;
/// Round trips that a part of a transfer has at least.
const ROUND_TRIPS: f64 = 30.0;
/// Bytes that a run of any transfer may carry: as many segments.
const MOST_BYTES: u64 = 4_000 * 1_448;
/// A cut transfer foretells the whole one well enough up to this error.
const CUT_ERROR: f64 = 0.03;

/// Explains a transfer of `setup`, which is run for it.
///
/// # Errors
/// A violation that a checker of the simulator found.
pub fn explain(setup: &Setup, seed: u64) -> Result<Explanation, TwinFailure> {
    let whole = Search::new(setup, seed, Part::WHOLE, None)?;
    let played = whole.base.first.clone();
    explained(setup, seed, &played, Part::WHOLE, whole)
}

/// Explains a transfer of `setup` that was `played` with the seeds from `seed` on. The runs
/// are cut short if the transfer is long. The advice gives no host more packet memory than
/// `memory` bytes.
///
/// # Errors
/// A violation that a checker of the simulator found.
pub fn explain_played(
    setup: &Setup,
    seed: u64,
    played: &Played,
    memory: Option<u64>,
) -> Result<Explanation, TwinFailure> {
    let measured = goodput_mbps(played);
    let mut part = part(setup, played);
    loop {
        let search = Search::new(setup, seed, part, memory)?;
        let error = search.base.mean_mbps() / measured - 1.0;
        if part == Part::WHOLE || measured == 0.0 || error.abs() <= CUT_ERROR {
            return explained(setup, seed, played, part, search);
        }
        let Some(longer) = longer(setup, part) else {
            return explained(setup, seed, played, part, search);
        };
        part = longer;
    }
}

/// Goodput of the first flow.
fn goodput_mbps(played: &Played) -> f64 {
    let flows = played.measured.flows.first();
    flows.map_or(played.measured.goodput_mbps, |flow| flow.goodput_mbps)
}

/// A part of a transfer that foretells its whole better; `None` if there is none. A transfer
/// that ends after a time is never run without a bound on its bytes.
fn longer(setup: &Setup, part: Part) -> Option<Part> {
    let share = part.share * 4.0;
    let has_end = matches!(setup.flow().stop, Stop::Bytes(_));
    match share >= 1.0 {
        true if has_end => Some(Part::WHOLE),
        true if part.share >= 1.0 => None,
        _ => Some(Part {
            share: share.min(1.0),
            most_bytes: part.most_bytes.saturating_mul(4),
        }),
    }
}

/// The part of a transfer that its runs need: the whole of a short one. One that ends after a
/// time has no whole: a change may carry ten thousand times its bytes.
pub(crate) fn part(setup: &Setup, played: &Played) -> Part {
    let measured = &played.measured;
    let by_segments = SEGMENTS / measured.data_segments.max(1) as f64;
    let by_trips = ROUND_TRIPS * measured.srtt_ms / 1e3 / measured.elapsed_s.max(1e-9);
    let share = by_segments.max(by_trips);
    let has_end = matches!(setup.flow().stop, Stop::Bytes(_));
    if share >= 1.0 && has_end && measured.outcome == Outcome::Complete {
        return Part::WHOLE;
    }
    let share = share.min(1.0);
    let bytes = measured.delivered_bytes as f64 * share;
    Part {
        share,
        most_bytes: ((bytes * 2.0) as u64).max(MOST_BYTES),
    }
}

fn explained(
    setup: &Setup,
    seed: u64,
    played: &Played,
    part: Part,
    search: Search<'_>,
) -> Result<Explanation, TwinFailure> {
    if let Some(found) = gone::of(setup, seed, played)?
        && (found.limit != Cause::PEER_GONE
            || search.base.is_complete
            || !search.is_out_of_reach()?)
    {
        return Ok(found);
    }
    let mut found = find(&search, true)?;
    if found.best.is_none() {
        // A part of a transfer has its beginning, in which no link is full.
        let whole = search.full_link(&played.path);
        found.used_up = whole.or(found.used_up);
    }
    let Some(best) = &found.best else {
        return Ok(without_advice(setup, played, &search, &found));
    };
    let is_host = best
        .places
        .iter()
        .all(|place| search.levers[*place].kind.is_of_host());
    if !is_host {
        return Ok(without_advice(setup, played, &search, &found));
    }
    let smallest = advice::smallest(&search, best.clone())?;
    let settings = advice::settings(setup, &search, &smallest);
    let advised: Vec<Change> = settings.iter().map(|at| at.change.clone()).collect();
    let seeds = search
        .twin
        .certain(&advised)?
        .map_or(1, |speed| speed.mbps.len());
    let Some(gain) = search
        .gain(&best.places, &advised, seeds)?
        .filter(Gain::is_worth)
    else {
        return Ok(without_advice(setup, played, &search, &found));
    };
    let named = best.places.iter().map(|place| search.levers[*place].cause);
    let named: Vec<_> = named.collect();
    let next = next(setup, seed, (part, search.memory), &advised, &named)?;
    let predicted = predicted(setup, played, &search.base, &gain);
    let mut explanation = without_advice(setup, played, &search, &found);
    explanation.parts.gives = Some(wording::gives(setup, played, &predicted));
    explanation.advise(settings);
    explanation.predicted = Some(predicted);
    if let Some((cause, words)) = next {
        explanation.parts.then = Some(words);
        explanation.next = Some(cause);
    }
    explanation.runs = search.twin.runs();
    Ok(explanation)
}

/// The cause of the changed transfer without those that are `named` already, and its words.
fn next(
    setup: &Setup,
    seed: u64,
    (part, memory): (Part, Option<u64>),
    advised: &[Change],
    named: &[Cause],
) -> Result<Option<(Cause, String)>, TwinFailure> {
    let Some(setup) = changed(setup, advised) else {
        return Ok(None);
    };
    let mut search = Search::new(&setup, seed, part, memory)?;
    search.without(named);
    let found = find(&search, false)?;
    let cause = found.cause(&search);
    Ok(Some((cause, wording::limited_by(&setup, &search, &found))))
}

/// The explanation without advice.
fn without_advice(
    setup: &Setup,
    played: &Played,
    search: &Search<'_>,
    found: &Found,
) -> Explanation {
    let name = |place: &usize| search.levers[*place].name.clone();
    let best = found.best.as_ref();
    let tried = found.tried.iter().map(|gain| TriedLever {
        lever: name(&gain.places[0]),
        changes: gain.changes.clone(),
        gain_share: gain.ratio - 1.0,
        error_share: gain.error,
    });
    let parts = VerdictParts {
        because: proof::because(setup, played, search, found),
        ..VerdictParts::limited_by(wording::limited_by(setup, search, found))
    };
    let levers = best.map_or(&[][..], |best| &best.places).iter();
    let levers = levers.chain(&found.used_up);
    let levers: Vec<_> = levers.map(|place| &search.levers[*place]).collect();
    Explanation {
        shown_by: shown_by::of(setup, played, &levers),
        levers: best.map_or_else(Vec::new, |best| best.places.iter().map(name).collect()),
        kind: found.place().map(|place| search.levers[place].kind),
        rival: found.rival.as_ref().map(|rival| name(&rival.places[0])),
        tried: tried.collect(),
        bound: best.and_then(|best| bound::of(setup, played, &search.levers[best.places[0]])),
        refuted: refuted(search, found).iter().map(name).collect(),
        runs: search.twin.runs(),
        ..Explanation::of(cause(search, found), parts)
    }
}

/// The cause; [`Cause::HANDSHAKE`] if no connection came about and no lever changes that.
fn cause(search: &Search<'_>, found: &Found) -> Cause {
    match found.cause(search) {
        Cause::NOTHING if wording::is_unopened(&search.base.first) => Cause::HANDSHAKE,
        cause => cause,
    }
}

/// The goodput with the advice: that of the row, times the gain over equal parts of equal
/// seeds.
fn predicted(setup: &Setup, played: &Played, base: &Speed, gain: &Gain) -> Predicted {
    let measured = goodput_mbps(played);
    // A cut run foretells the whole one of its seed with an error, which other runs share.
    // Without a goodput to compare with, the runs themselves are the prediction.
    let unit = match base.mbps[0] {
        0.0 => 1.0,
        mbps => measured / mbps,
    };
    let scaled = gain.speed.mbps.iter().map(|mbps| mbps * unit);
    let [low, high] = [f64::min, f64::max]
        .map(|pick: fn(f64, f64) -> f64| scaled.clone().reduce(pick).unwrap_or(measured));
    let goodput_mbps = gain.speed.mean_mbps() * unit;
    let flow = setup.flow();
    Predicted {
        goodput_mbps,
        elapsed_s: match flow.stop {
            Stop::Bytes(bytes) => (bytes * u64::from(flow.count)) as f64 * 8.0 / 1e6 / goodput_mbps,
            Stop::After(length) => length.as_secs_f64(),
        },
        low_mbps: low,
        high_mbps: high,
    }
}
