//! Verdict of a transfer: its limit, the proof, the setting to change, the predicted
//! result and the next limit.
//!
//! Rule: the times that the stack charged to its limits decide the limit, never other
//! measured values; those are its proof. A setting is named only if its change is
//! predicted to help, and its value is never lowered.
//!
//! | question | file |
//! | --- | --- |
//! | names of the limits | `cause` |
//! | the limit of this transfer | `binding`; of datagrams, `datagrams`; of vanished peers, `gone` |
//! | the rate that each bound allows | `bounds`, of datagrams `datagram_bounds`, with `buffers` and `processor` |
//! | the setting that raises the limit, and its value | `remedy`, of datagrams `datagram_remedy` |
//! | the predicted result | `predict`; over a path with losses, `lossy` |
//! | the limit that remains if no setting raises it | `ending` |
//! | a setting's name, paste-ready form and risks | `names`, `caution` |
//! | the words of a prediction | `gives` |
//! | the words of limit and proof, and the layout of all parts | `wording`, `render` |

mod binding;
mod bounds;
mod buffers;
mod cause;
mod caution;
mod datagram_bounds;
mod datagram_remedy;
mod datagrams;
mod ending;
mod evidence;
mod gives;
mod gone;
mod lossy;
mod names;
mod predict;
mod processor;
mod remedy;
mod render;
mod wording;

#[cfg(test)]
mod tests;

use fullpipe_diagnose::facts::VerdictParts;
use fullpipe_scenario::{
    experiment::{Setup, Stop},
    measured::Outcome,
    units::grouped,
};
use serde::Serialize;

pub(crate) use bounds::{first_window, most_window};
pub(crate) use buffers::Buffer;
pub use cause::Cause;
pub use ending::Bottleneck;
pub(crate) use ending::{Remaining, RemainingLimit};
pub use evidence::{Evidence, pool_bytes};
pub(crate) use names::{NamedSetting, number as named};
pub use predict::Predicted;
pub use remedy::SettingChange;
pub use render::verdict_text;

use bounds::Bound;
use remedy::Remedy;

/// A change is advised if the predicted goodput is at least this many times the measured
/// one.
const WORTH_A_STEP: f64 = 1.02;
/// Number of windows that may limit at the same size: buffers, their caps and memory of
/// both ends.
const WINDOWS: usize = 7;

/// The limit of a transfer, and the advice about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The limit.
    pub limit: Cause,
    /// Limit, proof, change, prediction and next limit as text.
    pub parts: VerdictParts,
    /// The setting to change, by its name in its host's system; absent if none helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knob: Option<String>,
    /// Its present value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<String>,
    /// The value that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<String>,
    /// Derivation of that value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// Predicted result of the change, if there is a prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// Limit after the change, if there is a prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// Every setting that the advice changes, as `--set` takes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<SettingChange>,
    /// The limit that remains if nothing is advised.
    #[serde(skip)]
    pub(crate) remaining: Option<RemainingLimit>,
}

/// Limit after a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Next {
    /// The limit.
    pub limit: Cause,
    /// Goodput that it allows, in Mbit/s.
    pub at_most_mbps: f64,
}

/// Returns the verdict on a run.
pub fn of(evidence: &Evidence<'_>) -> Verdict {
    let verdict = decide(evidence);
    Verdict {
        remaining: verdict.changes.is_empty().then(|| {
            let known = verdict.remaining.clone();
            known.unwrap_or_else(|| ending::of(evidence, verdict.limit))
        }),
        ..verdict
    }
}

fn decide(evidence: &Evidence<'_>) -> Verdict {
    if evidence.setup.flow().is_udp() {
        return datagrams::of(evidence);
    }
    if let Some(verdict) = write_that_never_fits(evidence) {
        return verdict;
    }
    if let Some(verdict) = gone::of(evidence) {
        return verdict;
    }
    let Some(binding) = binding::of(evidence) else {
        let parts = VerdictParts::limited_by("nothing known: no connection came about");
        return without_advice(Cause::Nothing, parts);
    };
    let proof = wording::proof(evidence, &binding);
    let can_advise = evidence.measured.outcome == Outcome::Complete && evidence.is_alone();
    let remedy = if can_advise {
        remedy::of(evidence, binding.cause)
    } else {
        None
    };
    let verdict = without_advice(binding.cause, proof);
    match remedy {
        Some(remedy) => advised(evidence, verdict, remedy),
        None => verdict,
    }
}

