//! Tests of the names of the sockets.

use super::*;

#[test]
fn a_name_that_is_taken_is_left_to_its_owner_and_another_is_bound() {
    // No process of Linux has a number with the highest bit.
    let pid = process::id() | 1 << 31;
    let bound: Vec<_> = (0..NUMBERED + 3)
        .map(|_| bind(pid).expect("a free name"))
        .collect();
    let own = RunningStack::list().expect("the system shows its sockets");
    let own = own.into_iter().filter(|of| of.pid == pid);
    assert_eq!(own.count(), bound.len());
}
