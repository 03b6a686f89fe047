//! The reasons of losses, inferred from the frames around them.
//!
//! Rule: a reason is a condition that is true where frames were lost and false where frames passed.
//! Each loss gets one reason. The reasons are tried in this order: MTU hole, outage, policer, queue
//! (only if there is no policer), bursts. Losses that none of them explains are random, or unclear
//! if there are too few of them.

use super::delay::Delays;
use super::matching::Matched;
use super::outages::LostRun;
use super::policer;
use super::values::{Confidence, LossReason, MtuHole, Policer};

/// Smallest number of losses that can show a pattern.
const FEWEST: usize = 5;
/// Smallest number of losses that show a pattern with high confidence.
const MANY: usize = 20;
/// A queue can drop frames if its length is at least this, in serialisation times of full frames.
const SHORTEST_QUEUE: f64 = 1.5;
/// Distances in frames at which two losses count as near each other; each is tried.
const NEAR: [usize; 4] = [1, 2, 4, 8];
/// A condition is not due to chance if its gain in log-likelihood (natural logarithm) is at least
/// this.
const NO_CHANCE: f64 = 6.0;

/// Facts about both directions that help to explain losses.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Smallest round-trip time.
    pub round_trip_ns: f64,
    /// For each end, true if an ICMP message reported to it that a packet was too big.
    pub is_answered: [bool; 2],
}

/// Losses of one direction by reason.
#[derive(Debug)]
pub struct Losses {
    /// For each frame sent, the reason if it was lost.
    pub reason: Vec<Option<LossReason>>,
    /// Losses that have no reason yet.
    pub rest: Vec<usize>,
    /// Confidence in the reasons, except in `Unclear`.
    pub confidence: Confidence,
    /// The MTU hole: a size above which no frame arrived.
    pub hole: Option<MtuHole>,
    /// The policer: a rate above which frames were lost although no queue had formed.
    pub policer: Option<Policer>,
}

impl Losses {
    /// Looks for an MTU hole, and assigns to the hole the losses in `lost` that the hole explains.
    /// The other losses get no reason yet.
    pub fn of_sizes(
        matched: &Matched<'_>,
        lost: &[usize],
        around: &Surroundings,
        way: usize,
    ) -> Self {
        let mut found = Self {
            reason: vec![None; matched.sent.len()],
            rest: lost.to_vec(),
            confidence: Confidence::Low,
            hole: None,
            policer: None,
        };
        found.take_hole(matched, around.is_answered[way]);
        found
    }

    /// Finds the reasons of the remaining losses.
    pub fn explain(
        &mut self,
        matched: &Matched<'_>,
        delays: &Delays,
        outages: &[LostRun],
        around: &Surroundings,
    ) {
        self.take(LossReason::Outage, |place| {
            outages
                .iter()
                .any(|run| (run.first..=run.last).contains(&place))
        });
        self.take_overload(matched, delays, around.round_trip_ns);
        self.take_pattern(matched);
    }

    /// Number of losses for `reason`.
    pub fn count(&self, reason: LossReason) -> u64 {
        self.reason
            .iter()
            .filter(|own| **own == Some(reason))
            .count() as u64
    }

    /// Assigns `reason` to each remaining loss for which `is_so` returns true.
    fn take(&mut self, reason: LossReason, is_so: impl Fn(usize) -> bool) {
        let Self {
            rest,
            reason: reasons,
            ..
        } = self;
        rest.retain(|&place| {
            let own = is_so(place);
            if own {
                reasons[place] = Some(reason);
            }
            !own
        });
    }

