//! Prediction of a transfer under a bound.
//!
//! Rule: the time is the sum of handshake, a request if there is one, slow start in
//! rounds that double, the rest at the bound, and the last byte's delay. With random
//! losses, rounds with losses replace slow start and bound. Of the measured run only the
//! smallest round-trip time and the segment size are used, so a prediction can be wrong.

use fullpipe_scenario::experiment::{Setup, Stop};
use serde::Serialize;

use super::{
    bounds::{self, Bound},
    evidence::Scale,
    lossy::{Course, Lossy},
};

/// Rounds of slow start after which any window exceeds any path.
const ROUNDS: usize = 40;

/// Predicted result of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Goodput, in Mbit/s.
    pub goodput_mbps: f64,
    /// Time from connect to the last byte read, in seconds.
    pub elapsed_s: f64,
    /// Quartiles over simulated courses of the congestion window; only on a path with
    /// random losses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quartiles: Option<Quartiles>,
}

/// First and third quartile of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// Of the goodput, in Mbit/s.
    pub goodput_mbps: [f64; 2],
    /// Of the time, in seconds.
    pub elapsed_s: [f64; 2],
}

impl Predicted {
    /// A result without quartiles.
    pub const fn of(goodput_mbps: f64, elapsed_s: f64) -> Self {
        Self {
            goodput_mbps,
            elapsed_s,
            quartiles: None,
        }
    }
}

/// The predicted result of the first flow of `setup` if `bound` is the tightest.
pub fn under(setup: &Setup, scale: &Scale, bound: Bound) -> Predicted {
    let flow = setup.flow();
    let sender = &setup.hosts[flow.from];
    let Scale { segment, rtt_s, .. } = *scale;
    // The neighbour's address is resolved first, unless it is known.
    let opening = if sender.acquainted { 1.0 } else { 2.0 };
    let mut elapsed_s = rtt_s * opening;
    if let Some((_, think)) = flow.question() {
        // The request follows the handshake.
        elapsed_s += rtt_s / 2.0 + think.as_secs_f64();
    }
    if let Some(lossy) = Lossy::of(setup, scale, &bounds::all(setup, scale)) {
        let of = |Course { sent, elapsed_s: s }: Course| {
            let elapsed_s = match flow.stop {
                Stop::Bytes(_) => elapsed_s + s + rtt_s / 2.0,
                Stop::After(length) => elapsed_s + length.as_secs_f64(),
            };
            Predicted::of(sent * 8.0 / 1e6 / elapsed_s, elapsed_s)
        };
        let (median, quartiles) = lossy.course(flow.stop);
        return Predicted {
            quartiles: quartiles.map(|ends| {
                let [fast, slow] = ends.map(of);
                Quartiles {
                    goodput_mbps: [slow.goodput_mbps, fast.goodput_mbps],
                    elapsed_s: [fast.elapsed_s, slow.elapsed_s],
                }
            }),
            ..of(median)
        };
    }
    let (mut left, until_s) = match flow.stop {
        Stop::Bytes(bytes) => (bytes as f64, f64::INFINITY),
        Stop::After(length) => (f64::INFINITY, length.as_secs_f64() + elapsed_s),
    };
    let mut sent = 0.0;
    let full = bound.bps / 8.0 * rtt_s;
    let mut window = f64::from(sender.config.tcp.initial_window) * segment;
    // Further segments wait for the next window.
    let first = bounds::first_window(setup, scale) as f64;
    if window > first && left > first {
        sent += first;
        left -= first;
        elapsed_s += rtt_s;
    }
    for _ in 0..ROUNDS {
        if window >= full || left <= window || elapsed_s + rtt_s >= until_s {
            break;
        }
        sent += window;
        left -= window;
        elapsed_s += rtt_s;
        window *= 2.0;
    }
    let rate = bound.bps.min(rate_of(window, rtt_s)) / 8.0;
    if !flow.omit.is_zero() {
        // The excluded time is assumed to last until slow start is over.
        return Predicted::of(rate * 8.0 / 1e6, until_s - flow.omit.as_secs_f64());
    }
    if until_s.is_finite() {
        sent += (until_s - elapsed_s).max(0.0) * rate;
        elapsed_s = until_s;
    } else {
        sent += left;
        elapsed_s += left / rate + rtt_s / 2.0;
    }
    Predicted::of(sent * 8.0 / 1e6 / elapsed_s, elapsed_s)
}

/// The pacing rate of slow start in bits a second: two windows of `window` bytes a round
/// trip.
fn rate_of(window: f64, rtt_s: f64) -> f64 {
    if rtt_s > 0.0 {
        window * 16.0 / rtt_s
    } else {
        f64::INFINITY
    }
}
