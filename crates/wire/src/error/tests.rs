//! Test that the list of reasons is complete.

extern crate std;

use std::collections::BTreeSet;

use super::WireError;

#[test]
fn every_reason_has_its_own_index_and_name() {
    for (place, reason) in WireError::ALL.into_iter().enumerate() {
        assert_eq!(reason.index(), place);
    }
    let names: BTreeSet<_> = WireError::ALL.map(WireError::name).into();
    assert_eq!(names.len(), WireError::COUNT);
}