fn without_advice(limit: Cause, parts: VerdictParts) -> Verdict {
    Verdict {
        limit,
        parts,
        knob: None,
        present: None,
        needed: None,
        formula: None,
        predicted: None,
        next: None,
        changes: Vec::new(),
        remaining: None,
    }
}

/// Returns `setup` with `changes`; `None` if one is refused.
pub fn changed(setup: &Setup, changes: &[SettingChange]) -> Option<Setup> {
    let mut setup = setup.clone();
    let mut made = changes
        .iter()
        .map(|change| setup.set(&change.set, &change.to));
    made.all(|outcome| outcome.is_ok()).then_some(())?;
    setup.validate().ok().map(|()| setup)
}

/// Adds the remedy and its prediction to a verdict. Windows that would limit at the same
/// size are raised together.
fn advised(evidence: &Evidence<'_>, verdict: Verdict, mut remedy: Remedy) -> Verdict {
    // After the last iteration every window has been raised.
    for _ in 0..=WINDOWS {
        let Some(setup) = changed(evidence.setup, &remedy.changes) else {
            return verdict;
        };
        let outlook = next_bound(evidence, &setup)
            .map(|next| (predict::under(&setup, &evidence.scale(), next), next));
        let Some((_, next)) = outlook.filter(|(it, _)| is_no_gain(evidence, &verdict, *it)) else {
            return with_remedy(evidence, verdict, remedy, outlook);
        };
        if !extend(evidence, verdict.limit, &mut remedy, next.cause) {
            return without_gain(evidence, verdict, next.cause);
        }
    }
    verdict
}

/// Adds the settings that raise `next`, if `next` is also a window and not yet raised.
fn extend(evidence: &Evidence<'_>, limit: Cause, remedy: &mut Remedy, next: Cause) -> bool {
    if !(binding::is_window(limit) && binding::is_window(next)) {
        return false;
    }
    let Some(other) = remedy::of(evidence, next) else {
        return false;
    };
    let before = remedy.changes.len();
    for change in other.changes {
        if remedy.changes.iter().all(|known| known.set != change.set) {
            remedy.changes.push(change);
        }
    }
    remedy.changes.len() > before
}

/// Returns the verdict on a window if the next limit, which no knob changes, allows
/// hardly more.
fn without_gain(evidence: &Evidence<'_>, mut verdict: Verdict, next: Cause) -> Verdict {
    if !binding::is_window(verdict.limit) {
        return verdict;
    }
    verdict.parts.because.push(format!(
        "A larger value is predicted to gain less than 2 %, because the next limit is {}.",
        next.words()
    ));
    verdict.remaining = Some(ending::of(evidence, next));
    verdict
}

/// Returns true if the advice is about the rate and its prediction is hardly more than
/// was measured.
fn is_no_gain(evidence: &Evidence<'_>, verdict: &Verdict, predicted: Predicted) -> bool {
    !matches!(verdict.limit, Cause::Nagle | Cause::Cork)
        && evidence.measured.outcome == Outcome::Complete
        && predicted.goodput_mbps < evidence.measured.goodput_mbps * WORTH_A_STEP
}

/// Returns the verdict with its advice, and with the prediction if there is one.
fn with_remedy(
    evidence: &Evidence<'_>,
    verdict: Verdict,
    remedy: Remedy,
    outlook: Option<(Predicted, Bound)>,
) -> Verdict {
    let (predicted, bound) = outlook.unzip();
    let next = bound.map(|bound| Next {
        limit: bound.cause,
        at_most_mbps: bound.bps / 1e6,
    });
    let segment = evidence.scale().segment;
    let setup = changed(evidence.setup, &remedy.changes);
    let setup = setup.as_ref().unwrap_or(evidence.setup);
    let parts = VerdictParts {
        gives: predicted.map(|predicted| {
            let next = bound.map(|bound| bound.cause);
            gives::gives(evidence, verdict.limit, &predicted, next)
        }),
        then: bound.map(|bound| {
            fits_at_once(evidence, bound).unwrap_or_else(|| {
                bounds::then_words(setup, segment, bound)
                    + gives::after_slow_start(evidence, predicted, bound)
            })
        }),
        ..verdict.parts
    };
    changing(
        without_advice(verdict.limit, parts),
        remedy,
        predicted,
        next,
    )
}

