//! Tests of the budget of an explanation, and of the shares of the budget that its searches get.

use super::*;

#[test]
fn an_expensive_row_costs_more_than_its_explanation() {
    for (row, share) in [(300_000, 10.1), (3_000_000, 0.67), (20_000_000, 0.51)] {
        let most = most(row) as f64 / row as f64;
        assert!(most <= share, "{row}: {most}");
    }
}

#[test]
fn a_search_ends_where_the_next_one_may_begin() {
    let work = Work::of_row(100_000, Effort::Usual, &|_share| ControlFlow::Continue(()));
    work.begin(0.5);
    work.add(work.budget() / 2);
    assert!(work.is_done());
    work.begin(1.0);
    assert!(!work.is_done());
    work.allow(0.1);
    work.add(work.budget() / 10);
    assert!(work.is_done());
}

#[test]
fn an_extended_budget_lets_a_search_go_on_where_it_ended() {
    let work = Work::of_row(100_000, Effort::Usual, &|_share| ControlFlow::Continue(()));
    work.begin(1.0);
    work.add(work.budget());
    assert!(work.is_done());
    let before = work.budget();
    assert!(!work.extend(false) && work.extend(true) && !work.extend(true));
    assert_eq!(work.budget(), MORE * before);
    work.begin(1.0);
    assert!(!work.is_done() && work.is_bounded());
    let work = Work::of_row(100_000, Effort::High, &|_share| ControlFlow::Continue(()));
    assert!(work.extend(false) && work.extend(true) && !work.extend(true));
    assert!(!Work::any().extend(true));
}
