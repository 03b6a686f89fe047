//! Small writes at a constant rate, which Nagle's algorithm joins to full segments.
//!
//! The first write leaves alone, in a partial segment with PSH, because nothing is in flight. Its
//! payload is the size of the writes. Each later full segment leaves at the write that completes
//! it, so the first full segment gives the time between two writes, and size and time together
//! predict the gap before each further full segment. A pacer makes equal gaps; the predicted gaps
//! differ by the time of one write.
//!
//! Rule: a prediction holds if the gap differs from it by less than half of the time between two
//! writes, and by at most [`UNEVEN`]. After a gap that contradicts the prediction, the bytes that
//! were written and not sent are unknown, and the next gap as predicted proves nothing.

use std::ops::Range;

/// A gap as predicted differs from the prediction by at most the prediction divided by this value,
/// or by at most [`UNEVEN_NS`].
const UNEVEN: u64 = 50;
/// A gap that differs from the prediction by at most this number of nanoseconds is as predicted.
const UNEVEN_NS: u64 = 10_000;

/// Writes of constant size at constant intervals.
#[derive(Clone, Debug)]
struct Source {
    /// Size of a write in bytes.
    write: u64,
    /// Time between two writes in nanoseconds.
    period: u64,
    /// Bytes that were written and not sent when the latest segment left, as far as known.
    left: Range<u64>,
    /// True if the latest segment left at an ACK, and not at a write.
    is_between: bool,
    /// True if the previous gap was as predicted.
    held: bool,
}

/// Predicts the gaps between the full segments of an application with small writes.
#[derive(Clone, Debug, Default)]
pub struct JoinedWrites {
    /// Payload of the latest segment, if it was one write.
    alone: Option<u64>,
    source: Option<Source>,
}

impl JoinedWrites {
    /// Takes a segment with `payload` bytes that Nagle's algorithm did not delay. `flight` is the
    /// payload in flight before the segment, `gap` the time since the previous segment. Returns
    /// true if writes as predicted make this gap.
    pub fn on_sent(
        &mut self,
        payload: u64,
        has_push: bool,
        mss: u64,
        flight: u64,
        gap: u64,
    ) -> bool {
        let is_partial = payload < mss;
        if is_partial && has_push && flight == 0 && payload > 0 {
            self.alone = Some(payload);
            self.source.take_if(|source| source.write != payload);
            return false;
        }
        let alone = self.alone.take();
        if is_partial || flight == 0 {
            self.source = None;
            return false;
        }
        if let Some(write) = alone.filter(|_| gap > UNEVEN_NS) {
            let writes = mss.div_ceil(write);
            let left = writes * write - mss;
            self.source = Some(Source {
                write,
                period: gap / writes,
                left: left..left + 1,
                is_between: false,
                held: true,
            });
            return false;
        }
        let source = self.source.as_mut();
        source.is_some_and(|source| source.predicts(gap, mss))
    }

    /// Takes a partial segment that Nagle's algorithm delayed: everything that was written left at
    /// an ACK.
    pub const fn on_released(&mut self) {
        self.alone = None;
        if let Some(source) = &mut self.source {
            source.left = 0..1;
            source.is_between = true;
        }
    }

    /// Forgets the writes. After a retransmission, the time of the latest write is unknown.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

impl Source {
    /// Returns true if the writes make a gap of `gap` before a full segment, and if they also made
    /// the gap before it. Counts the writes.
    fn predicts(&mut self, gap: u64, mss: u64) -> bool {
        let Range { start, end } = self.left;
        let writes = |left: u64| mss.saturating_sub(left).div_ceil(self.write);
        // More bytes that are left need fewer writes.
        let mut possible = writes(end - 1)..=writes(start);
        let Some(count) = possible.find(|count| self.is_gap(gap, *count)) else {
            (self.left, self.is_between, self.held) = (0..self.write, false, false);
            return false;
        };
        let written = count * self.write;
        let start = (start + written).max(mss) - mss;
        let end = (end + written - mss).min(self.write);
        self.left = start..end;
        self.is_between = false;
        std::mem::replace(&mut self.held, true)
    }

    /// Returns true if `gap` is the time of `count` writes.
    fn is_gap(&self, gap: u64, count: u64) -> bool {
        let latest = count * self.period;
        let earliest = latest - if self.is_between { self.period } else { 0 };
        let error = UNEVEN_NS.max(latest / UNEVEN).min(self.period / 2);
        (earliest.saturating_sub(error)..=latest + error).contains(&gap)
    }
}
