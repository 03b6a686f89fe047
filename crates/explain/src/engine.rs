//! The steps from a transfer to its explanation.
//!
//! Rule: every statement about a change comes from a run with that change. The account (time by
//! limit) of the unchanged run only suggests the levers (things that could be changed) to try, and
//! states how long the sender waited for which limit. The budget (`work`) is the number of
//! simulator events that all runs together may take.

use std::{ops::ControlFlow, sync::Arc};

use fullpipe_diagnose::facts::VerdictParts;
use fullpipe_scenario::{
    Outcome, Played, Scene, Setup,
    experiment::Stop,
    path::most_mbps,
    scene::{Part, can_be_cut, has_early_ends, shortened},
    watch::Watch,
};

use crate::{
    advice, bound,
    cause::Cause,
    explanation::{Explanation, PathFault, Predicted, TriedLever},
    find::{Found, find, is_named_before, is_rival, refuted},
    gone,
    lever::{Change, changed},
    own_words::words_of,
    path, proof,
    search::{Gain, Search},
    shared_link, shown_by, smaller,
    twin::{Twin, TwinFailure, steps},
    whole::Whole,
    wording,
    work::{ADVISED, Effort, FOUND, Progress, Work},
};

/// Smallest number of segments in a part of a transfer, if the budget allows. A transfer of fewer
/// segments is run whole.
const SEGMENTS: f64 = 4_000.0;
/// Smallest number of round trips in a part of a transfer, if the budget allows.
const ROUND_TRIPS: f64 = 30.0;
/// A run with a change ends when it has carried the bytes of the unchanged run, but not before this
/// many round trips.
const LEAST_TRIPS: f64 = 25.0;
/// The bound on the events of a run is never lower than this.
const MOST_STEPS: f64 = 200_000.0;
/// The bound on the payload of a run is never lower than this: the bytes of [`SEGMENTS`] segments.
const MOST_BYTES: u64 = 4_000 * 1_448;
/// A part of the transfer is large enough if it predicts the goodput of the whole with at most this
/// error, as a share.
const CUT_ERROR: f64 = 0.05;
/// If no part predicts the goodput, a transfer of at most this many events is run whole. This
/// holds even though a run with a change may take many times as many events.
const SHORT: f64 = 2_000.0;
/// If the budget allows no larger part, a part is accepted with at most this error, as a share.
const MOST_ERROR: f64 = 0.1;
/// Approximate number of runs of an explanation, without and with random impairments.
const RUNS: [f64; 2] = [120.0, 250.0];
/// Smallest number of runs that can find a cause, without and with random impairments.
const FEWEST_RUNS: [f64; 2] = [25.0, 60.0];
/// Smallest share of a transfer that is run.
const LEAST_SHARE: f64 = 0.002;
/// Smallest number of events of a part of the row (the transfer that is explained).
const LEAST_STEPS: f64 = 2_000.0;
/// A transfer is run whole if at least this share of it would be run.
const NEARLY_WHOLE: f64 = 0.6;
/// Largest work of a run, as a multiple of the unchanged run's work.
const MOST_TIMES: f64 = 4.0;
/// Number of seeds of each run in the search for the limit that remains after the advice.
const NEXT_SEEDS: usize = 2;

/// Simulates `setup` and explains its transfer.
///
/// # Errors
/// Returns a violation that a checker of the simulator found.
pub fn explain(setup: &Setup, seed: u64) -> Result<Explanation, TwinFailure> {
    let mut scene = Scene::new(setup, seed, false, Watch::NONE);
    let played = scene.play(&|_share| ControlFlow::Continue(()));
    let played = played.map_err(|failure| TwinFailure::Violation {
        changes: Vec::new(),
        failure,
    })?;
    let played = played.expect("nothing interrupts it");
    let go_on = |_share: f64| ControlFlow::Continue(());
    explain_played(setup, seed, &played, None, Effort::Usual, &go_on)
}

