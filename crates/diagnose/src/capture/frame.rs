//! A captured frame, before its headers are read.

use super::{link_type::LinkType, segment::Passage};

/// A frame as a capture has it.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Time in nanoseconds since the Unix epoch; `None` if the capture has none.
    pub at_ns: Option<i64>,
    /// Type of its first header.
    pub link: LinkType,
    /// Captured bytes.
    pub bytes: &'a [u8],
    /// Bytes of the whole frame, at least those that were captured.
    pub original_len: u32,
    /// Relation to the capturing host, where the capture has it.
    pub passage: Option<Passage>,
}
