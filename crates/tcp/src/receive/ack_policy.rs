//! Delayed acknowledgments: the decision between an ACK at once and a delayed ACK. RFC
//! 9293 §3.8.6.3, RFC 5681 §4.2.
//!
//! Rule: an ACK may wait only while the peer does not need it. The peer needs it when
//! `tcp.ack_every` full segments are unacknowledged (two by default), when payload is out of order,
//! when less than a full segment of the advertised window is left, or when half of that window is
//! unacknowledged. The timer is in `connection`.

use fullpipe_pool::record;

/// ACKs owed to the peer.
#[derive(Clone, Debug)]
pub struct AckPolicy {
    /// Bytes received and not yet acknowledged.
    pending: u32,
    /// Segments at the start of the connection that are still to be acknowledged at once.
    quick: u32,
    /// An ACK is due now.
    now: bool,
    /// ACKs that follow the next ACK, one for each out-of-order segment, because a peer without
    /// SACK counts duplicate ACKs. RFC 5681 §4.2.
    duplicates: u8,
}

record!(AckPolicy {
    pending,
    quick,
    now,
    duplicates
});

/// Time at which an ACK leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckTiming {
    /// The ACK leaves now.
    Now,
    /// The ACK may wait for the delay timer.
    Delayed,
}

impl AckPolicy {
    /// Creates a policy without a due ACK. The first `quick` segments are acknowledged at
    /// once.
    pub const fn new(quick: u32) -> Self {
        Self {
            pending: 0,
            quick,
            now: false,
            duplicates: 0,
        }
    }

    /// Makes an ACK due now.
    pub fn demand(&mut self) {
        self.now = true;
    }

    /// Makes an ACK due now, and one more for each earlier call since the last
    /// ACK.
    pub fn demand_duplicate(&mut self) {
        if self.now {
            self.duplicates = self.duplicates.saturating_add(1);
        }
        self.now = true;
    }

    /// Returns true if an ACK is due now.
    pub const fn is_due(&self) -> bool {
        self.now
    }

    /// Processes `bytes` that arrived in order.
    ///
    /// `full` is the size of the peer's full segments, and `every` the knob `tcp.ack_every`.
    /// `window_left` is the part of the advertised window that remains. `window` is the sum of
    /// `window_left`, `bytes` and the bytes that the application has not read.
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
        // The last of the `every` segments may be smaller than a full segment, because no sender
        // fills every segment completely.
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

    /// Notes that an ACK left, alone or with payload.
    pub fn on_sent(&mut self) {
        self.pending = 0;
        self.now = self.duplicates > 0;
        self.duplicates = self.duplicates.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
