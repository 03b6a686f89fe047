//! Random draws of knobs.

use super::*;
use alloc::vec::Vec;

mod before {
    crate::knobs! {
        /// A table.
        pub struct Table in "table" {
            /// First.
            first: u32 = 1, legal 0 => 1_000_000, drawn 1 => 1_000_000, "";
            /// Last.
            last: crate::Duration = crate::Duration::ZERO,
                legal crate::Duration::ZERO => crate::Duration::MAX,
                drawn crate::Duration::ZERO => crate::Duration::from_secs(60), "";
        }
    }
}

mod after {
    crate::knobs! {
        /// The same table with one row more.
        pub struct Table in "table" {
            /// First.
            first: u32 = 1, legal 0 => 1_000_000, drawn 1 => 1_000_000, "";
            /// Added later.
            added: u64 = 7, legal 0 => 1_000_000, drawn 0 => 1_000_000, "";
            /// Last.
            last: crate::Duration = crate::Duration::ZERO,
                legal crate::Duration::ZERO => crate::Duration::MAX,
                drawn crate::Duration::ZERO => crate::Duration::from_secs(60), "";
        }
    }
}

#[test]
fn a_new_row_leaves_every_other_draw_of_a_hundred_seeds_unchanged() {
    let mut drawn = Vec::new();
    for seed in 0..100 {
        let rng = Rng::seeded(seed);
        let (mut old, mut new) = (before::Table::default(), after::Table::default());
        old.draw(&rng);
        new.draw(&rng);
        assert_eq!((old.first, old.last), (new.first, new.last), "seed {seed}");
        drawn.push((new.first, new.added, new.last));
    }
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 100, "every seed draws other values");
}
