//! Finding out that a recovery was needless: Eifel (RFC 3522, RFC 4015), DSACK
//! (RFC 3708) and what F-RTO (RFC 5682) concludes from. Its step 2b, new text
//! before what is sent again, is the parent's; and where RFC 5682 waits for the
//! second ACK, an original counts with the first. After a real loss whose ACKs
//! were lost, too, that is an undo too much, and RACK finds the loss once more.
//!
//! Rule: a recovery is needless when everything that it sent again had arrived
//! the first time, or when what fills the first hole is older than the copy that
//! was sent to fill it. What an undo restores is the parent's business.

use fullpipe_pool::Instant;

use crate::SeqNum;

/// What must be remembered of a recovery to undo it. Bytes of sequence space.
#[derive(Clone, Copy, Debug, Default)]
pub struct UndoDetector {
    /// `snd_una` when it began; `None` when there is nothing to undo.
    marker: Option<SeqNum>,
    /// It has sent something again.
    has_retransmitted: bool,
    /// When it first sent something again, if that was what `snd_una` waits for:
    /// only then does the next advance of `snd_una` tell which copy arrived.
    first_retransmission: Option<Instant>,
    /// Sent again, and nothing says yet that it was in vain.
    unexplained: u32,
    /// Known to have been sent again in vain before a DSACK could say so.
    ahead_of_dsack: u32,
    /// It began with a timeout, before anything was known to be lost. RFC 5682
    /// §3.1: otherwise originals that arrive late prove nothing.
    is_timeout: bool,
}

impl UndoDetector {
    /// Nothing to undo.
    pub const NOTHING: Self = Self {
        marker: None,
        has_retransmitted: false,
        first_retransmission: None,
        unexplained: 0,
        ahead_of_dsack: 0,
        is_timeout: false,
    };

    /// A recovery begins while `sent_again` bytes are outstanding that an earlier
    /// one sent; with a timeout, if `is_timeout`, that came while nothing was
    /// known to be lost.
    pub fn start(&mut self, snd_una: SeqNum, sent_again: u32, is_timeout: bool) {
        *self = Self {
            marker: Some(snd_una),
            unexplained: sent_again,
            is_timeout,
            ..Self::NOTHING
        };
    }

    /// `bytes` are sent again; `is_head` if they begin at `snd_una`.
    pub fn on_retransmission(&mut self, is_head: bool, bytes: u32, now: Instant) {
        if self.marker.is_none() {
            return;
        }
        if is_head && !self.has_retransmitted {
            self.first_retransmission = Some(now);
        }
        self.has_retransmitted = true;
        self.unexplained = self.unexplained.saturating_add(bytes);
    }

    /// `bytes` that were sent again arrived too soon to be the last copy. A
    /// DSACK will say the same a round trip later, and is not counted again.
    pub fn on_original(&mut self, bytes: u32) {
        if self.marker.is_some() {
            self.unexplained = self.unexplained.saturating_sub(bytes);
            self.ahead_of_dsack = self.ahead_of_dsack.saturating_add(bytes);
        }
    }

    /// A DSACK reports `bytes` from `left` on as received twice.
    pub fn on_dsack(&mut self, left: SeqNum, bytes: u32) {
        if self.marker.is_some_and(|marker| left.at_or_after(marker)) {
            let known = bytes.min(self.ahead_of_dsack);
            self.ahead_of_dsack -= known;
            self.unexplained = self.unexplained.saturating_sub(bytes - known);
        }
    }

    /// Whether the recovery is now known to have been needless. `echoed_at` is
    /// when the timestamp left that came back with an ACK that moved `snd_una`
    /// (RFC 3522 §3.2: a duplicate ACK echoes what came before the hole);
    /// `original_arrived` says that something taken for lost and not sent again
    /// has arrived.
    pub fn is_spurious(&self, echoed_at: Option<Instant>, original_arrived: bool) -> bool {
        if self.marker.is_none() {
            return false;
        }
        let older = match (self.first_retransmission, echoed_at) {
            (Some(again), Some(echoed)) => echoed < again,
            _ => false,
        };
        let explained = self.has_retransmitted && self.unexplained == 0;
        older || explained || (original_arrived && self.is_timeout)
    }

    /// Everything that it began with has arrived: only DSACKs can still show
    /// that it was needless.
    pub fn on_recovered(&mut self) {
        self.first_retransmission = None;
        self.is_timeout = false;
    }

    /// Nothing can be undone any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests;