    /// Assigns losses to an MTU hole if their frames are longer than all frames that arrived.
    fn take_hole(&mut self, matched: &Matched<'_>, is_answered: bool) {
        let passes = longest(matched);
        let too_long = |place: &&usize| matched.sent[**place].len > passes;
        let stopped: Vec<_> = self.rest.iter().filter(too_long).copied().collect();
        let Some(stops) = stopped.iter().map(|&place| matched.sent[place].len).min() else {
            return;
        };
        let shorter = (matched.sent.len() - stopped.len()) as f64;
        let others = (self.rest.len() - stopped.len()) as f64;
        let chance = (others + 1.0) / (shorter + 1.0);
        if -(stopped.len() as f64) * chance.ln() < NO_CHANCE {
            return;
        }
        self.hole = Some(MtuHole {
            passes_bytes: passes,
            stops_bytes: stops,
            is_answered,
        });
        self.confidence = Confidence::High;
        self.take(LossReason::MtuHole, |place| {
            matched.sent[place].len > passes
        });
    }

    /// Assigns losses to a policer or a queue. A policer drops a frame if more bytes have passed
    /// than its token bucket allows. A queue drops a frame if the queue is longer than it was for
    /// most frames that arrived.
    fn take_overload(&mut self, matched: &Matched<'_>, delays: &Delays, round_trip_ns: f64) {
        let behind = delays.backlog_ns(matched);
        let full = longest(matched);
        let mut waits: Vec<f64> = self.rest.iter().map(|&place| behind[place]).collect();
        waits.sort_by(f64::total_cmp);
        let usual_ns = waits.get(waits.len() / 5).copied().unwrap_or(0.0);
        let bucket = policer::fit(matched, &self.rest);
        // No queue grows in front of a policer. Reject the bucket if most lost frames had a queue
        // of more than about one frame before them.
        let bucket =
            bucket.filter(|bucket| usual_ns < SHORTEST_QUEUE * f64::from(full) / bucket.bytes_ns);
        if let Some(bucket) = bucket {
            self.policer = Some(Policer {
                rate_bps: bucket.bytes_ns * 8e9,
                burst_bytes: bucket.burst_bytes,
            });
            self.confidence = match self.rest.len() >= MANY {
                true => Confidence::High,
                false => Confidence::Low,
            };
            return self.take(LossReason::Policer, |place| {
                bucket.missing[place] >= bucket.burst_bytes
            });
        }
        let least_ns = delays.on_wire_ns(full) * SHORTEST_QUEUE;
        // First try the backlog of the frames that this direction sent. Then, for losses that
        // remain, try the waits of the frames sent just before and after the lost frame. These
        // waits include the time behind other traffic in the queue; the backlog does not.
        for backlog in [behind, delays.around_ns(matched)] {
            let top = separated(matched, &self.rest, &backlog, round_trip_ns);
            if let Some(top) = top.filter(|top| top.threshold > least_ns.max(0.0)) {
                self.confidence = top.confidence;
                self.take(LossReason::Queue, |place| backlog[place] >= top.threshold);
            }
        }
    }

    /// Assigns the remaining losses a reason by their pattern: in bursts, at random, or unclear.
    fn take_pattern(&mut self, matched: &Matched<'_>) {
        // Leave out losses that have another reason, because they are not part of the pattern.
        let eligible = |place: &usize| self.reason[*place].is_none();
        let order: Vec<_> = (0..matched.sent.len()).filter(eligible).collect();
        let places = self.rest.iter();
        let places: Vec<_> = places
            .map(|place| order.partition_point(|own| own < place))
            .collect();
        let mut reason = pattern(&places, order.len());
        if reason == LossReason::Burst && self.policer.is_some() {
            reason = LossReason::Policer;
        }
        if places.len() >= MANY && groups(&places) >= FEWEST {
            self.confidence = Confidence::High;
        }
        self.take(reason, |_| true);
    }
}

/// Length of the longest frame that arrived.
fn longest(matched: &Matched<'_>) -> u32 {
    let arrived = matched.sent.iter().zip(&matched.arrival);
    let arrived = arrived.filter(|(_, arrival)| arrival.is_some());
    arrived.map(|(frame, _)| frame.len).max().unwrap_or(0)
}

