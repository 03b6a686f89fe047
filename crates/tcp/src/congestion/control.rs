//! What every congestion control algorithm is told and asked, and the choice of
//! one.
//!
//! Rule: values in, a window and a rate out. What holds for all algorithms is
//! decided here: the default pacing rate, and that a window of data is answered
//! for once, whether it was marked or lost. Which segments were lost is
//! `recovery`'s word; how fast the window falls to what an algorithm asks for
//! (PRR) is too, unless the algorithm says that it
//! [`controls_recovery`](CongestionControl::controls_recovery).

use fullpipe_pool::Instant;

use super::{
    bbr::Bbr,
    cubic::Cubic,
    delivery_rate::{LostRange, RateSample},
    initial_window,
    newreno::NewReno,
};
use crate::{CongestionAlgorithm, Limit, TcpConfig};

/// What an algorithm is told of one ACK. Bytes and microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// When it arrived.
    pub now: Instant,
    /// What it says about the path.
    pub rate: RateSample,
    /// Bytes in flight after it and after the losses it revealed.
    pub in_flight: u32,
    /// Effective segment size.
    pub mss: u32,
    /// Smoothed round-trip time; 0 before the first sample.
    pub srtt_us: u32,
    /// At some time during the last round trip the congestion window, and
    /// nothing else, stopped the sender. When something else did, the window
    /// must not grow: it has not been tested. See [`WindowUse`](super::WindowUse).
    pub cwnd_limited: bool,
    /// Fast recovery is going on: growth is not for now. False in the slow start
    /// after a timeout.
    pub recovering: bool,
    /// It carried ECE: the peer saw a congestion mark. RFC 3168 §6.1.
    pub ece: bool,
}

impl AckSample {
    /// Whether a window of `cwnd` bytes has been tested. In slow start half of it
    /// in flight is enough, because pacing spreads what it doubles to over the
    /// round trip.
    pub fn has_tested(&self, cwnd: u32, ssthresh: u32) -> bool {
        let half_used = self.rate.tx_in_flight.saturating_mul(2) >= cwnd;
        self.cwnd_limited || (cwnd < ssthresh && half_used)
    }
}

/// Something was lost, a timer ran out, or a mark came back.
#[derive(Clone, Copy, Debug, Default)]
pub struct CongestionEvent {
    /// When that was found.
    pub now: Instant,
    /// Bytes sent and not cumulatively acknowledged: RFC 5681's FlightSize.
    pub flight_size: u32,
    /// Bytes in flight: without those that are SACKed or taken for lost.
    pub in_flight: u32,
    /// Effective segment size.
    pub mss: u32,
    /// Bytes delivered in the connection's life.
    pub total_delivered: u64,
}

impl CongestionEvent {
    /// The window that was really in use, of `cwnd` bytes: a window that the
    /// application never filled says nothing. RFC 9438 §4.6, RFC 5681 §3.1.
    pub fn used(&self, cwnd: u32) -> u32 {
        cwnd.min(self.flight_size.max(self.mss))
    }
}

/// Data is about to leave and nothing is in flight.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlightStart {
    /// When.
    pub now: Instant,
    /// The application had nothing to send before.
    pub app_limited: bool,
    /// Smoothed round-trip time in microseconds; 0 before the first sample.
    pub srtt_us: u32,
}

/// A congestion control algorithm. Windows are bytes, rates bytes a second.
pub trait CongestionControl {
    /// Bytes that may be in flight.
    fn cwnd(&self) -> u32;

    /// Above this the window grows slowly; `u32::MAX` until congestion sets it.
    fn ssthresh(&self) -> u32;

    /// The rate that this algorithm paces at; `None` leaves it to
    /// [`Controller::pacing_rate`].
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// The limit that a full congestion window stands for now.
    fn limit(&self) -> Limit {
        if self.cwnd() < self.ssthresh() {
            Limit::CwndSlowStart
        } else if self.ssthresh() == u32::MAX {
            Limit::CwndSteady
        } else {
            Limit::CwndAfterLoss
        }
    }

    /// Whether `cwnd` is to be obeyed during fast recovery too, instead of PRR.
    fn controls_recovery(&self) -> bool {
        false
    }

