//! Which worlds a plan runs, and what is written of those that failed.

use super::seeds;
use super::worlds::{Failure, Plan};

#[test]
fn known_seeds_run_first_and_each_world_once() {
    for (seeds, first, worlds, expected) in [
        (&[][..], 0, 3, &[0, 1, 2][..]),
        (&[77, 3], 100, 2, &[77, 3, 100, 101]),
        (&[1], 0, 3, &[1, 0, 2]),
        (&[1], 0, 0, &[1]),
    ] {
        let plan = Plan {
            seeds: seeds.to_vec(),
            first,
            worlds,
            seconds: None,
            jobs: None,
        };
        assert_eq!(plan.order().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_seed_file_is_read_back_as_it_was_written() {
    let failure = Failure {
        seed: 18_446_744_073_709_551_615,
        why: "a leak\nin detail".to_owned(),
    };
    let line = seeds::line(&failure);
    assert_eq!(line, "18446744073709551615 # a leak");
    let text = format!("# seeds\n\n{line}\n7\n");
    assert_eq!(seeds::parse(&text).ok(), Some(vec![failure.seed, 7]));
    let error = seeds::parse("1\nabc # words\n").expect_err("not a number");
    assert!(error.to_string().contains("seeds.txt:2"), "{error}");
}
