//! The list of reasons is whole.

extern crate std;

use std::collections::BTreeSet;

use super::WireError;

#[test]
fn every_reason_has_its_place_and_a_name_of_its_own() {
    for (place, reason) in WireError::ALL.into_iter().enumerate() {
        assert_eq!(reason.index(), place);
    }
    let names: BTreeSet<_> = WireError::ALL.map(WireError::name).into();
    assert_eq!(names.len(), WireError::COUNT);
}
