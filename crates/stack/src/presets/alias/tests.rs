//! Tests that every alias sets a knob, and that its error names the alias.

use super::*;
use crate::{
    config::Config,
    presets::{self, PRESETS},
};

#[test]
fn every_alias_belongs_to_a_preset_and_reads_a_knob_of_the_table() {
    let rows = Config::rows();
    for alias in ALIASES {
        assert!(
            PRESETS.iter().any(|preset| preset.name == alias.preset),
            "{}",
            alias.name
        );
        for knob in alias.knobs() {
            let known = rows.iter().any(|row| row.name == knob);
            assert!(known, "{}: {knob}", alias.name);
        }
        let same_name = ALIASES.iter().filter(|other| other.name == alias.name);
        assert_eq!(same_name.count(), 1, "{}", alias.name);
    }
}

#[test]
fn a_setting_may_be_written_as_the_other_system_writes_it() {
    let mut config = Config::default();
    for (name, text, knob, value) in [
        ("CONFIG_IOB_NBUFFERS", "128", "pool.blocks", "128"),
        ("CFG_TCP_SND_WND", "16384", "tcp.send_buffer", "16384"),
        ("SetSocketTxBuffers", "20", "tcp.send_buffer", "30000"),
        ("SO_NONAGLE", "true", "tcp.nagle", "false"),
    ] {
        config.set(name, text).unwrap();
        assert_eq!(config.get(knob).as_deref(), Some(value), "{name}");
        assert!(of_knob(find(name).unwrap().preset, knob).contains(&name));
    }
}

#[test]
fn what_an_application_sets_on_linux_is_doubled_capped_and_no_longer_tuned() {
    let mut config = presets::find("linux").unwrap().config();
    let sizes = |config: &Config| {
        let tcp = &config.tcp;
        (
            (tcp.send_buffer, tcp.send_buffer_max),
            (tcp.receive_buffer, tcp.receive_buffer_max),
        )
    };
    let delivered = ((16_384, 4_194_304), (131_072, 6_291_456));
    assert_eq!(sizes(&config), delivered);
    config.set("SO_SNDBUF", "64K").unwrap();
    config.set("SO_RCVBUF", "4M").unwrap();
    assert_eq!(sizes(&config), ((131_072, 0), (8 << 20, 0)));
    let limits = (
        config.tcp.send_buffer_limit,
        config.tcp.receive_buffer_limit,
    );
    assert_eq!(limits, (425_984, 425_984), "what of it counts");
    config.set("tcp_wmem", "4096 16384 4194304").unwrap();
    config.set("tcp_rmem", "4096 131072 6291456").unwrap();
    assert_eq!(sizes(&config), delivered);
    for text in ["", "1 2", "4096 2048 8192", "4096 8192 many", "1 2 3 4"] {
        assert!(config.set("tcp_wmem", text).is_err(), "{text}");
        // The default alone would be accepted, but the maximum is beyond the knob's range.
        assert!(config.set("tcp_rmem", "4096 65536 1T").is_err());
        assert_eq!(sizes(&config), delivered);
    }
}

#[test]
fn a_mistake_is_reported_under_the_name_that_was_written() {
    let mut config = presets::find("netburner").unwrap().config();
    let before = config.clone();
    for (name, text, expected) in [
        (
            "SetSocketTxBuffers",
            "many",
            "SetSocketTxBuffers = many: expected a number of buffers such as 20",
        ),
        (
            "SO_NONAGLE",
            "perhaps",
            "SO_NONAGLE = perhaps: expected true or false",
        ),
        (
            "CFG_TCP_SND_WIN",
            "1024",
            "no knob is called `CFG_TCP_SND_WIN`; did you mean `CFG_TCP_SND_WND`?",
        ),
    ] {
        assert_eq!(config.set(name, text).unwrap_err().to_string(), expected);
        assert_eq!(config, before);
    }
}

#[test]
fn what_linux_sets_for_all_sockets_is_read_as_linux_reads_it() {
    let mut config = presets::find("linux").unwrap().config();
    for (name, text, knob, value) in [
        ("wmem_max", "130K", "tcp.send_buffer_limit", "266240"),
        ("rmem_max", "64K", "tcp.receive_buffer_limit", "131072"),
        ("tcp_adv_win_scale", "1", "tcp.receive_payload_share", "50"),
        ("tcp_adv_win_scale", "2", "tcp.receive_payload_share", "75"),
        ("tcp_adv_win_scale", "0", "tcp.receive_payload_share", "100"),
        ("tcp_adv_win_scale", "-2", "tcp.receive_payload_share", "25"),
        ("tcp_moderate_rcvbuf", "0", "tcp.receive_tuning", "false"),
        ("tcp_retries2", "8", "tcp.retries2", "8"),
    ] {
        config.set(name, text).unwrap();
        assert_eq!(config.get(knob).as_deref(), Some(value), "{name} {text}");
        assert!(of_knob("linux", knob).contains(&name));
    }
    config.set("tcp_mem", "1000 1500 2000").unwrap();
    let pool = &config.pool;
    assert_eq!(pool.blocks * pool.block_size, 2_000 * 4_096);
    let pressure = (pool.pressure_low, pool.pressure, pool.pressure_high);
    assert_eq!(pressure, (50, 75, 100));
    config.validate().unwrap();
    for (name, text) in [
        ("tcp_adv_win_scale", "7"),
        ("tcp_adv_win_scale", "half"),
        ("tcp_mem", "1000 900 2000"),
        ("tcp_mem", "0 0 0"),
        ("tcp_mem", "1000 2000"),
    ] {
        let before = config.clone();
        assert!(config.set(name, text).is_err(), "{name} {text}");
        assert_eq!(config, before);
    }
}

#[test]
fn a_switch_of_a_socket_is_pasted_as_a_number() {
    let cork = SetBy::SocketOption("IPPROTO_TCP");
    for (value, number) in [("true", 1), ("false", 0)] {
        let expected =
            format!("setsockopt(fd, IPPROTO_TCP, TCP_CORK, &(int){{{number}}}, sizeof(int))");
        assert_eq!(cork.paste("TCP_CORK", value), expected);
    }
}
