//! The interface of a congestion control algorithm, and the values that its
//! methods take.
//!
//! Rule: an algorithm sees what was delivered and what was lost, and sets a window and, if it
//! wants, a pacing rate. An algorithm sees no buffer, no receive window and no segment, and must
//! not allocate after it was made.
//!
//! This file does not choose an algorithm (`controller`), does not list the
//! built-in ones (`algorithms`) and does not keep those of other crates
//! (`registry`).

use fullpipe_pool::Instant;

use super::delivery_rate::{LostRange, RateSample};
use crate::Limit;

/// State of the connection when an algorithm starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CongestionStart {
    /// Congestion window in bytes: the initial window (RFC 6928), or the window
    /// of the algorithm that this one replaces.
    pub cwnd: u32,
    /// Slow-start threshold in bytes: `u32::MAX`, or the threshold of the algorithm that this
    /// one replaces.
    pub ssthresh: u32,
    /// Effective segment size in bytes.
    pub mss: u32,
    /// Segments leave at the pacing rate (knob `tcp.pacing`), so that the segments released
    /// by one ACK do not leave as a burst.
    pub paced: bool,
    /// Number that differs between connections, for random choices.
    pub seed: u32,
    /// Value of the knob `tcp.hystart`.
    pub hystart: bool,
    /// Value of the knob `tcp.bbr_loss_threshold`, in percent.
    pub bbr_loss_threshold: u32,
}

/// One ACK, in bytes and microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// Arrival time of the ACK.
    pub now: Instant,
    /// Delivery rate sample that the ACK completed.
    pub rate: RateSample,
    /// Bytes that count for the growth of the window: the bytes delivered since the cumulative ACK
    /// last advanced; 0 for an ACK that does not advance it. RFC 5681 §3.1, RFC 3042 §2.
    pub acked: u32,
    /// Bytes in flight after the ACK and after the losses that the ACK revealed.
    pub in_flight: u32,
    /// Effective segment size.
    pub mss: u32,
    /// Smoothed round-trip time; 0 before the first sample.
    pub srtt_us: u32,
    /// The congestion window stopped the sender in this round trip or in the one before. If false,
    /// the window was not fully used and must not grow (RFC 7661), except as
    /// [`has_tested`](Self::has_tested) allows in slow start.
    pub cwnd_limited: bool,
    /// Fast recovery is under way: the window must not grow. False in the slow
    /// start after a timeout.
    pub recovering: bool,
    /// The ACK carried ECE: the peer saw a congestion mark. RFC 3168 §6.1.
    pub ece: bool,
}

impl AckSample {
    /// Returns true if enough of a window of `cwnd` bytes was in flight to let the window grow.
    ///
    /// In slow start, half of the window is enough. The window doubles in each round trip, and
    /// pacing spreads the doubled window over the round trip, so the bytes in flight may never fill
    /// the window.
    pub fn has_tested(&self, cwnd: u32, ssthresh: u32) -> bool {
        let half_used = self.rate.tx_in_flight.saturating_mul(2) >= cwnd;
        self.cwnd_limited || (cwnd < ssthresh && half_used)
    }
}

/// A loss, a retransmission timeout or a congestion mark.
#[derive(Clone, Copy, Debug, Default)]
pub struct CongestionEvent {
    /// Time at which the event was found.
    pub now: Instant,
    /// Bytes sent and not cumulatively acknowledged: RFC 5681's FlightSize.
    pub flight_size: u32,
    /// Bytes in flight: FlightSize without bytes that are SACKed or lost.
    pub in_flight: u32,
    /// Effective segment size.
    pub mss: u32,
    /// Bytes delivered over the connection's lifetime.
    pub total_delivered: u64,
}

impl CongestionEvent {
    /// Returns the part of a window of `cwnd` bytes that was in use.
    ///
    /// A reduction starts from this value: a window that the application never
    /// filled says nothing about the path. RFC 9438 §4.6, RFC 5681 §3.1.
    pub fn used(&self, cwnd: u32) -> u32 {
        cwnd.min(self.flight_size.max(self.mss))
    }
}

