//! Tail loss probe: a segment that is sent after two round trips without an
//! ACK, because the loss of a flight's last segments causes no duplicate ACKs.
//! RFC 8985 §7.
//!
//! Rule: one probe at a time, never later than the retransmission timeout, which restarts
//! when the probe leaves. The probe is new payload if there is any, otherwise the last
//! segment.

use fullpipe_pool::{Duration, record};

use crate::SeqNum;

/// WCDelAckT: longest delay of the ACK of a single segment. RFC 8985 §7.2.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

/// The probe in flight, if any.
#[derive(Clone, Copy, Debug, Default)]
pub struct TailLoss {
    probe: Option<Probe>,
}

record!(TailLoss { probe });

#[derive(Clone, Copy, Debug)]
struct Probe {
    /// `snd_nxt` after the probe left.
    end: SeqNum,
    /// The probe was a retransmission of the last segment.
    is_retransmission: bool,
}

record!(Probe {
    end,
    is_retransmission
});

/// Conclusion about the probe from an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// No probe is in flight, or its outcome is not known yet.
    Nothing,
    /// Nothing was lost: both the last segment and its retransmission as a probe were delivered, or
    /// the probe was new payload.
    NoLoss,
    /// The probe repaired a loss, to which congestion control must respond.
    LossRepaired,
}

impl TailLoss {
    /// No probe.
    pub const IDLE: Self = Self { probe: None };

    /// Returns true if a probe is in flight.
    pub const fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    /// Returns the time to wait for an ACK before a probe, at most `rto`. `lone` means that
    /// so few bytes are in flight that the peer may delay their ACK.
    pub fn timeout(srtt: Duration, lone: bool, rto: Duration) -> Duration {
        if srtt.is_zero() {
            return rto;
        }
        let wait = srtt * 2
            + if lone {
                MAX_ACK_DELAY
            } else {
                Duration::from_millis(2)
            };
        wait.min(rto)
    }

    /// Notes that a probe leaves; `end` is `snd_nxt` after the probe.
    pub fn on_probe(&mut self, end: SeqNum, is_retransmission: bool) {
        self.probe = Some(Probe {
            end,
            is_retransmission,
        });
    }

    /// Processes an ACK up to `ack`. `dsack` means that the ACK carries a DSACK block,
    /// `is_bare` that it acknowledges nothing new, neither cumulatively nor by SACK. RFC
    /// 8985 §7.4.
    pub fn on_ack(&mut self, ack: SeqNum, dsack: bool, is_bare: bool) -> ProbeOutcome {
        let Some(probe) = self.probe.filter(|probe| ack.at_or_after(probe.end)) else {
            return ProbeOutcome::Nothing;
        };
        if !probe.is_retransmission || dsack {
            self.probe = None;
            return ProbeOutcome::NoLoss;
        }
        if ack.after(probe.end) {
            // A segment sent after the probe arrived in order and no duplicate was
            // reported, so the probe repaired a loss.
            self.probe = None;
            return ProbeOutcome::LossRepaired;
        }
        if is_bare {
            // A duplicate ACK without a DSACK: a peer that does not use SACK reports the second
            // copy in this way.
            self.probe = None;
            return ProbeOutcome::NoLoss;
        }
        ProbeOutcome::Nothing
    }

    /// Ends the probe: recovery or a timeout takes over.
    pub fn cancel(&mut self) {
        self.probe = None;
    }
}

#[cfg(test)]
mod tests;
