//! Tests of means, ratios of pairs, and their intervals.

use super::*;

#[test]
fn an_interval_is_that_of_student_and_pairs_make_it_narrow() {
    let one = Sample { mbps: vec![5.0] };
    assert_eq!(
        one.mean(),
        Estimate {
            value: 5.0,
            interval: 0.0
        }
    );
    // The mean is 10, the standard deviation 2, the standard error 1; t = 3.19 for four values.
    let four = Sample {
        mbps: vec![8.0, 10.0 - 2f64.sqrt(), 10.0 + 2f64.sqrt(), 12.0],
    };
    let mean = four.mean();
    assert!((mean.value - 10.0).abs() < 1e-9 && (mean.interval - 0.638).abs() < 0.1);
    let half = Sample {
        mbps: four.mbps.iter().map(|mbps| mbps / 2.0).collect(),
    };
    let ratio = half.over(&four);
    assert!((ratio.value - 0.5).abs() < 1e-9 && ratio.interval < 1e-9);
    assert!(ratio.excludes(0.51) && !mean.excludes(10.5));
}
