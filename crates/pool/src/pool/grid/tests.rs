//! Tests of `grid.rs`.

use super::Grid;

#[test]
fn a_shift_gives_what_a_division_gives() {
    for size in [1, 2, 3, 196, 256, 1_548, 2_048, 1 << 30] {
        let (grid, whole) = (Grid::new(size), u64::from(size));
        for offset in [0, 1, 195, 196, 2_047, 2_048, 2_049, u64::MAX - whole] {
            assert_eq!(grid.block_of(offset), offset / whole);
            assert_eq!(grid.within(offset) as u64, offset % whole);
            assert_eq!(grid.blocks_before(offset), offset.div_ceil(whole));
        }
    }
}
