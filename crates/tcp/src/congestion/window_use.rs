//! Whether the congestion window is what holds the sender back. RFC 7661's
//! intent: a window that was not tested must not grow.
//!
//! Rule: being stopped once counts for the rest of that round trip and for the
//! next, because an ACK tells of what left a round trip ago, and pacing and
//! super-segments make the moment itself a matter of luck. What stopped the
//! sender is not decided here.

/// The last two round trips of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowUse {
    this_round: bool,
    last_round: bool,
}

impl WindowUse {
    /// Not stopped yet.
    pub const fn new() -> Self {
        Self {
            this_round: false,
            last_round: false,
        }
    }

    /// There was something to send, and the congestion window was the bound.
    pub fn on_full(&mut self) {
        self.this_round = true;
    }

    /// An ACK has arrived; `round_start` is its rate sample's. Returns whether
    /// the window was the bound: [`AckSample::cwnd_limited`].
    ///
    /// [`AckSample::cwnd_limited`]: super::control::AckSample::cwnd_limited
    pub fn on_ack(&mut self, round_start: bool) -> bool {
        if round_start {
            self.last_round = core::mem::take(&mut self.this_round);
        }
        self.this_round || self.last_round
    }
}
