//! Tests of summaries over several seeds.

use super::*;

fn run(goodput_mbps: f64, max_gap_ms: f64) -> Measured {
    Measured {
        outcome: Outcome::Complete,
        goodput_mbps,
        max_gap_ms,
        ..Measured::default()
    }
}

#[test]
fn one_seed_is_its_own_result() {
    let only = run(7.0, 3.0);
    assert_eq!(Measured::of_seeds(std::slice::from_ref(&only)), only);
}

#[test]
fn several_seeds_give_the_median_and_of_gaps_the_longest() {
    let runs = [run(4.0, 1.0), run(1.0, 9.0), run(3.0, 2.0), run(2.0, 2.0)];
    let all = Measured::of_seeds(&runs);
    assert_eq!((all.goodput_mbps, all.max_gap_ms), (2.5, 9.0));
    let spread = all.spread("goodput_mbps").unwrap();
    assert_eq!((spread.q1, spread.q3), (1.75, 3.25));
    assert_eq!(all.jain, None, "a quantity that no run has is absent");
}

#[test]
fn the_worst_outcome_of_any_seed_is_the_outcome() {
    let mut runs = [run(1.0, 1.0), run(1.0, 1.0)];
    runs[1].outcome = Outcome::Dropped;
    assert_eq!(Measured::of_seeds(&runs).outcome, Outcome::Dropped);
}

#[test]
fn jains_index_is_1_for_equals_and_1_over_n_for_one_that_has_it_all() {
    assert_eq!(jain(&[5.0, 5.0, 5.0]), Some(1.0));
    assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
    assert_eq!(jain(&[5.0]), None);
    assert_eq!(jain(&[0.0, 0.0]), None);
}
