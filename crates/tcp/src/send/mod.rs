//! The sending half: what was written, what is in flight, what the peer's window
//! allows, and how payload is cut into segments.
//!
//! Rule: this module depends neither on congestion control nor on recovery.

mod autotune;
mod buffer;
mod half;
#[cfg(feature = "path-mtu")]
mod path_mtu;
#[cfg(not(feature = "path-mtu"))]
#[path = "path_mtu_off.rs"]
mod path_mtu;
mod push;
mod segmentize;
mod sizing;

pub use autotune::send_goal;
pub use buffer::WakePolicy;
pub use half::SendHalf;
#[cfg(feature = "path-mtu")]
pub use path_mtu::PtbOutcome;
pub use path_mtu::{PacketTooBig, PathMtu};
pub use segmentize::{Decision, Situation, Writer, segmentize};
pub use sizing::{SmallQueue, frame_goal, whole_segments};

#[cfg(test)]
mod tests;
