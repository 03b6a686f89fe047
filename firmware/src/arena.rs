//! The allocator. Tables and the pool are allocated once, while the stack is constructed.
//!
//! Rule: memory is allocated from one region, upwards. Freed memory can be used again only if it was
//! the last piece or if nothing else is in use, so the allocator needs no free lists. After
//! [`close`], every request is refused: a constructed stack needs no more memory.

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
    ptr,
};

unsafe extern "C" {
    static arena_start: u8;
    static arena_end: u8;
}

struct Arena {
    /// Offset of the first free byte.
    next: Cell<usize>,
    /// Bytes in use.
    used: Cell<usize>,
    /// Largest `next` so far.
    peak: Cell<usize>,
    is_closed: Cell<bool>,
}

// SAFETY: one core runs one thread, and no interrupt handler allocates.
unsafe impl Sync for Arena {}

#[global_allocator]
static ARENA: Arena = Arena {
    next: Cell::new(0),
    used: Cell::new(0),
    peak: Cell::new(0),
    is_closed: Cell::new(false),
};

fn region() -> (usize, usize) {
    let start = &raw const arena_start as usize;
    (start, &raw const arena_end as usize - start)
}

// SAFETY: each piece is aligned, lies inside the region that the linker script reserves for the
// arena, and begins after the end of every piece in use.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (start, len) = region();
        let at = (start + self.next.get()).next_multiple_of(layout.align()) - start;
        let end = at.saturating_add(layout.size());
        if end > len || self.is_closed.get() {
            return ptr::null_mut();
        }
        self.next.set(end);
        self.peak.set(self.peak.get().max(end));
        self.used.set(self.used.get() + layout.size());
        (start + at) as *mut u8
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let (start, _) = region();
        let at = piece as usize - start;
        self.used.set(self.used.get() - layout.size());
        if self.used.get() == 0 {
            self.next.set(0);
        } else if at + layout.size() == self.next.get() {
            self.next.set(at);
        }
    }
}

/// Closes the arena. A later request is a defect of the program, and it panics.
pub fn close() {
    ARENA.is_closed.set(true);
}

/// Bytes in use.
pub fn used() -> usize {
    ARENA.used.get()
}
