//! The least of a board that links and starts: vectors, reset, an allocator.
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

/// Words of the heap: the largest that leaves 1 MiB of the board's memory to the stack.
const WORDS: usize = 3 << 17;

/// Gives memory from the start of an arena, and takes none back.
struct Bump(UnsafeCell<(usize, [u64; WORDS])>);

// SAFETY: there is one thread.
unsafe impl Sync for Bump {}

#[global_allocator]
static HEAP: Bump = Bump(UnsafeCell::new((0, [0; WORDS])));

// SAFETY: each call returns bytes of the arena that no other call has returned.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: there is one thread, and no call inside this one.
        let (used, arena) = unsafe { &mut *self.0.get() };
        let from = used.next_multiple_of(layout.align());
        if layout.size() > size_of_val(arena).saturating_sub(from) {
            return ptr::null_mut();
        }
        *used = from + layout.size();
        // SAFETY: `from` is inside the arena.
        unsafe { arena.as_mut_ptr().cast::<u8>().add(from) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