/// Explains a transfer of `setup` that was `played` with the seeds from `seed` on. The runs of the
/// explanation are shortened: together they take at most half the work of the row's own run, or
/// about two seconds of processor time if that is more. If several settings help together, and this
/// work does not show which of them are needed, the runs take up to four times as much; with
/// [`Effort::High`], up to sixteen times as much as long as no cause is found. The advice gives no
/// host more packet memory than `memory` bytes.
///
/// # Errors
/// Returns a violation that a checker of the simulator found; [`TwinFailure::Interrupted`] if
/// `progress` returns `ControlFlow::Break`.
pub fn explain_played(
    setup: &Setup,
    seed: u64,
    played: &Played,
    memory: Option<u64>,
    effort: Effort,
    progress: &Progress<'_>,
) -> Result<Explanation, TwinFailure> {
    let work = Arc::new(Work::of_row(played.steps, effort, progress));
    if !gone::is_suspected(setup, played)
        && let Some(found) = shared_link::of(setup, seed, played, &work)?
    {
        return Ok(Explanation {
            steps: work.total(),
            ..found
        });
    }
    let measured = played.measured.first_flow_mbps(setup);
    let mut part = part(setup, played, work.budget());
    let mut twin = Twin::of(setup, seed, part, Arc::clone(&work))?;
    let foretold = loop {
        let base = twin.base()?;
        // Compare over the seeds of the row: with random losses, other seeds differ by chance.
        let mbps = base.mean_mbps_of(played.worlds as usize);
        let error = (mbps / measured - 1.0).abs();
        if part.is_whole() || measured == 0.0 || error <= CUT_ERROR {
            break Ok(());
        }
        part = match longer(setup, part, work.budget(), base.first.steps) {
            Some(share) => of_share(setup, played, share, work.budget()),
            None if error <= MOST_ERROR => break Ok(()),
            None if steps(played) <= SHORT || has_early_ends(setup) => Part::WHOLE,
            None if work.extend(false) => continue,
            None => break Err(mbps),
        };
        twin = twin.other(setup, part, twin.seeds())?;
    };
    let done = Arc::clone(&work);
    let mut found = match foretold {
        Ok(()) => explained(setup, (seed, memory), played, part, twin)?,
        Err(mbps) => untold(setup, played, twin, mbps)?,
    };
    found.steps = done.total();
    Ok(found)
}

/// Largest share of the transfer that each run can simulate within the budget.
fn affordable(setup: &Setup, played: &Played, budget: u64) -> f64 {
    let runs = RUNS[usize::from(path::is_random(setup))];
    budget as f64 / runs / steps(played)
}

/// Returns a share of the transfer that is larger than the share in `part`, to predict the whole
/// better. The run of `part` took `steps` events. Returns `None` if `part` is the whole, if the
/// transfer cannot be cut, or if a larger share would cost too much.
fn longer(setup: &Setup, part: Part, budget: u64, steps: u64) -> Option<f64> {
    let most = budget as f64 / FEWEST_RUNS[usize::from(path::is_random(setup))];
    let is_cut = can_be_cut(setup) || shortened(setup, part.share).is_some();
    let times = (most / steps.max(1) as f64).min(4.0);
    (is_cut && times >= 1.5 && part.share < 1.0).then(|| (part.share * times).min(1.0))
}

/// Returns the part of the transfer that each run simulates: enough segments and round trips,
/// within the budget.
pub(crate) fn part(setup: &Setup, played: &Played, budget: u64) -> Part {
    let measured = &played.measured;
    let by_segments = SEGMENTS / measured.data_segments.max(1) as f64;
    let by_trips = ROUND_TRIPS * measured.srtt_ms / 1e3 / measured.elapsed_s.max(1e-9);
    let least = LEAST_SHARE.max(LEAST_STEPS / steps(played));
    let most = affordable(setup, played, budget).max(least);
    of_share(setup, played, by_segments.max(by_trips).min(most), budget)
}

/// Returns the part with `share` of the transfer. A transfer with a fixed number of bytes is run
/// whole if it completed and the share is at least [`NEARLY_WHOLE`]. A run of a transfer that ends
/// after a fixed time always has a bound on its work, because a change may let the transfer carry
/// ten thousand times as many bytes.
fn of_share(setup: &Setup, played: &Played, share: f64, budget: u64) -> Part {
    let measured = &played.measured;
    let has_end = matches!(setup.flow().stop, Stop::Bytes(_));
    if share >= NEARLY_WHOLE && has_end && measured.outcome == Outcome::Complete {
        return Part::WHOLE;
    }
    let share = share.min(1.0);
    let bytes = measured.delivered_bytes as f64 * share;
    let runs = RUNS[usize::from(path::is_random(setup))];
    let most_steps = steps(played) * share * MOST_TIMES;
    let most_steps = most_steps.max(budget as f64 / runs).max(MOST_STEPS);
    Part {
        share,
        least_s: LEAST_TRIPS * measured.srtt_ms / 1e3,
        most_bytes: ((bytes * 2.0) as u64).max(MOST_BYTES),
        most_steps: most_steps as u64,
    }
}

