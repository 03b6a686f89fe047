//! Tests of the slab.

use super::*;

#[test]
fn the_key_of_a_removed_value_finds_nothing() {
    let mut slab = Slab::new(1);
    let first = slab.insert("first").unwrap();
    assert_eq!(slab.get(first), Some(&"first"));
    assert_eq!(slab.remove(first.index), "first");
    let second = slab.insert("second").unwrap();
    assert_eq!(second.index, first.index);
    assert_eq!(slab.get(first), None);
    assert_eq!(slab.get(second), Some(&"second"));
}

#[test]
fn a_full_slab_returns_the_value() {
    let mut slab = Slab::new(2);
    slab.insert(1).unwrap();
    slab.insert(2).unwrap();
    assert!(slab.is_full());
    assert_eq!(slab.insert(3), None);
    assert_eq!(slab.len(), 2);
}

#[test]
fn every_slot_can_be_used_again() {
    let mut slab = Slab::new(3);
    for round in 0..4 {
        let keys: Vec<_> = (0..3).map(|tenant| slab.insert(tenant).unwrap()).collect();
        assert!(slab.is_full(), "round {round}");
        assert_eq!(slab.iter().count(), 3);
        for key in keys {
            slab.remove(key.index);
        }
        assert_eq!(slab.len(), 0);
    }
}

#[test]
fn a_key_of_another_slab_finds_nothing() {
    let slab: Slab<u8> = Slab::new(0);
    let key = Key {
        index: 7,
        generation: 0,
    };
    assert_eq!(slab.get(key), None);
    assert!(slab.is_full());
}

#[test]
#[should_panic(expected = "free already")]
fn a_value_is_removed_once() {
    let mut slab = Slab::new(1);
    let key = slab.insert(0).unwrap();
    slab.remove(key.index);
    slab.remove(key.index);
}
