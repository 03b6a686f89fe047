//! The trace of a build without the feature `trace`.
//!
//! Rule: it has the interface of the module `ring`, keeps no record, and costs nothing.

use fullpipe_pool::Instant;

use super::{TraceEvent, TraceRecord};

/// A trace that records nothing.
#[derive(Debug)]
pub struct Trace;

impl Trace {
    /// Creates a trace; `records` is ignored.
    pub const fn new(_records: usize) -> Self {
        Self
    }

    /// Returns 0.
    pub const fn heap_bytes(&self) -> usize {
        0
    }

    /// Returns false.
    pub const fn is_on(&self) -> bool {
        false
    }

    /// Does nothing.
    #[inline]
    pub const fn record(&mut self, _at: Instant, _connection: u32, _event: TraceEvent) {}

    /// Returns 0.
    pub const fn overwritten(&self) -> u64 {
        0
    }

    /// Returns no record.
    pub fn iter(&self) -> impl Iterator<Item = &TraceRecord> {
        core::iter::empty()
    }

    /// Does nothing.
    pub const fn clear(&mut self) {}
}
