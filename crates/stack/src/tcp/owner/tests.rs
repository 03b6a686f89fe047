//! Tests of `owner.rs`.

use super::*;

#[test]
fn every_owner_has_one_number_and_every_number_one_owner() {
    let numbers = OwnerNumbers::new(3, 2, 4);
    let owners = (0..3)
        .map(Owner::Connection)
        .chain((0..2).map(Owner::Handshake))
        .chain((0..4).map(Owner::TimeWait));
    for (number, owner) in owners.enumerate() {
        assert_eq!(numbers.encode(owner), number as u32);
        assert_eq!(numbers.decode(number as u32), owner);
    }
    assert_eq!(numbers.count(), 9);
}

#[test]
fn a_table_without_room_takes_no_number() {
    let numbers = OwnerNumbers::new(1, 0, 0);
    assert_eq!(numbers.count(), 1);
    assert_eq!(numbers.decode(0), Owner::Connection(0));
}
