//! CoDel, the controlled delay queue discipline. RFC 8289.
//!
//! Rule: a frame's waiting time is checked when the frame leaves the queue. Once all frames that
//! leave within an interval have waited longer than the target, frames are dropped (or marked). The
//! time between two drops is the interval divided by the square root of a count that grows with
//! each drop. `queue.rs` limits the queue's length. Names are as in §5 of the RFC.

use fullpipe_pool::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::mark::mark;
use super::queue::{FrameQueue, QueuedFrame};

/// The discipline's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// Acceptable standing delay, in microseconds.
    pub target_us: u64,
    /// Time for which the delay must stay above the target before a frame is
    /// dropped, in microseconds: about the longest usual round trip.
    pub interval_us: u64,
    /// Frames of senders that use ECN are marked instead of dropped. §3.1.
    pub ecn: bool,
}

impl Codel {
    /// The settings for the open Internet: a target of 5 ms and an interval of 100 ms. §4.3 and
    /// §4.4.
    pub const fn internet() -> Self {
        Self {
            target_us: 5_000,
            interval_us: 100_000,
            ecn: false,
        }
    }

    /// Time of the drop that follows a drop at `t`: the interval, divided by the square root of
    /// `count`, after `t`. §3.3.
    fn control_law(&self, t: Instant, count: u32) -> Instant {
        let interval = (self.interval_us * 1_000) as f64;
        t + Duration::from_nanos((interval / f64::from(count.max(1)).sqrt()) as u64)
    }
}

/// The state of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct CodelState {
    /// Time at which the delay will have been above the target for an interval, if it stays above.
    first_above_time: Option<Instant>,
    drop_next: Instant,
    /// Number that sets the interval to the next drop: `first_count` at the start of the dropping
    /// state, plus 1 for each later drop or mark.
    count: u32,
    /// Value of `count` when the dropping state was last entered.
    lastcount: u32,
    dropping: bool,
}

impl CodelState {
    /// Takes the frame that leaves `line` at `now`, and returns it with the number of frames that
    /// were marked. Calls `dropped` with each frame that is dropped. If at most `maxpacket` bytes
    /// remain in the queue behind a frame, the frame is never dropped.
    pub fn deque(
        &mut self,
        model: Codel,
        line: &mut FrameQueue,
        maxpacket: usize,
        now: Instant,
        mut dropped: impl FnMut(&QueuedFrame),
    ) -> (Option<QueuedFrame>, u64) {
        let mut marked = 0;
        let (mut first, mut ok_to_drop) = self.dodeque(model, line, maxpacket, now);
        if self.dropping {
            self.dropping &= ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if marks(model, &mut first, &mut marked) {
                    self.drop_next = model.control_law(self.drop_next, self.count);
                    break;
                }
                first.iter().for_each(&mut dropped);
                (first, ok_to_drop) = self.dodeque(model, line, maxpacket, now);
                self.dropping = ok_to_drop;
                if self.dropping {
                    self.drop_next = model.control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            if !marks(model, &mut first, &mut marked) {
                first.iter().for_each(&mut dropped);
                (first, _) = self.dodeque(model, line, maxpacket, now);
            }
            self.dropping = true;
            self.count = self.first_count(model, now);
            self.lastcount = self.count;
            self.drop_next = model.control_law(now, self.count);
        }
        (first, marked)
    }

    /// The value of `count` at the start of a dropping state. If the previous dropping state ended
    /// recently, the value is the increase of `count` during that state; otherwise it is 1.
    fn first_count(&self, model: Codel, now: Instant) -> u32 {
        let delta = self.count.saturating_sub(self.lastcount);
        let recent = Duration::from_micros(16 * model.interval_us);
        if delta > 1 && now.since(self.drop_next) < recent {
            delta
        } else {
            1
        }
    }

    /// Takes the first frame from the queue. Returns the frame, and true if the frame may be
    /// dropped. §5.6.
    fn dodeque(
        &mut self,
        model: Codel,
        line: &mut FrameQueue,
        maxpacket: usize,
        now: Instant,
    ) -> (Option<QueuedFrame>, bool) {
        let Some(first) = line.leave() else {
            self.first_above_time = None;
            return (None, false);
        };
        let sojourn_time = now.since(first.since);
        let short = sojourn_time < Duration::from_micros(model.target_us)
            || line.bytes() <= maxpacket as u64;
        if short {
            self.first_above_time = None;
            return (Some(first), false);
        }
        let interval = Duration::from_micros(model.interval_us);
        let since = *self.first_above_time.get_or_insert(now + interval);
        (Some(first), now >= since)
    }
}

/// Marks the frame if the settings allow marking and its sender uses ECN. Counts a marked frame in
/// `marked`.
fn marks(model: Codel, first: &mut Option<QueuedFrame>, marked: &mut u64) -> bool {
    let is_marked = model.ecn && first.as_mut().is_some_and(|first| mark(&mut first.frame));
    *marked += u64::from(is_marked);
    is_marked
}

#[cfg(test)]
mod tests;
