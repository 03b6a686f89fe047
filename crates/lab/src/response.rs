//! What the response function of a congestion control allows at a loss rate.
//!
//! Rule: from the published functions and the path as it is set, never from
//! what was measured; so it can stand beside a measurement as a second opinion.
//!
//! NewReno: the window of a sender that adds a segment a round trip and halves
//! at a loss is √(3/2p) segments on average (RFC 9438 §5.1 with α = 1, β = ½;
//! Mathis et al. 1997). ACKs are taken to count bytes (RFC 3465), so delayed
//! ones do not slow the growth. CUBIC: the larger of its two regions, RFC 9438
//! §5.2 equation 6 and the Reno-friendly window of §4.3.

use fullpipe_sim::link::Direction;
use fullpipe_tcp::CongestionAlgorithm;

use crate::experiment::Setup;

#[cfg(test)]
mod tests;

/// Bytes of a frame beside its text: Ethernet, IP and TCP headers with the
/// timestamps option.
const HEADERS: f64 = 14.0 + 20.0 + 32.0;
/// RFC 9438 §5: C = 0.4 segments per second cubed, and β.
const CUBIC_C: f64 = 0.4;
const CUBIC_BETA: f64 = 0.7;

/// What the algorithm of the only connection of `setup` is allowed, in Mbit/s,
/// with segments of `segment_bytes`; `None` for several connections, or when
/// the algorithm has no response function.
pub fn allowed_mbps(setup: &Setup, segment_bytes: u64) -> Option<f64> {
    let flow = setup.flow();
    if setup.flows.len() > 1 || flow.count > 1 {
        return None;
    }
    let algorithm = setup.hosts[flow.from].config.tcp.congestion;
    let Path {
        loss,
        rtt_s,
        rate_bps,
    } = Path::of(setup, segment_bytes);
    let window = average_window(algorithm, loss, rtt_s)?;
    let segment_bits = segment_bytes as f64 * 8.0;
    let of_window = window * segment_bits / rtt_s;
    let of_path = rate_bps * segment_bits / (segment_bits + HEADERS * 8.0) * (1.0 - loss);
    let allowed = of_window.min(of_path);
    allowed.is_finite().then_some(allowed / 1e6)
}

/// What the way of the first flow carries of text in segments of
/// `segment_bytes`, in bits a second, where a rate bounds it.
pub fn payload_bps(setup: &Setup, segment_bytes: u64) -> Option<f64> {
    let segment_bits = segment_bytes as f64 * 8.0;
    let rate_bps = Path::of(setup, segment_bytes).rate_bps;
    let payload = rate_bps * segment_bits / (segment_bits + HEADERS * 8.0);
    payload.is_finite().then_some(payload)
}

/// The average window in segments, at loss probability `loss`.
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

/// What the way of the first flow is like when it is empty.
struct Path {
    loss: f64,
    rtt_s: f64,
    rate_bps: f64,
}

impl Path {
    fn of(setup: &Setup, segment_bytes: u64) -> Self {
        let flow = setup.flow();
        let frame_bits = (segment_bytes as f64 + HEADERS) * 8.0;
        let mut path = Self {
            loss: 0.0,
            rtt_s: 0.0,
            rate_bps: f64::INFINITY,
        };
        for (number, way) in setup.route(flow.from, flow.to) {
            let link = &setup.links[number];
            let delays = Direction::ALL.map(|direction| link.link(direction).delay_us as f64);
            path.rtt_s += delays.iter().sum::<f64>() / 1e6;
            let there = link.link(way);
            path.loss = 1.0 - (1.0 - path.loss) * (1.0 - there.loss);
            if there.rate_bps > 0 {
                path.rate_bps = path.rate_bps.min(there.rate_bps as f64);
                path.rtt_s += frame_bits / there.rate_bps as f64;
            }
        }
        path
    }
}
