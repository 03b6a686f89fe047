//! The state of the checks of a whole world (a simulated network): the time without progress and
//! its limit (patience), and endless loops.
//!
//! Rule: this file stores times and counts; `inspect.rs` checks them.

use fullpipe_pool::{Duration, Instant};

/// The state of the checks of a whole world.
#[derive(Debug, Default)]
pub(super) struct ProgressChecker {
    /// Time at which bytes were last read or an end last made progress.
    pub last_progress: Instant,
    /// Longest time that an unfinished world may go without progress.
    pub patience: Option<Duration>,
    /// Frames that left hosts since the last progress.
    pub frames_without_progress: u64,
    pub next_inspection: Instant,
    /// Rounds of work since virtual time last advanced.
    pub rounds_now: u32,
}

impl ProgressChecker {
    pub fn progress(&mut self, now: Instant) {
        self.last_progress = now;
        self.frames_without_progress = 0;
    }

    /// Notes that time advances from `before` to `now`.
    pub fn passed(&mut self, before: Instant, now: Instant) {
        if now > before {
            self.rounds_now = 0;
        }
    }
}
