//! The minimum that a program needs to link and to start on a board: vectors, reset, an allocator.
//!
//! Rule: the board has one thread and no interrupt handlers, which every `unsafe` block relies on.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::panic::PanicInfo;
use core::ptr;

unsafe extern "C" {
    static stack_top: u32;
}

/// The start of the vector table: first stack pointer and reset handler.
#[repr(C)]
struct Vectors(*const u32, unsafe extern "C" fn() -> !);

// SAFETY: nothing writes to the table.
unsafe impl Sync for Vectors {}

#[unsafe(link_section = ".vectors")]
#[used]
static VECTORS: Vectors = Vectors(&raw const stack_top, reset);

#[unsafe(no_mangle)]
unsafe extern "C" fn reset() -> ! {
    crate::main();
    halt()
}

fn halt() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    halt()
}

/// Size of the heap in words. It leaves 1 MiB of the board's memory to the call stack.
const WORDS: usize = 3 << 17;

/// An allocator that hands out memory from the start of an arena upwards and never frees any.
struct Bump(UnsafeCell<(usize, [u64; WORDS])>);

// SAFETY: there is one thread.
unsafe impl Sync for Bump {}

#[global_allocator]
static HEAP: Bump = Bump(UnsafeCell::new((0, [0; WORDS])));

// SAFETY: each call returns aligned bytes of the arena that no other call has returned.
unsafe impl GlobalAlloc for Bump {
    // An allocator of firmware is larger, and a program contains it once.
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: there is one thread, and this function calls no allocator, so nothing else
        // borrows the arena.
        let (used, arena) = unsafe { &mut *self.0.get() };
        let from = used.next_multiple_of(layout.align());
        if layout.size() > size_of_val(arena).saturating_sub(from) {
            return ptr::null_mut();
        }
        *used = from + layout.size();
        // SAFETY: `from` is inside the arena or at its end, as checked above.
        unsafe { arena.as_mut_ptr().cast::<u8>().add(from) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
