//! Tests of `presets`: legal rows, claimed values, and errors for unknown names.

use alloc::string::ToString;

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
fn the_linux_preset_tunes_both_buffers_and_waits_as_long_as_linux_does() {
    let tcp = find("linux").unwrap().config().tcp;
    assert_eq!((tcp.send_buffer, tcp.send_buffer_max), (16_384, 4_194_304));
    let receive = (tcp.receive_buffer, tcp.receive_buffer_max);
    assert_eq!(receive, (131_072, 6_291_456));
    let defaults = (
        tcp.initial_window,
        tcp.retries2,
        tcp.delayed_ack.as_millis(),
    );
    assert_eq!(defaults, (10, 15, 40), "the stack's own defaults");
}

/// RFC 9293 §3.8.3, MUST-23.
#[test]
fn every_preset_gives_a_syn_up_after_three_minutes_or_more() {
    for preset in PRESETS {
        let tcp = preset.config().tcp;
        let waits = (0..=tcp.syn_retries)
            .map(|retry| (tcp.rto_initial * (1 << retry.min(20))).min(tcp.rto_max));
        let given_up = waits.fold(fullpipe_pool::Duration::ZERO, |sum, wait| sum + wait);
        assert!(given_up.as_secs() >= 180, "{}: {given_up}", preset.name);
    }
}

#[test]
fn an_unknown_preset_is_answered_with_the_nearest() {
    for (name, expected) in [
        ("nutx", "no preset is called `nutx`; did you mean `nuttx`?"),
        (
            "zephyr",
            "no preset is called `zephyr`; there are default, nuttx, unet3, netburner, linux",
        ),
    ] {
        assert_eq!(find(name).unwrap_err().to_string(), expected);
    }
}
