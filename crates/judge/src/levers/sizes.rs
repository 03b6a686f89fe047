//! Amounts of a transfer's path, from which the values of levers are derived.
//!
//! Rule: an ample buffer has several bandwidth-delay products, so it is no limit.

use fullpipe_scenario::{Measured, Setup};

/// Amounts of a transfer's path, from which values are derived.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rate of the path in bits per second; the measured goodput if the path has no rate.
    pub rate_bps: f64,
    /// Bandwidth-delay product in bytes.
    pub product: u64,
    /// Bytes of an ample buffer.
    pub ample: u64,
}

/// Bandwidth-delay products in an ample buffer.
const PRODUCTS: u64 = 8;
/// Smallest and largest number of bytes of an ample buffer.
const AMPLE: (u64, u64) = (2 << 20, 1 << 28);

impl Sizes {
    /// Returns the amounts of the path of the first flow of `setup`, whose unchanged run was
    /// `measured`.
    pub fn of(setup: &Setup, measured: &Measured) -> Self {
        let goodput_bps = measured.goodput_mbps * 1e6;
        let (rate_bps, rtt_s) = setup.bare_path();
        let is_limited = rate_bps.is_finite() && rate_bps > 0.0;
        let rate_bps = if is_limited { rate_bps } else { goodput_bps };
        // Queues make round trips longer than the bare path does.
        let rtt_s = rtt_s.max(measured.srtt_ms / 1e3);
        let product = (rate_bps / 8.0 * rtt_s) as u64;
        let ample = product.saturating_mul(PRODUCTS).clamp(AMPLE.0, AMPLE.1);
        Self {
            rate_bps,
            product: product.max(1_024),
            ample: ample.next_power_of_two(),
        }
    }
}
