//! CUBIC: the window is a cubic function of the time since the last congestion
//! event. RFC 9438.
//!
//! ```text
//! W_cubic(t) = C·(t − K)³ + W_max        K = ∛((W_max − cwnd_epoch) / C)
//! W_est      = W_est + α·delivered/cwnd  Reno's window at the same time
//! ```
//!
//! Rule: the window moves towards the value of W_cubic one round trip ahead and is raised
//! to W_est while the curve is below it. C is 0.4 segments/s³; β is 0.7, and 0.85 after a
//! congestion mark (RFC 8511, ABE). All arithmetic is in integers. Sizes are in bytes.
//! Times are in milliseconds since the start of the epoch, without the time in which the
//! window did not limit the sender (§4.2, §5.8). HyStart++ ends slow start, and PRR lowers
//! the window gradually.

use fullpipe_pool::{Duration, Instant, record};

use super::hystart::{CSS_GROWTH_DIVISOR, HyStart, SlowStartPhase};
use crate::congestion::control::{
    AckSample, CongestionControl, CongestionEvent, CongestionStart, FlightStart,
};

/// Share of the window kept after a loss, in percent: beta_cubic. RFC 9438 §4.6.
const BETA: u32 = 70;
/// Share of the window kept after a mark, in percent. RFC 8511 §3.1.
const BETA_ECN: u32 = 85;
/// Segments that one ACK may add in slow start without pacing: L of RFC 9406
/// §4.2.
const L_UNPACED: u32 = 8;
/// α = 3·(1 − β)/(1 + β) = 9/17 until W_est has reached the window before the
/// reduction. RFC 9438 §4.3.
const ALPHA: (u64, u64) = (9, 17);

/// The cubic curve and its parameters, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Curve {
    cwnd: u32,
    ssthresh: u32,
    /// W_max: the window at which the curve is flat.
    w_max: u32,
    /// The window before the last reduction.
    cwnd_prior: u32,
    /// W_est: the window that Reno would have now.
    w_est: u32,
    /// K in milliseconds.
    k_ms: u32,
    /// Start of congestion avoidance, moved forward by the time in which the window did
    /// not limit the sender; `None` until congestion avoidance starts.
    epoch_start: Option<Instant>,
    /// Remainder of the division by which the window grows.
    cwnd_rest: u64,
    /// Remainder of the division by which `w_est` grows.
    w_est_rest: u64,
}

record!(Curve {
    cwnd,
    ssthresh,
    w_max,
    cwnd_prior,
    w_est,
    k_ms,
    epoch_start,
    cwnd_rest,
    w_est_rest
});

/// The state of CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    curve: Curve,
    /// The curve before the last reduction, for an undo. RFC 9438 §4.9.
    before: Option<Curve>,
    /// `None` after the first slow start, or if the knob `tcp.hystart` is off.
    hystart: Option<HyStart>,
    paced: bool,
    last_ack_at: Instant,
}

record!(Cubic {
    curve,
    before,
    hystart,
    paced,
    last_ack_at
});

impl Cubic {
    /// Starts with the window and the threshold of `start`.
    pub fn new(start: &CongestionStart) -> Self {
        let is_first_slow_start = start.ssthresh == u32::MAX;
        Self {
            curve: Curve {
                cwnd: start.cwnd,
                ssthresh: start.ssthresh,
                w_max: 0,
                cwnd_prior: 0,
                w_est: start.cwnd,
                k_ms: 0,
                epoch_start: None,
                cwnd_rest: 0,
                w_est_rest: 0,
            },
            before: None,
            hystart: (start.hystart && is_first_slow_start).then(HyStart::new),
            paced: start.paced,
            last_ack_at: Instant::ZERO,
        }
    }

    /// Returns W_max.
    pub const fn w_max(&self) -> u32 {
        self.curve.w_max
    }

    fn slow_start(&mut self, sample: &AckSample) {
        let most = if self.paced {
            u32::MAX
        } else {
            L_UNPACED * sample.mss
        };
        let acked = sample.acked.min(most);
        let phase = match &mut self.hystart {
            None => SlowStartPhase::Standard,
            Some(hystart) => hystart.on_ack(sample.rate.rtt_us, sample.rate.round_start),
        };
        let grown = match phase {
            SlowStartPhase::Standard => acked,
            SlowStartPhase::Conservative => acked / CSS_GROWTH_DIVISOR,
            SlowStartPhase::Over => {
                self.curve.ssthresh = self.curve.cwnd;
                self.hystart = None;
                0
            }
        };
        let curve = &mut self.curve;
        curve.cwnd += grown.min(curve.ssthresh - curve.cwnd);
    }

    /// Moves the start of the epoch forward by the time in which the window did not limit
    /// the sender.
    fn skip_time(&mut self, now: Instant) {
        if let Some(start) = &mut self.curve.epoch_start {
            *start += now.since(self.last_ack_at);
        }
    }

    /// Sets W_max, with fast convergence (§4.7), and sets `ssthresh` to `percent` of the
    /// part of the window that was in use.
    fn reduce(&mut self, event: &CongestionEvent, percent: u32) {
        let curve = &mut self.curve;
        let used = event.used(curve.cwnd);
        curve.cwnd_prior = used;
        curve.w_max = if used < curve.w_max {
            // Fast convergence: a flow whose window shrinks releases bandwidth to other flows.
            scale(used, 100 + percent, 200)
        } else {
            used
        };
        curve.ssthresh = scale(used, percent, 100).max(2 * event.mss);
        curve.epoch_start = None;
        self.hystart = None;
    }
}

