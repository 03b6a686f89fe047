//! The explanation of a transfer: its cause, what proves it, the smallest settings that free
//! it, what they give, and what limits it then.
//!
//! Rule: every statement about a change is a run. The account only says what to try, and how
//! long the sender waited for what.

use fullpipe_diagnose::facts::{ShownBy, VerdictParts};
use fullpipe_scenario::{Outcome, Played, Setup, experiment::Stop, scene::Part};
use serde::Serialize;

use crate::{
    advice::{self, Advised},
    bound::{self, Bound},
    cause::Cause,
    gone,
    lever::{Change, LeverKind, changed},
    search::{Gain, Hosts, Search, WORTH},
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
/// A lever does not help if its gain is below this share: half of what counts.
const CERTAINLY_NOTHING: f64 = WORTH / 2.0;
/// A cut transfer foretells the whole one well enough up to this error.
const CUT_ERROR: f64 = 0.03;

/// The explanation of a transfer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Cause of the limit.
    pub limit: Cause,
    /// The levers that help most: one, or several that help only together. Names as in
    /// [`Matrix`](crate::Matrix).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levers: Vec<String>,
    /// The part of the transfer that they change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<LeverKind>,
    /// A lever of another cause within 5 % of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rival: Option<String>,
    /// The explanation as text.
    pub parts: VerdictParts,
    /// The first setting of the advice, by its name in its host's system; absent without an
    /// advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knob: Option<String>,
    /// Its present value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<String>,
    /// The smallest value that gives 98 % of what an ample one gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<String>,
    /// Every setting of the advice, as `--set` takes them.
    #[serde(rename = "changes", skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Change>,
    /// Result of the advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// Cause of the limit after the advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Cause>,
    /// Every lever that was run, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedLever>,
    /// Levers of which the runs show that they do not help.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<String>,
    /// Number of runs.
    pub runs: usize,
    /// The setting behind the cause, for graphs.
    #[serde(skip)]
    pub bound: Option<Bound>,
    /// The part of the graphs that shows the cause.
    #[serde(skip)]
    pub shown_by: ShownBy,
}

/// Result of an advice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Goodput of the first flow in Mbit/s: the mean over the seeds.
    pub goodput_mbps: f64,
    /// Time of the transfer in seconds, at that goodput.
    pub elapsed_s: f64,
    /// The lowest goodput of the seeds.
    pub low_mbps: f64,
    /// The highest goodput of the seeds.
    pub high_mbps: f64,
}

/// A lever that was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriedLever {
    /// Its name.
    pub lever: String,
    /// Its settings.
    pub changes: Vec<Change>,
    /// Gain as a share of the unchanged goodput.
    pub gain_share: f64,
    /// Standard error of the gain.
    pub error_share: f64,
}

impl Explanation {
    /// An explanation that names a cause, without advice and without levers.
    pub(crate) fn of(limit: Cause, parts: VerdictParts) -> Self {
        Self {
            limit,
            levers: Vec::new(),
            kind: None,
            rival: None,
            parts,
            knob: None,
            present: None,
            needed: None,
            advice: Vec::new(),
            predicted: None,
            next: None,
            tried: Vec::new(),
            refuted: Vec::new(),
            runs: 0,
            bound: None,
            shown_by: ShownBy::default(),
        }
    }

    /// Adds the settings to change.
    pub(crate) fn advise(&mut self, settings: Vec<Advised>) {
        let first = &settings[0].setting;
        self.knob = Some(first.name.clone());
        self.present = Some(first.present.clone());
        self.needed = Some(first.wanted.clone());
        self.parts.change = settings.iter().map(Advised::line).collect();
        // Some settings are made by not making another.
        self.parts.change.dedup();
        self.advice = settings.into_iter().map(|at| at.change).collect();
    }
}

impl Predicted {
    /// A result that does not depend on chance.
    pub(crate) const fn certain(goodput_mbps: f64, elapsed_s: f64) -> Self {
        Self {
            goodput_mbps,
            elapsed_s,
            low_mbps: goodput_mbps,
            high_mbps: goodput_mbps,
        }
    }
}

