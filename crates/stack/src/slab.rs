//! Preallocated slots with generations: where connections and other
//! long-lived things of a stack lie.
//!
//! Rule: a slot's index says where, its generation says which tenant; a key
//! that outlived its tenant finds nothing. All memory is taken by
//! [`Slab::new`]. The slab does not order its tenants.

use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// End of the free list.
const NONE: u32 = u32::MAX;

/// Names one tenant of a slab for good: its slot, and which tenant of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    /// The slot.
    pub(crate) index: u32,
    /// How many tenants the slot had before.
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
    /// Apart from the slots, so that they survive their tenants.
    generations: Vec<u32>,
    first_free: u32,
    used: u32,
}

impl<T> Slab<T> {
    /// A slab of `capacity` free slots. Allocates here and only here.
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

    /// Slots, free and used.
    pub(crate) fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Tenants.
    pub(crate) fn len(&self) -> u32 {
        self.used
    }

    /// Whether no slot is free.
    pub(crate) fn is_full(&self) -> bool {
        self.first_free == NONE
    }

    /// The slot that the next tenant gets; means nothing when all are full.
    pub(crate) fn next_index(&self) -> u32 {
        self.first_free
    }

    /// Gives `tenant` a slot; hands it back when none is free.
    pub(crate) fn insert(&mut self, tenant: T) -> Result<Key, T> {
        let index = self.first_free;
        if index == NONE {
            return Err(tenant);
        }
        let slot = &mut self.slots[index as usize];
        match *slot {
            SlabSlot::Free { next } => self.first_free = next,
            SlabSlot::Used(_) => unreachable!("the free list holds free slots"),
        }
        *slot = SlabSlot::Used(tenant);
        self.used += 1;
        Ok(self.key(index))
    }

    /// Ends the tenancy of slot `index`.
    ///
    /// # Panics
    /// If the slot is free: its tenant would be ended twice.
    pub(crate) fn remove(&mut self, index: u32) -> T {
        let free = SlabSlot::Free {
            next: self.first_free,
        };
        match core::mem::replace(&mut self.slots[index as usize], free) {
            SlabSlot::Used(tenant) => {
                self.first_free = index;
                self.used -= 1;
                let generation = &mut self.generations[index as usize];
                *generation = generation.wrapping_add(1);
                tenant
            }
            SlabSlot::Free { .. } => panic!("slot {index} was free already"),
        }
    }

    /// The key of the tenant of slot `index`.
    pub(crate) fn key(&self, index: u32) -> Key {
        Key {
            index,
            generation: self.generations[index as usize],
        }
    }

    /// The tenant that `key` names, unless it has gone.
    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        if *self.generations.get(key.index as usize)? != key.generation {
            return None;
        }
        self.at(key.index)
    }

    /// The tenant of slot `index`, if it has one.
    pub(crate) fn at(&self, index: u32) -> Option<&T> {
        match self.slots.get(index as usize)? {
            SlabSlot::Used(tenant) => Some(tenant),
            SlabSlot::Free { .. } => None,
        }
    }

    /// The tenant of slot `index`, if it has one, to be changed.
    pub(crate) fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.slots.get_mut(index as usize)? {
            SlabSlot::Used(tenant) => Some(tenant),
            SlabSlot::Free { .. } => None,
        }
    }

    /// Every tenant with its index, in the order of slots. For checkers: costs
    /// a step for every slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..self.capacity()).filter_map(|index| Some((index, self.at(index)?)))
    }
}

impl<T> core::ops::Index<u32> for Slab<T> {
    type Output = T;

    /// # Panics
    /// If the slot is free.
    fn index(&self, index: u32) -> &T {
        match &self.slots[index as usize] {
            SlabSlot::Used(tenant) => tenant,
            SlabSlot::Free { .. } => panic!("slot {index} is free"),
        }
    }
}

impl<T> core::ops::IndexMut<u32> for Slab<T> {
    /// # Panics
    /// If the slot is free.
    fn index_mut(&mut self, index: u32) -> &mut T {
        match &mut self.slots[index as usize] {
            SlabSlot::Used(tenant) => tenant,
            SlabSlot::Free { .. } => panic!("slot {index} is free"),
        }
    }
}