/// Returns the explanation of a transfer of which no part within the budget predicts the goodput.
/// The largest part predicts `mbps`.
fn untold(
    setup: &Setup,
    played: &Played,
    twin: Twin<'_>,
    mbps: f64,
) -> Result<Explanation, TwinFailure> {
    let search = search_of(setup, twin, None)?;
    let found = without_advice(setup, played, &search, &Found::default());
    let limited_by = wording::untold(&search, mbps, played.measured.first_flow_mbps(setup));
    Ok(Explanation {
        limit: Cause::UNKNOWN,
        parts: VerdictParts {
            limited_by,
            ..found.parts
        },
        ..found
    })
}

/// Returns a search for `setup` among the levers that its hosts can set.
fn search_of<'a>(
    setup: &'a Setup,
    twin: Twin<'a>,
    memory: Option<u64>,
) -> Result<Search<'a>, TwinFailure> {
    let mut search = Search::new(setup, twin, memory)?;
    search
        .levers
        .retain(|lever| advice::can_be_set(setup, lever));
    Ok(search)
}

fn explained(
    setup: &Setup,
    (seed, memory): (u64, Option<u64>),
    played: &Played,
    part: Part,
    twin: Twin<'_>,
) -> Result<Explanation, TwinFailure> {
    let mut search = search_of(setup, twin, memory)?;
    if !part.is_whole() {
        search.goodput_mbps = played.measured.first_flow_mbps(setup);
    }
    let search = search;
    let twin = &search.twin;
    twin.work().begin(FOUND);
    if let Some(found) = gone::of(setup, seed, played, twin.work())?
        && (found.limit != Cause::PEER_GONE
            || search.base.is_complete()
            || !search.is_out_of_reach()?)
    {
        return Ok(found);
    }
    let mut found = found_within(&search)?;
    twin.work().begin(1.0);
    let whole = Whole::new(&search, played, part);
    whole.confirm(&mut found)?;
    if found.best.is_none() {
        // Look for a full link in the whole transfer: a part may contain only slow start, in which
        // no link is full.
        let whole = search.full_link(&played.path);
        found.used_up = whole.or_else(|| search.used_up());
    }
    // A full link carries no more with a smaller buffer.
    let is_full = search.is_path_full() || search.is_path_nearly_full();
    if !is_full
        && !part.is_whole()
        && let Some(smaller) = smaller::of(&search, &whole, played)?
        && add_smaller_buffer(&search, &whole, &mut found, &smaller)?
    {
        return Ok(with_smaller_buffer(
            setup,
            played,
            &search,
            (smaller, found),
        ));
    }
    if !found
        .best
        .as_ref()
        .is_some_and(|best| search.is_of_host(best))
    {
        return Ok(without_advice(setup, played, &search, &found));
    }
    advised(setup, played, &whole, (part, &found))
}

/// Adds `smaller`, the gain of the whole transfer with a smaller buffer, to `found`. Returns true if
/// the smaller buffer is the cause; `found.rival` is then its rival. A cause that is named before
/// levers of the hosts stays the cause by the same rule as in [`find`]. A lever of another kind does
/// not, because a setting of a host helps.
fn add_smaller_buffer(
    search: &Search<'_>,
    whole: &Whole<'_>,
    found: &mut Found,
    smaller: &Gain,
) -> Result<bool, TwinFailure> {
    let best = match found.best.take() {
        // Gains of a part and of the whole are not comparable.
        Some(best) if !best.is_whole => {
            let whole = whole.with(&best.places, &best.changes)?;
            let rival = found.rival.take().filter(|rival| rival.is_whole);
            found.rival = rival;
            whole.filter(Gain::is_worth)
        }
        best => best,
    };
    let Some(best) = best else {
        found.rival = None;
        return Ok(true);
    };
    let is_cause = match (
        search.is_of_host(&best),
        search.is_named_first(best.places[0]),
    ) {
        (true, _) => smaller.beats(&best) && smaller.ratio > best.ratio,
        (false, true) => !is_named_before(search, &best, smaller),
        (false, false) => true,
    };
    match is_cause {
        true => found.rival = Some(best).filter(|best| is_rival(search, smaller, best)),
        false => {
            if found.rival.is_none() && is_rival(search, &best, smaller) {
                found.rival = Some(smaller.clone());
            }
            found.best = Some(best);
        }
    }
    Ok(is_cause)
}

