//! Tests of the configuration as numbers.

use fullpipe::{Config, Rng, presets::PRESETS};

use super::{FP_KNOBS, FpConfig};

#[test]
fn the_array_has_a_place_for_each_knob() {
    assert_eq!(Config::names().count(), FP_KNOBS);
    let rows = Config::rows();
    assert!(Config::names().eq(rows.iter().map(|row| row.name.as_str())));
}

/// Presets and random configurations stay the same if they are converted to numbers and back.
#[test]
fn a_configuration_survives_the_way_through_numbers() {
    let presets = PRESETS.iter().map(|preset| preset.config());
    let drawn = (0..50).map(|seed| {
        let mut config = Config::default();
        config.draw(&Rng::seeded(seed));
        config
    });
    for config in presets.chain(drawn) {
        assert_eq!(FpConfig::new(&config).read(), Ok(config));
    }
}

#[test]
fn an_illegal_number_is_refused() {
    let mut values = FpConfig::new(&Config::default());
    values.value[0] = u64::MAX;
    assert!(values.read().is_err());
}
