//! Tests of the random draws of knobs.

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

#[test]
fn a_number_sets_the_row_at_its_place_and_only_to_a_legal_value() {
    let mut table = after::Table::default();
    assert_eq!(
        after::Table::NAMES,
        ["table.first", "table.added", "table.last"]
    );
    assert!(table.set_number(1, 99) && table.set_number(2, 2_500));
    assert_eq!((table.number(1), table.added), (Some(99), 99));
    assert_eq!(table.last, crate::Duration::from_micros(2_500));
    let before = table.clone();
    for (row, number) in [(0, 1_000_001), (0, u64::MAX), (1, 1_000_001), (3, 0)] {
        assert!(!table.set_number(row, number), "row {row}: {number}");
    }
    assert_eq!(table, before);
    assert_eq!(table.number(3), None);
}
