//! From a four-tuple to what answers for it, in one look.
//!
//! Rule: the table is sized once, at most half full, and hashed with a secret,
//! so a look costs the same however many connections there are and whatever
//! ports a stranger picks. It keeps four bytes of hash and four of value an
//! entry; whether an entry is the one meant is for the caller to say, who
//! holds the tuples. Entries are deleted by shifting their followers back, so
//! the table never fills with tombstones.

use alloc::vec::Vec;

use crate::secret::Secret;

#[cfg(test)]
mod tests;

/// The value of a free place.
const FREE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Bucket {
    hash: u32,
    value: u32,
}

/// A fixed hash table from tuples, kept elsewhere, to 32-bit values.
#[derive(Debug)]
pub(crate) struct HashIndex {
    places: Vec<Bucket>,
    secret: Secret,
    len: u32,
    most: u32,
}

impl HashIndex {
    /// A table for at most `most` entries. Allocates here and only here.
    pub(crate) fn new(most: u32, secret: Secret) -> Self {
        let places = (most as usize * 2).next_power_of_two().max(2);
        let free = Bucket {
            hash: 0,
            value: FREE,
        };
        Self {
            places: alloc::vec![free; places],
            secret,
            len: 0,
            most,
        }
    }

    /// The hash under which an entry named by `bytes` is found.
    pub(crate) fn hash(&self, bytes: &[u8]) -> u32 {
        self.secret.table_hash(bytes) as u32
    }

    /// Entries.
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    /// The value with `hash` that `is_it` accepts.
    pub(crate) fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let place = self.places[at];
            if place.value == FREE {
                return None;
            }
            if place.hash == hash && is_it(place.value) {
                return Some(place.value);
            }
            at = self.after(at);
        }
    }

    /// Adds an entry; the caller has checked that its tuple has none.
    ///
    /// # Panics
    /// If the table holds `most` entries: its owner sized it for all slots
    /// that can have one. If `value` is the reserved one.
    pub(crate) fn insert(&mut self, hash: u32, value: u32) {
        assert!(
            self.len < self.most,
            "more entries than slots that can have one"
        );
        assert_ne!(value, FREE, "this value marks free places");
        let mut at = self.home(hash);
        while self.places[at].value != FREE {
            at = self.after(at);
        }
        self.places[at] = Bucket { hash, value };
        self.len += 1;
    }

    /// Gives the entry with `hash` and value `from` the value `to`.
    ///
    /// # Panics
    /// If there is no such entry.
    pub(crate) fn replace(&mut self, hash: u32, from: u32, to: u32) {
        let at = self.place_of(hash, from);
        self.places[at].value = to;
    }

    /// Removes the entry with `hash` and `value`.
    ///
    /// # Panics
    /// If there is no such entry.
    pub(crate) fn remove(&mut self, hash: u32, value: u32) {
        let mut hole = self.place_of(hash, value);
        let mut at = hole;
        loop {
            at = self.after(at);
            let place = self.places[at];
            if place.value == FREE {
                break;
            }
            // An entry may move back to the hole unless its home lies after it.
            let from_home = at.wrapping_sub(self.home(place.hash)) & self.mask();
            let from_hole = at.wrapping_sub(hole) & self.mask();
            if from_home >= from_hole {
                self.places[hole] = place;
                hole = at;
            }
        }
        self.places[hole].value = FREE;
        self.len -= 1;
    }

    fn place_of(&self, hash: u32, value: u32) -> usize {
        let mut at = self.home(hash);
        while self.places[at].value != value {
            assert_ne!(self.places[at].value, FREE, "no entry with value {value}");
            at = self.after(at);
        }
        at
    }

    fn mask(&self) -> usize {
        self.places.len() - 1
    }

    fn home(&self, hash: u32) -> usize {
        hash as usize & self.mask()
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & self.mask()
    }
}
