//! Tests of the arithmetic of figures.

use super::*;

#[test]
fn a_quantile_is_a_value_of_the_list() {
    let values: Vec<f64> = (1..=10).map(f64::from).collect();
    assert_eq!((quantile(&values, 0.5), quantile(&values, 0.9)), (5.0, 9.0));
    assert_eq!(quantile(&[], 0.5), 0.0);
    assert_eq!(quantile(&[7.0], 0.9), 7.0);
}
