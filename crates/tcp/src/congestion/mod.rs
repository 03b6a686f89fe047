//! How much may be in flight, and how fast it may leave.
//!
//! Rule: an algorithm sees what was delivered and what was lost, and answers
//! with a window and a rate; it never sees a buffer, a peer's window or a
//! segment. A new algorithm is one file with the trait, and one row in
//! [`control::Controller`].

pub mod bbr;
pub mod control;
pub mod cubic;
pub mod delivery_rate;
pub mod hystart;
pub mod newreno;
pub mod pacing;
#[cfg(test)]
mod tests;
pub mod window_use;

pub use control::{AckSample, CongestionControl, CongestionEvent, Controller, FlightStart};
pub use delivery_rate::{DeliveryRate, FastestSample, LostRange, RateSample, Snapshot};
pub use pacing::SegmentPacer;
pub use window_use::WindowUse;

use crate::TcpConfig;

/// The initial congestion window in bytes. RFC 6928 §2: ten segments, and no
/// more than 14,600 bytes unless two segments are.
pub fn initial_window(config: &TcpConfig, mss: u32) -> u32 {
    let segments = config.initial_window;
    let ceiling = (segments * 1_460).max(2 * mss);
    (segments * mss).min(ceiling)
}
