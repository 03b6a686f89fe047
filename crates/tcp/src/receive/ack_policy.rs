//! When an ACK leaves: at once, or later together with another. RFC 9293
//! §3.8.6.3, RFC 5681 §4.2.
//!
//! Rule: an ACK may wait only while the peer has no need of it. It needs it
//! when two full segments are unacknowledged, when text is out of order, and
//! when its window, as *it* sees it, is nearly used up. The timer is not here.

/// What is owed to the peer.
#[derive(Clone, Debug)]
pub struct AckPolicy {
    /// Bytes received and not yet acknowledged.
    pending: u32,
    /// Segments that are still acknowledged at once because the connection is young.
    quick: u32,
    /// An ACK must leave now.
    now: bool,
    /// ACKs owed beyond the next, one for each segment out of order: a peer
    /// without SACK counts them. RFC 5681 §4.2.
    duplicates: u8,
}

/// Whether an ACK can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckTiming {
    /// It leaves now.
    Now,
    /// It may wait for the delay timer.
    Delayed,
}

impl AckPolicy {
    /// Nothing owed; the first `quick` segments will not wait.
    pub const fn new(quick: u32) -> Self {
        Self {
            pending: 0,
            quick,
            now: false,
            duplicates: 0,
        }
    }

    /// An ACK must leave now, whatever arrived.
    pub fn demand(&mut self) {
        self.now = true;
    }

    /// An ACK must leave now, and one more for each time this was asked since.
    pub fn demand_duplicate(&mut self) {
        if self.now {
            self.duplicates = self.duplicates.saturating_add(1);
        }
        self.now = true;
    }

    /// Whether an ACK must leave now.
    pub const fn is_due(&self) -> bool {
        self.now
    }

    /// `bytes` arrived in order. `full` is the size the peer takes for a full
    /// segment, `every` the knob, `window_left` what the peer has left of its
    /// window and `window` how large it was.
    pub fn on_payload(
        &mut self,
        bytes: u32,
        full: u32,
        every: u32,
        window_left: u32,
        window: u32,
    ) -> AckTiming {
        self.pending = self.pending.saturating_add(bytes);
        let young = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        // The last of them may be smaller: no sender fills each to the byte.
        let many = self.pending > full.saturating_mul(every - 1);
        let starving = window_left < full || self.pending >= window / 2;
        if young || many || starving {
            self.now = true;
        }
        if self.now {
            AckTiming::Now
        } else {
            AckTiming::Delayed
        }
    }

    /// An ACK left, alone or with text.
    pub fn on_sent(&mut self) {
        self.pending = 0;
        self.now = self.duplicates > 0;
        self.duplicates = self.duplicates.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
