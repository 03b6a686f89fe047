//! Detection of spurious recoveries: Eifel (RFC 3522, RFC 4015), DSACK (RFC 3708), and the
//! conclusions of F-RTO (RFC 5682). Step 2b of F-RTO is in the parent module.
//!
//! RFC 5682 finds that a timeout was spurious only at the second ACK after the timeout. This stack
//! finds it at the first ACK, if this ACK covers a segment that was not retransmitted and that no
//! earlier SACK block reported. Without SACK, or after the stack has ignored a SACK block, the ACK
//! must not cover a retransmission, too. The stack concludes that this segment arrived after the timeout:
//! had it arrived before, beyond a hole, a SACK block would have reported it. The conclusion is
//! wrong if the segment arrived before the timeout and the ACK with its SACK block was lost. In
//! this case, RACK detects the remaining losses again after the undo.
//!
//! Rule: a recovery was spurious in each of three cases. The peer received the originals of all
//! segments that the recovery retransmitted. The ACK that advances `snd_una` echoes a timestamp
//! from before the first retransmission, so the original filled the first hole. F-RTO concludes
//! that a segment that was not retransmitted arrived after the timeout. The caller restores the
//! state.

use fullpipe_pool::{Instant, record};

use crate::SeqNum;

/// Largest window in bytes. RFC 7323 §2.3.
const LARGEST_WINDOW: u32 = 1 << 30;

/// State needed to find that a recovery was spurious.
#[derive(Clone, Copy, Debug, Default)]
pub struct UndoDetector {
    /// `snd_una` when the recovery began; `None` if there is nothing to undo.
    undo_marker: Option<SeqNum>,
    /// The recovery has retransmitted something.
    has_retransmitted: bool,
    /// Time of the first retransmission if it began at `snd_una`: only then does the next
    /// advance of `snd_una` show which copy arrived.
    first_retransmission: Option<Instant>,
    /// Bytes retransmitted and not yet known to be spurious.
    undo_retrans: u32,
    /// Retransmitted bytes known to be spurious before a DSACK could report them.
    known_spurious: u32,
    /// The recovery began with a timeout, before any loss was known. After any other
    /// beginning, late originals prove nothing. RFC 5682 §3.1.
    is_timeout: bool,
}

record!(UndoDetector {
    undo_marker,
    has_retransmitted,
    first_retransmission,
    undo_retrans,
    known_spurious,
    is_timeout
});

impl UndoDetector {
    /// State without a recovery.
    pub const NOTHING: Self = Self {
        undo_marker: None,
        has_retransmitted: false,
        first_retransmission: None,
        undo_retrans: 0,
        known_spurious: 0,
        is_timeout: false,
    };

    /// Returns true while the recovery can be undone: from its start until an undo, or
    /// until a window after its end.
    pub const fn is_running(&self) -> bool {
        self.undo_marker.is_some()
    }

    /// Starts a recovery.
    ///
    /// `retransmitted` is the number of bytes in flight that an earlier recovery retransmitted.
    /// `is_timeout` means that the recovery began with a timeout while no loss was known.
    pub fn start(&mut self, snd_una: SeqNum, retransmitted: u32, is_timeout: bool) {
        *self = Self {
            undo_marker: Some(snd_una),
            undo_retrans: retransmitted,
            is_timeout,
            ..Self::NOTHING
        };
    }

    /// Notes a retransmission of `bytes`; `is_head` if they begin at `snd_una`.
    pub fn on_retransmission(&mut self, is_head: bool, bytes: u32, now: Instant) {
        if self.undo_marker.is_none() {
            return;
        }
        if is_head && !self.has_retransmitted {
            self.first_retransmission = Some(now);
        }
        self.has_retransmitted = true;
        self.undo_retrans = self.undo_retrans.saturating_add(bytes);
    }

    /// Notes the delivery of `bytes` whose ACK came too early for the last retransmission. The
    /// DSACK that reports the same bytes a round trip later does not count again.
    pub fn on_original(&mut self, bytes: u32) {
        if self.undo_marker.is_some() {
            self.undo_retrans = self.undo_retrans.saturating_sub(bytes);
            self.known_spurious = self.known_spurious.saturating_add(bytes);
        }
    }

    /// Notes a DSACK of `bytes` from `left` on.
    pub fn on_dsack(&mut self, left: SeqNum, bytes: u32) {
        if self
            .undo_marker
            .is_some_and(|undo_marker| left.at_or_after(undo_marker))
        {
            let known = bytes.min(self.known_spurious);
            self.known_spurious -= known;
            self.undo_retrans = self.undo_retrans.saturating_sub(bytes - known);
        }
    }

    /// Returns true if the recovery is now known to be spurious.
    ///
    /// `echoed_at` is the send time of the timestamp that was echoed by an ACK which
    /// advanced `snd_una` (RFC 3522 §3.2: a duplicate ACK echoes an earlier timestamp).
    /// `original_arrived` means that a range considered lost was delivered without a
    /// retransmission.
    pub fn is_spurious(&self, echoed_at: Option<Instant>, original_arrived: bool) -> bool {
        if self.undo_marker.is_none() {
            return false;
        }
        let older = match (self.first_retransmission, echoed_at) {
            (Some(again), Some(echoed)) => echoed < again,
            _ => false,
        };
        let explained = self.has_retransmitted && self.undo_retrans == 0;
        older || explained || (original_arrived && self.is_timeout)
    }

    /// Returns true if neither this recovery nor an earlier one has a retransmission
    /// outstanding, so that every segment that arrives is an original.
    pub const fn sent_nothing(&self) -> bool {
        self.undo_marker.is_some() && !self.has_retransmitted && self.undo_retrans == 0
    }

    /// Notes the end of the recovery: from here on only DSACKs can show that it was
    /// spurious.
    pub fn on_recovered(&mut self) {
        self.first_retransmission = None;
        self.is_timeout = false;
    }

    /// Ends the detection after a recovery once `ack` is far enough past `recovered_at`, the
    /// `snd_nxt` of the end of the recovery. The distance is the number of bytes from the start of
    /// the recovery to `recovered_at`: at least the window that was outstanding when the recovery
    /// began.
    ///
    /// The DSACK of a retransmission arrives a round trip after the retransmission, before the ACK
    /// of payload that was sent after the recovery. One window more leaves room for reordering. A
    /// later DSACK reports a copy that the network made, and an undo would restore a congestion
    /// window that is out of date.
    pub fn expire(&mut self, ack: SeqNum, recovered_at: SeqNum) {
        if let Some(undo_marker) = self.undo_marker {
            let window = undo_marker.room_to(recovered_at).min(LARGEST_WINDOW);
            if ack.after(recovered_at + window) {
                self.forget();
            }
        }
    }

    /// Ends the detection: nothing can be undone any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests;
