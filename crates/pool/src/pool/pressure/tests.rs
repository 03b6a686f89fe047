//! Tests that pressure levels begin and end at the knobs' values.

use super::*;

#[test]
fn a_level_begins_above_the_point_where_it_ends() {
    let config = PoolConfig::default();
    let mut gauge = Gauge::new(&config, 1_000);
    for (committed, expected) in [
        (0, Pressure::Low),
        (799, Pressure::Low),
        (800, Pressure::Pressure),
        (700, Pressure::Pressure),
        (949, Pressure::Pressure),
        (950, Pressure::High),
        (800, Pressure::High),
        (799, Pressure::Pressure),
        (699, Pressure::Low),
        (700, Pressure::Low),
        (1_000, Pressure::High),
        (0, Pressure::Low),
    ] {
        gauge.follow(committed);
        assert_eq!(gauge.level(), expected, "{committed}");
    }
}
