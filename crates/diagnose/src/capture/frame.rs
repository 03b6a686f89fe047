//! A captured frame, before its headers are read.

use super::{link_type::LinkType, segment::Passage};

/// A captured frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Time in nanoseconds since the Unix epoch; `None` if the capture has no time for
    /// the frame.
    pub at_ns: Option<i64>,
    /// Type of the frame's first header.
    pub link: LinkType,
    /// Captured bytes.
    pub bytes: &'a [u8],
    /// Length of the whole frame in bytes. It is at least the number of captured bytes.
    pub original_len: u32,
    /// Relation of the frame to the capturing host, if the capture records it.
    pub passage: Option<Passage>,
}
