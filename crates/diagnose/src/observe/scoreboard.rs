//! Ranges of bytes of one direction that passed the tap (the place of the capture) and are not
//! acknowledged, and the holes between these ranges.
//!
//! Rule: at most [`RANGES`] ranges and [`HOLES`] holes are kept. If there are more, the two oldest
//! ranges are joined, and the oldest hole is forgotten.

use std::collections::VecDeque;

/// Largest number of ranges.
const RANGES: usize = 32_768;
/// Largest number of holes.
const HOLES: usize = 1_024;

/// A range of bytes that passed the tap and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    /// Time at which a segment with this range last passed the tap.
    at: u64,
    /// Number of segments with this range that passed the tap.
    sends: u32,
    /// TSval of the range's first retransmission.
    again_ts: Option<u32>,
}

/// A hole: sequence space that was skipped at the tap.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: u64,
    end: u64,
    at: u64,
}

/// Relation of a segment to the segments that passed the tap before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The segment begins at the highest byte seen, or after it.
    New,
    /// The segment begins with bytes that had passed the tap before.
    Again {
        /// Time at which these bytes last passed the tap.
        last: u64,
    },
    /// The segment begins in a hole, and fills it as far as the segment reaches.
    Fills {
        /// Time at which the hole appeared.
        since: u64,
    },
    /// The whole segment was already acknowledged.
    Acknowledged,
}

/// Result of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// RTT sample of the newest segment that was sent once and is now acknowledged: the time since
    /// this segment passed the tap.
    pub sample: Option<u64>,
    /// Acknowledged bytes that never passed the tap.
    pub missing: u64,
    /// Number of retransmitted ranges whose first transmission had arrived, as the ACK's timestamp
    /// proves.
    pub needless: u64,
}

/// Ranges that passed the tap in one direction.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    ranges: VecDeque<Range>,
    holes: VecDeque<Hole>,
    /// Highest acknowledged position.
    pub una: u64,
    /// Position after the highest byte seen.
    pub max: u64,
}

impl Scoreboard {
    /// Creates a scoreboard that begins at `position`.
    pub fn new(position: u64) -> Self {
        Self {
            una: position,
            max: position,
            ..Self::default()
        }
    }

    /// Takes a segment with the bytes from `start` to `end`, which passed the tap at `at`.
    pub fn on_data(&mut self, at: u64, start: u64, end: u64, tsval: Option<u32>) -> Arrival {
        if start >= self.max {
            if start > self.max {
                self.open_hole(at, self.max, start);
            }
            self.push(at, start, end);
            self.max = end;
            return Arrival::New;
        }
        if end <= self.una {
            return Arrival::Acknowledged;
        }
        if let Some(since) = self.fill(at, start, end) {
            return Arrival::Fills { since };
        }
        let last = self.mark_again(at, start, end, tsval);
        if end > self.max {
            self.push(at, self.max, end);
            self.max = end;
        }
        Arrival::Again { last }
    }

    /// Takes an ACK that acknowledges everything before `ack`.
    pub fn on_ack(&mut self, at: u64, ack: u64, echo: Option<u32>) -> Progress {
        let mut progress = Progress::default();
        if ack <= self.una {
            return progress;
        }
        progress.bytes = ack - self.una;
        if ack > self.max {
            progress.missing = ack - self.max;
            self.max = ack;
        }
        self.una = ack;
        while let Some(first) = self.ranges.front_mut() {
            if first.start >= ack {
                break;
            }
            if first.sends == 1 {
                progress.sample = Some(at.saturating_sub(first.at));
            } else if let (Some(again), Some(echo)) = (first.again_ts, echo) {
                progress.needless += u64::from((echo.wrapping_sub(again) as i32) < 0);
                first.again_ts = None;
            }
            if first.end > ack {
                first.start = ack;
                break;
            }
            self.ranges.pop_front();
        }
        while let Some(hole) = self.holes.front() {
            if hole.end > ack {
                break;
            }
            progress.missing += hole.end - hole.start;
            self.holes.pop_front();
        }
        progress
    }

    fn push(&mut self, at: u64, start: u64, end: u64) {
        if self.ranges.len() >= RANGES
            && let Some(first) = self.ranges.pop_front()
            && let Some(second) = self.ranges.front_mut()
        {
            second.start = first.start;
            second.sends = second.sends.max(first.sends);
        }
        self.ranges.push_back(Range {
            start,
            end,
            at,
            sends: 1,
            again_ts: None,
        });
    }

    fn open_hole(&mut self, at: u64, start: u64, end: u64) {
        if self.holes.len() >= HOLES {
            self.holes.pop_front();
        }
        self.holes.push_back(Hole { start, end, at });
    }

    /// Removes the bytes from `start` to `end` from the hole that contains `start`. Returns the
    /// time at which the hole appeared.
    fn fill(&mut self, at: u64, start: u64, end: u64) -> Option<u64> {
        let is_in = |hole: &Hole| hole.start <= start && start < hole.end;
        let place = self.holes.iter().position(is_in)?;
        let hole = self.holes[place];
        self.holes.remove(place);
        let rests = [(hole.start, start), (end, hole.end)];
        let rests = rests.into_iter().filter(|(from, to)| from < to);
        for (from, to) in rests.rev() {
            let rest = Hole {
                start: from,
                end: to,
                at: hole.at,
            };
            self.holes.insert(place, rest);
        }
        let place = self.ranges.partition_point(|range| range.start < start);
        let range = Range {
            start,
            end: end.min(hole.end),
            at,
            // Let the range give no RTT sample, because its first transmission may have been lost
            // before the tap.
            sends: 2,
            again_ts: None,
        };
        self.ranges.insert(place, range);
        Some(hole.at)
    }

    /// Marks the ranges from `start` to `end` as retransmitted. Returns the time at which a segment
    /// with the first of these ranges last passed the tap.
    fn mark_again(&mut self, at: u64, start: u64, end: u64, tsval: Option<u32>) -> u64 {
        let place = self.ranges.partition_point(|range| range.end <= start);
        let mut last = None;
        for range in self.ranges.range_mut(place..) {
            if range.start >= end {
                break;
            }
            last.get_or_insert(range.at);
            if range.sends == 1 {
                range.again_ts = tsval;
            }
            range.sends += 1;
            range.at = at;
        }
        last.unwrap_or(at)
    }
}
