//! Sizes of the frames for a device that cuts segments, and of the device
//! backlog.
//!
//! Rule: the size follows from the rate at transmit. The rate at the write is out of date when the
//! frame leaves; sizing by that rate exists only for comparison. `segmentize` decides when a frame
//! leaves.

use fullpipe_pool::record;

use crate::congestion::SegmentPacer;

/// Number of runs (buffers of the same size) that are stored. Further changes of size are ignored
/// until the oldest run has left.
const MOST_RUNS: usize = 4;

/// Returns the payload that should leave as one frame at `rate` bytes per second: the whole
/// segments that this rate carries in a millisecond, at most 64 KiB but at least two segments. The
/// result never exceeds the whole segments in `device_max`, but is at least one segment.
pub fn frame_goal(rate: u64, mss: u32, device_max: u32) -> u32 {
    whole_segments(SegmentPacer::quantum(rate, mss).min(device_max), mss)
}

/// Returns the bytes of the whole segments in `bytes`, at least one segment.
pub fn whole_segments(bytes: u32, mss: u32) -> u32 {
    (bytes - bytes % mss).max(mss)
}

/// A run moves its start after this many bytes, so that differences between offsets fit 32 bits.
const LONGEST_RUN: u32 = 1 << 30;

/// A run of consecutive buffers of the same size.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Stream offset at which a buffer begins, modulo 2^32: the run's first buffer or, in a long
    /// run, a later one that has left.
    start: u32,
    /// Bytes in each buffer.
    size: u32,
}

impl Run {
    /// Returns the bytes from the start of the run to `offset`; negative if the run begins later.
    const fn bytes_to(&self, offset: u64) -> i32 {
        (offset as u32).wrapping_sub(self.start) as i32
    }
}

record!(Run { start, size });

/// Boundaries of the buffers whose size was chosen at the write. A frame takes one buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteBuffers {
    runs: [Run; MOST_RUNS],
    used: u8,
}

record!(WriteBuffers { runs, used });

impl WriteBuffers {
    /// Creates an empty list.
    pub const fn new() -> Self {
        const NONE: Run = Run { start: 0, size: 0 };
        Self {
            runs: [NONE; MOST_RUNS],
            used: 0,
        }
    }

    /// Notes that payload from `start` on was written into buffers of `size` bytes, and
    /// that the payload before `sent` has left. While the size stays the same, payload
    /// continues to fill the last buffer.
    pub fn wrote(&mut self, start: u64, size: u32, sent: u64) {
        while self.used > 1 && self.runs[1].bytes_to(sent) >= 0 {
            self.runs.rotate_left(1);
            self.used -= 1;
        }
        let oldest = &mut self.runs[0];
        let sent_of_oldest = oldest.bytes_to(sent);
        if self.used > 0 && sent_of_oldest >= LONGEST_RUN as i32 {
            let whole = sent_of_oldest as u32 / oldest.size.max(1) * oldest.size.max(1);
            oldest.start = oldest.start.wrapping_add(whole);
        }
        let run = Run {
            start: start as u32,
            size,
        };
        let used = usize::from(self.used);
        match used.checked_sub(1).map(|last| &mut self.runs[last]) {
            Some(last) if last.size == size => {}
            // Everything before has left, so the new size counts from here.
            Some(last) if used == 1 && sent >= start => *last = run,
            Some(_) if used == MOST_RUNS => {}
            Some(_) | None => {
                self.runs[used] = run;
                self.used += 1;
            }
        }
    }

    /// Returns the bytes from `offset` to the end of its buffer.
    pub fn left(&self, offset: u64) -> u32 {
        let runs = &self.runs[..usize::from(self.used)];
        let behind = runs.iter().position(|run| run.bytes_to(offset) < 0);
        let to_next = behind.map_or(u32::MAX, |place| {
            runs[place].bytes_to(offset).unsigned_abs()
        });
        let Some(run) = runs[..behind.unwrap_or(runs.len())].last() else {
            return u32::MAX;
        };
        let into = run.bytes_to(offset) as u32 % run.size.max(1);
        (run.size - into).min(to_next)
    }
}

/// The device backlog of one connection: bytes handed to the device and not yet
/// completed (Linux: TCP small queues).
#[derive(Clone, Copy, Debug, Default)]
pub struct SmallQueue {
    held: u32,
    most: u32,
}

record!(SmallQueue { held, most });

impl SmallQueue {
    /// Creates an empty backlog.
    pub const fn new() -> Self {
        Self { held: 0, most: 0 }
    }

    /// Sets the backlog to `held` bytes. Its bound becomes the bytes that `rate` carries in a
    /// millisecond or two frames of `goal` bytes, whichever is more, but at most `cap`. With a
    /// `cap` of 0, there is no bound.
    pub fn set(&mut self, held: u32, rate: u64, goal: u32, cap: u32) {
        let millisecond = rate / 1_000;
        let most = millisecond.max(2 * u64::from(goal));
        self.held = held;
        self.most = match cap {
            0 => u32::MAX,
            cap => most.min(cap.into()) as u32,
        };
    }

    /// Returns the bytes that the device holds.
    pub const fn held(&self) -> u32 {
        self.held
    }

    /// Returns true if the backlog has reached its bound. The last frame may take it beyond the
    /// bound.
    pub const fn is_full(&self) -> bool {
        self.held > 0 && self.held >= self.most
    }
}

#[cfg(test)]
mod tests;
