//! Tests of the comparison of figures, and of their file.

use super::{Judgement, judge, parse};

#[test]
fn only_a_difference_above_the_tolerance_counts() {
    assert_eq!(judge(1_000.0, 1_029.0), Judgement::Same);
    assert_eq!(judge(1_000.0, 1_031.0), Judgement::Over);
    assert_eq!(judge(1_000.0, 971.0), Judgement::Same);
    assert_eq!(judge(1_000.0, 969.0), Judgement::Under);
}

#[test]
fn comments_are_no_figures() {
    let figures = parse("# a = 1\nrustc = \"rustc 1.95.0\"\nrr = 30000\n");
    assert_eq!(figures.get("rr"), Some(&"30000"));
    assert_eq!(figures.len(), 2);
}