/// Returns the explanation with an advice: the smallest settings that keep the gain of the best of
/// `found`, a lever of the hosts. Without an advice if these settings gain too little.
fn advised(
    setup: &Setup,
    played: &Played,
    whole: &Whole<'_>,
    (part, found): (Part, &Found),
) -> Result<Explanation, TwinFailure> {
    let search = whole.search();
    let twin = &search.twin;
    twin.work().begin(ADVISED);
    let best = found.best.as_ref().expect("the caller has found a lever");
    // The search for values runs the part of the transfer, so it needs the gain of this part. The
    // run is known.
    let best = match best.is_whole {
        true => search.gain(&best.places, &best.changes, 1)?,
        false => Some(best.clone()),
    };
    let Some(best) = best else {
        return Ok(without_advice(setup, played, search, found));
    };
    let (smallest, untried) = advice::smallest(search, best.clone())?;
    let settings = advice::noted(advice::settings(setup, search, &smallest), &untried);
    let advised: Vec<Change> = settings.iter().map(|at| at.change.clone()).collect();
    // Run the advice even if the budget is used up.
    twin.forced(&advised, twin.seeds())?;
    twin.notice_chance(&advised)?;
    twin.forced(&advised, twin.seeds())?;
    let seeds = twin.certain(&advised)?.map_or(1, |speed| speed.mbps.len());
    let Some(gain) = search
        .gain(&best.places, &advised, seeds)?
        .filter(Gain::is_worth)
    else {
        return Ok(without_advice(setup, played, search, found));
    };
    twin.work().begin(1.0);
    let Some(predicted) = prediction(setup, played, whole, &gain)? else {
        return Ok(without_advice(setup, played, search, found));
    };
    let named = best.places.iter().map(|place| search.levers[*place].cause);
    let named: Vec<_> = named.collect();
    let next = next(
        setup,
        search,
        part,
        (&advised, predicted.goodput_mbps),
        &named,
    )?;
    let mut explanation = without_advice(setup, played, search, found);
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

/// Finds the lever that helps most. If there is none, or if levers of the hosts help together but the
/// needed ones are not known, extends the budget and searches again, as long as the effort allows.
fn found_within(search: &Search<'_>) -> Result<Found, TwinFailure> {
    let work = search.twin.work();
    let mut found = find(search, true)?;
    let is_open = |found: &Found| found.place().is_none() || found.unproven.is_some();
    while is_open(&found) && work.extend(found.unproven.is_some()) {
        // The results of all runs so far are known, so the search goes on where it ended.
        work.begin(FOUND);
        found = find(search, true)?;
    }
    Ok(found)
}

/// Predicts the goodput of the whole transfer with the advised changes of `gain`, the result of runs
/// with these changes. Returns `None` if runs of the whole transfer show that the advice does not
/// help.
fn prediction(
    setup: &Setup,
    played: &Played,
    whole: &Whole<'_>,
    gain: &Gain,
) -> Result<Option<Predicted>, TwinFailure> {
    let measured = played.measured.first_flow_mbps(setup);
    let base = &whole.search().base;
    Ok(match whole.of_advice(gain)? {
        Some(whole) => whole.is_worth().then(|| predicted(setup, 1.0, &whole)),
        None => {
            // Scale the goodput by the error with which the unchanged part predicts the whole,
            // because runs with the same seed share that error. If the unchanged part delivers
            // nothing, predict the goodput of the runs unscaled.
            let unit = match base.mean_mbps_of(played.worlds as usize) {
                0.0 => 1.0,
                mbps => measured / mbps,
            };
            Some(predicted(setup, unit, gain))
        }
    })
}

/// Searches for the limit of the transfer with the advised changes, whose predicted goodput is
/// `mbps`. Leaves out the levers of the causes in `named`. Returns the cause and the words that name
/// the limit. Uses few seeds; returns `None` if the budget is used up.
fn next(
    setup: &Setup,
    search: &Search<'_>,
    part: Part,
    (advised, mbps): (&[Change], f64),
    named: &[Cause],
) -> Result<Option<(Cause, String)>, TwinFailure> {
    let Some(setup) = changed(setup, advised).filter(|_| !search.twin.work().is_done()) else {
        return Ok(None);
    };
    let twin = search.twin.other(&setup, part, NEXT_SEEDS)?;
    let mut search = search_of(&setup, twin, search.memory)?;
    search.without(named);
    search.goodput_mbps = mbps;
    let found = find(&search, false)?;
    let cause = found.cause(&search);
    Ok(Some((
        cause,
        wording::limited_next(&setup, &search, &found),
    )))
}

/// Returns the explanation of a transfer that a smaller buffer makes faster, according to `gain`, a
/// run of the whole transfer. `found` has its rival.
fn with_smaller_buffer(
    setup: &Setup,
    played: &Played,
    search: &Search<'_>,
    (gain, found): (Gain, Found),
) -> Explanation {
    let settings = advice::settings(setup, search, &gain);
    let predicted = predicted(setup, 1.0, &gain);
    // Omit the earlier runs: they are of a part of the transfer, in which the smaller buffer does not
    // help.
    let found = Found {
        tried: vec![gain.clone()],
        best: Some(gain),
        rival: found.rival,
        ..Found::default()
    };
    let mut explanation = without_advice(setup, played, search, &found);
    explanation.parts.gives = Some(wording::gives(setup, played, &predicted));
    explanation.advise(settings);
    explanation.predicted = Some(predicted);
    explanation
}

/// Returns the explanation of the cause, without an advice.
fn without_advice(
    setup: &Setup,
    played: &Played,
    search: &Search<'_>,
    found: &Found,
) -> Explanation {
    let name = |place: &usize| search.levers[*place].name.clone();
    let best = found.best.as_ref();
    // The gain that the sentences state has more seeds than the run that selected the lever.
    let final_gain = |gain: &'_ Gain| {
        let mut named = found.best.iter().chain(&found.rival).chain(&found.fault);
        let is_same = |named: &&Gain| named.places == gain.places && named.changes == gain.changes;
        named.find(is_same).unwrap_or(gain).clone()
    };
    let tried = found.tried.iter().map(final_gain).map(|gain| TriedLever {
        lever: name(&gain.places[0]),
        gain_share: gain.ratio - 1.0,
        error_share: gain.error,
        changes: gain.changes,
    });
    let parts = VerdictParts {
        because: proof::because(setup, played, search, found),
        ..VerdictParts::limited_by(wording::limited_by(setup, played, search, found))
    };
    let levers = best.map_or(&[][..], |best| &best.places).iter();
    let levers = levers.chain(&found.used_up);
    let levers: Vec<_> = levers.map(|place| &search.levers[*place]).collect();
    let shown = best.map(|best| best.changes.clone());
    let used_up = found
        .used_up
        .map(|place| search.levers[place].ample.clone());
    let limit = cause(played, search, found);
    Explanation {
        limit_words: levers.first().map_or(limit.words, |lever| words_of(lever)),
        shown: shown.or(used_up).unwrap_or_default(),
        shown_by: shown_by::of(setup, played, &levers),
        levers: best.map_or_else(Vec::new, |best| best.places.iter().map(name).collect()),
        kind: found.place().map(|place| search.levers[place].kind),
        rival: found.rival.as_ref().map_or_else(Vec::new, |rival| {
            let names = rival.places.iter().map(name);
            names.collect()
        }),
        fault: found.fault.as_ref().map(|fault| {
            let lever = &search.levers[fault.places[0]];
            PathFault {
                cause: lever.cause,
                words: wording::cause_with_place(setup, lever),
                is_most: best.is_some() && found.fault_saves > 1.0,
            }
        }),
        tried: tried.collect(),
        bound: best.and_then(|best| bound::of(setup, played, &search.levers[best.places[0]])),
        refuted: refuted(search, found).iter().map(name).collect(),
        runs: search.twin.runs(),
        ..Explanation::of(limit, parts)
    }
}

