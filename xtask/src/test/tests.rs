//! What is counted, and what is named as left out.

use std::time::Duration;

use super::outcome::{Outcome, Summary};

const UNIT_TESTS: &str = "\
running 4 tests
test time::tests::a_second_is_a_second ... ok
test tests::it_breaks ... FAILED
test interop::iperf_sends ... ignored, needs root and network namespaces
test src/lib.rs - Pool (line 10) ... ok
test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

fn outcome_of(output: &str) -> Outcome {
    let mut outcome = Outcome::default();
    output.lines().for_each(|line| outcome.read_line(line));
    outcome
}

#[test]
fn each_test_line_is_counted_once() {
    let outcome = outcome_of(UNIT_TESTS);
    assert_eq!(outcome.passed, 2);
    assert_eq!(outcome.failed, ["tests::it_breaks"]);
    assert_eq!(
        outcome.ignored["interop::iperf_sends"],
        "needs root and network namespaces"
    );
}

#[test]
fn the_last_line_is_the_plain_count() {
    let mut summary = Summary::new(false);
    summary.add("tests", Duration::from_secs(1), outcome_of(UNIT_TESTS));
    assert_eq!(
        summary.to_string().lines().last(),
        Some("2 passed, 1 failed")
    );
}

#[test]
fn what_is_left_out_fails_only_when_strict() {
    for (strict, expected) in [(false, 0), (true, 2)] {
        let mut summary = Summary::new(strict);
        summary.add(
            "tests",
            Duration::ZERO,
            outcome_of("test a::b ... ignored, needs root\ntest a::c ... ok"),
        );
        summary.add(
            "interop",
            Duration::ZERO,
            Outcome::left_out(vec!["not root".to_owned()]),
        );
        assert_eq!(summary.failed(), expected);
        assert_eq!(
            summary.left_out(),
            ["tests: a::b (needs root)", "interop: not root"]
        );
    }
}

#[test]
fn an_ignored_test_that_a_later_step_ran_is_not_left_out() {
    let mut summary = Summary::new(true);
    summary.add(
        "tests",
        Duration::ZERO,
        outcome_of("test a::b ... ignored, needs root"),
    );
    summary.add("interop", Duration::ZERO, outcome_of("test a::b ... ok"));
    assert_eq!(summary.left_out(), Vec::<String>::new());
    assert_eq!((summary.passed(), summary.failed()), (1, 0));
}
