//! The hash of a connection's addresses and ports.
//!
//! Rule: the hash has a random key for each table, so that a capture cannot be made whose
//! connections all have the same hash. The hash never reaches a result.

use std::hash::{BuildHasher, Hasher, RandomState};

/// An odd number whose bits are spread evenly: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes hashers with the key of one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keyed(u64);

impl Keyed {
    /// A new random key.
    pub(super) fn new() -> Self {
        Self(RandomState::new().hash_one(SPREAD))
    }
}

impl BuildHasher for Keyed {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded(self.0)
    }
}

/// Multiplies each word into the state, and folds the two halves of the product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folded(u64);

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(SPREAD);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}
