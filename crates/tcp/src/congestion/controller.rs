//! The congestion control of one connection: the algorithm, and what applies to
//! every algorithm.
//!
//! Rule: the default pacing rate is computed here. In one window of data, loss and marks
//! together cause at most one reduction; a retransmission timeout always causes one.
//! Recovery decides which segments are lost and lowers the window gradually (PRR). An
//! algorithm that [controls recovery](CongestionControl::controls_recovery) lowers its
//! window itself and receives every loss.

use fullpipe_pool::{
    record,
    record::{Record, RecordReader, RecordWriter},
};

use core::{fmt, ops::Range};

use super::{
    algorithms::{BuiltIn, CongestionAlgorithm},
    control::{AckSample, CongestionControl, CongestionEvent, CongestionStart, FlightStart},
    delivery_rate::LostRange,
    registry::{CongestionChoice, CongestionRegistry, Instance, RegisteredCongestion},
};
use crate::{Limit, SeqNum, TcpConfig};

/// Returns the initial congestion window in bytes. RFC 6928 §2: `tcp.initial_window` segments, but
/// at most the larger of `tcp.initial_window` · 1,460 bytes and two segments.
pub fn initial_window(config: &TcpConfig, mss: u32) -> u32 {
    let segments = config.initial_window;
    let ceiling = (segments * 1_460).max(2 * mss);
    (segments * mss).min(ceiling)
}

/// Returns the values with which an algorithm starts on a connection with segments of `mss`
/// bytes. `seed` differs between connections.
pub fn start_of(config: &TcpConfig, mss: u32, seed: u32) -> CongestionStart {
    CongestionStart {
        cwnd: initial_window(config, mss),
        ssthresh: u32::MAX,
        mss,
        paced: config.pacing,
        seed,
        hystart: config.hystart,
        bbr_loss_threshold: config.bbr_loss_threshold,
    }
}

/// State of the algorithm.
// A box would allocate after construction.
#[expect(clippy::large_enum_variant)]
enum Algorithm {
    BuiltIn(BuiltIn),
    Registered(RegisteredCongestion, Instance),
}

/// The record of a built-in algorithm. The state of another one is known only to its crate.
impl Record for Algorithm {
    fn pack(&self, to: &mut RecordWriter<'_>) {
        match self {
            Self::BuiltIn(built_in) => built_in.pack(to),
            Self::Registered(..) => unreachable!("a registered algorithm has no record"),
        }
    }

    fn unpack(from: &mut RecordReader<'_>) -> Self {
        Self::BuiltIn(BuiltIn::unpack(from))
    }
}

/// The congestion control of one connection. Call [`release`](Self::release) before dropping a
/// controller, because the instance of a registered algorithm belongs to the host.
pub struct Controller {
    algorithm: Algorithm,
    /// `snd_nxt` at the last response to a loss or a timeout: the end of the window of data that
    /// caused the response.
    loss_until: SeqNum,
    /// `snd_nxt` at the last response to a mark.
    mark_until: SeqNum,
    /// A response to a loss or a timeout was not undone, and no ACK has passed `loss_until`.
    /// `loss_until` is compared only while this is true, because later `loss_until` may be half the
    /// sequence space away.
    responded_to_loss: bool,
    /// Cause of the last reduction that was not undone.
    reduced_by: Reduction,
    /// `reduced_by` before the response that may still be undone.
    reduced_before: Reduction,
    /// Congestion window before idle time reduced it, in bytes; 0 after any other reduction.
    before_idle: u32,
}

record!(Controller {
    algorithm,
    loss_until,
    mark_until,
    responded_to_loss,
    reduced_by,
    reduced_before,
    before_idle
});

/// Cause of a reduction of the congestion window and of `ssthresh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    /// Nothing was reduced.
    None,
    /// A loss or a retransmission timeout.
    Loss,
    /// A congestion mark.
    Mark,
    /// A congestion mark. No ACK has passed `mark_until`, and the same window of data has no
    /// loss yet.
    RecentMark,
}

record!(
    enum Reduction {
        None,
        Loss,
        Mark,
        RecentMark,
    }
);

impl Controller {
    /// Starts the algorithm of `choice`.
    ///
    /// Starts the default algorithm instead if `registry` has no free instance of `choice`.
    pub fn new(
        choice: CongestionChoice,
        start: &CongestionStart,
        registry: &mut CongestionRegistry,
    ) -> Self {
        let built_in = |algorithm| Algorithm::BuiltIn(BuiltIn::new(algorithm, start));
        let algorithm = match choice {
            CongestionChoice::BuiltIn(algorithm) => built_in(algorithm),
            CongestionChoice::Registered(id) => match registry.take(id) {
                None => built_in(CongestionAlgorithm::DEFAULT),
                Some(mut instance) => {
                    instance.start(start);
                    Algorithm::Registered(id, instance)
                }
            },
        };
        Self {
            algorithm,
            loss_until: SeqNum(0),
            mark_until: SeqNum(0),
            responded_to_loss: false,
            reduced_by: Reduction::None,
            reduced_before: Reduction::None,
            before_idle: 0,
        }
    }

