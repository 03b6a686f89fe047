//! Tests of the choice between an arena and the memory outside of arenas.

use core::alloc::{GlobalAlloc, Layout};

use super::{ARENAS, within};
use crate::{
    errno::{Errno, FP_EBUSY},
    heap::Heap,
};

#[test]
fn a_call_allocates_in_its_arena_and_only_one_call_is_inside() {
    let mut memory = [0u128; 64];
    // SAFETY: the memory is aligned to 16 bytes and outlives the heap.
    let mut heap = unsafe { Heap::new(memory.as_mut_ptr().cast(), 1024) };
    let layout = Layout::new::<[u64; 8]>();
    // SAFETY: the layout's size is not 0, and each block is freed once, with this layout.
    unsafe {
        let outside = ARENAS.alloc(layout);
        let second = within(&mut heap, || {
            let inside = ARENAS.alloc(layout);
            assert!(memory.as_ptr_range().contains(&inside.cast_const().cast()));
            assert!(!memory.as_ptr_range().contains(&outside.cast_const().cast()));
            ARENAS.dealloc(inside, layout);
            ARENAS.dealloc(outside, layout);
            // SAFETY: no byte of an empty heap is used.
            let mut other = Heap::new(core::ptr::null_mut(), 0);
            within(&mut other, || ()).err()
        });
        assert_eq!(second, Ok(Some(Errno(FP_EBUSY))));
    }
    assert_eq!(heap.used(), 0);
}
