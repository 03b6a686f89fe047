//! The ring of records.
//!
//! Rule: the ring allocates only when it is created, so its size never changes. The ring interprets
//! nothing.

use alloc::{boxed::Box, vec};

use fullpipe_pool::Instant;

use super::{TraceEvent, TraceRecord};

/// A ring of records. A ring of size 0 records nothing.
#[derive(Debug)]
pub struct Trace {
    ring: Box<[Option<TraceRecord>]>,
    /// Records written so far; the next one goes to this index modulo the size.
    written: u64,
}

impl Trace {
    /// Creates a ring of `records` records; 0 is off. Allocates here and only
    /// here.
    pub fn new(records: usize) -> Self {
        Self {
            ring: vec![None; records].into_boxed_slice(),
            written: 0,
        }
    }

    /// Returns the heap memory in bytes.
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.ring)
    }

    /// Returns true if records are kept.
    pub fn is_on(&self) -> bool {
        !self.ring.is_empty()
    }

    /// Records `event`.
    pub fn record(&mut self, at: Instant, connection: u32, event: TraceEvent) {
        if self.ring.is_empty() {
            return;
        }
        let slot = (self.written % self.ring.len() as u64) as usize;
        self.ring[slot] = Some(TraceRecord {
            at,
            connection,
            event,
        });
        self.written += 1;
    }

    /// Returns the number of records that were overwritten.
    pub fn overwritten(&self) -> u64 {
        self.written.saturating_sub(self.ring.len() as u64)
    }

    /// Returns the records in the ring, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &TraceRecord> {
        let held = self.written.min(self.ring.len() as u64) as usize;
        let oldest = if self.overwritten() == 0 {
            0
        } else {
            (self.written % self.ring.len() as u64) as usize
        };
        self.ring[oldest..held]
            .iter()
            .chain(&self.ring[..oldest])
            .flatten()
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.written = 0;
    }
}
