//! A hash table of fixed size, from keys, which the caller keeps, to 32-bit values.
//!
//! Rule: the table is at most three quarters full and hashed with a secret, so a lookup takes
//! constant time whatever keys an attacker chooses. An entry has four bytes of hash and
//! four of value, on a 32-bit machine two of each; the caller compares the key. A removal moves
//! later entries back, so there are no tombstones.

use alloc::vec::Vec;

use crate::{
    row_number::{NO_ROW as FREE, RowNumber, widened},
    secret::Secret,
};

#[cfg(test)]
mod tests;

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The first bits of the hash, as many as a row number has.
    hash: RowNumber,
    value: RowNumber,
}

/// Returns the bits of `hash` that a bucket stores.
const fn stored(hash: u32) -> RowNumber {
    (hash >> (u32::BITS - RowNumber::BITS)) as RowNumber
}

/// The hash table.
#[derive(Debug)]
pub(crate) struct HashIndex {
    buckets: Vec<Bucket>,
    secret: Secret,
    len: u32,
    most: u32,
}

impl HashIndex {
    /// Allocates a table with room for `most` entries.
    pub(crate) fn new(most: u32, secret: Secret) -> Self {
        let buckets = most as usize + most.div_ceil(3) as usize + 1;
        let free = Bucket {
            hash: 0,
            value: FREE,
        };
        Self {
            buckets: alloc::vec![free; buckets],
            secret,
            len: 0,
            most,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    /// Returns the hash of the key `bytes`.
    pub(crate) fn hash(&self, bytes: &[u8]) -> u32 {
        self.secret.table_hash(bytes) as u32
    }

    /// Returns the number of entries.
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    /// Returns the value that was inserted with `hash` and for which `has_key` returns
    /// true.
    pub(crate) fn find(&self, hash: u32, has_key: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(stored(hash));
        loop {
            let bucket = self.buckets[at];
            if bucket.value == FREE {
                return None;
            }
            if bucket.hash == stored(hash) && has_key(widened(bucket.value)) {
                return Some(widened(bucket.value));
            }
            at = self.after(at);
        }
    }

    /// Adds an entry. The caller has checked that the table has no entry for its key.
    ///
    /// # Panics
    /// Panics if the table has no room (see [`new`](Self::new)), or if `value` is not below
    /// [`NO_ROW`](crate::row_number::NO_ROW).
    pub(crate) fn insert(&mut self, hash: u32, value: u32) {
        assert!(
            self.len < self.most,
            "more entries than the table was allocated for"
        );
        assert!(value < widened(FREE), "this value marks free buckets");
        let mut at = self.home(stored(hash));
        while self.buckets[at].value != FREE {
            at = self.after(at);
        }
        self.buckets[at] = Bucket {
            hash: stored(hash),
            value: value as RowNumber,
        };
        self.len += 1;
    }

    /// Replaces the value `from` by `to` in the entry with `hash`.
    ///
    /// # Panics
    /// Panics if there is no such entry.
    pub(crate) fn replace(&mut self, hash: u32, from: u32, to: u32) {
        let at = self.bucket_of(hash, from);
        self.buckets[at].value = to as RowNumber;
    }

    /// Removes the entry with `hash` and `value`.
    ///
    /// # Panics
    /// Panics if there is no such entry.
    pub(crate) fn remove(&mut self, hash: u32, value: u32) {
        let mut hole = self.bucket_of(hash, value);
        let mut at = hole;
        loop {
            at = self.after(at);
            let bucket = self.buckets[at];
            if bucket.value == FREE {
                break;
            }
            // Move the entry into the hole (the bucket that became free) if the hole lies between
            // the bucket of the entry's hash, where a search begins, and the entry.
            if self.distance(self.home(bucket.hash), at) >= self.distance(hole, at) {
                self.buckets[hole] = bucket;
                hole = at;
            }
        }
        self.buckets[hole].value = FREE;
        self.len -= 1;
    }

    fn bucket_of(&self, hash: u32, value: u32) -> usize {
        let mut at = self.home(stored(hash));
        while widened(self.buckets[at].value) != value {
            assert_ne!(self.buckets[at].value, FREE, "no entry with value {value}");
            at = self.after(at);
        }
        at
    }

    /// Returns the bucket at which the search for `hash` begins: the stored bits as a fraction,
    /// times the number of buckets.
    fn home(&self, hash: RowNumber) -> usize {
        ((u64::from(hash) * self.buckets.len() as u64) >> RowNumber::BITS) as usize
    }

    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() {
            return 0;
        }
        at + 1
    }

    /// Returns the number of steps from bucket `from` to bucket `to`.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to < from {
            return to + self.buckets.len() - from;
        }
        to - from
    }
}
