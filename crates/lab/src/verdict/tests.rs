//! Each limit has its words, and each verdict its proof.

mod several;

use fullpipe_pool::Duration;
use fullpipe_scenario::{
    Limits, Shares, experiment::Experiment, measured::Measured, scene::Activity,
};
use fullpipe_sim::DatagramDemand;
use fullpipe_tcp::{Limit, ReceiveLimit};

use super::*;

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
    let other = if sender == Limit::Handshake {
        Limit::Closing
    } else {
        Limit::Handshake
    };
    let [most, rest] = [9, 1].map(Duration::from_secs);
    Limits {
        sender: Shares::of([(sender, most), (other, rest)]),
        receiver: Shares::of([(receiver, most), (ReceiveLimit::None, rest)]),
    }
}

fn evidence<'a>(setup: &'a Setup, measured: &'a Measured, limits: &'a Limits) -> Evidence<'a> {
    Evidence {
        setup,
        measured,
        limits,
        demand: DatagramDemand::default(),
        peer_window: 8_192,
        cwnd: 30_000,
        min_rtt: Some(Duration::from_millis(20)),
        busiest: 0,
        activity: Activity {
            share: 1.0,
            at_once: 1.0,
            payload_share: 1.0,
        },
        silence: None,
    }
}

fn decided(setup: &Setup, measured: &Measured, limits: &Limits) -> Verdict {
    of(&evidence(setup, measured, limits))
}

fn verdict(setup: &Setup, measured: &Measured, limits: &Limits) -> String {
    decided(setup, measured, limits).parts.line()
}

#[test]
fn the_least_number_of_blocks_for_a_write_includes_those_reserved_for_receiving() {
    // Simulated (`lab run nuttx --set CONFIG_IOB_NBUFFERS=95`): 95 stall, 96 do not.
    let least = |block: &str| {
        let setup = setup(&[("pool.block_size", block)]);
        bounds::blocks_for(&setup.hosts[0], 16_384)
    };
    assert_eq!([least("196"), least("1024")], [96, 19]);
}

#[test]
fn a_write_that_never_fits_is_named_with_the_pool_and_the_blocks_it_takes() {
    let setup = setup(&[("tcp.write_atomic", "true")]);
    let stalled = Measured {
        outcome: Outcome::Stalled,
        delivered_bytes: 0,
        ..measured()
    };
    let decided = decided(&setup, &stalled, &limits(Limit::Memory, ReceiveLimit::None));
    // It is advice like any other.
    assert!(
        decided.predicted.is_some() && decided.next.is_some(),
        "{decided:?}"
    );
    assert_eq!(decided.changes.len(), 1);
    let parts = decided.parts;
    assert_eq!(
        parts.limited_by,
        "the sender's packet memory: a write of 16,384 bytes never fits"
    );
    assert_eq!(parts.change[0].paste, "--set device.tcp.write_atomic=false");
    assert!(parts.gives.is_some() && parts.then.is_some());
    let said = parts.because.join(" ");
    assert!(said.contains("The pool has 7,056 bytes"), "{said}");
    assert!(said.contains("CONFIG_IOB_NBUFFERS = 96"), "{said}");
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
        said.contains("a write of 16,384 bytes never fits")
            && said.contains("The buffer is CONFIG_NET_SEND_BUFSIZE = 8192"),
        "{said}"
    );
}

