//! Tests of the allocator: no byte is given out twice, and none is lost.

use core::alloc::Layout;
use std::{vec, vec::Vec};

use fullpipe::Rng;

use super::{Heap, UNIT};

/// Random blocks are aligned and disjoint, and keep their bytes. When all are freed, one free block
/// is left.
#[test]
fn blocks_are_disjoint_and_everything_is_free_in_the_end() {
    const LEN: usize = 64 * 1024;
    let mut memory = vec![0u128; LEN / 16];
    for seed in 0..20 {
        let mut rng = Rng::seeded(seed);
        // SAFETY: the memory is aligned to 16 bytes and outlives the heap.
        let mut heap = unsafe { Heap::new(memory.as_mut_ptr().cast(), LEN) };
        let mut held: Vec<(*mut u8, Layout, u8)> = Vec::new();
        for step in 0..2_000u32 {
            let size = rng.between(0, 2_000) as usize;
            let align = 1 << rng.between(0, 6);
            let layout = Layout::from_size_align(size, align).expect("small");
            if rng.chance(0.55) {
                let block = heap.allocate(layout);
                if block.is_null() {
                    continue;
                }
                assert!((block as usize).is_multiple_of(align));
                let mark = step as u8;
                // SAFETY: the block has `size` bytes.
                unsafe { block.write_bytes(mark, size) };
                held.push((block, layout, mark));
            } else if !held.is_empty() {
                let place = rng.below(held.len() as u64) as usize;
                free(&mut heap, held.swap_remove(place));
            }
        }
        held.into_iter().for_each(|block| free(&mut heap, block));
        assert_eq!(heap.used, 0);
        let whole = Layout::from_size_align(LEN, UNIT).expect("small");
        assert!(!heap.allocate(whole).is_null(), "free blocks are merged");
    }
}

fn free(heap: &mut Heap, (block, layout, mark): (*mut u8, Layout, u8)) {
    // SAFETY: the heap allocated the block with this layout, and nobody else has it.
    unsafe {
        let bytes = core::slice::from_raw_parts(block, layout.size());
        assert!(bytes.iter().all(|byte| *byte == mark));
        heap.release(block, layout);
    }
}

#[test]
fn a_heap_that_is_full_returns_null() {
    let mut memory = [0u128; 4];
    // SAFETY: the memory is aligned to 16 bytes and outlives the heap.
    let mut heap = unsafe { Heap::new(memory.as_mut_ptr().cast(), 64) };
    let layout = |size| Layout::from_size_align(size, 1).expect("small");
    assert!(heap.allocate(layout(65)).is_null());
    assert!(!heap.allocate(layout(64)).is_null());
    assert!(heap.allocate(layout(1)).is_null());
    let huge = Layout::from_size_align(isize::MAX as usize - 1, 1).expect("legal");
    assert!(heap.allocate(huge).is_null());
}
