//! Tests of the hash table, against a map.

use super::*;
use alloc::collections::BTreeMap;
use fullpipe_pool::Rng;

fn table(most: u32) -> HashIndex {
    HashIndex::new(most, Secret([7; 16]))
}

#[test]
fn the_caller_distinguishes_entries_with_the_same_hash() {
    let mut demux = table(4);
    for value in [1, 2, 3] {
        demux.insert(0xffff_ffff, value);
    }
    demux.remove(0xffff_ffff, 2);
    assert_eq!(demux.find(0xffff_ffff, |value| value == 3), Some(3));
    assert_eq!(demux.find(0xffff_ffff, |value| value == 2), None);
    demux.replace(0xffff_ffff, 3, 30);
    assert_eq!(demux.find(0xffff_ffff, |value| value == 30), Some(30));
    assert_eq!(demux.len(), 2);
}

#[test]
fn hashes_depend_on_the_secret() {
    let other = HashIndex::new(4, Secret([8; 16]));
    assert_ne!(table(4).hash(b"tuple"), other.hash(b"tuple"));
    assert_eq!(table(4).hash(b"tuple"), table(9).hash(b"tuple"));
}

/// Uses only five hashes, near the end of the table, so entries collide often and wrap to its
/// start.
#[test]
fn the_table_agrees_with_a_map_whatever_is_added_and_removed() {
    for seed in 0..50 {
        let mut rng = Rng::seeded(seed);
        let mut demux = table(24);
        let mut model: BTreeMap<u32, u32> = BTreeMap::new();
        for step in 0..2_000 {
            let value = rng.below(40) as u32;
            if let Some(hash) = model.get(&value).copied() {
                demux.remove(hash, value);
                model.remove(&value);
            } else if model.len() < 24 {
                let hash = (rng.below(5) as u32).wrapping_sub(2);
                demux.insert(hash, value);
                model.insert(value, hash);
            }
            for value in 0..40 {
                let found = model
                    .get(&value)
                    .and_then(|hash| demux.find(*hash, |v| v == value));
                assert_eq!(
                    found.is_some(),
                    model.contains_key(&value),
                    "seed {seed} step {step}"
                );
            }
            assert_eq!(demux.len() as usize, model.len());
        }
    }
}

#[test]
#[should_panic(expected = "more entries than the table")]
fn more_entries_than_allocated_panic() {
    let mut demux = table(1);
    demux.insert(1, 1);
    demux.insert(2, 2);
}
