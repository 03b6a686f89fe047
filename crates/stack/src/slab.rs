//! A table of preallocated slots with generations, for connections and other
//! long-lived values.
//!
//! Rule: a key has the index of a slot and the generation of its value, so the key of a
//! removed value finds nothing. [`Slab::new`] allocates all memory. Values have no order.

use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// End of the free list.
const NONE: u32 = u32::MAX;

/// Identifies one value of a slab; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    /// The slot.
    pub(crate) index: u32,
    /// Number of values that were in the slot before this value.
    pub(crate) generation: u32,
}

#[derive(Debug)]
enum SlabSlot<T> {
    Free { next: u32 },
    Used(T),
}

/// A fixed number of slots.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<SlabSlot<T>>,
    /// Generation of each slot.
    generations: Vec<u32>,
    first_free: u32,
    used: u32,
}

impl<T> Slab<T> {
    /// Allocates a slab of `capacity` free slots.
    pub(crate) fn new(capacity: u32) -> Self {
        let slots = (1..=capacity)
            .map(|next| SlabSlot::Free {
                next: if next == capacity { NONE } else { next },
            })
            .collect();
        Self {
            slots,
            generations: alloc::vec![0; capacity as usize],
            first_free: if capacity == 0 { NONE } else { 0 },
            used: 0,
        }
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.generations)
    }

    /// Returns the number of slots.
    pub(crate) fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> u32 {
        self.used
    }

    /// Returns true if no slot is free.
    pub(crate) fn is_full(&self) -> bool {
        self.first_free == NONE
    }

    /// Returns the slot that the next insertion uses; meaningless if no slot is free.
    pub(crate) fn next_index(&self) -> u32 {
        self.first_free
    }

    /// Inserts `value`. Returns `None`, and drops `value`, if no slot is free.
    pub(crate) fn insert(&mut self, value: T) -> Option<Key> {
        let index = self.first_free;
        if index == NONE {
            return None;
        }
        let slot = &mut self.slots[index as usize];
        match *slot {
            SlabSlot::Free { next } => self.first_free = next,
            SlabSlot::Used(_) => unreachable!("the free list holds free slots"),
        }
        *slot = SlabSlot::Used(value);
        self.used += 1;
        Some(self.key(index))
    }

    /// Removes the value of slot `index`.
    ///
    /// # Panics
    /// Panics if the slot is free.
    pub(crate) fn remove(&mut self, index: u32) -> T {
        match self.vacate(index) {
            SlabSlot::Used(value) => value,
            SlabSlot::Free { .. } => unreachable!("the slot was used"),
        }
    }

    /// Drops the value of slot `index` in place, so that a large value is not moved.
    ///
    /// # Panics
    /// Panics if the slot is free.
    pub(crate) fn discard(&mut self, index: u32) {
        self.vacate(index);
    }

    /// Frees slot `index`, and returns its content.
    fn vacate(&mut self, index: u32) -> SlabSlot<T> {
        assert!(self.at(index).is_some(), "slot {index} was free already");
        let next = core::mem::replace(&mut self.first_free, index);
        self.used -= 1;
        let generation = &mut self.generations[index as usize];
        *generation = generation.wrapping_add(1);
        core::mem::replace(&mut self.slots[index as usize], SlabSlot::Free { next })
    }

    /// Returns the key of the value in slot `index`.
    pub(crate) fn key(&self, index: u32) -> Key {
        Key {
            index,
            generation: self.generations[index as usize],
        }
    }

    /// Returns the value of `key`, unless it was removed.
    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        if *self.generations.get(key.index as usize)? != key.generation {
            return None;
        }
        self.at(key.index)
    }

    /// Returns the value in slot `index`, if any.
    pub(crate) fn at(&self, index: u32) -> Option<&T> {
        match self.slots.get(index as usize)? {
            SlabSlot::Used(value) => Some(value),
            SlabSlot::Free { .. } => None,
        }
    }

    /// Returns every value with its index, in the order of slots. Only checkers use
    /// this, because it visits every slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..self.capacity()).filter_map(|index| Some((index, self.at(index)?)))
    }
}

impl<T> core::ops::Index<u32> for Slab<T> {
    type Output = T;

    /// # Panics
    /// Panics if the slot is free.
    fn index(&self, index: u32) -> &T {
        match &self.slots[index as usize] {
            SlabSlot::Used(value) => value,
            SlabSlot::Free { .. } => panic!("slot {index} is free"),
        }
    }
}

impl<T> core::ops::IndexMut<u32> for Slab<T> {
    /// # Panics
    /// Panics if the slot is free.
    fn index_mut(&mut self, index: u32) -> &mut T {
        match &mut self.slots[index as usize] {
            SlabSlot::Used(value) => value,
            SlabSlot::Free { .. } => panic!("slot {index} is free"),
        }
    }
}
