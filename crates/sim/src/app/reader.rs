//! Reads a stream: eagerly, at a rate, or with stalls.
//!
//! Rule: a slow reader is slow by the clock, not by events: however often it is
//! woken, it reads no more than its plan allows.

use fullpipe_pool::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::{NextRun, ReadOutcome, Socket};

/// How fast a reader reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReadPlan {
    /// Everything, as soon as it is there.
    Eager,
    /// Up to `bytes` at once, then nothing for `every`.
    Rate {
        /// Bytes of one helping.
        bytes: u64,
        /// Time between two helpings.
        #[serde(with = "crate::text_forms::duration")]
        every: Duration,
    },
    /// Eagerly, but not at all during the stalls: pairs of when one begins,
    /// counted from the start, and how long it lasts. In order of time.
    Stalls(#[serde(with = "crate::text_forms::duration_pairs")] Vec<(Duration, Duration)>),
}

/// A reader at work.
#[derive(Debug)]
pub struct Reader {
    plan: ReadPlan,
    started: Option<Instant>,
    not_before: Instant,
    read: u64,
}

/// Bytes asked for at once.
const READ_SIZE: u64 = 16 << 10;

impl Reader {
    /// A reader that has not begun.
    pub fn new(plan: ReadPlan) -> Self {
        Self {
            plan,
            started: None,
            not_before: Instant::ZERO,
            read: 0,
        }
    }

    /// Reads what there is and the plan allows. Returns whether the end was
    /// reached, and when to go on.
    pub fn run(&mut self, socket: &mut dyn Socket) -> (bool, NextRun) {
        let now = socket.now();
        let started = *self.started.get_or_insert(now);
        let mut allowed = match &self.plan {
            ReadPlan::Eager => u64::MAX,
            ReadPlan::Rate { bytes, .. } => {
                if now < self.not_before {
                    return (false, NextRun::At(self.not_before));
                }
                *bytes
            }
            ReadPlan::Stalls(stalls) => {
                let age = now.since(started);
                let stall = stalls
                    .iter()
                    .find(|(begin, length)| *begin <= age && age < *begin + *length);
                if let Some((begin, length)) = stall {
                    return (false, NextRun::At(started + *begin + *length));
                }
                u64::MAX
            }
        };
        while allowed > 0 {
            match socket.read(allowed.min(READ_SIZE)) {
                ReadOutcome::Bytes(count) => {
                    allowed -= count;
                    self.read += count;
                    // Also a helping that was smaller than it might have been.
                    if let ReadPlan::Rate { every, .. } = self.plan {
                        self.not_before = now + every;
                    }
                }
                ReadOutcome::Empty => break,
                ReadOutcome::End => return (true, NextRun::OnEvent),
            }
        }
        let rests = self.not_before > now;
        (
            false,
            if rests {
                NextRun::At(self.not_before)
            } else {
                NextRun::OnEvent
            },
        )
    }

    /// Bytes read.
    pub fn read(&self) -> u64 {
        self.read
    }
}
