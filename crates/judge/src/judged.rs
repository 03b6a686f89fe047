//! Compares an answer about a world (a random transfer) with the truth.
//!
//! Rule: the levers (changes) that an answer names, refutes or advises, and the goodput that it
//! predicts, are judged by runs with seeds that the engine does not use. A result contradicts an
//! answer if a refuted lever helps, or if advice harms. A contradiction counts only if two sets of
//! seeds show it.

use std::collections::BTreeSet;

use fullpipe_explain::{Cause, Change, LeverKind};
use fullpipe_scenario::Setup;

use crate::{
    family::{NOTHING, OTHERS, SEVERAL, UNKNOWN, family},
    runs::{CONFIRMING, FOLLOWING, Failure, Gain, LEAST, MEASURING, Runs},
    truth::{Best, RIGHT, Truth},
    world::World,
};

/// The named levers are wrong if they give less than this share of the best gain.
pub const WRONG: f64 = 0.2;
/// If the best gain is above this share, named levers with a gain below 2 % are wrong.
pub const CLEAR: f64 = 0.05;
/// If a gain may contradict a refutation or an advice, the gain is measured with more seeds until
/// twice its error is at most this share.
const EXACT: f64 = 0.005;

/// The parts of an explanation that are judged. Levers have the names that `fullpipe lab explain
/// --matrix` prints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Levers named as the cause: one, or several that help only together.
    pub levers: Vec<String>,
    /// A lever of another cause that the explanation calls equally good, or several that help
    /// together.
    pub rival: Vec<String>,
    /// Settings of the named levers with which the explanation shows that they are the cause.
    pub shown: Vec<Change>,
    /// True if the explanation names the other flows on a full link, and no lever.
    pub names_others: bool,
    /// Advised settings.
    pub advice: Vec<Change>,
    /// Predicted goodput with the advised settings, in Mbit/s.
    pub predicted_mbps: Option<f64>,
    /// Levers that the explanation says will not help.
    pub refuted: Vec<String>,
}

/// Explains a setup with runs that use the given seed and the following seeds.
pub type Engine<'a> = dyn Fn(&Setup, u64) -> Result<Answer, String> + Sync + 'a;

/// Correctness of the named levers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The named levers give at least `RIGHT` of the best gain, or a gain that differs from the
    /// best gain by less than twice the error. If no lever helps by 2 %, an answer is also right if
    /// it names nothing, or levers that give at least 1 %.
    Right,
    /// The named levers are neither right nor wrong.
    Missed,
    /// The named levers are not right, and they give less than `WRONG` of the best gain, or less
    /// than 2 % although the best gain is above 5 %. An answer that names nothing has a gain of 0.
    Wrong,
}

/// The result of applying advice.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviceResult {
    /// Goodput without and with the advice in Mbit/s, with the judge's seeds. Goodput with the
    /// advice is 0 if the settings were refused.
    pub mbps: [f64; 2],
    /// Gain of the advice as a share.
    pub gain: f64,
    /// True if the settings were refused, or if two sets of seeds show a contradiction. A
    /// contradiction is a loss of goodput of more than 2 % and more than twice the error of the
    /// gain, or more incomplete runs with the advice than without it.
    pub is_worse: bool,
    /// Error of the prediction as a share of the measured goodput; `None` without a prediction.
    pub missed: Option<f64>,
}

/// A world, the answer about it, and the judgement of this answer.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Number of the world.
    pub number: u64,
    /// Names of the properties that were drawn for the world, for example kinds of impairments.
    pub dimensions: Vec<&'static str>,
    /// The best levers of the world.
    pub best: Best,
    /// The answer.
    pub answer: Answer,
    /// Correctness of the named levers.
    pub verdict: Verdict,
    /// Gain of the named levers, as a share.
    pub named_gain: f64,
    /// Family of the named levers.
    pub named_family: String,
    /// Levers that were refuted although they help, with their gain.
    pub false_refutations: Vec<(String, f64)>,
    /// Result of the advice, if the answer has advice.
    pub advice: Option<AdviceResult>,
    /// Number of runs for the judgement.
    pub runs: usize,
}

