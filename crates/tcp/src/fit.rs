//! Segment sizes for a buffer or a window that holds only a few segments.
//!
//! Rule: the part of a buffer or window that is too small for another segment is not used, and a
//! peer that delays its ACKs answers every second segment. A small buffer is therefore divided into
//! segments that fill it, and into an even number of them if this side is the sender. This file
//! does not depend on the reason for which the buffer is small.

use fullpipe_pool::{Duration, Instant, record};

/// Smallest segment in bytes: in a smaller one headers would outweigh payload.
const SMALLEST: u32 = 64;

/// [`even_fit`] makes segments smaller than `mss` to get more than two of them, but only down to
/// about this size in bytes.
const WORTHWHILE: u32 = 256;

/// If more segments than this number fit into a buffer, the part that they leave unused is
/// insignificant.
const MANY: u32 = 64;

/// Counterpart of [`MANY`] for the segments that the peer sends. The number is smaller, because the
/// peer may have reasons for large segments.
const MANY_ASKED: u32 = 16;

/// Returns a segment size, at most `mss`: two segments of this size fit into `room` bytes. Returns
/// `mss` if `segments` (knob `tcp.fit_segments`) is below two.
pub fn two_fit(mss: u32, room: u32, segments: u32) -> u32 {
    if segments < 2 {
        return mss;
    }
    mss.min((room / 2).max(SMALLEST))
}

/// Returns the segment size to offer to the peer, at most `mss`: a whole number of segments of this
/// size fills a window of `window` bytes.
pub fn whole_fit(mss: u32, window: u32, segments: u32) -> u32 {
    let count = window.div_ceil(mss.max(1)).max(2);
    if segments < 2 || count > MANY_ASKED {
        return mss;
    }
    mss.min((window / count).max(SMALLEST))
}

/// Returns a segment size of at most `mss` that fills `room` bytes with an even
/// number of segments, `segments` or more.
pub fn even_fit(mss: u32, room: u32, segments: u32) -> u32 {
    let count = room.div_ceil(mss.max(1));
    if segments < 2 || count > MANY {
        return mss;
    }
    let least = (room / WORTHWHILE).clamp(2, segments);
    let count = count.max(least).next_multiple_of(2);
    mss.min((room / count).max(SMALLEST))
}

/// Detection of pairs of segments that the ACKs split.
///
/// Segments leave in pairs, and a peer that delays its ACKs should acknowledge the same pairs. If
/// the peer acknowledges the first segment of a pair together with the last segment of the round
/// trip before, one segment always waits at the peer for a whole round trip, and holds memory here.
/// Sending three segments in place of two, once, restores the pairs.
#[derive(Clone, Copy, Debug)]
pub struct AckPairs {
    /// Number of segments still to be sent of the three that replace a pair.
    of_three: u32,
    /// ACKs before this time are for segments that left before the last three that replaced a pair.
    look_after: Instant,
}

record!(AckPairs {
    of_three,
    look_after
});

impl AckPairs {
    /// Creates the detector.
    pub const fn new() -> Self {
        Self {
            of_three: 0,
            look_after: Instant::ZERO,
        }
    }

    /// Processes an ACK of payload whose oldest segment left at `oldest` and whose newest
    /// left `rtt_us` ago.
    pub fn on_ack(&mut self, oldest: Instant, rtt_us: u32, now: Instant) {
        let rtt = Duration::from_micros(rtt_us.into());
        let waited = now.since(oldest) > rtt + rtt / 2;
        if waited && now >= self.look_after {
            self.of_three = 3;
            self.look_after = now + rtt + rtt / 2;
        }
    }

    /// Returns the length of the next segment if `unsent` bytes wait and segments should have
    /// `size` bytes. The bytes that do not fill a segment are spread over the other segments.
    pub fn cut(&self, size: u32, unsent: u32) -> u32 {
        let count = (unsent + size / 2) / size;
        match (self.of_three, count) {
            (_, 0) => size,
            (0, _) | (3, 1) => unsent / count,
            (left, _) => unsent.min(2 * size * left / 3) / left,
        }
    }

    /// Notes that a segment with payload left.
    pub fn on_sent(&mut self) {
        self.of_three = self.of_three.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
