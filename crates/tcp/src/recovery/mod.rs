//! Noticing that something was lost, and sending it again. RFC 5681 §3.2 and
//! RFC 6582 (NewReno).
//!
//! Rule: this part decides *when* and *from where* to send again; it holds no
//! bytes and makes no segments. How much may be in flight meanwhile is
//! congestion control's word plus the `credit` for segments that have left the
//! network.

mod rtt;

pub use rtt::Rtt;

use crate::SeqNum;

/// Duplicate ACKs that stand for a lost segment. RFC 5681 §3.2.
const DUPLICATE_THRESHOLD: u32 = 3;

/// What the connection is doing about loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is known to be missing.
    Open,
    /// Fast recovery: ends when everything before `recover` is acknowledged.
    Fast,
    /// After a timeout: everything in flight is sent again.
    Timeout,
}

/// Loss recovery of one connection.
#[derive(Clone, Debug)]
pub struct Recovery {
    phase: Phase,
    /// The highest sequence number sent when recovery began, plus one. A second
    /// reduction before it is acknowledged would punish the same loss twice.
    recover: SeqNum,
    /// Segments that have left the network beyond the one at `snd_una`.
    duplicates: u32,
    /// Most bytes that SACK blocks covered since `snd_una` last moved.
    sacked: u32,
    /// The segment at `snd_una` is to be sent again now.
    head_lost: bool,
    /// Bytes that duplicate ACKs say have left the network.
    credit: u32,
    /// Timeouts in a row.
    timeouts: u32,
}

/// What a duplicate ACK led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Counted.
    Counted,
    /// A segment is taken for lost: congestion control must hear of it.
    LossFound,
}

impl Recovery {
    /// Nothing lost; `iss` is the initial send sequence number.
    pub const fn new(iss: SeqNum) -> Self {
        Self {
            phase: Phase::Open,
            recover: iss,
            duplicates: 0,
            sacked: 0,
            head_lost: false,
            credit: 0,
            timeouts: 0,
        }
    }

    /// What is being done about loss.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Timeouts in a row.
    pub const fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Bytes that may be in flight beyond the congestion window.
    pub const fn credit(&self) -> u32 {
        self.credit
    }

    /// Whether the segment at `snd_una` must leave again now.
    pub const fn head_is_due(&self) -> bool {
        self.head_lost
    }

    /// The segment at `snd_una` has left again.
    pub fn on_head_sent(&mut self) {
        self.head_lost = false;
    }

    /// A duplicate ACK: segments have left the network, but not the next one.
    /// How many is told by `sacked`, the bytes that its SACK blocks cover; by
    /// the ACK itself where there are none.
    pub fn on_duplicate(
        &mut self,
        snd_una: SeqNum,
        snd_max: SeqNum,
        sacked: u32,
        mss: u32,
    ) -> OnDuplicate {
        let left = (sacked.saturating_sub(self.sacked) / mss).max(1);
        self.sacked = self.sacked.max(sacked);
        let before = self.duplicates;
        self.duplicates = self.duplicates.saturating_add(left);
        let crossed = before < DUPLICATE_THRESHOLD && self.duplicates >= DUPLICATE_THRESHOLD;
        match self.phase {
            Phase::Fast => self.credit = self.credit.saturating_add(left.saturating_mul(mss)),
            // RFC 6582 §3.2 step 2: only news from after the last recovery.
            Phase::Open if crossed && snd_una.after(self.recover) => {
                self.phase = Phase::Fast;
                self.recover = snd_max;
                self.head_lost = true;
                self.credit = self.duplicates.saturating_mul(mss);
                return OnDuplicate::LossFound;
            }
            Phase::Open | Phase::Timeout => {}
        }
        OnDuplicate::Counted
    }

    /// Everything before `ack` arrived, `acked` bytes of it news. Returns
    /// whether a recovery ended with it.
    pub fn on_ack(&mut self, ack: SeqNum, acked: u32, mss: u32) -> bool {
        self.duplicates = 0;
        self.sacked = 0;
        self.timeouts = 0;
        if self.phase == Phase::Open {
            return false;
        }
        if ack.at_or_after(self.recover) {
            self.phase = Phase::Open;
            self.credit = 0;
            self.head_lost = false;
            return true;
        }
        if self.phase == Phase::Fast {
            // A partial ACK: the next hole starts right there. RFC 6582 §3.2 step 5.
            self.head_lost = true;
            self.credit = self
                .credit
                .saturating_sub(acked)
                .saturating_add(mss.min(acked));
        }
        false
    }

    /// The retransmission timer ran out: all from `snd_una` is sent again.
    pub fn on_timeout(&mut self, snd_max: SeqNum) {
        self.phase = Phase::Timeout;
        self.recover = snd_max;
        self.duplicates = 0;
        self.sacked = 0;
        self.head_lost = false;
        self.credit = 0;
        self.timeouts = self.timeouts.saturating_add(1);
    }
}

#[cfg(test)]
mod tests;
