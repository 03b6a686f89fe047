//! Tests of `config`.

use alloc::vec;

use super::*;

#[test]
fn every_row_is_read_back_as_it_was_set_and_its_default_is_legal() {
    let mut config = Config::default();
    config.validate().unwrap();
    for row in Config::rows() {
        assert_eq!(
            config.get(&row.name).as_ref(),
            Some(&row.default),
            "{}",
            row.name
        );
        for value in [
            &row.default,
            &row.legal.0,
            &row.legal.1,
            &row.simulated.0,
            &row.simulated.1,
        ] {
            config
                .set(&row.name, value)
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(config.get(&row.name).as_ref(), Some(value), "{}", row.name);
        }
        assert!(!row.doc.is_empty(), "{}", row.name);
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<String> = Config::rows().into_iter().map(|row| row.name).collect();
    let rows = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rows);
}

#[test]
fn a_wrong_setting_is_explained_and_changes_nothing() {
    for (name, value, expected) in [
        (
            "udp.recieve_queue",
            "5",
            "no knob is called `udp.recieve_queue`; did you mean `udp.receive_queue`?",
        ),
        (
            "pool.block",
            "5",
            "no knob is called `pool.block`; did you mean `pool.blocks`?",
        ),
        (
            "polo.blocks",
            "5",
            "no knob is called `polo.blocks`; did you mean `pool.blocks`?",
        ),
        (
            "udp",
            "5",
            "no knob is called `udp`; `fullpipe knobs` lists them",
        ),
        ("", "5", "no knob is called ``; `fullpipe knobs` lists them"),
        (
            "ip.ttl",
            "many",
            "ip.ttl = many: expected a whole number such as 4096, 16K or 1M",
        ),
        ("ip.ttl", "0", "ip.ttl = 0: outside 1 to 255 hops"),
        (
            "ip.ttl",
            "-1",
            "ip.ttl = -1: expected a whole number such as 4096, 16K or 1M",
        ),
        (
            "arp.request_interval",
            "9h",
            "arp.request_interval = 9h: expected a time such as 200ms, 1.5s or 50us",
        ),
    ] {
        let mut config = Config::default();
        assert_eq!(config.set(name, value).unwrap_err().to_string(), expected);
        assert_eq!(config, Config::default());
    }
    assert_eq!(Config::default().get("ip.tt"), None);
}

#[test]
fn contradictions_are_named_with_both_knobs() {
    for (rows, words) in [
        (
            vec![
                ("pool.blocks", "4"),
                ("pool.send_floor", "3"),
                ("pool.receive_floor", "2"),
            ],
            "pool: ",
        ),
        (
            vec![("pool.blocks", "3"), ("pool.receive_floor", "1")],
            "leaves only 1 for receive windows beside pool.send_floor = 2, and a window needs 2 blocks: \
             no connection could be opened. Set pool.blocks to at least 4, or lower",
        ),
        (
            vec![
                ("stack.ephemeral_low", "50001"),
                ("stack.ephemeral_high", "50000"),
            ],
            "no port is left",
        ),
        (
            vec![("tcp.rto_max", "1s"), ("tcp.rto_min", "2s")],
            "tcp.rto_min = 2s is above",
        ),
        (
            vec![("tcp.rto_max", "1s"), ("tcp.rto_initial", "2s")],
            "tcp.rto_initial = 2s is above",
        ),
        (
            vec![("tcp.retries1", "16")],
            "tcp.retries1 = 16 is above tcp.retries2 = 15",
        ),
        (
            vec![("tcp.mss_max", "64"), ("tcp.mss_min", "65")],
            "tcp.mss_min = 65 is above",
        ),
        (
            vec![("ip.reassembly_bytes", "1000")],
            "ip.reassembly_largest = 65515",
        ),
    ] {
        let mut config = Config::default();
        for (name, value) in rows {
            config.set(name, value).unwrap();
        }
        let error = config.validate().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn every_random_configuration_is_valid() {
    for seed in 0..2_000 {
        let mut config = Config::default();
        config.draw(&Rng::seeded(seed));
        config
            .validate()
            .unwrap_or_else(|error| panic!("{error}: {config:?}"));
    }
}
