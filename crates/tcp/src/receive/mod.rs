//! The receiving half: receive sequence variables, receive buffer, reassembly.
//!
//! Rule: `rcv_nxt` ≤ `rcv_adv`, the right edge never retreats, and every byte
//! between them is backed by packet memory. Payload is written to its final
//! place whether it is in order or not; reassembly is only a set of ranges.

mod acceptable;
mod ack_policy;
#[cfg(feature = "autotune")]
mod autotune;
#[cfg(not(feature = "autotune"))]
#[path = "autotune_off.rs"]
mod autotune;
mod edges;
mod half;
mod idle;
mod reassembly;
mod recent;
mod window;

pub use acceptable::{acceptable, is_at_right_edge};
pub use ack_policy::AckTiming;
pub use half::ReceiveHalf;
pub use idle::{handshake_window, usable_cell};
pub use reassembly::{Arrival, OutOfOrderLimits};
pub use window::{FEWEST_BLOCKS, LargestWindow, WindowRoom, fair_bytes, fair_share};