    /// Data is about to leave into an empty pipe.
    fn on_flight_start(&mut self, _start: FlightStart) {}

    /// An ACK that reports something new, in recovery too.
    fn on_ack(&mut self, sample: &AckSample);

    /// One range was taken for lost; called for every one, before the `on_loss`
    /// that it may lead to.
    fn on_range_lost(&mut self, _lost: &LostRange) {}

    /// Fast recovery begins: once for a window of data.
    fn on_loss(&mut self, event: &CongestionEvent);

    /// Everything that recovery began with is repaired, after fast recovery or
    /// after a timeout.
    fn on_recovery_exit(&mut self) {}

    /// A mark came back: once for a window of data. RFC 3168 §6.1.2.
    fn on_ecn(&mut self, event: &CongestionEvent);

    /// The retransmission timer ran out; `first` is false for the second and
    /// later timeouts of the same data. One segment leaves next.
    fn on_timeout(&mut self, event: &CongestionEvent, first: bool);

    /// The last `on_loss` or `on_timeout` was wrong, nothing had been lost:
    /// restores what was before, if nothing has changed it since.
    fn on_undo(&mut self);

    /// Nothing was sent for a retransmission timeout: the window is stale.
    /// `restart_window` is RFC 5681 §4.1's.
    fn on_idle(&mut self, restart_window: u32);
}

/// The algorithms. An enum, because a connection owns no heap.
#[derive(Clone, Debug)]
enum Algorithm {
    /// RFC 5681 and RFC 6582.
    NewReno(NewReno),
    /// RFC 9438.
    Cubic(Cubic),
    /// draft-ietf-ccwg-bbr.
    Bbr(Bbr),
}

/// The algorithm of one connection.
#[derive(Clone, Debug)]
pub struct Controller {
    algorithm: Algorithm,
    /// The window of data that was last answered for ends when so much has been
    /// delivered.
    answered_until: u64,
    /// That answer was to a mark, and no loss of the same window came yet.
    answered_mark: bool,
}

impl Controller {
    /// The algorithm that `config` names, with its initial window. `seed` makes
    /// connections differ in when they probe; the initial sequence number will do.
    pub fn new(config: &TcpConfig, mss: u32, seed: u32) -> Self {
        let cwnd = initial_window(config, mss);
        let algorithm = match config.congestion {
            CongestionAlgorithm::NewReno => Algorithm::NewReno(NewReno::new(cwnd, config.pacing)),
            CongestionAlgorithm::Cubic => {
                Algorithm::Cubic(Cubic::new(cwnd, config.hystart, config.pacing))
            }
            CongestionAlgorithm::Bbr => {
                Algorithm::Bbr(Bbr::new(cwnd, mss, config.bbr_loss_threshold, seed))
            }
        };
        Self {
            algorithm,
            answered_until: 0,
            answered_mark: false,
        }
    }

    /// The limit that a full congestion window stands for now.
    pub fn limit(&self) -> Limit {
        self.algorithm().limit()
    }

    /// Bytes a second at which segments should leave: the algorithm's own rate,
    /// or twice the window a round trip in slow start and 1.2 times afterwards,
    /// so that pacing spreads the window without bounding it. In fast recovery
    /// once: what is in flight is no longer spread over the round trip, and the
    /// rest of the window sent faster than the path carries would overflow a
    /// short queue long before it is full. `u64::MAX` before the first round-trip
    /// time.
    pub fn pacing_rate(&self, srtt_us: u32, recovering: bool) -> u64 {
        if let Some(rate) = self.algorithm().pacing_rate() {
            return rate;
        }
        // Twice only while the window will still double: in the last round trip
        // of slow start it already is what the path was thought to carry.
        let percent = if recovering {
            100
        } else if self.cwnd() < self.ssthresh() / 2 {
            200
        } else {
            120
        };
        let scaled = u64::from(self.cwnd()) * percent * 10_000;
        scaled.checked_div(u64::from(srtt_us)).unwrap_or(u64::MAX)
    }

    /// Whether `cwnd` is to be obeyed during fast recovery too, instead of PRR.
    pub fn controls_recovery(&self) -> bool {
        self.algorithm().controls_recovery()
    }