    /// Starts the same algorithm anew.
    pub fn restart(&mut self, start: &CongestionStart) {
        self.algorithm_mut().start(start);
        self.responded_to_loss = false;
        self.set_reduction(Reduction::None);
        self.reduced_before = Reduction::None;
    }

    /// Replaces the algorithm by the algorithm of `choice`, which starts with the window and the
    /// slow-start threshold of the replaced one.
    pub fn change(
        &mut self,
        choice: CongestionChoice,
        start: &CongestionStart,
        registry: &mut CongestionRegistry,
    ) {
        let start = CongestionStart {
            cwnd: self.cwnd(),
            ssthresh: self.ssthresh(),
            ..*start
        };
        self.release(registry);
        *self = Self {
            // The window and the threshold keep their sizes, so a later loss or mark in the same
            // window of data must not reduce them again. The new algorithm has nothing to undo.
            loss_until: self.loss_until,
            mark_until: self.mark_until,
            responded_to_loss: self.responded_to_loss,
            reduced_by: self.reduced_by,
            reduced_before: self.reduced_by,
            before_idle: self.before_idle,
            ..Self::new(choice, &start, registry)
        };
    }

    /// Gives the instance of a registered algorithm back to `registry`.
    pub fn release(&mut self, registry: &mut CongestionRegistry) {
        if let Algorithm::Registered(..) = self.algorithm {
            let start = CongestionStart::default();
            let placeholder = BuiltIn::new(CongestionAlgorithm::NewReno, &start);
            let replaced = core::mem::replace(&mut self.algorithm, Algorithm::BuiltIn(placeholder));
            if let Algorithm::Registered(id, instance) = replaced {
                registry.give_back(id, instance);
            }
        }
    }

    /// Returns true if the algorithm is a built-in one, whose state can be packed into a record.
    pub const fn has_record(&self) -> bool {
        matches!(self.algorithm, Algorithm::BuiltIn(_))
    }

    /// Returns the limit to which time is charged while the congestion window is full: the limit
    /// that the algorithm reports or, if an event set the size of the window, the limit of this
    /// event.
    pub fn limit(&self) -> Limit {
        match (self.algorithm().limit(), self.reduced_by) {
            (Limit::CwndSlowStart, _) if self.cwnd() < self.before_idle => Limit::CwndAfterIdle,
            // After a timeout, slow start grows the window to the threshold that the timeout set,
            // so the loss is the limit.
            (Limit::CwndSlowStart, Reduction::Loss) if self.ssthresh() != u32::MAX => {
                Limit::CwndAfterLoss
            }
            (Limit::CwndAfterLoss, Reduction::None) => Limit::CwndSteady,
            (Limit::CwndAfterLoss, Reduction::Mark | Reduction::RecentMark) => Limit::CwndAfterMark,
            (
                limit,
                Reduction::None | Reduction::Loss | Reduction::Mark | Reduction::RecentMark,
            ) => limit,
        }
    }

    /// Returns the rate in bytes per second at which segments should leave; `u64::MAX` before the
    /// first round-trip time.
    ///
    /// The result is the algorithm's own rate, if it has one. Otherwise the result is cwnd / SRTT
    /// times a percentage: 200 % while the window is below half of `ssthresh`, and 120 % later. A
    /// rate of 120 % spreads the window without limiting it. In fast recovery the percentage is
    /// 100, because a higher rate would overflow a short queue before the path is full.
    pub fn pacing_rate(&self, srtt_us: u32, recovering: bool) -> u64 {
        if let Some(rate) = self.algorithm().pacing_rate() {
            return rate;
        }
        // From half of `ssthresh` on, slow start ends within a round trip, so the window no
        // longer doubles.
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

    /// Returns true if `cwnd` also applies during fast recovery, in place of PRR.
    pub fn controls_recovery(&self) -> bool {
        self.algorithm().controls_recovery()
    }

    /// Returns the congestion window in bytes.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub fn cwnd(&self) -> u32 {
        self.algorithm().cwnd()
    }

    /// Returns the slow-start threshold in bytes; `u32::MAX` until a congestion
    /// event sets it.
    pub fn ssthresh(&self) -> u32 {
        self.algorithm().ssthresh()
    }

    /// Notes that data is about to leave while nothing is in flight.
    pub fn on_flight_start(&mut self, start: FlightStart) {
        self.algorithm_mut().on_flight_start(start);
    }

    /// Takes an ACK that reports something new, also during recovery. `flight_size` is the
    /// FlightSize of RFC 5681 before the ACK; `window` is `snd_una..snd_nxt` after the ACK. Returns
    /// true if the window was reduced because of ECE: the next segment with new payload must carry
    /// CWR.
    pub fn on_ack(&mut self, sample: &AckSample, flight_size: u32, window: Range<SeqNum>) -> bool {
        let event = CongestionEvent {
            now: sample.now,
            flight_size,
            in_flight: sample.in_flight,
            mss: sample.mss,
            total_delivered: sample.rate.total_delivered,
        };
        self.forget_windows_before(window.start);
        let responded = self.responded_to_loss || self.reduced_by == Reduction::RecentMark;
        let reduced = sample.ece && !sample.recovering && !responded;
        if reduced {
            self.mark_until = window.end;
            self.algorithm_mut().on_ecn(&event);
            self.set_reduction(Reduction::RecentMark);
            // A mark is never spurious: the undo of an earlier loss keeps this response.
            self.reduced_before = Reduction::RecentMark;
        }
        self.algorithm_mut().on_ack(sample);
        reduced
    }