/// What a search found.
pub(crate) struct Found {
    /// The lever, or the levers together, that help most; `None` if nothing helps.
    pub best: Option<Gain>,
    /// Another cause within 5 %.
    pub rival: Option<Gain>,
    /// Every single lever that was run, those of hosts first.
    pub tried: Vec<Gain>,
    /// A run of many ample resources, and those among them that do not matter in it.
    pub idle: Option<(Gain, Vec<usize>)>,
}

/// Explains a transfer of `setup`, which is run for it.
///
/// # Errors
/// A violation that a checker of the simulator found.
pub fn explain(setup: &Setup, seed: u64) -> Result<Explanation, TwinFailure> {
    let whole = Search::new(setup, seed, Part::WHOLE)?;
    let played = whole.base.first.clone();
    explained(setup, seed, &played, Part::WHOLE, whole)
}

/// Explains a transfer of `setup` that was `played` with the seeds from `seed` on. The runs
/// are cut short if the transfer is long.
///
/// # Errors
/// A violation that a checker of the simulator found.
pub fn explain_played(
    setup: &Setup,
    seed: u64,
    played: &Played,
) -> Result<Explanation, TwinFailure> {
    let measured = goodput_mbps(played);
    let mut part = part(setup, played);
    loop {
        let search = Search::new(setup, seed, part)?;
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
    if let Some(found) = gone::of(setup, seed, played)? {
        return Ok(found);
    }
    let found = find(&search, true)?;
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
    let seeds = search.twin.seeds();
    let Some(gain) = search
        .gain(&best.places, &advised, seeds)?
        .filter(Gain::is_worth)
    else {
        return Ok(without_advice(setup, played, &search, &found));
    };
    let named = best.places.iter().map(|place| search.levers[*place].cause);
    let next = next(setup, seed, part, &advised, &named.collect::<Vec<_>>())?;
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

/// The lever that helps most: of the hosts, if one does; otherwise of applications,
/// processors and path. Where the path carries all that it can, only levers of the path are
/// run, because no other can gain [`WORTH`].
pub(crate) fn find(search: &Search<'_>, deep: bool) -> Result<Found, TwinFailure> {
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
    } = search.of_hosts(deep)?;
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

/// The cause of the changed transfer without those that are `named` already, and its words.
fn next(
    setup: &Setup,
    seed: u64,
    part: Part,
    advised: &[Change],
    named: &[Cause],
) -> Result<Option<(Cause, String)>, TwinFailure> {
    let Some(setup) = changed(setup, advised) else {
        return Ok(None);
    };
    let mut search = Search::new(&setup, seed, part)?;
    search.without(named);
    let found = find(&search, false)?;
    let cause = cause_of(&search, &found);
    Ok(Some((cause, wording::limited_by(&setup, &search, &found))))
}

fn cause_of(search: &Search<'_>, found: &Found) -> Cause {
    let best = found.best.as_ref();
    best.map_or(Cause::NOTHING, |best| search.levers[best.places[0]].cause)
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
        because: wording::because(setup, played, search, found),
        ..VerdictParts::limited_by(wording::limited_by(setup, search, found))
    };
    let levers = best.map_or(&[][..], |best| &best.places).iter();
    let levers: Vec<_> = levers.map(|place| &search.levers[*place]).collect();
    Explanation {
        shown_by: shown_by::of(setup, played, &levers),
        levers: best.map_or_else(Vec::new, |best| best.places.iter().map(name).collect()),
        kind: best.map(|best| search.levers[best.places[0]].kind),
        rival: found.rival.as_ref().map(|rival| name(&rival.places[0])),
        tried: tried.collect(),
        bound: best.and_then(|best| bound::of(setup, played, &search.levers[best.places[0]])),
        refuted: refuted(search, found).iter().map(name).collect(),
        runs: search.twin.runs(),
        ..Explanation::of(cause_of(search, found), parts)
    }
}

/// Places of the resources of which a run shows that more of them does not help.
pub(crate) fn refuted(search: &Search<'_>, found: &Found) -> Vec<usize> {
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

/// The goodput with the advice: that of the row, times the gain over equal parts of equal
/// seeds.
fn predicted(setup: &Setup, played: &Played, base: &Speed, gain: &Gain) -> Predicted {
    let measured = goodput_mbps(played);
    // Without a goodput to multiply, the runs themselves are the prediction.
    let unit = match base.mean_mbps() {
        0.0 => 1.0,
        mean => measured / mean,
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
