//! The index that ends a chain of blocks or of range nodes.
//!
//! Rule: chains are linked by 32-bit indices, and this one is never an element's.

/// The end of a chain.
pub(crate) const NONE: u32 = u32::MAX;
