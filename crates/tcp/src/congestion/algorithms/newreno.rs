//! NewReno: slow start and congestion avoidance (RFC 5681). The window is halved on loss
//! and reduced to 0.8 on a congestion mark (RFC 8511, ABE), because a router that marks
//! keeps its queue short.
//!
//! Rule: the window grows by the bytes delivered in slow start and by one segment per round trip
//! afterwards. The growth depends on bytes delivered, SACKed bytes included, and not on the number
//! of ACKs, so that split, stretched and lost ACKs do not change the growth. There is one
//! exception: in slow start without pacing, one ACK adds at most two segments. With pacing there is
//! no such limit, because pacing spreads the segments that a stretched ACK releases. PRR sets the
//! window during fast recovery.

use fullpipe_pool::record;

use crate::congestion::control::{AckSample, CongestionControl, CongestionEvent, CongestionStart};

/// Share of the window kept after a mark, in percent. RFC 8511 §3.1.
const BETA_ECN: u32 = 80;

/// Share of the window kept after a loss, in percent. RFC 5681 equation 4.
const BETA_LOSS: u32 = 50;

/// Segments that one ACK may add in slow start without pacing: L of RFC 3465
/// §2.2.
const L_UNPACED: u32 = 2;

/// The window before a reduction, for an undo.
#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: u32,
    ssthresh: u32,
}

record!(Before { cwnd, ssthresh });

/// The state of NewReno, in bytes.
#[derive(Clone, Debug)]
pub struct NewReno {
    cwnd: u32,
    ssthresh: u32,
    /// Bytes delivered in congestion avoidance that have not yet grown the window.
    bytes_acked: u32,
    paced: bool,
    before: Option<Before>,
}

record!(NewReno {
    cwnd,
    ssthresh,
    bytes_acked,
    paced,
    before
});

impl NewReno {
    /// Starts with the window and the threshold of `start`.
    pub const fn new(start: &CongestionStart) -> Self {
        Self {
            cwnd: start.cwnd,
            ssthresh: start.ssthresh,
            bytes_acked: 0,
            paced: start.paced,
            before: None,
        }
    }

    fn remember(&mut self) {
        self.before = Some(Before {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
        });
    }

    fn lower_ssthresh(&mut self, event: &CongestionEvent, percent: u32) {
        let kept = percent_of(event.used(self.cwnd), percent);
        self.ssthresh = kept.max(2 * event.mss);
        self.bytes_acked = 0;
    }
}

/// Returns `percent` of `bytes`.
fn percent_of(bytes: u32, percent: u32) -> u32 {
    (u64::from(bytes) * u64::from(percent) / 100) as u32
}

impl CongestionControl for NewReno {
    fn start(&mut self, start: &CongestionStart) {
        *self = Self::new(start);
    }

    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if sample.recovering || !sample.has_tested(self.cwnd, self.ssthresh) {
            return;
        }
        let acked = sample.acked;
        if self.cwnd < self.ssthresh {
            let most = if self.paced {
                u32::MAX
            } else {
                L_UNPACED * sample.mss
            };
            self.cwnd += acked.min(most).min(self.ssthresh - self.cwnd);
            return;
        }
        self.bytes_acked = self.bytes_acked.saturating_add(acked);
        if self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd = self.cwnd.saturating_add(sample.mss);
        }
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.remember();
        self.lower_ssthresh(event, BETA_LOSS);
        self.cwnd = self.ssthresh;
    }

    fn on_ecn(&mut self, event: &CongestionEvent) {
        self.before = None;
        self.lower_ssthresh(event, BETA_ECN);
        self.cwnd = self.ssthresh;
    }

    fn on_timeout(&mut self, event: &CongestionEvent, first: bool) {
        if first {
            self.remember();
            self.lower_ssthresh(event, BETA_LOSS);
        }
        self.cwnd = event.mss;
    }

    fn on_undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.cwnd = self.cwnd.max(before.cwnd);
            self.ssthresh = self.ssthresh.max(before.ssthresh);
        }
    }

    fn on_idle(&mut self, restart_window: u32) {
        // Let slow start grow the window to 3/4 of its size before the idle time. RFC 7661 §4.4.
        self.ssthresh = self.ssthresh.max(percent_of(self.cwnd, 75));
        self.cwnd = self.cwnd.min(restart_window);
    }
}

#[cfg(test)]
mod tests;