/// Returns the engine's first seed for a world. The engine's seed is a small number and therefore
/// none of the judge's seeds, which have 63 random bits.
pub const fn engine_seed(number: u64) -> u64 {
    number + 1
}

/// Asks `engine` about `world`, and judges its answer.
///
/// # Errors
/// Fails if a checker of the simulator found a violation, or the engine failed.
pub fn judge(world: &World, engine: &Engine<'_>) -> Result<Judged, Failure> {
    let setup = world.setup();
    let answer = engine(&setup, engine_seed(world.number)).map_err(Failure)?;
    compare(world, &Truth::of(world)?, answer)
}

/// Judges `answer`, an answer about `world`.
///
/// # Errors
/// Fails if a checker of the simulator found a violation.
pub fn compare(world: &World, truth: &Truth, answer: Answer) -> Result<Judged, Failure> {
    let named = named_gain(truth, &answer)?;
    let best = better(truth, &answer, named);
    let advice = match answer.advice.is_empty() {
        true => None,
        false => Some(followed(&truth.runs, &answer)?),
    };
    Ok(Judged {
        number: world.number,
        dimensions: world.dimensions.clone(),
        verdict: verdict(&best, &answer, named),
        best,
        named_gain: named.share,
        named_family: match answer.names_others {
            true => OTHERS.into(),
            false => named_family(truth, &answer.levers),
        },
        false_refutations: false_refutations(truth, &answer.refuted)?,
        advice,
        runs: truth.runs.count(),
        answer,
    })
}

/// The larger of two gains: of the named levers, and of the rival (levers of another cause that help
/// nearly as much); 0 if the answer names nothing. Names that hide the remedy
/// ([`hides_the_remedy`]) have no gain. If the answer names the other flows, the gain of a run
/// without them. The named levers are run with their ample values, with their other values, and with
/// the values that the answer states for settings of these levers and no others.
fn named_gain(truth: &Truth, answer: &Answer) -> Result<Gain, Failure> {
    if answer.names_others {
        return Ok(truth.runs.gain_alone()?.unwrap_or(Gain::NONE));
    }
    let mut most = Gain::NONE;
    let stated = [answer.shown.clone(), answer.advice.clone()];
    for (names, stated) in [(&answer.levers, &stated[..]), (&answer.rival, &[])] {
        if names.is_empty() || hides_the_remedy(truth, names) {
            continue;
        }
        let known = truth.changes(names).unwrap_or_default();
        let sets: BTreeSet<_> = known.iter().flatten().map(|change| &change.set).collect();
        let is_named =
            |changes: &&Vec<Change>| changes.iter().all(|change| sets.contains(&change.set));
        let stated = stated.iter().filter(|changes| !changes.is_empty());
        for changes in known.iter().chain(stated.filter(is_named)) {
            let within = (truth.best.gain * 0.1).max(EXACT);
            let gain = truth.runs.exact_gain(changes, MEASURING, within, 0.0)?;
            most = gain.filter(|gain| gain.share > most.share).unwrap_or(most);
        }
    }
    Ok(most)
}

/// The best levers of the world. If the judge found no lever of the hosts that helps, but the
/// answer names levers of the hosts that really help, the named levers count as the best.
fn better(truth: &Truth, answer: &Answer, named: Gain) -> Best {
    let is_of_host = |name: &String| kind_of(truth, name).is_some_and(LeverKind::is_of_host);
    let best = &truth.best;
    let judge_found_some = best.is_of_host && !best.levers.is_empty();
    let names_hosts = !answer.levers.is_empty() && answer.levers.iter().all(is_of_host);
    if judge_found_some || !named.is_real() || !names_hosts {
        return best.clone();
    }
    Best {
        levers: answer.levers.clone(),
        changes: Vec::new(),
        gain: named.share,
        error: named.error,
        is_of_host: true,
        family: named_family(truth, &answer.levers),
        missing: Vec::new(),
    }
}

/// The kind of the lever with this name in an answer.
fn kind_of(truth: &Truth, name: &str) -> Option<LeverKind> {
    let own = truth.lever(name).map(|lever| lever.kind);
    own.or_else(|| truth.known.lever(name).map(|lever| lever.kind))
}

