//! A record of when a link was in use, for those who draw it.
//!
//! Rule: one entry a frame that was put on the wire, in the order of time. Nothing is recorded
//! until it is asked for, and nothing is merged or thinned out here.

use fullpipe_pool::Instant;

use super::frame::Direction;

/// One frame's time on the wire, or in the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Direction in which the frame travels.
    pub direction: Direction,
    /// Start of the link's use: on a radio, access and backoff included.
    pub from: Instant,
    /// Moment at which the link is free again.
    pub until: Instant,
    /// Frames that still wait behind it in the same direction.
    pub waiting: usize,
}