impl Curve {
    /// Starts congestion avoidance at `now`.
    fn begin(&mut self, mss: u32, now: Instant) {
        self.epoch_start = Some(now);
        // After slow start and after a timeout the curve starts at its flat
        // point: K is 0. RFC 9438 §4.8, §4.10.
        self.w_max = self.w_max.max(self.cwnd);
        self.k_ms = k_ms(self.w_max - self.cwnd, mss);
        self.w_est = self.cwnd;
        self.cwnd_rest = 0;
        self.w_est_rest = 0;
    }

    /// Grows the window for `acked` bytes delivered in congestion avoidance.
    fn advance(&mut self, acked: u32, mss: u32, srtt_us: u32, now: Instant) {
        if self.epoch_start.is_none() {
            self.begin(mss, now);
        }
        let t = now.since(self.epoch_start.unwrap_or(now));
        let ahead = t + Duration::from_micros(srtt_us.into());
        let cwnd = u64::from(self.cwnd);
        let acked = u64::from(acked).min(cwnd);

        let (num, den) = if self.w_est >= self.cwnd_prior {
            (1, 1)
        } else {
            ALPHA
        };
        let grown = num * u64::from(mss) * acked + self.w_est_rest;
        self.w_est_rest = grown % (den * cwnd);
        self.w_est = self.w_est.saturating_add((grown / (den * cwnd)) as u32);

        let target = self.at(ahead, mss).clamp(self.cwnd, self.half_more());
        let grown = u64::from(target - self.cwnd) * acked + self.cwnd_rest;
        self.cwnd_rest = grown % cwnd;
        self.cwnd = self.cwnd.saturating_add((grown / cwnd) as u32);
        // The Reno-friendly region. RFC 9438 §4.3.
        if self.at(t, mss) < self.w_est {
            self.cwnd = self.cwnd.max(self.w_est);
        }
    }

    /// Returns 1.5 times the window, the largest value to which a round trip may raise the window.
    /// RFC 9438 §4.4.
    fn half_more(&self) -> u32 {
        self.cwnd.saturating_add(self.cwnd / 2)
    }

    /// Returns W_cubic(t).
    fn at(&self, t: Duration, mss: u32) -> u32 {
        let t_ms = t.as_millis().min(1 << 20) as i64 - i64::from(self.k_ms);
        // 0.4·mss·(t/1000)³, divided in two steps to stay within 64 bits.
        let cube = t_ms.clamp(-(1 << 20), 1 << 20).pow(3) / 1_000_000;
        let bytes = cube * i64::from(mss) * 4 / 10_000;
        (i64::from(self.w_max) + bytes).clamp(0, u32::MAX.into()) as u32
    }
}

/// Returns K in milliseconds for a climb of `gap` bytes. RFC 9438 §4.2.
fn k_ms(gap: u32, mss: u32) -> u32 {
    // gap/mss segments over 0.4 segments/s³, in ms³.
    let cube = u64::from(gap) * 2_500_000_000 / u64::from(mss.max(1));
    cube_root(cube)
}

/// Returns the largest number whose cube is at most `value`, computed bit by
/// bit.
fn cube_root(value: u64) -> u32 {
    let mut root: u64 = 0;
    // The cube of a number of 21 bits fits in 64 bits. 21 bits of milliseconds are 35
    // minutes, longer than any K in practice.
    for bit in (0..21).rev() {
        let tried = root | 1 << bit;
        if tried.pow(3) <= value {
            root = tried;
        }
    }
    root as u32
}

/// Returns `bytes` times `num` over `den`.
fn scale(bytes: u32, num: u32, den: u32) -> u32 {
    (u64::from(bytes) * u64::from(num) / u64::from(den)) as u32
}

impl CongestionControl for Cubic {
    fn start(&mut self, start: &CongestionStart) {
        *self = Self::new(start);
    }

    fn cwnd(&self) -> u32 {
        self.curve.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.curve.ssthresh
    }

    fn on_flight_start(&mut self, start: FlightStart) {
        self.skip_time(start.now);
        self.last_ack_at = start.now;
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if sample.recovering || !sample.has_tested(self.curve.cwnd, self.curve.ssthresh) {
            self.skip_time(sample.now);
        } else if self.curve.cwnd < self.curve.ssthresh {
            self.slow_start(sample);
        } else {
            self.hystart = None;
            let acked = sample.acked;
            self.curve
                .advance(acked, sample.mss, sample.srtt_us, sample.now);
        }
        self.last_ack_at = sample.now;
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        self.before = Some(self.curve);
        self.reduce(event, BETA);
        self.curve.cwnd = self.curve.ssthresh;
    }

    fn on_ecn(&mut self, event: &CongestionEvent) {
        self.before = None;
        self.reduce(event, BETA_ECN);
        self.curve.cwnd = self.curve.ssthresh;
    }

    fn on_timeout(&mut self, event: &CongestionEvent, first: bool) {
        if first {
            self.before = Some(self.curve);
            self.reduce(event, BETA);
        }
        // The next curve starts at the window that slow start reaches. RFC 9438
        // §4.8.
        self.curve.w_max = 0;
        self.curve.epoch_start = None;
        self.curve.cwnd = event.mss;
    }

    fn on_undo(&mut self) {
        if let Some(before) = self.before.take()
            && self.curve.cwnd < before.cwnd
        {
            self.curve = before;
        }
    }

    fn on_idle(&mut self, restart_window: u32) {
        // Let slow start grow the window to 3/4 of its size before the idle time. RFC 7661 §4.4.
        let curve = &mut self.curve;
        curve.ssthresh = curve.ssthresh.max(scale(curve.cwnd, 3, 4));
        curve.cwnd = curve.cwnd.min(restart_window);
        curve.epoch_start = None;
    }
}

#[cfg(test)]
mod tests;
