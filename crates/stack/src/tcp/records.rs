//! The records of connections at rest, in chunks of equal size.
//!
//! Rule: a record is a chain of chunks from one table, which is allocated at construction. This file
//! does not know the content of a record.

use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Bytes of a record in one chunk.
const CHUNK: usize = 44;
/// Chunks for each connection on average.
const CHUNKS_EACH: u32 = 5;
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
        let count = connections * CHUNKS_EACH;
        let chunk = |next| Chunk {
            bytes: [0; CHUNK],
            next: if next == count { NONE } else { next },
        };
        Self {
            chunks: (1..=count).map(chunk).collect(),
            first_free: if count == 0 { NONE } else { 0 },
            free: count,
        }
    }

    /// Returns the heap memory in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.chunks)
    }

    /// Returns true if no chunk is free.
    pub(super) const fn is_full(&self) -> bool {
        self.free == 0
    }

    /// Stores a record that is not empty. Returns its number; `None` if too few chunks are free.
    pub(super) fn add(&mut self, record: &[u8]) -> Option<u32> {
        let needed = record.len().div_ceil(CHUNK) as u32;
        self.free = self.free.checked_sub(needed)?;
        let first = self.first_free;
        let (mut last, mut next) = (NONE, first);
        for part in record.chunks(CHUNK) {
            let chunk = &mut self.chunks[next as usize];
            chunk.bytes[..part.len()].copy_from_slice(part);
            (last, next) = (next, chunk.next);
        }
        self.chunks[last as usize].next = NONE;
        self.first_free = next;
        Some(first)
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
