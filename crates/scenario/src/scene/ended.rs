//! The end of one connection.
//!
//! Rule: the outcome derives from the stages of both applications, from the bytes read, and from
//! the way in which the flow ended: complete, or by its time limit.

use fullpipe_pool::{Duration, Instant};
use fullpipe_sim::{Facts, Goal, Stage, app::Ending};

use super::{built::Built, omitted::Omitted};
use crate::{
    experiment::{FlowPlan, Stop},
    measured::Outcome,
};

/// A finished connection and its facts.
pub(super) struct Ended<'a> {
    pub plan: &'a FlowPlan,
    pub facts: Facts,
    pub outcome: Outcome,
    pub elapsed: Duration,
    /// Longest time between two arrivals of payload. For an unfinished flow, the time from the last
    /// arrival to the end of the run is also considered.
    pub longest_gap: Duration,
    /// Bytes that count in the results, and the time in which these bytes arrived. Both exclude the
    /// beginning of the run that the setting `omit` excludes.
    pub counted: (u64, Duration),
}

impl<'a> Ended<'a> {
    /// Returns the end of connection number `number`. Only the field `counted` excludes the
    /// beginning (`omit`).
    pub fn of(built: &mut Built<'a>, omitted: &Omitted, number: usize) -> Self {
        let plan = built.plan(number);
        let is_over = built.world.is_reached(Goal::Done(built.flows[number].1));
        let facts = built.facts(number);
        let (now, start) = (built.world.now(), Instant::ZERO + plan.start);
        let is_enough = plan.at_most.is_some_and(|most| now >= start + most);
        let outcome = match plan.reader_ending() {
            // The reader vanished as planned. Count the connection as complete if there are other
            // connections; a single connection has failed.
            Ending::Vanish { .. } if facts.server.stage == Stage::Vanished => {
                match built.flows.len() {
                    1 => outcome(&facts, false),
                    _ => Outcome::Complete,
                }
            }
            Ending::Graceful
            | Ending::Vanish { .. }
            | Ending::Abort { .. }
            | Ending::Close { .. } => outcome(&facts, is_over || is_enough),
        };
        // For a stalled or dropped flow with a planned duration, take the whole duration.
        let elapsed = match (outcome, plan.stop) {
            (Outcome::Complete, _) if is_over => facts.elapsed,
            (Outcome::Complete, _) => now.since(start),
            (Outcome::Stalled | Outcome::Dropped, Stop::After(length)) => length,
            (Outcome::Stalled | Outcome::Dropped, Stop::Bytes(_)) => now.since(start),
        };
        let server = &facts.server;
        let waits = server
            .last_arrival
            .filter(|_| !is_over)
            .map(|last| now - last);
        let longest_gap = server.longest_arrival_gap.max(waits.unwrap_or_default());
        let counted = omitted.counted(number, start, facts.bytes, elapsed);
        Self {
            plan,
            facts,
            outcome,
            elapsed,
            longest_gap,
            counted,
        }
    }

    /// Goodput of the counted bytes, in Mbit/s.
    pub fn goodput_mbps(&self) -> f64 {
        let (bytes, time) = self.counted;
        over(bytes as f64 * 8.0 / 1e6, time.as_secs_f64())
    }
}

/// Returns the outcome of a transfer. A transfer that was not dropped has stalled if it is
/// incomplete, or if its duration passed and no byte was read.
fn outcome(facts: &Facts, is_over: bool) -> Outcome {
    let dropped = |stage: Stage| match stage {
        Stage::Broken(_) | Stage::NoRoom => true,
        Stage::Waiting | Stage::Open | Stage::Finished | Stage::Left | Stage::Vanished => false,
    };
    if dropped(facts.client.stage) || dropped(facts.server.stage) {
        Outcome::Dropped
    } else if is_over && facts.bytes > 0 {
        Outcome::Complete
    } else {
        Outcome::Stalled
    }
}

/// Returns `amount` divided by `secs`; 0 if `secs` is 0.
pub(super) fn over(amount: f64, secs: f64) -> f64 {
    if secs > 0.0 { amount / secs } else { 0.0 }
}
