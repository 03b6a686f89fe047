//! Goodput that the response function of a congestion control allows at a loss rate.
//!
//! Rule: the function is published, and its arguments are settings of the path. No measured value
//! enters the function, so it is an independent check of measurements.
//!
//! NewReno: the sender adds one segment in each round trip, and halves its window at a loss. Its
//! average window is √(3/2p) segments (RFC 9438 §5.1 with α = 1, β = ½; Mathis et al. 1997). ACKs
//! are assumed to count bytes (RFC 3465), so that delayed ACKs do not slow the growth. CUBIC: the
//! average window is the larger of the window of RFC 9438 §5.2, equation 6, and the Reno-friendly
//! window of §4.3.

use fullpipe_tcp::CongestionAlgorithm;

use crate::{experiment::Setup, path::Path};

#[cfg(test)]
mod tests;

/// CUBIC's constant C, in segments per second cubed. RFC 9438 §5.
pub const CUBIC_C: f64 = 0.4;
/// CUBIC's multiplicative decrease factor β. RFC 9438 §5.
pub const CUBIC_BETA: f64 = 0.7;

/// Returns the goodput in Mbit/s that the response function and the path's rate allow the only
/// connection of `setup`, with segments of `segment_bytes`. Returns `None` for several connections,
/// if the algorithm has no response function, or if neither losses nor a rate limit the goodput.
pub fn allowed_mbps(setup: &Setup, segment_bytes: u64) -> Option<f64> {
    let flow = setup.flow();
    if setup.flows.len() > 1 || flow.count > 1 {
        return None;
    }
    let of_window = by_loss_bps(setup, segment_bytes)?;
    let path = Path::of(setup, segment_bytes);
    let allowed = of_window.min(path.payload_bps * (1.0 - path.loss));
    allowed.is_finite().then_some(allowed / 1e6)
}

/// Returns the goodput in bit/s that the response function allows one connection of the first flow
/// at the path's loss rate, regardless of the path's rate; infinite without loss.
pub fn by_loss_bps(setup: &Setup, segment_bytes: u64) -> Option<f64> {
    let algorithm = setup.hosts[setup.flow().from].config.tcp.congestion;
    let path = Path::of(setup, segment_bytes);
    let window = average_window(algorithm, path.loss, path.rtt_s)?;
    Some(window * segment_bytes as f64 * 8.0 / path.rtt_s)
}

/// Returns the payload in bit/s that the first flow's path carries in segments of `segment_bytes`;
/// `None` if no link has a rate.
pub fn payload_bps(setup: &Setup, segment_bytes: u64) -> Option<f64> {
    let payload = Path::of(setup, segment_bytes).payload_bps;
    payload.is_finite().then_some(payload)
}

/// Returns the average window in segments at the loss probability `loss`.
fn average_window(algorithm: CongestionAlgorithm, loss: f64, rtt_s: f64) -> Option<f64> {
    let additive =
        |alpha: f64, beta: f64| (alpha * (1.0 + beta) / (2.0 * (1.0 - beta) * loss)).sqrt();
    match algorithm {
        CongestionAlgorithm::NewReno => Some(additive(1.0, 0.5)),
        CongestionAlgorithm::Cubic => {
            let scale = CUBIC_C * (3.0 + CUBIC_BETA) / (4.0 * (1.0 - CUBIC_BETA));
            let cubic = scale.powf(0.25) * (rtt_s / loss).powf(0.75);
            let alpha = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);
            Some(cubic.max(additive(alpha, CUBIC_BETA)))
        }
        CongestionAlgorithm::Bbr => None,
    }
}
