//! Validation of the congestion window: a window that did not stop the sender must not
//! grow (RFC 7661).
//!
//! Rule: a stop of the sender by its congestion window counts for the rest of the round trip and
//! for the next one. There are two reasons: an ACK reports segments that left a round trip ago, and
//! pacing and super-segments (segments that the device cuts) make the exact moment of a stop
//! random. The caller decides which bound stopped the sender.

use fullpipe_pool::record;

/// Stops of one connection by its congestion window in the last two round trips.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowUse {
    this_round: bool,
    last_round: bool,
    /// Bytes SACKed since the cumulative ACK last advanced.
    sacked: u32,
}

record!(WindowUse {
    this_round,
    last_round,
    sacked
});

impl WindowUse {
    /// Creates a record without a stop.
    pub const fn new() -> Self {
        Self {
            this_round: false,
            last_round: false,
            sacked: 0,
        }
    }

    /// Notes that the congestion window stopped the sender.
    pub fn on_full(&mut self) {
        self.this_round = true;
    }

    /// Takes an ACK; `round_start` is the field of its rate sample. Returns
    /// [`AckSample::cwnd_limited`].
    ///
    /// [`AckSample::cwnd_limited`]: super::control::AckSample::cwnd_limited
    pub fn on_ack(&mut self, round_start: bool) -> bool {
        if round_start {
            self.last_round = core::mem::take(&mut self.this_round);
        }
        self.this_round || self.last_round
    }

    /// Returns the bytes by which an ACK lets the window grow: [`AckSample::acked`].
    ///
    /// An ACK that reports `delivered` bytes without advancing the cumulative ACK gives 0 (RFC 3042
    /// §2). These bytes count with the next ACK that advances the cumulative ACK, unless a loss is
    /// under repair by then (`repairing`).
    ///
    /// [`AckSample::acked`]: super::control::AckSample::acked
    pub fn growth(&mut self, delivered: u32, advanced: bool, repairing: bool) -> u32 {
        if repairing {
            self.sacked = 0;
        } else if !advanced {
            self.sacked = self.sacked.saturating_add(delivered);
        }
        if advanced {
            delivered.saturating_add(core::mem::take(&mut self.sacked))
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests;