    /// Takes one range that is newly considered lost.
    pub fn on_range_lost(&mut self, lost: &LostRange) {
        self.algorithm_mut().on_range_lost(lost);
    }

    /// Responds to loss: fast recovery begins. Called once for each `window` of data,
    /// `snd_una..snd_nxt`.
    pub fn on_loss(&mut self, event: &CongestionEvent, window: Range<SeqNum>) {
        // After a mark has reduced the window, a loss in the same window of data does not reduce it
        // again (RFC 3168 §6.1.2). The `+ 1` excludes a `snd_una` equal to `mark_until`: the loss
        // is then in the next window of data.
        let marked = self.is_reduced_by_mark(window.start + 1);
        self.reduced_before = self.reduced_by;
        if self.controls_recovery() || !marked {
            self.algorithm_mut().on_loss(event);
            self.set_reduction(Reduction::Loss);
        } else {
            self.reduced_by = Reduction::Mark;
        }
        self.respond_to_loss(window.end);
    }

    /// Notes the end of a recovery: all data outstanding at its start has arrived.
    pub fn on_recovery_exit(&mut self) {
        self.algorithm_mut().on_recovery_exit();
    }

    /// Responds to a retransmission timeout; `first` is false for the second and
    /// later timeouts of the same data. `window` is `snd_una..snd_nxt`.
    pub fn on_timeout(&mut self, event: &CongestionEvent, window: Range<SeqNum>, first: bool) {
        self.respond_to_loss(window.end);
        self.algorithm_mut().on_timeout(event, first);
        if first {
            self.reduced_before = self.reduced_by;
        }
        self.set_reduction(Reduction::Loss);
    }

    /// Restores the state from before a spurious recovery or timeout. A reduction by a mark stays,
    /// and its window of data causes no second reduction.
    pub fn on_undo(&mut self) {
        self.responded_to_loss = false;
        self.algorithm_mut().on_undo();
        self.reduced_by = self.reduced_before;
    }

    /// Lowers the congestion window after nothing was sent for longer than the
    /// retransmission timeout. RFC 5681 §4.1.
    pub fn on_idle(&mut self, restart_window: u32) {
        let before = self.cwnd();
        self.algorithm_mut().on_idle(restart_window);
        if self.cwnd() < before {
            self.before_idle = self.before_idle.max(before);
        }
    }

    /// Returns true if a congestion mark has reduced the window, and `snd_una` has not passed
    /// the window of data that was in flight at that time.
    ///
    /// The peer echoes a mark until it receives CWR. CWR leaves with the first new payload after
    /// the reduction, so even the ACK of the whole window of data carries the echo.
    pub fn is_reduced_by_mark(&self, snd_una: SeqNum) -> bool {
        self.reduced_by == Reduction::RecentMark && snd_una.at_or_before(self.mark_until)
    }

    /// Forgets the responses to windows of data that an ACK of `snd_una` has passed.
    fn forget_windows_before(&mut self, snd_una: SeqNum) {
        self.responded_to_loss &= snd_una.at_or_before(self.loss_until);
        if self.reduced_by == Reduction::RecentMark && !self.is_reduced_by_mark(snd_una) {
            self.reduced_by = Reduction::Mark;
        }
    }

    /// Notes a response to a loss or a timeout in the window of data that ends at `end`.
    fn respond_to_loss(&mut self, end: SeqNum) {
        self.loss_until = end;
        self.responded_to_loss = true;
    }

    fn set_reduction(&mut self, cause: Reduction) {
        self.reduced_by = cause;
        self.before_idle = 0;
    }

    /// Returns the state of the algorithm if it is a built-in one.
    #[cfg(test)]
    pub fn built_in(&self) -> Option<&BuiltIn> {
        match &self.algorithm {
            Algorithm::BuiltIn(built_in) => Some(built_in),
            Algorithm::Registered(..) => None,
        }
    }

    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn algorithm(&self) -> &dyn CongestionControl {
        match &self.algorithm {
            Algorithm::BuiltIn(built_in) => built_in.get(),
            Algorithm::Registered(_, instance) => &**instance,
        }
    }

    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn algorithm_mut(&mut self) -> &mut dyn CongestionControl {
        match &mut self.algorithm {
            Algorithm::BuiltIn(built_in) => built_in.get_mut(),
            Algorithm::Registered(_, instance) => &mut **instance,
        }
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Controller");
        match &self.algorithm {
            Algorithm::BuiltIn(built_in) => fields.field("algorithm", built_in),
            Algorithm::Registered(id, _) => fields.field("algorithm", id),
        };
        fields
            .field("cwnd", &self.cwnd())
            .field("ssthresh", &self.ssthresh())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
