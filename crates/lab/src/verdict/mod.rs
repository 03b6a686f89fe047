//! Which bound was binding, with the numbers that prove it, the knob that moves
//! it, and what turning that would give.
//!
//! Rule: the limit is the stack's own, never guessed from figures; the figures
//! are its proof. A knob is named only where turning it can help, and never
//! towards a smaller value.
//!
//! | question | where |
//! | --- | --- |
//! | what may bind, and its names | `cause` |
//! | what did, by the stack's account | `binding`; of datagrams, `datagrams`; of peers that are gone, `gone` |
//! | what each would allow at most | `bounds`, of datagrams `datagram_bounds`, with `buffers` and `processor` for what those hold and cost |
//! | which knob moves it, and how far | `remedy`, of datagrams `datagram_remedy`, and `names` for its own words |
//! | what that would give | `predict`; over a path that loses, `lossy` |
//! | what is left where none does | `ending` |
//! | the sentences | `words` |

mod binding;
mod bounds;
mod buffers;
mod cause;
mod datagram_bounds;
mod datagram_remedy;
mod datagrams;
mod ending;
mod evidence;
mod gone;
mod lossy;
mod names;
mod predict;
mod processor;
mod remedy;
mod words;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub(crate) use bounds::{low_water, most_window};
pub(crate) use buffers::Buffer;
pub use cause::Cause;
pub use ending::Narrowest;
pub(crate) use ending::{Ending, Left};
pub use evidence::{Evidence, pool_bytes};
pub(crate) use names::{Spoken, number as spoken};
pub use predict::Predicted;
pub use remedy::Change;

use crate::{experiment::Setup, measured::Outcome, units::grouped};
use bounds::Bound;
use remedy::Remedy;

/// What is advised is to give so many times as much, or is not worth a word.
const WORTH_A_STEP: f64 = 1.02;
/// Windows that may bind alike: buffers, their caps and memory of both ends.
const WINDOWS: usize = 7;

/// Which bound was binding, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What bound.
    pub limit: Cause,
    /// That and its proof, and the advice, for people.
    pub sentence: String,
    /// The knob that moves it, by its host's own name; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knob: Option<String>,
    /// The value that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<String>,
    /// The value that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<String>,
    /// How that is worked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// What that would give, where it can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// What would bind then, where it can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// Every setting that the advice changes, as `--set` takes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// What is left where no knob moves it.
    #[serde(skip)]
    pub(crate) ending: Option<Ending>,
}

/// What would bind next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Next {
    /// What.
    pub limit: Cause,
    /// Text that it lets through, in Mbit/s.
    pub at_most_mbps: f64,
}

/// The verdict.
pub fn of(evidence: &Evidence<'_>) -> Verdict {
    let verdict = drawn(evidence);
    Verdict {
        ending: verdict.changes.is_empty().then(|| {
            let known = verdict.ending.clone();
            known.unwrap_or_else(|| ending::of(evidence, verdict.limit))
        }),
        ..verdict
    }
}

fn drawn(evidence: &Evidence<'_>) -> Verdict {
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
        let sentence = "No connection came about, so nothing can be said of its limits.";
        return plain(Cause::Nothing, sentence.to_string());
    };
    let proof = words::proof(evidence, &binding);
    let is_told = evidence.measured.outcome == Outcome::Complete && evidence.is_alone();
    let remedy = if is_told {
        remedy::of(evidence, binding.cause)
    } else {
        None
    };
    match remedy {
        Some(remedy) => advised(evidence, plain(binding.cause, proof), remedy),
        None => plain(binding.cause, proof),
    }
}

fn plain(limit: Cause, sentence: String) -> Verdict {
    Verdict {
        limit,
        sentence,
        knob: None,
        present: None,
        needed: None,
        formula: None,
        predicted: None,
        next: None,
        changes: Vec::new(),
        ending: None,
    }
}

