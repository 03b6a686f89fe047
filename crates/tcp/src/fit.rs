//! How large a segment is where a buffer or a window holds only a few.
//!
//! Rule: what does not make a whole segment is never sent, and the peer that
//! delays its ACKs answers every second one; so a small window is cut into
//! segments that use it up, in pairs where the sender decides. Why something is
//! small is not asked here.

use fullpipe_pool::{Duration, Instant};

/// Below this headers would outweigh text.
const SMALLEST: u32 = 64;

/// Segments are not made smaller than this for the sake of their number.
const WORTHWHILE: u32 = 256;

/// With more segments than this, what is left over is not worth the trouble.
const MANY: u32 = 64;

/// As [`MANY`], for the segments that a peer is asked to send: it may have a
/// reason of its own for large ones.
const MANY_ASKED: u32 = 16;

/// A segment size of at most `text` of which two fit into `room` bytes; `text`
/// where fewer than two segments are asked for.
pub fn two_fit(text: u32, room: u32, segments: u32) -> u32 {
    if segments < 2 {
        return text;
    }
    text.min((room / 2).max(SMALLEST))
}

/// A segment size of at most `text` that uses up a window of `window` bytes: what
/// a peer is asked to send.
pub fn whole_fit(text: u32, window: u32, segments: u32) -> u32 {
    let count = window.div_ceil(text.max(1)).max(2);
    if segments < 2 || count > MANY_ASKED {
        return text;
    }
    text.min((window / count).max(SMALLEST))
}

/// A segment size of at most `text` that uses up `room` bytes with an even number
/// of segments, `segments` or more.
pub fn even_fit(text: u32, room: u32, segments: u32) -> u32 {
    let count = room.div_ceil(text.max(1));
    if segments < 2 || count > MANY {
        return text;
    }
    let least = (room / WORTHWHILE).clamp(2, segments);
    let count = count.max(least).next_multiple_of(2);
    text.min((room / count).max(SMALLEST))
}

/// Whether the segments in flight are answered in the pairs in which they leave.
///
/// When the first of a pair is answered together with the last of the round trip
/// before, one segment always waits at the peer for a whole round trip, and the
/// memory it takes with it. Three segments in place of two, once, put that right.
#[derive(Clone, Copy, Debug)]
pub struct AckPairs {
    /// Of the three, those that have not left.
    of_three: u32,
    /// What was answered before this was sent before it could help.
    look_after: Instant,
}

impl AckPairs {
    /// Nothing known.
    pub const fn new() -> Self {
        Self {
            of_three: 0,
            look_after: Instant::ZERO,
        }
    }

    /// An ACK for text, the oldest of which left at `oldest` and the newest
    /// `rtt_us` ago.
    pub fn on_ack(&mut self, oldest: Instant, rtt_us: u32, now: Instant) {
        let rtt = Duration::from_micros(rtt_us.into());
        let waited = now.since(oldest) > rtt + rtt / 2;
        if waited && now >= self.look_after {
            self.of_three = 3;
            self.look_after = now + rtt + rtt / 2;
        }
    }

    /// How much of `unsent` bytes of text leaves as one segment that would be one
    /// of `size`. What makes no segment of its own is spread over the others.
    pub fn cut(&self, size: u32, unsent: u32) -> u32 {
        let count = (unsent + size / 2) / size;
        match (self.of_three, count) {
            (_, 0) => size,
            (0, _) | (3, 1) => unsent / count,
            (left, _) => unsent.min(2 * size * left / 3) / left,
        }
    }

    /// A segment with text left.
    pub fn on_sent(&mut self) {
        self.of_three = self.of_three.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