    /// Bytes that may be in flight.
    pub fn cwnd(&self) -> u32 {
        self.algorithm().cwnd()
    }

    /// Above this the window grows slowly; `u32::MAX` until congestion sets it.
    pub fn ssthresh(&self) -> u32 {
        self.algorithm().ssthresh()
    }

    /// Data is about to leave into an empty pipe.
    pub fn on_flight_start(&mut self, start: FlightStart) {
        self.algorithm_mut().on_flight_start(start);
    }

    /// An ACK that reports something new, in recovery too. `flight_size` is RFC
    /// 5681's. Returns whether the window was reduced because of ECE: then the
    /// next segment with new text carries CWR.
    pub fn on_ack(&mut self, sample: &AckSample, flight_size: u32) -> bool {
        let event = CongestionEvent {
            now: sample.now,
            flight_size,
            in_flight: sample.in_flight,
            mss: sample.mss,
            total_delivered: sample.rate.total_delivered,
        };
        let reduced = sample.ece && !sample.recovering && !self.is_answered(&event);
        if reduced {
            self.answer(&event);
            self.answered_mark = true;
            self.algorithm_mut().on_ecn(&event);
        }
        self.algorithm_mut().on_ack(sample);
        reduced
    }

    /// One range was taken for lost; called for every one, before the `on_loss`
    /// that it may lead to.
    pub fn on_range_lost(&mut self, lost: &LostRange) {
        self.algorithm_mut().on_range_lost(lost);
    }

    /// Fast recovery begins: once for a window of data.
    pub fn on_loss(&mut self, event: &CongestionEvent) {
        // A window that has just been reduced because of a mark is not reduced
        // again because of a loss. RFC 3168 §6.1.2. Once only: what is lost never
        // counts as delivered, so under heavy loss the window would not end.
        let marked = core::mem::take(&mut self.answered_mark) && self.is_answered(event);
        if self.controls_recovery() || !marked {
            self.algorithm_mut().on_loss(event);
        }
        self.answer(event);
    }

    /// Everything that recovery began with is repaired.
    pub fn on_recovery_exit(&mut self) {
        self.algorithm_mut().on_recovery_exit();
    }

    /// The retransmission timer ran out; `first` is false for the second and
    /// later timeouts of the same data.
    pub fn on_timeout(&mut self, event: &CongestionEvent, first: bool) {
        self.answered_mark = false;
        self.answer(event);
        self.algorithm_mut().on_timeout(event, first);
    }

    /// Nothing had been lost: restores what was before.
    pub fn on_undo(&mut self) {
        self.answered_until = 0;
        self.algorithm_mut().on_undo();
    }

    /// Nothing was sent for a retransmission timeout: the window is stale.
    pub fn on_idle(&mut self, restart_window: u32) {
        self.algorithm_mut().on_idle(restart_window);
    }

    fn is_answered(&self, event: &CongestionEvent) -> bool {
        event.total_delivered < self.answered_until
    }

    fn answer(&mut self, event: &CongestionEvent) {
        // The echo goes on until something sent after the reduction arrives, and
        // CWR with it: the last ACK of the window is answered for too.
        self.answered_until = event.total_delivered + u64::from(event.in_flight) + 1;
    }

    /// The state of BBR, if that is the algorithm: for tables and traces.
    pub const fn as_bbr(&self) -> Option<&Bbr> {
        match &self.algorithm {
            Algorithm::Bbr(bbr) => Some(bbr),
            Algorithm::NewReno(_) | Algorithm::Cubic(_) => None,
        }
    }

    fn algorithm(&self) -> &dyn CongestionControl {
        match &self.algorithm {
            Algorithm::NewReno(newreno) => newreno,
            Algorithm::Cubic(cubic) => cubic,
            Algorithm::Bbr(bbr) => bbr,
        }
    }

    fn algorithm_mut(&mut self) -> &mut dyn CongestionControl {
        match &mut self.algorithm {
            Algorithm::NewReno(newreno) => newreno,
            Algorithm::Cubic(cubic) => cubic,
            Algorithm::Bbr(bbr) => bbr,
        }
    }
}

#[cfg(test)]
mod tests;
