//! Tests of the arithmetic of gains.

use super::*;

/// Runs of 1 and 3 Mbit/s compared with runs of 1 and 1 Mbit/s: the gain is 1 and its error is 1.
#[test]
fn a_gain_is_the_ratio_of_means_with_the_error_of_the_pairs() {
    let runs = |values: &[f64]| -> Vec<Run> {
        let run = |mbps: &f64| Run {
            mbps: *mbps,
            is_complete: true,
            segments: 0,
        };
        values.iter().map(run).collect()
    };
    let gain = gain_over(&runs(&[1.0, 3.0]), &runs(&[1.0, 1.0]));
    assert_eq!((gain.share, gain.error), (1.0, 1.0));
    // If all pairs have the same ratio, the error is 0, even if the goodput varies with the seed.
    let gain = gain_over(&runs(&[1.1, 2.2]), &runs(&[1.0, 2.0]));
    assert!((gain.share - 0.1).abs() < 1e-9 && gain.error < 1e-9);
    assert!(!gain_over(&runs(&[1.0, 3.0]), &runs(&[1.0, 1.0])).is_real());
    assert!(gain.is_real());
}
