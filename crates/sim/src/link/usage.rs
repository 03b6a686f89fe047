//! A record of the times at which a link was in use, for graphs.
//!
//! Rule: there is one entry for each frame that was put on the wire, in the order of time.
//! Recording begins on request, and no entries are merged or left out.

use fullpipe_pool::Instant;

use super::frame::Direction;

/// One frame's time on the wire, or in the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Direction in which the frame travels.
    pub direction: Direction,
    /// Start of the use of the link; on a radio, access and backoff are included.
    pub from: Instant,
    /// Moment at which the link is free again.
    pub until: Instant,
    /// Number of frames that wait behind this frame in the same direction.
    pub waiting: usize,
}
