//! The tail loss probe: when the last segments of a flight are lost nothing
//! arrives that could tell; a probe after two round trips asks. RFC 8985 §7.
//!
//! Rule: one probe at a time, never instead of the timeout, which it delays by
//! nothing. The probe is new text if there is any, or the last segment again.

use fullpipe_pool::Duration;

use crate::SeqNum;

/// How long a peer may hold back the ACK of a lone segment. RFC 8985 §7.2.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

/// The probe under way, if any.
#[derive(Clone, Copy, Debug, Default)]
pub struct TailLoss {
    probe: Option<Probe>,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    /// `snd_max` after the probe left.
    end: SeqNum,
    /// The last segment was sent again, rather than something new.
    is_retransmission: bool,
}

/// What an ACK says of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// No probe, or it is still under way.
    Nothing,
    /// Both the segment and the probe arrived, or the probe was new.
    NoLoss,
    /// The probe repaired a loss: congestion control must hear of it.
    LossRepaired,
}

impl TailLoss {
    /// No probe.
    pub const IDLE: Self = Self { probe: None };

    /// Whether a probe is under way.
    pub const fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    /// How long to wait for an ACK before probing; at most `rto`.
    /// `lone` says that at most one segment is in flight.
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

    /// A probe leaves; `end` is `snd_max` after it.
    pub fn on_probe(&mut self, end: SeqNum, is_retransmission: bool) {
        self.probe = Some(Probe {
            end,
            is_retransmission,
        });
    }

    /// An ACK up to `ack`; `dsack` when it reports a segment that came twice,
    /// `is_bare` when it brings nothing else. RFC 8985 §7.4.
    pub fn on_ack(&mut self, ack: SeqNum, dsack: bool, is_bare: bool) -> ProbeOutcome {
        let Some(probe) = self.probe.filter(|probe| ack.at_or_after(probe.end)) else {
            return ProbeOutcome::Nothing;
        };
        if !probe.is_retransmission || dsack {
            self.probe = None;
            return ProbeOutcome::NoLoss;
        }
        if ack.after(probe.end) || !is_bare {
            // Something later arrived in order, and no duplicate was reported:
            // the probe filled a gap.
            self.probe = None;
            return ProbeOutcome::LossRepaired;
        }
        ProbeOutcome::Nothing
    }

    /// Recovery or a timeout takes over.
    pub fn cancel(&mut self) {
        self.probe = None;
    }
}

#[cfg(test)]
mod tests;
