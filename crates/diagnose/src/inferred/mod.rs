//! The account of a path (its losses, delays and rate), inferred from the frames at its two ends.
//!
//! [`infer`] takes the frames that both ends sent and received, with their times. For each
//! direction it returns losses by reason, queue delay, rate and busy share, marks, overtaken frames
//! and acknowledgments. For both directions together it returns outages. The function gets no
//! frames from inside the path.
//!
//! Rule: counts are exact if both ends were observed without gaps. Every other value has a
//! confidence, or a reason for which it is unknown.

mod acks;
mod delay;
mod direction;
mod frames;
mod losses;
mod matching;
mod outages;
mod policer;
mod values;

pub use acks::AckPath;
pub(crate) use frames::WORDS;
pub use frames::{EndFrames, FrameKind, SeenFrame};
pub use values::{
    Confidence, DirectionInference, FrameCounts, Inferred, LossReason, MtuHole, Outage,
    PathInference, Policer, QueueDelay, Unknown,
};

use delay::Delays;
use direction::{account, decided};
use losses::{Losses, Surroundings};
use matching::Matched;

/// Infers the account of the path between two ends from all frames that they sent and received
/// until `end_ns`. The clocks of the ends must agree.
pub fn infer(ends: [&EndFrames; 2], end_ns: u64) -> PathInference {
    let [first, second] = ends;
    let matched = [
        Matched::of(&first.sent, &second.received),
        Matched::of(&second.sent, &first.received),
    ];
    let delays = [0, 1].map(|way| Delays::of(&matched[way]));
    let lost = [0, 1].map(|way| decided(&matched[way], end_ns));
    let around = Surroundings {
        round_trip_ns: delays.iter().map(|delays| delays.base_ns.max(0.0)).sum(),
        is_answered: ends.map(|end| {
            let mut answers = end.received.iter();
            answers.any(|frame| frame.kind == FrameKind::PacketTooBig)
        }),
    };
    let mut losses = [0, 1].map(|way| Losses::of_sizes(&matched[way], &lost[way], &around, way));
    let rest = losses.each_ref().map(|losses| &losses.rest[..]);
    let (outages, runs) = outages::find(matched.each_ref(), rest, around.round_trip_ns);
    for (way, losses) in losses.iter_mut().enumerate() {
        losses.explain(&matched[way], &delays[way], &runs[way], &around);
    }
    let direction =
        |way: usize| account(&matched[way], &delays[way], lost[way].len(), &losses[way]);
    PathInference {
        forward: direction(0),
        back: direction(1),
        outages,
    }
}

#[cfg(test)]
mod tests;
