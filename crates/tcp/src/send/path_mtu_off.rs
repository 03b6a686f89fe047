//! The path MTU of a build without the feature `path-mtu`: the size that the first link carries.
//!
//! Rule: the interface is that of `path_mtu.rs`, and the size never changes.

use fullpipe_pool::record;

use crate::{SeqNum, TcpConfig};

/// A packet-too-big message: a router dropped the segment with `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTooBig {
    /// Size that the path carries.
    pub size: u16,
    /// The path carries less than `size`: routers must fragment.
    pub fragment: bool,
    /// Sequence number that the message quotes.
    pub seq: SeqNum,
}

/// The size that the first link carries.
#[derive(Clone, Debug)]
pub struct PathMtu(u16);

record!(PathMtu(value));

impl PathMtu {
    /// Creates a path whose first link carries `link`.
    pub const fn new(link: u16, _config: &TcpConfig) -> Self {
        Self(link)
    }

    /// Returns true: no larger size is searched for.
    pub const fn is_at_rest(&self) -> bool {
        true
    }

    /// Returns the size of the largest segment to send.
    pub const fn limit(&self) -> u16 {
        self.0
    }
}
