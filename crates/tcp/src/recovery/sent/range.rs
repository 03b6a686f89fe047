//! One range of the scoreboard: sequence numbers that left together.
//!
//! Rule: a range stores its own status and times. Its links are set and followed by
//! the scoreboard, its lists and its tree.

use core::ops::Range;

use fullpipe_pool::{Instant, splay::NONE};

use crate::{SeqNum, congestion::Snapshot};

/// Status of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentStatus {
    /// In flight, as far as is known.
    InFlight,
    /// Delivered out of order. The peer may still discard it (RFC 2018 §8).
    Sacked,
    /// Considered lost, and not retransmitted since.
    Lost,
}

/// A range of sequence numbers that left together and has one status.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// First sequence number.
    pub start: SeqNum,
    /// One past the last.
    pub end: SeqNum,
    /// Time of the last transmission.
    pub sent_at: Instant,
    /// State of the delivery rate estimator at the last transmission.
    pub snapshot: Snapshot,
    /// Status.
    pub status: SentStatus,
    /// Number of retransmissions.
    pub retransmissions: u8,
    /// The range was split off another range.
    pub(super) is_cut: bool,
    /// A part of the range was lost and is not retransmitted, but counts as in flight,
    /// because no node was free for it.
    pub(super) hides_loss: bool,
    /// Neighbour with the next lower sequence numbers.
    pub(super) previous: u32,
    /// Neighbour with the next higher sequence numbers.
    pub(super) next: u32,
    /// Previous range in the list of the same status.
    pub(super) older: u32,
    /// Next range in the list of the same status.
    pub(super) newer: u32,
    /// Children in the tree.
    pub(super) children: [u32; 2],
}

impl Sent {
    /// Creates a range in flight.
    pub(super) fn new(range: Range<SeqNum>, now: Instant, snapshot: Snapshot) -> Self {
        Self {
            start: range.start,
            end: range.end,
            sent_at: now,
            snapshot,
            status: SentStatus::InFlight,
            retransmissions: 0,
            is_cut: false,
            hides_loss: false,
            previous: NONE,
            next: NONE,
            older: NONE,
            newer: NONE,
            children: [NONE; 2],
        }
    }

    /// Returns the number of sequence numbers covered.
    pub fn len(&self) -> u32 {
        self.start.room_to(self.end)
    }

    /// Returns true if a retransmission of the range is in flight.
    pub(super) const fn is_retransmission(&self) -> bool {
        self.retransmissions > 0 && matches!(self.status, SentStatus::InFlight)
    }

    /// Returns true if this range left before a range that left at `at` and ends at `end`. Of two
    /// ranges that left at the same time, the range that ends earlier counts as the first. RFC 8985
    /// §6.2.
    pub fn left_before(&self, at: Instant, end: SeqNum) -> bool {
        self.sent_at < at || (self.sent_at == at && self.end.before(end))
    }

    /// Returns true if this range left after a range that left at `at` and ends at `end`. Of two
    /// ranges that left at the same time, the range that ends later counts as the last. RFC 8985
    /// §6.2.
    pub fn left_after(&self, at: Instant, end: SeqNum) -> bool {
        self.sent_at > at || (self.sent_at == at && self.end.after(end))
    }
}
