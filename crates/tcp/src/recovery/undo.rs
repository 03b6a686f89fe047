//! Finding out that a recovery was needless: Eifel (RFC 3522, RFC 4015), DSACK
//! (RFC 3708) and F-RTO (RFC 5682).
//!
//! Rule: a recovery is needless when every segment that it sent again had
//! arrived the first time, or when the first thing to come back is older than
//! anything it sent. What an undo restores is the parent's business.

use fullpipe_pool::Instant;

use crate::SeqNum;

/// What must be remembered of a recovery to undo it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// `snd_una` when it began; `None` when there is nothing to undo.
    marker: Option<SeqNum>,
    /// When it first sent something again.
    first_retransmission: Option<Instant>,
    /// Segments sent again and not yet reported as duplicates.
    unexplained: u32,
}

impl Undo {
    /// Nothing to undo.
    pub const NOTHING: Self = Self {
        marker: None,
        first_retransmission: None,
        unexplained: 0,
    };

    /// A recovery begins.
    pub fn start(&mut self, snd_una: SeqNum) {
        *self = Self {
            marker: Some(snd_una),
            first_retransmission: None,
            unexplained: 0,
        };
    }

    /// Something is sent again, as `segments` segments.
    pub fn on_retransmission(&mut self, segments: u32, now: Instant) {
        if self.marker.is_some() {
            self.first_retransmission.get_or_insert(now);
            self.unexplained += segments;
        }
    }

    /// A DSACK reports one segment from before `snd_una` as a duplicate.
    pub fn on_dsack(&mut self, left: SeqNum) {
        if self.marker.is_some_and(|marker| left.at_or_after(marker)) {
            self.unexplained = self.unexplained.saturating_sub(1);
        }
    }

    /// Whether the recovery is now known to have been needless. `echoed_at` is
    /// when the timestamp left that came back with an ACK of something new;
    /// `original_arrived` says that something taken for lost and not sent again
    /// has arrived.
    pub fn is_needless(&self, echoed_at: Option<Instant>, original_arrived: bool) -> bool {
        if self.marker.is_none() {
            return false;
        }
        let older = match (self.first_retransmission, echoed_at) {
            (Some(again), Some(echoed)) => echoed < again,
            _ => false,
        };
        let explained = self.first_retransmission.is_some() && self.unexplained == 0;
        older || explained || original_arrived
    }

    /// Nothing can be undone any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests;
