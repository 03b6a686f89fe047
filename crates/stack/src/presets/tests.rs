//! Tests of `presets`: what it promises, and what the wrong input does to it.

use super::*;

#[test]
fn every_preset_is_valid_and_says_only_what_differs_from_the_default() {
    for preset in PRESETS {
        let config = preset.config();
        config
            .validate()
            .unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        for (name, value) in preset.rows {
            let default = Config::default().get(name);
            assert_ne!(default.as_deref(), Some(*value), "{}: {name}", preset.name);
        }
    }
    assert_eq!(find("default").unwrap().config(), Config::default());
}

#[test]
fn the_nuttx_preset_is_a_pool_of_7056_bytes() {
    let config = find("nuttx").unwrap().config();
    assert_eq!(config.pool.blocks * config.pool.block_size, 7_056);
}

#[test]
fn an_unknown_preset_is_answered_with_the_nearest() {
    for (name, expected) in [
        ("nutx", "no preset is called `nutx`; did you mean `nuttx`?"),
        (
            "zephyr",
            "no preset is called `zephyr`; there are default, nuttx, unet3, netburner",
        ),
    ] {
        assert_eq!(find(name).unwrap_err().to_string(), expected);
    }
}
