//! The state of BBR and of its parts.
//!
//! Rule: a method in this file changes only its own part. The files beside this one have
//! the draft's functions, which change several parts; `model` has the filters.

use fullpipe_pool::{Instant, Rng, record};

use super::model::{INFINITE, Model};
use crate::congestion::{control::AckSample, delivery_rate::LostRange};

/// BBR.Beta in percent: a reduction keeps at least this share of a bound. §5.5.10.2.
pub(super) const BETA: u64 = 70;
/// Value of the loss threshold that switches off the response to loss.
pub(super) const OFF: u32 = 100;

/// Shortest time between two probes, and the largest random addition to this time, in microseconds.
pub(super) const PROBE_WAIT_US: (u64, u64) = (2_000_000, 1_000_000);

/// BBR.state. §5.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BbrState {
    /// Doubles the rate each round trip until the pipe is full.
    Startup,
    /// Drains the queue that Startup built.
    Drain,
    /// Sends less than the path's rate, to leave headroom.
    ProbeBwDown,
    /// Sends at the path's rate.
    ProbeBwCruise,
    /// Fills the pipe without building a queue, for one round trip.
    ProbeBwRefill,
    /// Sends more than the known rate of the path.
    ProbeBwUp,
    /// Sends little, to measure the round trip without a queue.
    ProbeRtt,
}

record!(
    enum BbrState {
        Startup,
        Drain,
        ProbeBwDown,
        ProbeBwCruise,
        ProbeBwRefill,
        ProbeBwUp,
        ProbeRtt,
    }
);

impl BbrState {
    /// Returns pacing gain and window gain in percent. §5.6.1.
    pub(super) const fn gains(self) -> (u64, u64) {
        match self {
            Self::Startup => (277, 200),
            Self::Drain => (50, 200),
            Self::ProbeBwDown => (90, 200),
            Self::ProbeBwCruise | Self::ProbeBwRefill => (100, 200),
            Self::ProbeBwUp => (125, 225),
            Self::ProbeRtt => (100, 50),
        }
    }

    /// IsInAProbeBWState.
    pub(super) const fn is_probe_bw(self) -> bool {
        match self {
            Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeBwUp => true,
            Self::Startup | Self::Drain | Self::ProbeRtt => false,
        }
    }

    /// IsProbingBW: returns true in a state that raises the bytes in flight, where loss is expected
    /// and has its own response.
    pub(super) const fn is_accelerating(self) -> bool {
        match self {
            Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp => true,
            Self::Drain | Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeRtt => false,
        }
    }
}

/// The state of BBR. Units are bytes, microseconds, bytes per second, and percent for gains.
#[derive(Clone, Debug)]
pub struct Bbr {
    pub(super) state: BbrState,
    pub(super) ack_phase: AckPhase,
    /// An RTT sample has set the pacing rate.
    pub(super) has_seen_rtt: bool,
    pub(super) in_recovery: bool,
    pub(super) idle_restart: bool,
    pub(super) cwnd: u32,
    /// The last window before loss or ProbeRTT reduced it.
    pub(super) prior_cwnd: u32,
    pub(super) initial_cwnd: u32,
    pub(super) mss: u32,
    /// Smoothed round-trip time; 0 before the first sample.
    pub(super) srtt_us: u32,
    pub(super) pacing_rate: u64,
    pub(super) model: Model,
    pub(super) full_pipe: FullPipe,
    pub(super) cycle: Cycle,
    pub(super) probe_rtt: ProbeRtt,
    pub(super) bounds: Bounds,
    pub(super) undo: SavedBounds,
}

record!(Bbr {
    state,
    ack_phase,
    has_seen_rtt,
    in_recovery,
    idle_restart,
    cwnd,
    prior_cwnd,
    initial_cwnd,
    mss,
    srtt_us,
    pacing_rate,
    model,
    full_pipe,
    cycle,
    probe_rtt,
    bounds,
    undo
});

/// Bounds on rate and bytes in flight, and the signals from which they follow.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// BBR.LossThresh in percent.
    pub(super) loss_threshold: u32,
    /// Largest number of bytes in flight that did not cause too much loss.
    pub inflight_longterm: u32,
    pub inflight_shortterm: u32,
    pub bw_shortterm: u64,
    /// Highest delivery rate of the round trip.
    pub(super) bw_latest: u64,
    /// Largest `delivered` of the rate samples in this round trip, in bytes.
    pub inflight_latest: u32,
    /// The round trip over which loss is counted ends with the ACK of a range that left
    /// after this many bytes were delivered.
    pub(super) loss_round_delivered: u64,
    pub loss_round_start: bool,
    pub(super) is_loss_in_round: bool,
    /// A congestion mark was reported in the round trip. A mark counts as too much loss.
    pub(super) is_loss_high: bool,
    /// Ranges lost in the round trip.
    pub loss_events_in_round: u8,
}

