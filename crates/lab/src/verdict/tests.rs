//! Each limit has a sentence, and each sentence its proof.

use fullpipe_pool::Duration;

use super::*;
use crate::{experiment::Experiment, shares::Shares};

const FILE: &str = r#"
title = "t"
hosts.device = { preset = "nuttx", set.tcp.send_buffer = "16K" }
hosts.peer = {}
links.wire = { between = ["device", "peer"], rate = "100mbit" }
workload = { from = "device", to = "peer", duration = "30s", write = 16384 }
rows = [{ label = "row" }]
"#;

fn setup(changes: &[(&str, &str)]) -> Setup {
    let mut experiment = Experiment::parse("t", "t.toml", FILE).unwrap();
    for (path, value) in changes {
        experiment.set(path, value).unwrap();
    }
    experiment.rows.remove(0).setup
}

fn measured() -> Measured {
    Measured {
        outcome: Outcome::Complete,
        goodput_mbps: 5.0,
        elapsed_s: 30.0,
        delivered_bytes: 18_750_000,
        data_segments: 12_843,
        full_sized_share: 1.0,
        segment_bytes: 1_460,
        peak_pool_bytes: 7_056,
        retransmitted_segments: 0,
        timeouts: 0,
        srtt_ms: 20.0,
        link_busy_share: 0.5,
        ip_in_receives: 6_400,
        ip_out_requests: 12_845,
        tcp_out_segs: 12_845,
        ip_ext_out_octets: 19_400_000,
        ..Measured::default()
    }
}

fn limits(sender: Limit, receiver: ReceiveLimit) -> Limits {
    let parts = |binding: &'static str, other: &'static str| {
        Shares::of([
            (binding, Duration::from_secs(9)),
            (other, Duration::from_secs(1)),
        ])
    };
    let other = if sender == Limit::Handshake {
        "closing"
    } else {
        "handshake"
    };
    Limits {
        sender: parts(sender.name(), other),
        receiver: parts(receiver.name(), "none"),
    }
}

fn verdict(setup: &Setup, measured: &Measured, limits: &Limits) -> String {
    let evidence = Evidence {
        setup,
        measured,
        limits,
        peer_window: 8_192,
        cwnd: 30_000,
        busiest: 0,
    };
    sentence(&evidence)
}

#[test]
fn a_write_that_never_fits_is_named_with_the_pool_and_the_blocks_it_takes() {
    let setup = setup(&[("tcp.write_atomic", "true")]);
    let stalled = Measured {
        outcome: Outcome::Stalled,
        delivered_bytes: 0,
        ..measured()
    };
    let said = verdict(&setup, &stalled, &limits(Limit::Memory, ReceiveLimit::None));
    assert!(
        said.starts_with("Memory: a 16384-byte write never fits in the 7056-byte pool"),
        "{said}"
    );
    assert!(said.contains("pool.blocks must be at least 84"), "{said}");
    let buffer = [
        ("tcp.write_atomic", "true"),
        ("pool.blocks", "128"),
        ("tcp.send_buffer", "8K"),
    ];
    let setup = self::setup(&buffer);
    let said = verdict(
        &setup,
        &stalled,
        &limits(Limit::SendBuffer, ReceiveLimit::None),
    );
    assert!(
        said.starts_with("Send buffer: a 16384-byte write never fits in tcp.send_buffer = 8192"),
        "{said}"
    );
}

#[test]
fn every_limit_has_a_verdict_that_names_it_and_proves_it() {
    let setup = setup(&[]);
    for &limit in Limit::ALL {
        let said = verdict(&setup, &measured(), &limits(limit, ReceiveLimit::None));
        assert!(said.starts_with(heading(limit)), "{said}");
        assert!(said.ends_with('.') && !said.contains('\n'), "{said}");
        let proved = said.contains("90 %") || limit == Limit::Closing || limit == Limit::Handshake;
        assert!(proved, "{said}");
    }
}

#[test]
fn a_buffer_is_proved_by_what_it_can_carry_in_a_round_trip() {
    let said = verdict(
        &setup(&[]),
        &measured(),
        &limits(Limit::SendBuffer, ReceiveLimit::None),
    );
    // 16,384 bytes in 20 ms.
    assert!(
        said.contains("16,384 bytes a round trip of 20 ms is at most 6.55 Mbit/s"),
        "{said}"
    );
    let said = verdict(
        &setup(&[]),
        &measured(),
        &limits(Limit::ReceiveWindow, ReceiveLimit::Buffer),
    );
    assert!(
        said.contains("8,192 bytes") && said.contains("3.28 Mbit/s"),
        "{said}"
    );
    assert!(
        said.contains("tcp.receive_buffer of `peer` above 65536"),
        "{said}"
    );
}

#[test]
fn a_slow_reader_is_not_told_to_buy_a_buffer() {
    let said = verdict(
        &setup(&[]),
        &measured(),
        &limits(Limit::ZeroWindow, ReceiveLimit::Reader),
    );
    assert!(
        said.contains("by not reading for 90 %") && said.contains("no buffer"),
        "{said}"
    );
}

#[test]
fn a_full_link_is_the_path_whatever_the_sender_waited_for() {
    let full = Measured {
        link_busy_share: 0.99,
        ..measured()
    };
    let said = verdict(
        &setup(&[]),
        &full,
        &limits(Limit::Memory, ReceiveLimit::None),
    );
    assert!(said.starts_with("Path: link `wire`"), "{said}");
    assert!(
        said.contains("99 %") && said.contains("packet memory 90 %"),
        "{said}"
    );
    assert!(said.ends_with("more buffer will not help."), "{said}");
}

#[test]
fn a_transfer_that_did_not_end_says_how_far_it_came() {
    for (outcome, word) in [
        (Outcome::Stalled, "stalled"),
        (Outcome::Dropped, "was dropped"),
    ] {
        let measured = Measured {
            outcome,
            delivered_bytes: 1_000,
            ..measured()
        };
        let said = verdict(
            &setup(&[]),
            &measured,
            &limits(Limit::ZeroWindow, ReceiveLimit::Reader),
        );
        assert!(
            said.contains(&format!("the transfer {word} after 1,000 bytes")),
            "{said}"
        );
    }
}

#[test]
fn opening_and_closing_bind_only_when_nothing_else_held() {
    let times = [("handshake", 9), ("closing", 9), ("nagle", 1)];
    let sender = Shares::of(times.map(|(name, s)| (name, Duration::from_secs(s))));
    let limits = Limits {
        sender,
        receiver: Shares::default(),
    };
    assert_eq!(binding(&limits).map(|(limit, _)| limit), Some(Limit::Nagle));
    assert_eq!(binding(&Limits::default()), None);
}
