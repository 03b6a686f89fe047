//! Tests of settings that a listener passes on to its connections, and of settings that are
//! refused.
//!
//! Rule: conformance scripts (`conformance/scripts/options`) test what an option changes on the
//! wire.

mod pair;

use std::{cell::RefCell, net::SocketAddr, rc::Rc};

use fullpipe::{
    ConnectOptions, Duration, ListenOptions, OpenError, SettingError, SocketOption, Stack,
    TcpError, Tuning,
};
use fullpipe_wire::TcpFlags;
use pair::{A, B, PORT, Pair, Side, config};

const NO_PROBES: SettingError = SettingError::OutOfRange {
    setting: "tcp.keepalive_probes",
    least: 1,
    most: 255,
    unit: "probes",
};

#[test]
fn a_listener_passes_its_settings_on_and_offers_its_mss() {
    let mut pair = Pair::new(&config());
    let offered = Rc::new(RefCell::new(Vec::new()));
    let writer = offered.clone();
    pair.watch = Some(Box::new(move |seen| {
        if seen.header.flags.contains(TcpFlags::SYN) {
            writer.borrow_mut().push(seen.header.options.mss);
        }
        true
    }));
    let tuning = Tuning {
        mss_max: 400,
        quick_ack: true,
        receive_low_water: 200,
        unsent_low_water: 300,
        keepalive_time: Duration::from_secs(10),
        keepalive_interval: Duration::from_micros(1_500_001),
        keepalive_probes: 4,
        syn_retries: 5,
        ..Tuning::from_config(&config().tcp)
    };
    let options = ListenOptions {
        tuning: Some(tuning),
        ..ListenOptions::default()
    };
    let listener = pair.listen(Side::B, options);
    let client = pair.connect(Side::A, SocketAddr::from((B, PORT)));
    pair.settle();
    assert_eq!(*offered.borrow(), [Some(1_460), Some(400)]);
    let (server, _) = pair
        .b
        .stack
        .tcp_accept(listener, pair.now)
        .expect("it listens")
        .expect("it is connected");
    let kept = pair
        .b
        .stack
        .tcp_info(server, pair.now)
        .expect("open")
        .tuning;
    let expected = Tuning {
        // The interval is rounded up to whole milliseconds.
        keepalive_interval: Duration::from_millis(1_501),
        congestion: kept.congestion,
        ..tuning
    };
    assert_eq!(kept, expected);
    let mss = |stack: &mut Stack, id| stack.tcp_info(id, pair.now).expect("open").mss;
    let options = 12; // timestamps
    assert_eq!(mss(&mut pair.a.stack, client), 400 - options);
    assert_eq!(mss(&mut pair.b.stack, server), 400 - options);
}

#[test]
fn a_setting_out_of_range_is_refused_and_changes_nothing() {
    let mut pair = Pair::new(&config());
    let tuning = Some(Tuning {
        keepalive_probes: 0,
        ..Tuning::from_config(&config().tcp)
    });
    let here = SocketAddr::from((A, PORT));
    let options = ListenOptions {
        tuning,
        ..ListenOptions::default()
    };
    let refused = OpenError::Setting(NO_PROBES);
    assert_eq!(pair.a.stack.tcp_listen(here, options), Err(refused));
    let there = SocketAddr::from((B, PORT));
    let opened = pair
        .a
        .stack
        .tcp_connect(there, None, ConnectOptions { tuning }, pair.now);
    assert_eq!(opened, Err(refused));

    let (client, _) = pair.connected();
    let stack = &mut pair.a.stack;
    let before = stack.tcp_info(client, pair.now).expect("open").tuning;
    let set = stack.tcp_set(client, SocketOption::KeepaliveProbes(0), pair.now);
    assert_eq!(set, Err(TcpError::Setting(NO_PROBES)));
    assert_eq!(
        NO_PROBES.to_string(),
        "tcp.keepalive_probes is outside 1 to 255 probes"
    );
    let after = stack.tcp_info(client, pair.now).expect("open").tuning;
    assert_eq!(after, before);
}