/// Data is about to leave while nothing is in flight.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlightStart {
    /// Current time.
    pub now: Instant,
    /// Less than a segment waits to be sent: the application limits the sender.
    pub app_limited: bool,
    /// Smoothed round-trip time in microseconds; 0 before the first sample.
    pub srtt_us: u32,
}

/// A congestion control algorithm. Windows are bytes, rates bytes per second.
///
/// An instance belongs to one connection at a time.
/// [`start`](Self::start) is called before any other method, and again when the
/// instance passes to another connection.
///
/// Calling order for an ACK: [`on_range_lost`](Self::on_range_lost) for each
/// range newly considered lost, then [`on_loss`](Self::on_loss) if fast recovery
/// begins, then [`on_ecn`](Self::on_ecn) if a congestion mark came back, then
/// [`on_ack`](Self::on_ack).
///
/// The caller decides which segments are lost, and reduces the window gradually
/// during fast recovery (PRR, RFC 9937) unless
/// [`controls_recovery`](Self::controls_recovery) returns true.
pub trait CongestionControl {
    /// Resets all state for a connection that starts or that changes to this algorithm.
    fn start(&mut self, start: &CongestionStart);

    /// Returns the congestion window: bytes that may be in flight.
    fn cwnd(&self) -> u32;

    /// Returns the slow-start threshold in bytes; `u32::MAX` until a congestion
    /// event sets it.
    ///
    /// The default, the window, suits an algorithm without slow start.
    fn ssthresh(&self) -> u32 {
        self.cwnd()
    }

    /// Returns the pacing rate of this algorithm.
    ///
    /// `None`, the default, lets the connection derive the rate from the window
    /// and the smoothed round-trip time.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Returns the limit to which time is charged while the congestion window is full.
    ///
    /// An algorithm returns [`Limit::CwndAfterLoss`] if a loss, a mark or the end of slow start set
    /// the size of the window: the algorithm need not know which. The connection knows it. The
    /// connection replaces `CwndAfterLoss` by [`Limit::CwndAfterMark`] if the last reduction
    /// responded to a mark, and by [`Limit::CwndSteady`] if no response to a loss or a mark is in
    /// effect.
    fn limit(&self) -> Limit {
        if self.cwnd() < self.ssthresh() {
            Limit::CwndSlowStart
        } else if self.ssthresh() == u32::MAX {
            Limit::CwndSteady
        } else {
            Limit::CwndAfterLoss
        }
    }

    /// Returns true if `cwnd` also applies during fast recovery, in place of PRR.
    fn controls_recovery(&self) -> bool {
        false
    }

    /// Notes that data is about to leave while nothing is in flight.
    fn on_flight_start(&mut self, _start: FlightStart) {}

    /// Takes an ACK that reports something new, also during recovery.
    fn on_ack(&mut self, sample: &AckSample);

    /// Takes one range that is newly considered lost.
    fn on_range_lost(&mut self, _lost: &LostRange) {}

    /// Responds to loss: fast recovery begins. Called once for each window of data.
    fn on_loss(&mut self, event: &CongestionEvent);

    /// Notes the end of a recovery from losses or from a timeout: all data outstanding at its start
    /// has arrived.
    fn on_recovery_exit(&mut self) {}

    /// Responds to a congestion mark. Called once for each window of data. By default the response
    /// is that to a loss (RFC 3168 §6.1.2).
    fn on_ecn(&mut self, event: &CongestionEvent) {
        self.on_loss(event);
    }

    /// Responds to a retransmission timeout; `first` is false for the second and
    /// later timeouts of the same data. One segment leaves next.
    fn on_timeout(&mut self, event: &CongestionEvent, first: bool);

    /// Restores the state from before the last `on_loss` or `on_timeout`, because that
    /// response was spurious. Does nothing if another event has changed the state since. By default
    /// the response stays.
    fn on_undo(&mut self) {}

    /// Lowers the window after an idle time of one retransmission timeout, because the size of the
    /// window is no longer validated. `restart_window` is the restart window of RFC 5681 §4.1.
    fn on_idle(&mut self, restart_window: u32);
}
