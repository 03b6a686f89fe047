//! The knobs of features that the build leaves out.
//!
//! Rule: a knob of an absent feature takes no value but 0, false or off, by name and by number. A
//! field takes each legal value.

use fullpipe::{
    Config, Interface, MacAddress, Stack, Tuning,
    config::KnobError,
    device::{Capabilities, Medium},
};

/// A knob, the features that it needs, and its value that turns it off, if it has one.
type Knob = (
    &'static str,
    &'static [(&'static str, bool)],
    Option<&'static str>,
);

macro_rules! features {
    ($($feature:literal),+) => { &[$(($feature, cfg!(feature = $feature))),+] };
}

/// Knobs of each feature.
const KNOBS: &[Knob] = &[
    ("tcp.send_buffer_max", features!["autotune"], Some("0")),
    ("tcp.receive_buffer_max", features!["autotune"], Some("0")),
    ("tcp.receive_tuning", features!["autotune"], Some("false")),
    ("tcp.bbr_loss_threshold", features!["bbr"], None),
    ("stack.syn_cookies", features!["cookies"], Some("off")),
    ("stack.cookie_queue", features!["cookies"], None),
    ("tcp.hystart", features!["cubic"], Some("false")),
    ("tcp.ecn", features!["ecn"], Some("off")),
    ("ip.reassembly_datagrams", features!["fragments"], Some("0")),
    ("ip.reassembly_largest", features!["fragments"], None),
    ("icmp.errors", features!["icmp-errors"], Some("0")),
    (
        "ip.path_mtu_min",
        features!["icmp-errors", "path-mtu"],
        None,
    ),
    ("ip.loopback", features!["loopback"], Some("false")),
    ("tcp.mtu_probing", features!["path-mtu"], Some("off")),
    ("stack.busy_connections", features!["resting"], Some("0")),
    ("tcp.sack", features!["sack"], Some("false")),
    ("ip.autoconfiguration", features!["slaac"], Some("false")),
    ("ip.dad_probes", features!["slaac"], Some("0")),
    ("trace.records", features!["trace"], Some("0")),
    ("udp.sockets", features!["udp"], Some("0")),
    ("udp.receive_queue", features!["udp"], None),
];

/// Returns the feature of `knob` that the build leaves out.
fn missing((_, features, _): &Knob) -> Option<&'static str> {
    let missing = features.iter().find(|(_, is_on)| !is_on)?;
    Some(missing.0)
}

#[test]
fn a_knob_takes_its_largest_value_only_with_its_features() {
    let (rows, mut config) = (Config::rows(), Config::default());
    for knob in KNOBS {
        let (name, ..) = *knob;
        let at = rows.iter().position(|row| row.name == name).expect(name);
        let set = config.clone().set(name, &rows[at].legal.1);
        match missing(knob) {
            None => set.unwrap_or_else(|error| panic!("{error}")),
            Some(feature) => {
                let error = set.expect_err(name).to_string();
                assert_eq!(
                    error,
                    format!("{name} needs the feature `{feature}` of the crate fullpipe")
                );
            }
        }
        let mut largest = config.clone();
        largest.set(name, &rows[at].legal.1).ok();
        let number = largest.number(at).filter(|number| *number > 0).unwrap_or(1);
        assert_eq!(
            config.clone().set_number(at, number),
            missing(knob).is_none(),
            "{name}"
        );
    }
    config.draw(&fullpipe::Rng::seeded(1));
    config
        .validate()
        .expect("fields of absent features take each legal value");
}

#[test]
fn a_knob_is_turned_off_with_and_without_its_features() {
    for (name, _, off) in KNOBS {
        let mut config = Config::default();
        let Some(off) = off else {
            config.set(name, "0").expect_err(name);
            continue;
        };
        config
            .set(name, off)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config.get(name).as_deref(), Some(*off));
        let at = Config::names()
            .position(|known| known == *name)
            .expect(name);
        assert_eq!(config.number(at), Some(0), "{name}");
        assert!(config.set_number(at, 0), "{name}");
    }
}

#[test]
fn linux_buffers_that_do_not_grow_are_taken_in_every_build() {
    for (alias, knob) in [
        ("tcp_wmem", "tcp.send_buffer"),
        ("tcp_rmem", "tcp.receive_buffer"),
    ] {
        let mut config = Config::default();
        config
            .set(alias, "65536 65536 65536")
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config.get(knob).as_deref(), Some("65536"));
        let grows = config.set(alias, "4096 65536 1048576");
        assert_eq!(grows.is_ok(), cfg!(feature = "autotune"), "{alias}");
    }
}

#[test]
fn a_socket_is_given_a_buffer_that_grows_only_with_the_feature() {
    let mut config = Config::default();
    config.tcp.send_buffer_max = 1 << 20;
    let (stack, tuning) = (stack(&config), Tuning::from_config(&config.tcp));
    stack
        .check_tuning(&tuning)
        .expect("the field has no effect");
    for set in [
        |tuning: &mut Tuning, max| tuning.send_buffer_max = max,
        |tuning: &mut Tuning, max| tuning.receive_buffer_max = max,
    ] {
        let mut with = tuning;
        set(&mut with, 4_096);
        stack
            .check_tuning(&with)
            .expect("a buffer that does not grow");
        set(&mut with, 1 << 24);
        assert_eq!(
            stack.check_tuning(&with).is_ok(),
            cfg!(feature = "autotune")
        );
    }
}

#[test]
fn an_error_shows_a_time_with_its_unit_and_a_number_without() {
    let mut config = Config::default();
    config.tcp.rto_min = fullpipe::Duration::from_secs(90_000);
    let error = config
        .validate()
        .expect_err("it is out of range")
        .to_string();
    assert!(error.contains(" = 90000s: outside "), "{error}");
    let mut config = Config::default();
    config.ip.ttl = 256;
    let error = config
        .validate()
        .expect_err("it is out of range")
        .to_string();
    assert!(error.contains(" = 256: outside 1 to 255"), "{error}");
    assert_eq!(
        error.starts_with("ip.ttl"),
        cfg!(feature = "names"),
        "{error}"
    );
    assert!(matches!(
        config.validate(),
        Err(KnobError::OutOfRange { .. })
    ));
}

fn stack(config: &Config) -> Stack {
    let interface = Interface {
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        address: [10, 0, 0, 1].into(),
        prefix_len: 24,
        gateway: None,
        capabilities: Capabilities::plain(Medium::Ethernet, 1_500),
    };
    Stack::new(config, interface, [1; 16]).expect("the configuration is sound")
}
