//! The records of connections at rest, in chunks of equal size.
//!
//! Rule: a record is a chain of chunks from one table. The chunks that most records need are
//! allocated at construction, and a record for which too few are free lets the table grow, because a
//! connection that cannot rest takes far more memory. This file does not know the content of a record.

use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Bytes of a record in one chunk.
const CHUNK: usize = 44;
/// Chunks allocated at first for each connection.
const CHUNKS_EACH: u32 = 4;
/// The table grows by one part in this many.
const GROWTH: u32 = 16;
/// Longest record. A connection with a longer one does not rest.
pub(super) const LONGEST: usize = 12 * CHUNK;
/// End of a chain.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Chunk {
    bytes: [u8; CHUNK],
    next: u32,
}

/// The table of chunks.
#[derive(Debug)]
pub(super) struct Records {
    chunks: Vec<Chunk>,
    first_free: u32,
    free: u32,
}

impl Records {
    /// Allocates the chunks for `connections` connections at rest.
    pub(super) fn new(connections: u32) -> Self {
        let mut records = Self {
            chunks: Vec::new(),
            first_free: NONE,
            free: 0,
        };
        records.grow(connections * CHUNKS_EACH);
        records
    }

    /// Adds `more` free chunks.
    fn grow(&mut self, more: u32) {
        let (from, to) = (self.chunks.len() as u32, self.chunks.len() as u32 + more);
        let first_free = self.first_free;
        let chunk = |next| Chunk {
            bytes: [0; CHUNK],
            next: if next == to { first_free } else { next },
        };
        self.chunks.reserve_exact(more as usize);
        self.chunks.extend((from + 1..=to).map(chunk));
        self.free += more;
        if more > 0 {
            self.first_free = from;
        }
    }

    /// Returns the heap memory in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
    }

    /// Stores a record that is not empty. Returns its number.
    pub(super) fn add(&mut self, record: &[u8]) -> u32 {
        let needed = record.len().div_ceil(CHUNK) as u32;
        if needed > self.free {
            self.grow(needed.max(self.chunks.len() as u32 / GROWTH));
        }
        self.free -= needed;
        let first = self.first_free;
        let (mut last, mut next) = (NONE, first);
        for part in record.chunks(CHUNK) {
            let chunk = &mut self.chunks[next as usize];
            chunk.bytes[..part.len()].copy_from_slice(part);
            (last, next) = (next, chunk.next);
        }
        self.chunks[last as usize].next = NONE;
        self.first_free = next;
        first
    }

    /// Copies record `number` into `bytes`. The rest of its last chunk is meaningless.
    pub(super) fn read(&self, number: u32, bytes: &mut [u8; LONGEST]) {
        let mut next = number;
        for part in bytes.chunks_exact_mut(CHUNK) {
            let Some(chunk) = self.chunks.get(next as usize) else {
                return;
            };
            part.copy_from_slice(&chunk.bytes);
            next = chunk.next;
        }
    }

    /// Frees the chunks of record `number`.
    pub(super) fn remove(&mut self, number: u32) {
        let mut next = number;
        while let Some(chunk) = self.chunks.get_mut(next as usize) {
            let after = core::mem::replace(&mut chunk.next, self.first_free);
            self.first_free = next;
            self.free += 1;
            next = after;
        }
    }
}