/// Returns true if the answer names a lever that no host can set, although levers of the hosts
/// clearly help. A slow reader is allowed among the named levers.
fn hides_the_remedy(truth: &Truth, names: &[String]) -> bool {
    let best = &truth.best;
    let is_clear = best.is_of_host && best.gain - 2.0 * best.error >= LEAST;
    let is_other = |name: &String| {
        let lever = truth.known.lever(name);
        lever.is_some_and(|lever| !lever.kind.is_of_host() && lever.cause != Cause::SLOW_READER)
    };
    is_clear && names.iter().any(is_other)
}

fn verdict(best: &Best, answer: &Answer, named: Gain) -> Verdict {
    let is_silent = answer.levers.is_empty() && !answer.names_others;
    if best.levers.is_empty() {
        // No lever helps by 2 %. A named lever is still right if it gains at least 1 %.
        return match is_silent || named.share >= LEAST / 2.0 {
            true => Verdict::Right,
            false => Verdict::Missed,
        };
    }
    let error = best.error.hypot(named.error);
    let is_equal = named.is_real() && best.gain - named.share < 2.0 * error;
    let is_right = named.share >= RIGHT * best.gain || is_equal;
    let is_wrong = named.share < WRONG * best.gain || (named.share < LEAST && best.gain > CLEAR);
    match (is_right, is_wrong) {
        (true, _) if !is_silent => Verdict::Right,
        (_, true) => Verdict::Wrong,
        _ => Verdict::Missed,
    }
}

fn named_family(truth: &Truth, names: &[String]) -> String {
    match names {
        [] => NOTHING.into(),
        [name] => kind_of(truth, name).map_or(UNKNOWN.into(), |kind| family(name, kind)),
        [..] => SEVERAL.into(),
    }
}

/// The refuted levers that help according to two sets of seeds, with their gains.
fn false_refutations(truth: &Truth, refuted: &[String]) -> Result<Vec<(String, f64)>, Failure> {
    let mut found = Vec::new();
    for name in refuted {
        let meant = truth.changes(std::slice::from_ref(name));
        for changes in meant.iter().flatten() {
            let rough = truth.runs.rough_gain(changes)?.unwrap_or(Gain::NONE);
            let measured = |seeds| truth.runs.exact_gain(changes, seeds, EXACT, LEAST);
            let is_real = |gain: Option<Gain>| gain.is_some_and(Gain::is_real);
            if rough.share < LEAST || !is_real(measured(MEASURING)?) {
                continue;
            }
            let confirmed = measured(CONFIRMING)?;
            if let Some(gain) = confirmed.filter(|gain| gain.is_real()) {
                found.push((name.clone(), gain.share));
                break;
            }
        }
    }
    Ok(found)
}

fn followed(runs: &Runs, answer: &Answer) -> Result<AdviceResult, Failure> {
    let changes = &answer.advice;
    let before = runs.goodput(&[], FOLLOWING)?.map_or(0.0, |(mbps, _)| mbps);
    let Some((after, _)) = runs.goodput(changes, FOLLOWING)? else {
        return Ok(AdviceResult {
            mbps: [before, 0.0],
            gain: -1.0,
            is_worse: true,
            missed: None,
        });
    };
    let gain = |seeds| runs.exact_gain(changes, seeds, EXACT, f64::NEG_INFINITY);
    let is_worse = |gain: Option<Gain>| {
        gain.is_none_or(|gain| gain.share < -LEAST && gain.share < -2.0 * gain.error)
    };
    let first = gain(FOLLOWING)?;
    Ok(AdviceResult {
        mbps: [before, after],
        gain: first.map_or(-1.0, |gain| gain.share),
        is_worse: is_worse(first) && is_worse(gain(CONFIRMING)?),
        missed: answer
            .predicted_mbps
            .map(|predicted| missed(predicted, after)),
    })
}

/// Error of a prediction as a share of the measured goodput.
pub(crate) fn missed(predicted: f64, measured: f64) -> f64 {
    match measured {
        0.0 if predicted == 0.0 => 0.0,
        0.0 => f64::INFINITY,
        _ => (predicted / measured - 1.0).abs(),
    }
}

#[cfg(test)]
mod tests;
