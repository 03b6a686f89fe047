//! Tests of the counting of tests, of repeated tests, and of the limits of steps.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::child::Child;
use super::limit;
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

const PYTEST: &str = "\
.F.s                                                                     [100%]
=========================== short test summary info ============================
PASSED python/tests/test_a.py::test_one[1]
PASSED python/tests/test_a.py::test_two
SKIPPED [1] python/tests/test_b.py:40: could not import 'ray': No module named 'ray'
FAILED python/tests/test_a.py::test_three - assert 1 == 2
ERROR python/tests/test_c.py
2 passed, 1 failed, 1 skipped, 1 error in 12.91s
";

#[test]
fn a_skipped_test_of_python_is_left_out_and_never_passed() {
    let mut outcome = Outcome::default();
    PYTEST
        .lines()
        .for_each(|line| outcome.read_pytest_line(line));
    assert_eq!(outcome.passed, 2);
    assert_eq!(
        outcome.failed,
        [
            "python/tests/test_a.py::test_three",
            "python/tests/test_c.py"
        ]
    );
    assert_eq!(
        outcome.ignored["python/tests/test_b.py:40"],
        "could not import 'ray': No module named 'ray'"
    );
    let mut summary = Summary::new(true);
    summary.add("python", Duration::ZERO, outcome);
    assert_eq!(summary.failed(), 3);
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

#[test]
fn a_tree_of_processes_has_children_of_children_and_no_others() {
    let parents = BTreeMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 3)]);
    assert_eq!(limit::tree(2, &parents), [2, 3, 4, 6]);
    let stat = "17 (a name) with) S 4 17 17 0 -1";
    assert_eq!(limit::parent(stat), Some(4));
}

/// The step must end soon: a grandchild that survived would keep the output open, and the step
/// would wait for the grandchild.
#[test]
fn a_step_that_exceeds_its_limit_is_killed_with_its_children_and_has_failed() {
    let started = Instant::now();
    let limit = Duration::from_millis(300);
    let script = "echo 'test a ... ok'; sh -c 'sleep 1000; true' & sleep 1000";
    let outcome = Child::new("sh", limit).args(["-c", script]).tests();
    assert!(
        started.elapsed() < Duration::from_secs(900),
        "it was killed"
    );
    assert_eq!(outcome.passed, 1);
    assert!(
        outcome.failed[0].ends_with("was killed with its children after 0 s"),
        "{:?}",
        outcome.failed
    );
}