/// The limit after a change, if the window of `bound` holds the whole transfer: that
/// window is then never full.
fn fits_at_once(evidence: &Evidence<'_>, bound: Bound) -> Option<String> {
    let Stop::Bytes(bytes) = evidence.setup.flow().stop else {
        return None;
    };
    let window = bound.bps / 8.0 * evidence.scale().cycle_s;
    let fits = binding::is_window(bound.cause) && bytes as f64 <= window;
    fits.then(|| {
        format!(
            "the round trip: {} holds all {} bytes of the transfer",
            bound.cause.words(),
            grouped(bytes)
        )
    })
}

/// Returns the verdict with the settings of `remedy`, as fields and as text.
fn changing(
    verdict: Verdict,
    remedy: Remedy,
    predicted: Option<Predicted>,
    next: Option<Next>,
) -> Verdict {
    let mut change: Vec<_> = remedy
        .changes
        .iter()
        .map(|change| change.line.clone())
        .collect();
    if let Some(first) = change.first_mut().filter(|_| !remedy.formula.is_empty()) {
        first
            .notes
            .insert(0, format!("Reason: {}.", remedy.formula));
    }
    Verdict {
        parts: VerdictParts {
            change,
            ..verdict.parts
        },
        knob: Some(remedy.knob),
        present: Some(remedy.present),
        needed: Some(remedy.needed),
        formula: Some(remedy.formula).filter(|formula| !formula.is_empty()),
        predicted,
        next,
        changes: remedy.changes,
        ..verdict
    }
}

/// The tightest of all bounds of the changed `setup`.
fn next_bound(evidence: &Evidence<'_>, setup: &Setup) -> Option<Bound> {
    bounds::tightest(&bounds::all(setup, &evidence.scale()))
}

/// The verdict on a write that must be accepted whole and is larger than the send buffer
/// or memory.
fn write_that_never_fits(evidence: &Evidence<'_>) -> Option<Verdict> {
    let sender = evidence.sender();
    let write = u64::from(evidence.setup.flow().write);
    if !sender.config.tcp.write_atomic || evidence.measured.delivered_bytes > 0 {
        return None;
    }
    let (pool, buffer) = (pool_bytes(sender), u64::from(sender.config.tcp.send_buffer));
    let knobs = &sender.config.pool;
    let never = format!("a write of {} bytes never fits", grouped(write));
    let needed = bounds::blocks_for(sender, write);
    let (cause, holder, least) = if u64::from(knobs.blocks) < needed {
        let size = u64::from(knobs.block_size);
        let blocks = names::number(sender, "pool.blocks", needed);
        let holder = format!(
            "The pool has {} bytes: {} blocks of {size} bytes.",
            grouped(pool),
            grouped(knobs.blocks.into()),
        );
        (Cause::Memory, holder, blocks)
    } else if write > buffer {
        let setting = names::number(sender, "tcp.send_buffer", write);
        let holder = format!("The buffer is {} = {}.", setting.name, setting.present);
        (Cause::SendBuffer, holder, setting)
    } else {
        return None;
    };
    let switch = names::switch(sender, "tcp.write_atomic", false);
    let (atomic, atomic_on) = (switch.name, switch.present);
    let parts = VerdictParts {
        limited_by: format!("{}: {never}", cause.words()),
        because: vec![
            holder,
            format!(
                "With {atomic} = {} a write is accepted whole or not at all.",
                atomic_on
            ),
            format!(
                "It would fit with {} = {} or more.",
                least.name, least.wanted
            ),
        ],
        ..VerdictParts::default()
    };
    let verdict = without_advice(cause, parts);
    Some(advised(evidence, verdict, remedy::pieces(sender)))
}
