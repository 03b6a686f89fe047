//! HyStart++: ends slow start before a queue overflows. RFC 9406.
//!
//! Rule: HyStart++ compares the round-trip times of a round with those of the round before. When
//! the shortest of at least eight samples has grown, conservative slow start (CSS) begins: the
//! window grows a quarter as fast. If the round-trip time falls again, slow start resumes;
//! otherwise slow start ends after five rounds of CSS. HyStart++ applies only to the first slow
//! start of a connection. The congestion control that uses HyStart++ sets the window.

use fullpipe_pool::record;

/// MIN_RTT_THRESH and MAX_RTT_THRESH: smallest and largest significant growth
/// of the round-trip time, in microseconds.
const RTT_THRESH_US: (u32, u32) = (4_000, 16_000);
/// MIN_RTT_DIVISOR: between the bounds of `RTT_THRESH_US`, growth is significant if it is at least
/// the round-trip time divided by this number.
const MIN_RTT_DIVISOR: u32 = 8;
/// N_RTT_SAMPLE: samples that a round needs before its shortest round-trip time is checked.
const N_RTT_SAMPLE: u8 = 8;
/// CSS_GROWTH_DIVISOR: divisor of the window's growth in CSS.
pub const CSS_GROWTH_DIVISOR: u32 = 4;
/// CSS_ROUNDS: rounds of CSS that end slow start.
const CSS_ROUNDS: u8 = 5;

const NONE: u32 = u32::MAX;

/// Growth of the window after an ACK, as HyStart++ decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartPhase {
    /// Slow start: the window grows by the bytes delivered.
    Standard,
    /// Conservative slow start (CSS): the window grows by a
    /// [`CSS_GROWTH_DIVISOR`]th of the bytes delivered.
    Conservative,
    /// Slow start is over: `ssthresh` is set to the window.
    Over,
}

/// The state of HyStart++. Times are in microseconds.
#[derive(Clone, Debug)]
pub struct HyStart {
    last_round_min_rtt_us: u32,
    current_round_min_rtt_us: u32,
    /// Smallest round-trip time of the round that started CSS; `NONE` outside
    /// of CSS.
    css_baseline_min_rtt_us: u32,
    rtt_sample_count: u8,
    css_rounds: u8,
}

record!(HyStart {
    last_round_min_rtt_us,
    current_round_min_rtt_us,
    css_baseline_min_rtt_us,
    rtt_sample_count,
    css_rounds
});

impl Default for HyStart {
    fn default() -> Self {
        Self::new()
    }
}

impl HyStart {
    /// Creates the state before the first round.
    pub const fn new() -> Self {
        Self {
            last_round_min_rtt_us: NONE,
            current_round_min_rtt_us: NONE,
            css_baseline_min_rtt_us: NONE,
            rtt_sample_count: 0,
            css_rounds: 0,
        }
    }

    /// Takes an ACK in slow start, with its round-trip time if it has one.
    pub fn on_ack(&mut self, rtt_us: Option<u32>, round_start: bool) -> SlowStartPhase {
        if round_start {
            self.last_round_min_rtt_us = self.current_round_min_rtt_us;
            self.current_round_min_rtt_us = NONE;
            self.rtt_sample_count = 0;
            if self.in_css() {
                self.css_rounds += 1;
            }
        }
        if let Some(rtt_us) = rtt_us {
            self.current_round_min_rtt_us = self.current_round_min_rtt_us.min(rtt_us);
            self.rtt_sample_count = self.rtt_sample_count.saturating_add(1);
        }
        if self.rtt_sample_count >= N_RTT_SAMPLE {
            self.check_round();
        }
        if !self.in_css() {
            SlowStartPhase::Standard
        } else if self.css_rounds < CSS_ROUNDS {
            SlowStartPhase::Conservative
        } else {
            SlowStartPhase::Over
        }
    }

    const fn in_css(&self) -> bool {
        self.css_baseline_min_rtt_us != NONE
    }

    fn check_round(&mut self) {
        let current_us = self.current_round_min_rtt_us;
        if self.in_css() {
            if current_us < self.css_baseline_min_rtt_us {
                self.css_baseline_min_rtt_us = NONE;
            }
            return;
        }
        let last_us = self.last_round_min_rtt_us;
        if last_us == NONE {
            return;
        }
        let (least_us, most_us) = RTT_THRESH_US;
        let thresh_us = (last_us / MIN_RTT_DIVISOR).clamp(least_us, most_us);
        if current_us >= last_us.saturating_add(thresh_us) {
            self.css_baseline_min_rtt_us = current_us;
            self.css_rounds = 0;
        }
    }
}

#[cfg(test)]
mod tests;