#[test]
fn every_limit_has_a_verdict_that_names_it_and_proves_it() {
    let setup = setup(&[]);
    let of_streams = Limit::ALL
        .iter()
        .filter(|limit| **limit != Limit::Processor);
    for &limit in of_streams {
        let verdict = decided(&setup, &measured(), &limits(limit, ReceiveLimit::None));
        let said = &verdict.parts.line();
        let sentences = verdict
            .parts
            .because
            .iter()
            .chain([&verdict.parts.limited_by]);
        for sentence in sentences {
            assert!(
                sentence.len() <= 160 && !sentence.contains('\n'),
                "{sentence}"
            );
        }
        if verdict.limit != Cause::Path {
            assert!(verdict.parts.limited_by.contains(": "), "{said}");
        }
        assert_ne!(verdict.limit, Cause::Nothing);
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
        said.contains("16,384 bytes in each round trip of 20 ms are at most 6.55 Mbit/s"),
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
}

#[test]
fn a_knob_has_its_systems_name_its_value_a_formula_and_what_comes_next() {
    let send_buffer = limits(Limit::SendBuffer, ReceiveLimit::None);
    let setup = setup(&[("pool.blocks", "8192")]);
    let verdict = decided(&setup, &measured(), &send_buffer);
    // 95.6 Mbit/s for 20 ms are 239,000 bytes; two segments are added.
    assert_eq!(verdict.knob.as_deref(), Some("CONFIG_NET_SEND_BUFSIZE"));
    assert_eq!(verdict.present.as_deref(), Some("16384"));
    let needed: u64 = verdict.needed.as_deref().unwrap().parse().unwrap();
    assert!((239_000..245_000).contains(&needed), "{needed}");
    let formula = verdict.formula.as_deref().unwrap();
    assert!(
        formula.contains("20 ms (round trip of a full segment) + 2 segments of 1,460 bytes"),
        "{formula}"
    );
    // The peer's window of 64 KiB is tighter than the path.
    let next = verdict.next.unwrap();
    assert_eq!(next.limit, Cause::ReceiveWindow);
    assert!((next.at_most_mbps - 26.1).abs() < 0.2, "{next:?}");
    let predicted = verdict.predicted.unwrap();
    assert!(
        (predicted.goodput_mbps / 26.0 - 1.0).abs() < 0.02,
        "{predicted:?}"
    );
    let [change] = &verdict.changes[..] else {
        panic!("{:?}", verdict.changes);
    };
    assert_eq!(change.set, "device.CONFIG_NET_SEND_BUFSIZE");
    assert_eq!(
        (&change.from, &change.to),
        (&"16384".to_string(), &needed.to_string())
    );
    let line = &verdict.parts.change[0];
    assert_eq!(line.paste, format!("CONFIG_NET_SEND_BUFSIZE={needed}"));
    assert_eq!(line.host, "device");
}

#[test]
fn netburners_counts_are_raised_together_and_in_buffers() {
    let file = FILE.replace(
        "preset = \"nuttx\", set.tcp.send_buffer = \"16K\"",
        "preset = \"netburner\"",
    );
    let setup = Experiment::parse("t", "t.toml", &file)
        .unwrap()
        .rows
        .remove(0)
        .setup;
    let verdict = decided(
        &setup,
        &measured(),
        &limits(Limit::SendBuffer, ReceiveLimit::None),
    );
    let told: Vec<_> = verdict
        .changes
        .iter()
        .map(|change| (change.set.as_str(), change.from.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("device.SetSocketTxBuffers", "5"),
            ("device.SetSocketUnackBuffers", "5")
        ]
    );
    // 96.4 Mbit/s for 20 ms are 241,083 bytes; with two segments 244,736, rounded up.
    assert_eq!(verdict.needed.as_deref(), Some("164"));
}

#[test]
fn a_value_is_never_lowered() {
    // 16 KiB on 1 Mbit/s and 20 ms: the path needs little more than two segments.
    let setup = setup(&[("wire.rate", "1mbit")]);
    let verdict = decided(
        &setup,
        &measured(),
        &limits(Limit::SendBuffer, ReceiveLimit::None),
    );
    assert!(verdict.changes.is_empty(), "{verdict:?}");
    assert_eq!(verdict.limit, Cause::Path);
    let said = verdict.parts.line();
    assert!(
        said.contains("because the link could not send faster."),
        "{said}"
    );
}

#[test]
fn without_window_scaling_64_kib_are_the_most_and_then_it_is_the_knob() {
    let receive = limits(Limit::ReceiveWindow, ReceiveLimit::Buffer);
    let small = [
        ("peer.tcp.window_scaling", "false"),
        ("peer.tcp.receive_buffer", "8K"),
    ];
    let verdict = decided(&setup(&small), &measured(), &receive);
    assert_eq!(verdict.needed.as_deref(), Some("65535"));
    let large = [
        ("peer.tcp.window_scaling", "false"),
        ("peer.tcp.receive_buffer", "64K"),
    ];
    let verdict = decided(&setup(&large), &measured(), &receive);
    assert_eq!(
        verdict.knob.as_deref(),
        Some("tcp.window_scaling"),
        "{verdict:?}"
    );
    let set: Vec<_> = verdict
        .changes
        .iter()
        .map(|change| change.set.as_str())
        .collect();
    // The device's memory allows as little as a window of 64 KiB.
    let alike = [
        "peer.tcp.window_scaling",
        "peer.tcp.receive_buffer",
        "device.CONFIG_IOB_NBUFFERS",
    ];
    assert_eq!(set, alike);
}

#[test]
fn a_buffer_of_less_than_two_segments_is_paced_by_the_peers_timer() {
    let small = [
        ("tcp.send_buffer", "1024"),
        ("tcp.fit_segments", "0"),
        ("peer.tcp.delayed_ack", "200ms"),
    ];
    let paced = Measured {
        goodput_mbps: 0.041,
        ..measured()
    };
    let verdict = decided(
        &setup(&small),
        &paced,
        &limits(Limit::SendBuffer, ReceiveLimit::None),
    );
    assert_eq!(verdict.limit, Cause::DelayedAck);
    assert!(
        verdict.parts.limited_by.contains("`peer` waits 200 ms"),
        "{}",
        verdict.parts.line()
    );
    assert_eq!(verdict.knob.as_deref(), Some("CONFIG_NET_SEND_BUFSIZE"));
}

#[test]
fn a_slow_reader_is_given_no_advice_about_buffers() {
    let said = verdict(
        &setup(&[]),
        &measured(),
        &limits(Limit::ZeroWindow, ReceiveLimit::Reader),
    );
    assert!(
        said.contains("did not read what had arrived 90 %") && !said.contains("Change"),
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
    assert!(said.starts_with("Limited by link `wire`"), "{said}");
    assert!(
        said.contains("99 %") && said.contains("packet memory 90 %"),
        "{said}"
    );
}

#[test]
fn a_transfer_that_did_not_end_says_how_far_it_came() {
    for (outcome, word) in [
        (Outcome::Stalled, "transfer stalled"),
        (Outcome::Dropped, "connection was dropped"),
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
            said.contains(&format!("The {word} after 1,000 bytes")),
            "{said}"
        );
    }
}

#[test]
fn opening_and_closing_bind_only_when_nothing_else_held() {
    let times = [
        (Limit::Handshake, 9),
        (Limit::Closing, 9),
        (Limit::Nagle, 1),
    ];
    let sender = Shares::of(times.map(|(limit, s)| (limit, Duration::from_secs(s))));
    let limits = Limits {
        sender,
        receiver: Shares::default(),
    };
    let (setup, measured) = (setup(&[]), measured());
    let held = |limits: &Limits| binding::of(&evidence(&setup, &measured, limits));
    assert_eq!(held(&limits).map(|held| held.cause), Some(Cause::Nagle));
    assert_eq!(held(&Limits::default()), None);
}

#[test]
fn pacing_belongs_to_the_window_that_was_used_up_too() {
    let (setup, measured) = (setup(&[]), measured());
    for (window, expected) in [(3, Cause::Loss), (0, Cause::Pacing)] {
        let times = [(Limit::Pacing, 7), (Limit::CwndAfterLoss, window)];
        let limits = Limits {
            sender: Shares::of(times.map(|(limit, s)| (limit, Duration::from_secs(s)))),
            receiver: Shares::default(),
        };
        let verdict = decided(&setup, &measured, &limits);
        assert_eq!(verdict.limit, expected);
    }
}

#[test]
fn pacing_of_bbr_is_not_slow_start() {
    let times = [(Limit::Pacing, 7), (Limit::CwndSlowStart, 2)];
    let limits = Limits {
        sender: Shares::of(times.map(|(limit, s)| (limit, Duration::from_secs(s)))),
        receiver: Shares::default(),
    };
    let measured = measured();
    for (congestion, expected) in [("cubic", Cause::SlowStart), ("bbr", Cause::Pacing)] {
        let setup = setup(&[("device.tcp.congestion", congestion)]);
        let held = binding::of(&evidence(&setup, &measured, &limits));
        assert_eq!(held.map(|held| held.cause), Some(expected), "{congestion}");
    }
}

#[test]
fn a_transfer_is_predicted_in_rounds() {
    let setup = setup(&[("workload.bytes", "1000000")]);
    let (measured, limits) = (measured(), Limits::default());
    let scale = evidence(&setup, &measured, &limits).scale();
    let bound = Bound {
        cause: Cause::Path,
        bps: 100e6,
    };
    // Two round trips to open; 14,600, 29,200, 58,400, 116,800 and 233,600 bytes in a
    // round trip each; the other 547,400 at 12.5 MB/s; half a round trip for the last
    // byte.
    let predicted = predict::under(&setup, &scale, bound);
    assert!(
        (predicted.elapsed_s - (7.5 * 0.02 + 0.0438)).abs() < 0.001,
        "{predicted:?}"
    );
}

#[test]
fn a_server_that_thinks_is_given_its_time() {
    let asked = setup(&[
        ("workload.bytes", "1000000"),
        ("workload.ask", "300"),
        ("workload.think", "12s"),
    ]);
    let (measured, limits) = (measured(), limits(Limit::SendBuffer, ReceiveLimit::None));
    let asked = evidence(&asked, &measured, &limits);
    let told = setup(&[("workload.bytes", "1000000")]);
    let told = evidence(&told, &measured, &limits);
    let bound = Bound {
        cause: Cause::Path,
        bps: 100e6,
    };
    let predicted = |of: &Evidence<'_>| predict::under(of.setup, &of.scale(), bound).elapsed_s;
    // The request takes half a round trip after the handshake.
    let more = predicted(&asked) - predicted(&told);
    assert!((more - 12.01).abs() < 1e-9, "{more}");
    // The think time is charged neither to the application nor to the link.
    assert!((binding::thinking(&asked) - 0.4).abs() < 1e-9);
    let verdict = decided(asked.setup, &measured, &limits);
    assert!(
        verdict
            .parts
            .line()
            .contains("exclude the 12 s before the first byte was written."),
        "{}",
        verdict.parts.line()
    );
    // Of 30 seconds: a tenth for opening, and 12 seconds for the server.
    assert!((binding::underway(&told) - 0.9).abs() < 1e-9);
    assert!((binding::underway(&asked) - 0.5).abs() < 1e-9);
}