/// `setup` with `changes` made, if they can be made.
pub fn changed(setup: &Setup, changes: &[Change]) -> Option<Setup> {
    let mut setup = setup.clone();
    let mut made = changes
        .iter()
        .map(|change| setup.set(&change.set, &change.to));
    made.all(|outcome| outcome.is_ok()).then_some(())?;
    setup.validate().ok().map(|()| setup)
}

/// The verdict with what the remedy would give. Windows that bind alike are raised together.
fn advised(evidence: &Evidence<'_>, verdict: Verdict, mut remedy: Remedy) -> Verdict {
    // The last turn of the loop has raised every window that there is.
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

/// Adds what moves `next`, where that is a window too and none that is raised already.
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

/// A verdict on a limit that another stands close behind, which no knob moves.
fn without_gain(evidence: &Evidence<'_>, verdict: Verdict, next: Cause) -> Verdict {
    if !binding::is_window(verdict.limit) {
        return verdict;
    }
    let sentence = format!(
        "{} More would give hardly anything: then the limit is {}.",
        verdict.sentence,
        next.words()
    );
    Verdict {
        sentence,
        ending: Some(ending::of(evidence, next)),
        ..verdict
    }
}

/// Whether hardly more is to be expected than came, where advice is there for the rate.
fn is_no_gain(evidence: &Evidence<'_>, verdict: &Verdict, predicted: Predicted) -> bool {
    verdict.limit != Cause::Nagle
        && evidence.measured.outcome == Outcome::Complete
        && predicted.goodput_mbps < evidence.measured.goodput_mbps * WORTH_A_STEP
}

/// The verdict with advice, and with what comes of it where that can be told.
fn with_remedy(
    evidence: &Evidence<'_>,
    verdict: Verdict,
    remedy: Remedy,
    outlook: Option<(Predicted, Bound)>,
) -> Verdict {
    let (predicted, next) = outlook.unzip();
    let next = next.map(|next| Next {
        limit: next.cause,
        at_most_mbps: next.bps / 1e6,
    });
    let advice = words::advice(evidence, &remedy, predicted.as_ref(), next.as_ref());
    Verdict {
        sentence: format!("{}{advice}", verdict.sentence),
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

/// The tightest of all bounds once `setup` is as advised.
fn next_bound(evidence: &Evidence<'_>, setup: &Setup) -> Option<Bound> {
    bounds::tightest(&bounds::all(setup, &evidence.scale()))
}

/// A write that is taken whole or not at all, and is larger than what could
/// ever hold it.
fn write_that_never_fits(evidence: &Evidence<'_>) -> Option<Verdict> {
    let sender = evidence.sender();
    let write = u64::from(evidence.setup.flow().write);
    if !sender.config.tcp.write_atomic || evidence.measured.delivered_bytes > 0 {
        return None;
    }
    let (pool, buffer) = (pool_bytes(sender), u64::from(sender.config.tcp.send_buffer));
    let knobs = &sender.config.pool;
    let whole = names::switch(sender, "tcp.write_atomic", false).name;
    let never = format!("a write of {} bytes never fits in", grouped(write));
    let whole = format!("{whole} takes a write whole or not at all");
    let (cause, why) = if write > pool {
        let size = u64::from(knobs.block_size);
        let blocks = names::number(sender, "pool.blocks", write.div_ceil(size));
        let why = format!(
            "{never} the pool of {} bytes ({} blocks of {size} bytes), and {whole}: {} must be at least \
             {}, unless it is sent chunk by chunk.",
            grouped(pool),
            grouped(knobs.blocks.into()),
            blocks.name,
            blocks.wanted,
        );
        (Cause::Memory, why)
    } else if write > buffer {
        let spoken = names::number(sender, "tcp.send_buffer", write);
        let why = format!(
            "{never} {} = {}, and {whole}, unless it is sent chunk by chunk.",
            spoken.name, spoken.present
        );
        (Cause::SendBuffer, why)
    } else {
        return None;
    };
    let verdict = plain(cause, format!("{}: {why}", cause.heading()));
    Some(advised(evidence, verdict, remedy::pieces(sender)))
}
