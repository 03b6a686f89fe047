//! The global allocator: it allocates in the arena of the call that is in progress.
//!
//! Rule: only `fp_config_…`, `fp_needed` and `fp_init` allocate. Each does so inside [`within`],
//! which gets the heap as an argument. Nothing else in the library allocates. The only static
//! variable of the library is the pointer to the heap of the call in progress: with the feature
//! `std` one pointer per thread, otherwise one for the program.

use core::{
    alloc::{GlobalAlloc, Layout},
    ptr,
};

use crate::{
    errno::{Errno, FP_EBUSY},
    heap::Heap,
};

#[cfg(test)]
mod tests;

/// The global allocator.
struct Arenas;

#[cfg_attr(not(test), global_allocator)]
static ARENAS: Arenas = Arenas;

#[cfg(feature = "std")]
std::thread_local! {
    /// The heap of the call in progress.
    static CURRENT: core::cell::Cell<*mut Heap> = const { core::cell::Cell::new(ptr::null_mut()) };
}

#[cfg(feature = "std")]
fn current() -> *mut Heap {
    CURRENT
        .try_with(core::cell::Cell::get)
        .unwrap_or(ptr::null_mut())
}

/// Makes `to` the current heap if the current heap is `from`; otherwise returns false.
#[cfg(feature = "std")]
fn exchange(from: *mut Heap, to: *mut Heap) -> bool {
    let exchanged = CURRENT.try_with(|cell| {
        cell.get() == from && {
            cell.set(to);
            true
        }
    });
    exchanged.unwrap_or(false)
}

/// The heap of the call in progress.
#[cfg(not(feature = "std"))]
static CURRENT: core::sync::atomic::AtomicPtr<Heap> =
    core::sync::atomic::AtomicPtr::new(ptr::null_mut());

#[cfg(not(feature = "std"))]
fn current() -> *mut Heap {
    CURRENT.load(core::sync::atomic::Ordering::Acquire)
}

/// Makes `to` the current heap if the current heap is `from`; otherwise returns false.
#[cfg(not(feature = "std"))]
fn exchange(from: *mut Heap, to: *mut Heap) -> bool {
    use core::sync::atomic::Ordering::{AcqRel, Acquire};
    CURRENT.compare_exchange(from, to, AcqRel, Acquire).is_ok()
}

/// Runs `call`, whose allocations are made in `heap`. Memory that the result owns must be memory of
/// `heap`, and only another call of `within` with the same heap may free it.
///
/// Returns [`FP_EBUSY`] if another call of `within` is in progress.
pub(crate) fn within<R>(heap: &mut Heap, call: impl FnOnce() -> R) -> Result<R, Errno> {
    let heap = ptr::from_mut(heap);
    if !exchange(ptr::null_mut(), heap) {
        return Err(Errno(FP_EBUSY));
    }
    let result = call();
    exchange(heap, ptr::null_mut());
    Ok(result)
}

// SAFETY: a block comes from a heap or from the system's allocator. When it is freed, its address
// shows from which of the two. A heap gives out each byte once (see `heap`). The pointer to the
// current heap is valid during `within`, and only the thread inside `within` uses it: with `std` each
// thread has its own pointer, and without `std` only one call of `within` is in progress.
unsafe impl GlobalAlloc for Arenas {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let heap = current();
        if heap.is_null() {
            // SAFETY: the callee has the same conditions as this function.
            return unsafe { outside::allocate(layout) };
        }
        // SAFETY: see above.
        unsafe { (*heap).allocate(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let heap = current();
        // SAFETY: see above; the caller owns the block, which was allocated with this layout.
        unsafe {
            if !heap.is_null() && (*heap).contains(block) {
                (*heap).release(block, layout);
            } else {
                outside::release(block, layout);
            }
        }
    }
}

/// Memory for Rust's standard library itself, which allocates only to report a panic.
#[cfg(feature = "std")]
mod outside {
    use std::alloc::{GlobalAlloc, Layout, System};

    /// # Safety
    /// The conditions of [`GlobalAlloc::alloc`].
    pub(super) unsafe fn allocate(layout: Layout) -> *mut u8 {
        // SAFETY: the callee has the same conditions as this function.
        unsafe { System.alloc(layout) }
    }

    /// # Safety
    /// The conditions of [`GlobalAlloc::dealloc`].
    pub(super) unsafe fn release(block: *mut u8, layout: Layout) {
        // SAFETY: the block is in no arena, so `allocate` returned it.
        unsafe { System.dealloc(block, layout) };
    }
}

/// There is no memory outside of arenas.
#[cfg(not(feature = "std"))]
mod outside {
    use core::{alloc::Layout, ptr};

    /// # Safety
    /// None: nothing is allocated.
    pub(super) unsafe fn allocate(_: Layout) -> *mut u8 {
        ptr::null_mut()
    }

    /// # Safety
    /// None: nothing is freed.
    pub(super) unsafe fn release(_: *mut u8, _: Layout) {}
}