/// A condition that separates losses from arrivals.
#[derive(Clone, Copy, Debug)]
struct Separation {
    /// The condition is true for values at or above this threshold.
    threshold: f64,
    /// Confidence that the condition is not due to chance.
    confidence: Confidence,
}

/// Finds a threshold of `score`: frames whose score is at least this threshold were lost more often
/// than chance explains. Losses within one round trip count as one event.
fn separated(
    matched: &Matched<'_>,
    lost: &[usize],
    score: &[f64],
    round_trip_ns: f64,
) -> Option<Separation> {
    let mut at_losses: Vec<f64> = lost.iter().map(|&place| score[place]).collect();
    let passed = (0..matched.sent.len()).filter(|&place| matched.arrival[place].is_some());
    let mut elsewhere: Vec<f64> = passed.map(|place| score[place]).collect();
    if at_losses.is_empty() || elsewhere.is_empty() {
        return None;
    }
    at_losses.sort_by(f64::total_cmp);
    elsewhere.sort_by(f64::total_cmp);
    let events = events(matched, lost, round_trip_ns);
    let above = |sorted: &[f64], threshold: f64| {
        let below = sorted.partition_point(|own| *own < threshold);
        (sorted.len() - below) as f64
    };
    let mut best: Option<(f64, f64)> = None;
    for quantile in [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5] {
        let threshold = at_losses[(quantile * (at_losses.len() - 1) as f64) as usize];
        let share = above(&at_losses, threshold) / at_losses.len() as f64;
        let chance = (above(&elsewhere, threshold) + 0.5) / (elsewhere.len() as f64 + 1.0);
        if chance >= share {
            continue;
        }
        let gain = events as f64 * gain(share, chance);
        if best.is_none_or(|(_, before)| gain > before) {
            best = Some((threshold, gain));
        }
    }
    let (threshold, gain) = best?;
    (gain >= NO_CHANCE).then_some(Separation {
        threshold,
        confidence: if events >= FEWEST {
            Confidence::High
        } else {
            Confidence::Low
        },
    })
}

/// Gain in log-likelihood per event if the share `share` is observed where chance would give the
/// share `chance`.
fn gain(share: f64, chance: f64) -> f64 {
    let rest = if share < 1.0 {
        (1.0 - share) * ((1.0 - share) / (1.0 - chance)).ln()
    } else {
        0.0
    };
    share * (share / chance).ln() + rest
}

/// Number of groups of losses: a gap of more than a round trip begins a new group.
fn events(matched: &Matched<'_>, lost: &[usize], round_trip_ns: f64) -> usize {
    let times = lost.iter().map(|&place| matched.sent[place].at_ns as f64);
    let mut last = f64::NEG_INFINITY;
    let mut events = 0;
    for at_ns in times {
        events += usize::from(at_ns - last > round_trip_ns);
        last = at_ns;
    }
    events
}

/// Number of groups of losses: a gap of more than the largest distance in [`NEAR`] begins a new
/// group.
fn groups(places: &[usize]) -> usize {
    let pairs = places.windows(2);
    let apart = pairs.filter(|pair| pair[1] - pair[0] > NEAR[NEAR.len() - 1]);
    apart.count() + usize::from(!places.is_empty())
}

/// Returns the pattern of losses at `places` in a sequence of `count` frames.
fn pattern(places: &[usize], count: usize) -> LossReason {
    if places.len() < FEWEST {
        return LossReason::Unclear;
    }
    let share = places.len() as f64 / count as f64;
    let follows = places.len() as f64 - 1.0;
    for distance in NEAR {
        let near = places
            .windows(2)
            .filter(|pair| pair[1] - pair[0] <= distance);
        let near = near.count() as f64;
        let chance = 1.0 - (1.0 - share).powi(distance as i32);
        if near / follows > chance && follows * gain(near / follows, chance) >= NO_CHANCE {
            return LossReason::Burst;
        }
    }
    LossReason::Random
}
