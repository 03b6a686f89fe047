//! The index value that marks the end of a chain of blocks or of range nodes.
//!
//! Rule: chains are linked by 32-bit indices, and no element has this index.

/// The end of a chain.
pub const NONE: u32 = u32::MAX;
