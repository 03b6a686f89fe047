//! The allocator of one arena: first fit over a list of free blocks.
//!
//! Rule: every block begins and ends at a multiple of [`UNIT`] from the arena's start, and
//! neighbouring free blocks are merged. Blocks in use have no header, because Rust passes the size
//! to `dealloc`. Allocation happens while a stack is configured and built, so simplicity counts
//! more than speed.

use core::{alloc::Layout, mem::size_of, ptr};

#[cfg(test)]
mod tests;

/// Granularity of sizes, and the alignment of every block.
pub(crate) const UNIT: usize = 2 * size_of::<usize>();

/// The header of a free block, at the block's start.
struct Free {
    size: usize,
    /// The next free block, at a higher address; null at the end.
    next: *mut Free,
}

/// A range of memory in which blocks are allocated.
pub(crate) struct Heap {
    start: usize,
    end: usize,
    first: *mut Free,
    used: usize,
}

impl Heap {
    /// Creates a heap over `len` bytes at `start`.
    ///
    /// # Safety
    /// The memory must be writable, belong to nobody else, and stay so until the last block of the
    /// heap is no longer used. `start` must be aligned to [`UNIT`].
    pub(crate) unsafe fn new(start: *mut u8, len: usize) -> Self {
        debug_assert!((start as usize).is_multiple_of(UNIT));
        let len = len / UNIT * UNIT;
        let mut heap = Self {
            start: start as usize,
            end: start as usize + len,
            first: ptr::null_mut(),
            used: 0,
        };
        if len > 0 {
            heap.first = start.cast();
            let next = ptr::null_mut();
            // SAFETY: `start` is aligned, and at least one unit, the size of `Free`, is ours.
            unsafe { heap.first.write(Free { size: len, next }) };
        }
        heap
    }

    /// Returns true if `block` lies in this heap.
    pub(crate) fn contains(&self, block: *mut u8) -> bool {
        (self.start..self.end).contains(&(block as usize))
    }

    /// Returns the bytes in use.
    pub(crate) const fn used(&self) -> usize {
        self.used
    }

    /// Allocates a block; null if no free block is large enough.
    pub(crate) fn allocate(&mut self, layout: Layout) -> *mut u8 {
        let Some(size) = layout.size().max(1).checked_next_multiple_of(UNIT) else {
            return ptr::null_mut();
        };
        let (mut before, mut free) = (ptr::null_mut::<Free>(), self.first);
        while !free.is_null() {
            // SAFETY: the list has only free blocks of this heap, each with a valid `Free`.
            let (bytes, next) = unsafe { ((*free).size, (*free).next) };
            let gap = (free as usize).next_multiple_of(layout.align()) - free as usize;
            if gap <= bytes && size <= bytes - gap {
                // `gap` is a multiple of the unit, because the block's start and its aligned start
                // are multiples of the unit.
                return self.take(before, free, gap, size);
            }
            (before, free) = (free, next);
        }
        ptr::null_mut()
    }

    /// Allocates `size` bytes of the free block `free`, from `gap` bytes after its start on. The
    /// parts of the block before and after these bytes stay free.
    fn take(&mut self, before: *mut Free, free: *mut Free, gap: usize, size: usize) -> *mut u8 {
        // SAFETY: `free` is in the list, and `gap + size` is at most its size. All sizes are
        // multiples of the unit, so the remainder is empty or large enough for a `Free`.
        unsafe {
            let Free { size: bytes, next } = free.read();
            let taken = free.cast::<u8>().add(gap);
            let left = bytes - gap - size;
            let mut after = next;
            if left > 0 {
                after = taken.add(size).cast();
                after.write(Free { size: left, next });
            }
            if gap > 0 {
                free.write(Free {
                    size: gap,
                    next: after,
                });
            } else {
                self.link(before, after);
            }
            self.used += size;
            taken
        }
    }

    /// Frees a block.
    ///
    /// # Safety
    /// `block` was allocated by this heap with `layout` and is no longer used.
    pub(crate) unsafe fn release(&mut self, block: *mut u8, layout: Layout) {
        let mut size = layout.size().max(1).next_multiple_of(UNIT);
        self.used -= size;
        let (mut before, mut next) = (ptr::null_mut::<Free>(), self.first);
        // SAFETY: the list is ordered by address, so the block lies between `before` and `next`
        // after the loop. The block is no longer used, so a `Free` may be written into it.
        unsafe {
            while !next.is_null() && next.cast::<u8>() < block {
                (before, next) = (next, (*next).next);
            }
            if !next.is_null() && block.add(size) == next.cast() {
                size += (*next).size;
                next = (*next).next;
            }
            if !before.is_null() && before.cast::<u8>().add((*before).size) == block {
                (*before).size += size;
                (*before).next = next;
            } else {
                let free = block.cast::<Free>();
                free.write(Free { size, next });
                self.link(before, free);
            }
        }
    }

    /// Makes `free` the block that follows `before`, or the first block if `before` is null.
    ///
    /// # Safety
    /// `before` is null or in the list; `free` is null or a free block.
    unsafe fn link(&mut self, before: *mut Free, free: *mut Free) {
        if before.is_null() {
            self.first = free;
        } else {
            // SAFETY: `before` is in the list.
            unsafe { (*before).next = free };
        }
    }
}
