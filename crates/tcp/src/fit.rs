//! Segment sizes for a buffer or a window that holds only a few segments.
//!
//! Rule: a rest that is less than a segment is not sent, and a peer that delays
//! its ACKs answers every second segment. So a small window is divided into
//! segments that fill it, in pairs where the sender decides. This file does not
//! ask why the buffer is small.

use fullpipe_pool::{Duration, Instant};

/// Smallest segment: below it headers would outweigh payload.
const SMALLEST: u32 = 64;

/// Segments are not made smaller than this for an even count.
const WORTHWHILE: u32 = 256;

/// With more segments than this in a buffer, the unused rest is insignificant.
const MANY: u32 = 64;

/// [`MANY`] for the segments that the peer is asked to send: the peer may have
/// reasons for large segments.
const MANY_ASKED: u32 = 16;

/// Returns a segment size of at most `mss` of which two fit into `room` bytes;
/// `mss` if `segments`, the knob, is below two.
pub fn two_fit(mss: u32, room: u32, segments: u32) -> u32 {
    if segments < 2 {
        return mss;
    }
    mss.min((room / 2).max(SMALLEST))
}

/// Returns a segment size of at most `mss` that fills a window of `window`
/// bytes, to be offered to the peer.
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

/// Detection of a shifted phase between segments and ACKs.
///
/// Segments leave in pairs, and a peer that delays its ACKs should answer the
/// same pairs. If it answers the first segment of a pair together with the last
/// one of the round trip before, one segment always waits at the peer for a
/// whole round trip, and its memory with it. Three segments in place of two,
/// once, shift the phase back.
#[derive(Clone, Copy, Debug)]
pub struct AckPairs {
    /// Segments left to send of the three.
    of_three: u32,
    /// Earlier ACKs are for segments sent before the three.
    look_after: Instant,
}

impl AckPairs {
    /// Creates the detector.
    pub const fn new() -> Self {
        Self {
            of_three: 0,
            look_after: Instant::ZERO,
        }
    }

    /// Takes an ACK of payload whose oldest segment left at `oldest` and whose
    /// newest left `rtt_us` ago.
    pub fn on_ack(&mut self, oldest: Instant, rtt_us: u32, now: Instant) {
        let rtt = Duration::from_micros(rtt_us.into());
        let waited = now.since(oldest) > rtt + rtt / 2;
        if waited && now >= self.look_after {
            self.of_three = 3;
            self.look_after = now + rtt + rtt / 2;
        }
    }

    /// Returns the length of the next segment of `unsent` bytes where a segment
    /// has `size`: a rest that is no full segment is spread over the others.
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
