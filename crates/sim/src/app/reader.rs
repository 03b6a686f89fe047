//! Reads a stream: eagerly, at a rate, or with stalls.
//!
//! Rule: a plan limits a reader by time, not by its number of runs. However often a slow reader
//! runs, it reads no more than its plan allows.

use fullpipe_pool::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::interface::{NextRun, ReadOutcome, Socket};

/// The rate at which a reader reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReadPlan {
    /// Reads everything as soon as it arrives.
    Eager,
    /// Reads up to `bytes` at once, then nothing for `every`.
    Rate {
        /// Largest number of bytes read at one time.
        bytes: u64,
        /// Time after a read in which nothing is read.
        #[serde(with = "crate::text_forms::duration")]
        every: Duration,
    },
    /// Reads eagerly, except during stalls. Each stall is a pair of start (counted from the first
    /// run) and length; the pairs are ordered by time.
    Stalls(#[serde(with = "crate::text_forms::duration_pairs")] Vec<(Duration, Duration)>),
}

/// A reader in operation.
#[derive(Debug)]
pub struct Reader {
    plan: ReadPlan,
    started: Option<Instant>,
    not_before: Instant,
    read: u64,
}

/// Largest number of bytes read by one call.
const READ_SIZE: u64 = 16 << 10;

impl Reader {
    /// A reader that has not started.
    pub fn new(plan: ReadPlan) -> Self {
        Self {
            plan,
            started: None,
            not_before: Instant::ZERO,
            read: 0,
        }
    }

    /// Reads as much as is available and the plan allows. Returns two values: true if the end of
    /// the stream was read, and the time of the next run.
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
                    // Pause after every read, even if the read had fewer bytes than allowed.
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