record!(Bounds {
    loss_threshold,
    inflight_longterm,
    inflight_shortterm,
    bw_shortterm,
    bw_latest,
    inflight_latest,
    loss_round_delivered,
    loss_round_start,
    is_loss_in_round,
    is_loss_high,
    loss_events_in_round
});

impl Bounds {
    pub const fn new(loss_threshold: u32) -> Self {
        Self {
            loss_threshold,
            inflight_longterm: INFINITE,
            inflight_shortterm: INFINITE,
            bw_shortterm: u64::MAX,
            bw_latest: 0,
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            is_loss_high: false,
            loss_events_in_round: 0,
        }
    }

    /// Returns true if losses bound neither the bytes in flight nor the rate.
    pub fn are_loose(&self) -> bool {
        self.inflight_longterm == INFINITE
            && self.inflight_shortterm == INFINITE
            && self.bw_shortterm == u64::MAX
    }

    /// IsInflightTooHigh: returns true if `lost` of `tx_in_flight` bytes are
    /// more than the threshold allows. §5.5.10.2.
    pub fn is_too_high(&self, lost: u32, tx_in_flight: u32) -> bool {
        let share = u64::from(tx_in_flight) * u64::from(self.loss_threshold);
        self.loss_threshold < OFF && u64::from(lost) * 100 > share
    }

    /// ResetCongestionSignals. §5.5.10.3.
    pub fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.is_loss_high = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    /// ResetShortTermModel. §5.5.10.3.
    pub fn reset_short_term(&mut self) {
        self.bw_shortterm = u64::MAX;
        self.inflight_shortterm = INFINITE;
    }

    /// AdvanceLatestDeliverySignals. §5.5.10.3.
    pub fn advance_latest(&mut self, sample: &AckSample) {
        if self.loss_round_start {
            self.bw_latest = sample.rate.rate();
            self.inflight_latest = sample.rate.delivered;
        }
    }

    /// InitLowerBounds and LossLowerBounds. §5.5.10.3.
    pub(super) fn lower(&mut self, max_bw: u64, cwnd: u32) {
        let bw = self.bw_shortterm.min(max_bw);
        self.bw_shortterm = self.bw_latest.max(bw / 100 * BETA);
        let inflight = if self.inflight_shortterm == INFINITE {
            cwnd
        } else {
            self.inflight_shortterm
        };
        self.inflight_shortterm = self.inflight_latest.max(beta_of(inflight));
    }

    /// InflightAtLoss: returns the bytes in flight at which losses crossed the
    /// threshold, which may be in the middle of `lost`. §5.5.10.2.
    pub(super) fn inflight_at_loss(&self, lost: &LostRange) -> u32 {
        let inflight_prev = lost.tx_in_flight.saturating_sub(lost.bytes);
        let lost_prev = lost.lost.saturating_sub(lost.bytes);
        let threshold = u64::from(self.loss_threshold);
        let allowed = u64::from(inflight_prev) * threshold;
        let lost_prefix = allowed.saturating_sub(u64::from(lost_prev) * 100) / (100 - threshold);
        inflight_prev.saturating_add(lost_prefix.min(lost.bytes.into()) as u32)
    }
}

/// State from before a recovery, for an undo. §5.5.11.
#[derive(Clone, Copy, Debug, Default)]
pub struct SavedBounds {
    /// The fields below are set.
    pub is_saved: bool,
    /// The state that the loss ended.
    pub state: Option<BbrState>,
    pub(super) bw_shortterm: u64,
    pub(super) inflight_shortterm: u32,
    pub(super) inflight_longterm: u32,
}

record!(SavedBounds {
    is_saved,
    state,
    bw_shortterm,
    inflight_shortterm,
    inflight_longterm
});

/// BBR.ack_phase: the phase of the cycle in which the ranges that are acknowledged now
/// were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPhase {
    /// No probe has begun, or the feedback of the last probe is complete.
    Init,
    /// REFILL has begun.
    Refilling,
    /// UP has begun; the ranges acknowledged now were sent before UP.
    ProbeStarting,
    /// The ranges acknowledged now were sent in UP.
    ProbeFeedback,
    /// UP is over; the ranges acknowledged now were sent in UP.
    ProbeStopping,
}

