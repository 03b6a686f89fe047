//! How much text one frame of a device that cuts segments should carry.
//!
//! Rule: the size comes from the rate when the text leaves. Sizing at the time
//! of the write, which sees the rate too early, is kept beside it to be
//! compared with. Whether a frame leaves is decided elsewhere.

use crate::congestion::SegmentPacer;

/// Changes of size that are remembered; a later one has to wait.
const MOST_RUNS: usize = 4;

/// Bytes of text that should leave as one at `rate` bytes a second: a
/// millisecond, at least two segments, at most `device_max`, whole segments.
/// One segment where the device takes no two.
pub fn frame_goal(rate: u64, mss: u32, device_max: u32) -> u32 {
    if device_max < 2 * mss {
        return mss;
    }
    whole_segments(SegmentPacer::quantum(rate, mss).min(device_max), mss)
}

/// As many whole segments as `bytes` hold, at least one.
pub fn whole_segments(bytes: u32, mss: u32) -> u32 {
    (bytes - bytes % mss).max(mss)
}

/// Buffers of one size, one behind the other.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Stream offset at which the first begins.
    start: u64,
    /// Bytes of each.
    size: u32,
}

/// Where the buffers end that were sized when the application wrote. A frame
/// is made of one of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteBuffers {
    runs: [Run; MOST_RUNS],
    used: u8,
}

impl WriteBuffers {
    /// Nothing written.
    pub const fn new() -> Self {
        const NONE: Run = Run { start: 0, size: 0 };
        Self {
            runs: [NONE; MOST_RUNS],
            used: 0,
        }
    }

    /// What was written from `start` on goes into buffers of `size` bytes; what
    /// lies before `sent` has left. As in a list of buffers, text goes on
    /// filling the last one while the size stays the same.
    pub fn wrote(&mut self, start: u64, size: u32, sent: u64) {
        while self.used > 1 && self.runs[1].start <= sent {
            self.runs.rotate_left(1);
            self.used -= 1;
        }
        let used = usize::from(self.used);
        match used.checked_sub(1).map(|last| &mut self.runs[last]) {
            Some(last) if last.size == size => {}
            // Everything before it has left: the size counts from here.
            Some(last) if used == 1 && sent >= start => *last = Run { start, size },
            Some(_) if used == MOST_RUNS => {}
            Some(_) | None => {
                self.runs[used] = Run { start, size };
                self.used += 1;
            }
        }
    }

    /// Bytes from `offset` to the end of its buffer.
    pub fn left(&self, offset: u64) -> u32 {
        let runs = &self.runs[..usize::from(self.used)];
        let behind = runs.iter().position(|run| run.start > offset);
        let next = behind.map_or(u64::MAX, |place| runs[place].start);
        let Some(run) = runs[..behind.unwrap_or(runs.len())].last() else {
            return u32::MAX;
        };
        let into = (offset - run.start) % u64::from(run.size.max(1));
        let left = u64::from(run.size) - into;
        left.min(next - offset) as u32
    }
}

/// What of one connection lies below it: handed to the device and not sent yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmallQueue {
    held: u32,
    most: u32,
}

impl SmallQueue {
    /// Nothing lies below.
    pub const fn new() -> Self {
        Self { held: 0, most: 0 }
    }

    /// The device holds `held` bytes. A millisecond of `rate` may lie there, or
    /// two frames of `goal` bytes if that is more, but no more than `cap`; a
    /// `cap` of 0 is no limit.
    pub fn set(&mut self, held: u32, rate: u64, goal: u32, cap: u32) {
        let millisecond = rate / 1_000;
        let most = millisecond.max(2 * u64::from(goal));
        self.held = held;
        self.most = match cap {
            0 => u32::MAX,
            cap => most.min(cap.into()) as u32,
        };
    }

    /// Bytes that the device holds.
    pub const fn held(&self) -> u32 {
        self.held
    }

    /// Whether nothing more may be handed down. What may is not cut short: the
    /// last frame may reach beyond the limit.
    pub const fn is_full(&self) -> bool {
        self.held > 0 && self.held >= self.most
    }
}

#[cfg(test)]
mod tests;
