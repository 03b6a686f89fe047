//! Congestion control: how much may be in flight, and how fast it may leave.
//!
//! Rule: an algorithm sees what was delivered and what was lost, and sets a
//! window and a rate; it sees no buffer, no receive window and no segment. A new
//! algorithm is one file that implements [`CongestionControl`], its test, and one
//! row in `algorithms`; an algorithm of another crate is added to a host with
//! [`CongestionRegistry::register`].

pub mod algorithms;
pub mod control;
pub mod controller;
pub mod delivery_rate;
pub mod pacing;
pub mod registry;
#[cfg(test)]
mod tests;
pub mod window_use;

pub use algorithms::CongestionAlgorithm;
pub use control::{AckSample, CongestionControl, CongestionEvent, CongestionStart, FlightStart};
pub use controller::{Controller, initial_window, start_of};
pub use delivery_rate::{DeliveryRate, FastestSample, LostRange, RateSample, Snapshot};
pub use pacing::SegmentPacer;
pub use registry::{CongestionChoice, CongestionRegistry, RegisterError, RegisteredCongestion};
pub use window_use::WindowUse;