/// Returns the cause; [`Cause::HANDSHAKE`] if no connection was established and no lever helps.
fn cause(played: &Played, search: &Search<'_>, found: &Found) -> Cause {
    match found.cause(search) {
        Cause::NOTHING if wording::is_unopened(played) => Cause::HANDSHAKE,
        cause => cause,
    }
}

/// Returns the predicted goodput with the advice: the goodput of the runs of `gain`, multiplied by
/// `unit`, the ratio of the whole transfer's goodput to the goodput of its part. The prediction
/// does not exceed what the links carry.
fn predicted(setup: &Setup, unit: f64, gain: &Gain) -> Predicted {
    let setup_after = changed(setup, &gain.changes);
    let after = &gain.speed;
    let most = most_mbps(setup_after.as_ref().unwrap_or(setup));
    let scaled = after.mbps.iter().map(|mbps| (mbps * unit).min(most));
    let [low, high] = [f64::min, f64::max]
        .map(|pick: fn(f64, f64) -> f64| scaled.clone().reduce(pick).unwrap_or(0.0));
    let goodput_mbps = (after.mean_mbps() * unit).min(most);
    let flow = setup.flow();
    Predicted {
        goodput_mbps,
        unchanged_mbps: match gain.ratio.is_finite() && gain.ratio > 0.0 {
            true => after.mean_mbps() * unit / gain.ratio,
            false => 0.0,
        },
        elapsed_s: match flow.stop {
            Stop::Bytes(bytes) => (bytes * u64::from(flow.count)) as f64 * 8.0 / 1e6 / goodput_mbps,
            Stop::After(length) => length.as_secs_f64(),
        },
        low_mbps: low,
        high_mbps: high,
    }
}
