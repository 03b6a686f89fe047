//! A few random worlds, with every checker.

use super::*;

#[test]
fn a_handful_of_random_worlds_hold_every_checker() {
    for seed in 0..10 {
        if let Err(failure) = soak(seed) {
            panic!("{failure}");
        }
    }
}

#[test]
fn a_world_is_the_same_each_time() {
    assert_eq!(soak(3), soak(3));
}