record!(
    enum AckPhase {
        Init,
        Refilling,
        ProbeStarting,
        ProbeFeedback,
        ProbeStopping,
    }
);

/// State of the cycle.
#[derive(Clone, Debug)]
pub struct Cycle {
    pub(super) seed: u32,
    /// Number of random choices so far.
    pub(super) draws: u32,
    /// Start of this cycle.
    pub(super) stamp: Instant,
    /// Time to wait in this cycle, in microseconds.
    pub(super) probe_wait_us: u32,
    pub(super) rounds_since_probe_up: u32,
    pub(super) probe_up_rounds: u32,
    /// Bytes acknowledged in UP that have not raised `inflight_longterm` yet.
    pub(super) probe_up_acked: u32,
    /// Bytes that must be acknowledged for `inflight_longterm` to grow by a segment.
    pub(super) probe_up_acked_per_inc: u32,
    /// Losses still count against the last probe.
    pub is_probe_sample: bool,
    /// The last UP lost too much.
    pub prev_probe_too_high: bool,
    /// The last UP stopped early because the UP before it had lost too much.
    pub(super) prev_probe_precautionary: bool,
}

record!(Cycle {
    seed,
    draws,
    stamp,
    probe_wait_us,
    rounds_since_probe_up,
    probe_up_rounds,
    probe_up_acked,
    probe_up_acked_per_inc,
    is_probe_sample,
    prev_probe_too_high,
    prev_probe_precautionary
});

impl Cycle {
    pub const fn new(seed: u32) -> Self {
        Self {
            seed,
            draws: 0,
            stamp: Instant::ZERO,
            probe_wait_us: 0,
            rounds_since_probe_up: 0,
            probe_up_rounds: 0,
            probe_up_acked: 0,
            probe_up_acked_per_inc: INFINITE,
            is_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
        }
    }

    /// Counts a round trip.
    pub fn count_round(&mut self) {
        self.rounds_since_probe_up = self.rounds_since_probe_up.saturating_add(1);
    }

    /// PickProbeWait. §5.3.3.8.
    pub(super) fn pick_probe_wait(&mut self) {
        self.draws = self.draws.wrapping_add(1);
        let mut rng = Rng::seeded(u64::from(self.seed) << 32 | u64::from(self.draws));
        self.rounds_since_probe_up = rng.below(2) as u32;
        let (least_us, more_us) = PROBE_WAIT_US;
        self.probe_wait_us = (least_us + rng.below(more_us)) as u32;
    }
}

/// State of ProbeRTT and its timing.
#[derive(Clone, Debug)]
pub struct ProbeRtt {
    /// Shortest round trip of the last interval, in microseconds.
    pub(super) min_delay_us: u32,
    pub(super) min_stamp: Instant,
    /// The interval ended without a new shortest round trip.
    pub(super) expired: bool,
    /// End of the phase; `None` until few enough bytes are in flight.
    pub(super) done_stamp: Option<Instant>,
    pub(super) round_done: bool,
    /// Samples of ranges that left before this many bytes were delivered measure the small window
    /// of ProbeRTT, not the path.
    pub(super) starved_until: u64,
}

record!(ProbeRtt {
    min_delay_us,
    min_stamp,
    expired,
    done_stamp,
    round_done,
    starved_until
});

impl ProbeRtt {
    pub const fn new() -> Self {
        Self {
            min_delay_us: INFINITE,
            min_stamp: Instant::ZERO,
            expired: false,
            done_stamp: None,
            round_done: false,
            starved_until: 0,
        }
    }
}

/// The full-pipe detector.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullPipe {
    /// The baseline in bytes per second.
    pub bw: u64,
    pub(super) count: u8,
    /// The pipe was found full since the last reset.
    pub now: bool,
    /// The pipe was ever found full.
    pub reached: bool,
    pub(super) drain_start_round: u32,
}

record!(FullPipe {
    bw,
    count,
    now,
    reached,
    drain_start_round
});

impl FullPipe {
    /// ResetFullBW, with a new baseline. §5.3.1.2.
    pub fn reset(&mut self, bw: u64) {
        self.bw = bw;
        self.count = 0;
        self.now = false;
    }
}

/// Returns `bytes` times BBR.Beta.
pub(super) fn beta_of(bytes: u32) -> u32 {
    (u64::from(bytes) * BETA / 100) as u32
}
