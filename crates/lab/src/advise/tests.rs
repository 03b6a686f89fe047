//! Advice is followed step by step, until it ends.

use std::path::Path;

use super::*;
use crate::{catalogue, layout::Layout};

const FILE: &str = r#"
title = "t"
hosts.near = { set.tcp.send_buffer = "16K" }
hosts.far = { set.tcp.receive_buffer = "48K" }
links.path = { between = ["near", "far"], rate = "50mbit", delay = "10ms" }
workload = { from = "near", to = "far", bytes = 4000000, write = 16384 }
rows = [{ label = "row" }]
"#;

fn advised(changes: &[(&str, &str)], memory: Option<u64>) -> Advice {
    let mut experiment = Experiment::parse("t", "t.toml", FILE).unwrap();
    for (path, value) in changes {
        experiment.set(path, value).unwrap();
    }
    let options = RunOptions::plain(1);
    advise(
        &experiment,
        &experiment.rows[0],
        memory,
        MOST_STEPS,
        &options,
    )
    .unwrap()
}

#[test]
fn each_step_turns_what_bound_until_the_path_does() {
    let advice = advised(&[], None);
    let limits: Vec<_> = advice.steps.iter().map(|step| step.verdict.limit).collect();
    assert_eq!(
        limits,
        [Cause::SendBuffer, Cause::ReceiveWindow, Cause::Path]
    );
    assert_eq!(
        (advice.end, advice.narrowest),
        (AdviceEnd::Path, Some(Bottleneck::Link))
    );
    assert_eq!(advice.steps[1].changes[0].set, "near.tcp.send_buffer");
    assert_eq!(advice.steps[2].changes[0].set, "far.tcp.receive_buffer");
    for step in &advice.steps[1..] {
        let predicted = step.predicted.unwrap();
        let off = predicted.elapsed_s / step.elapsed_s - 1.0;
        assert!(
            off.abs() < 0.15,
            "{predicted:?}, measured {}",
            step.elapsed_s
        );
    }
}

/// The window of a receiver that has received nothing has ten segments.
#[test]
fn a_window_that_holds_the_transfer_is_not_named_but_the_first_one_is() {
    let opening = |bytes, initial_window| {
        let ample = [
            ("near.tcp.send_buffer", "1M"),
            ("far.tcp.receive_buffer", "1M"),
            ("near.tcp.initial_window", initial_window),
            ("workload.bytes", bytes),
        ];
        advised(&ample, None)
    };
    let advice = opening("40000", "40");
    let [first, raised, ..] = &advice.steps[..] else {
        panic!("{}", advice.steps[0].verdict.parts.line());
    };
    assert_eq!(first.verdict.limit, Cause::InitialReceiveWindow);
    let change = &raised.changes[0];
    assert_eq!(
        (&*change.set, &*change.to),
        ("far.tcp.initial_receive_window", "28")
    );
    assert!(raised.elapsed_s < first.elapsed_s * 0.8, "{raised:?}");
    // A SYN's window cannot hold more than 65,535 bytes, so nothing is advised.
    let advice = opening("300000", "250");
    let last = advice.steps.last().unwrap();
    assert_eq!(last.verdict.limit, Cause::InitialReceiveWindow);
    assert_eq!(advice.narrowest, Some(Bottleneck::RoundTrip));
}

/// A queue of 1,000 packets overflows at the end of slow start and drops every second
/// segment of 2 MB in flight.
const OVERFLOW: &[(&str, &str)] = &[
    ("near.pool.blocks", "8192"),
    ("far.pool.blocks", "8192"),
    ("near.tcp.send_buffer", "8M"),
    ("far.tcp.receive_buffer", "8M"),
    ("path.rate", "100mbit"),
    ("path.delay", "50ms"),
    ("path.queue", "1000 packets"),
    ("workload.bytes", "40000000"),
];

#[test]
fn a_table_of_ranges_that_is_too_small_is_named_and_its_default_is_enough() {
    for (table, size) in [
        ("near.stack.sent_ranges", "32"),
        ("near.stack.sent_ranges_each", "32"),
        ("far.tcp.holes", "32"),
        ("far.pool.ranges", "32"),
    ] {
        let advice = advised(&[OVERFLOW, &[(table, size)]].concat(), None);
        let [small, default, ..] = &advice.steps[..] else {
            panic!("{table}: {}", advice.steps[0].verdict.parts.line());
        };
        assert_eq!(small.verdict.limit, Cause::RangeTable, "{table}");
        let change = &default.changes[0];
        assert_eq!((&*change.set, &*change.to), (table, "0"));
        let predicted = default.predicted.unwrap();
        let off = predicted.elapsed_s / default.elapsed_s - 1.0;
        assert!(off.abs() < 0.1, "{table}: {predicted:?}");
        assert!(default.elapsed_s < small.elapsed_s * 0.9, "{table}");
    }
}

#[test]
fn tables_of_ranges_at_their_defaults_are_never_named() {
    for loss in ["0", "0.01%", "1%"] {
        let advice = advised(&[OVERFLOW, &[("path.loss", loss)]].concat(), None);
        for step in &advice.steps {
            assert_ne!(step.verdict.limit, Cause::RangeTable, "{loss}");
        }
    }
}

#[test]
fn memory_that_is_spent_ends_it() {
    let small = [("pool.blocks", "24"), ("tcp.send_buffer", "1M")];
    let advice = advised(&small, Some(48 << 10));
    assert_eq!(
        advice.end,
        AdviceEnd::MemorySpent,
        "{}",
        advice.steps[0].verdict.parts.line()
    );
    assert_eq!(advice.steps[0].verdict.limit, Cause::Memory);
}

#[test]
fn where_no_knob_helps_nothing_is_turned() {
    let slow = [
        ("workload.read.bytes", "4K"),
        ("workload.read.every", "20ms"),
    ];
    let advice = advised(&slow, None);
    assert_eq!(
        (advice.end, advice.narrowest),
        (AdviceEnd::Application, None)
    );
    assert!(
        advice
            .ends_with
            .starts_with("Limited by the receiving application: `far` did not read"),
        "{}",
        advice.ends_with
    );
    assert_eq!(advice.steps.len(), 1);
    assert_eq!(advice.steps[0].verdict.limit, Cause::SlowReader);
}

#[test]
fn the_account_adds_up_to_the_time_and_the_bytes() {
    let advice = advised(&[], None);
    for step in &advice.steps {
        let sent: u64 = step.account.sender.parts().map(|(.., bytes)| bytes).sum();
        let received: u64 = step.account.receiver.parts().map(|(.., bytes)| bytes).sum();
        assert_eq!((sent, received), (4_000_000, 4_000_000));
    }
}

fn known(experiment: &str) -> Experiment {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    catalogue::find(experiment, here).unwrap().parse().unwrap()
}

fn row<'a>(experiment: &'a Experiment, label: &str) -> &'a Row {
    let row = experiment.rows.iter().find(|row| row.label == label);
    row.unwrap_or_else(|| panic!("{label} is no row"))
}

/// Goodput of a row as given, in Mbit/s.
fn as_given(experiment: &Experiment, label: &str) -> f64 {
    let alone = Experiment {
        rows: vec![row(experiment, label).clone()],
        ..experiment.clone()
    };
    let report = run(&alone, &RunOptions::plain(1)).unwrap();
    report.rows[0].measured.goodput_mbps
}

/// Goodput of a row as given, and at the end of its advice, in Mbit/s.
fn at_the_end(experiment: &Experiment, label: &str) -> (f64, f64) {
    let row = row(experiment, label);
    let advice = advise(experiment, row, None, MOST_STEPS, &RunOptions::plain(1)).unwrap();
    let [first, .., last] = &advice.steps[..] else {
        let only = advice.steps[0].goodput_mbps;
        return (only, only);
    };
    (first.goodput_mbps, last.goodput_mbps)
}

/// Following the advice step by step gives the goodput of the tuned rows in the
/// documents.
#[test]
fn advice_for_what_is_delivered_ends_as_well_as_what_was_tuned() {
    let mut unet3 = known("unet3");
    unet3.set("workload.duration", "500ms").unwrap();
    for use_of in ["TCP send", "TCP receive", "UDP send", "UDP receive"] {
        let (delivered, advised) = at_the_end(&unet3, &format!("{use_of}, default"));
        let tuned = as_given(&unet3, &format!("{use_of}, tuned"));
        assert!(
            advised >= 0.95 * tuned,
            "{use_of}: {delivered} to {advised}, tuned {tuned}"
        );
    }
    let netburner = known("netburner");
    for path in ["LAN", "Internet"] {
        let (delivered, advised) = at_the_end(&netburner, &format!("{path}, 5 buffers"));
        let tuned = as_given(&netburner, &format!("{path}, 40 buffers"));
        assert!(
            advised >= 0.95 * tuned,
            "{path}: {delivered} to {advised}, tuned {tuned}"
        );
    }
}

/// The wait for a processor is known only after it is measured: if a call costs as much
/// as two frames, a second step is needed.
#[test]
fn a_window_that_should_do_and_does_not_is_widened_by_what_it_took() {
    let mut unet3 = known("unet3");
    unet3.set("device.cpu.call", "20us").unwrap();
    let row = &unet3.rows[2];
    let advice = advise(&unet3, row, None, MOST_STEPS, &RunOptions::plain(1)).unwrap();
    let limits: Vec<_> = advice.steps.iter().map(|step| step.verdict.limit).collect();
    assert_eq!(
        limits,
        [Cause::ReceiveWindow, Cause::ReceiveWindow, Cause::Path]
    );
    let formula = advice.steps[1].verdict.formula.as_deref().unwrap();
    assert!(formula.contains("bytes with the hosts' work"), "{formula}");
}

/// The device waits for the processor, and the processor sometimes for room in the
/// buffer.
#[test]
fn a_device_that_waits_for_a_processor_which_is_not_always_at_work_is_not_the_limit() {
    let mut netburner = known("netburner");
    for knob in ["SetSocketTxBuffers", "SetSocketUnackBuffers"] {
        netburner.set(knob, "8").unwrap();
    }
    netburner.set("workload.low_water", "6000").unwrap();
    let row = &netburner.rows[0];
    let advice = advise(&netburner, row, None, MOST_STEPS, &RunOptions::plain(1)).unwrap();
    let limits: Vec<_> = advice.steps.iter().map(|step| step.verdict.limit).collect();
    assert_eq!(limits, [Cause::SendBuffer, Cause::Cpu]);
}

/// End of the advice for a row.
fn end_of(experiment: &str, label: &str) -> (AdviceEnd, Option<Bottleneck>, String) {
    let experiment = known(experiment);
    let row = row(&experiment, label);
    let advice = advise(&experiment, row, None, MOST_STEPS, &RunOptions::plain(1)).unwrap();
    (advice.end, advice.narrowest, advice.ends_with)
}

#[test]
fn the_path_is_everything_between_the_applications_that_no_knob_moves() {
    let ends = [
        (
            "nuttx",
            "36 x 196, whole writes",
            Bottleneck::Link,
            "link `wifi`",
        ),
        (
            "netburner",
            "LAN, 5 buffers",
            Bottleneck::HostCpu,
            "the processor of `device`",
        ),
        (
            "netburner",
            "1 % lost, 19 out of order",
            Bottleneck::Loss,
            "the path loses 1 % of the frames",
        ),
        (
            "linux-buffers-b",
            "RTT 40 ms",
            Bottleneck::RoundTrip,
            "round trips of",
        ),
        (
            "linux-buffers-e",
            "RTT 5 ms",
            Bottleneck::RoundTrip,
            "round trips of",
        ),
    ];
    for (experiment, label, narrowest, what) in ends {
        let end = end_of(experiment, label);
        assert_eq!(
            (end.0, end.1),
            (AdviceEnd::Path, Some(narrowest)),
            "{label}: {}",
            end.2
        );
        assert!(end.2.contains(what), "{}", end.2);
    }
}

/// Small writes are first limited by their application, and then by Nagle's algorithm.
#[test]
fn another_knob_of_the_same_limit_is_turned_too() {
    let (end, _, words) = end_of("netburner-push", "SO_NOPUSH: full segments only");
    assert_eq!(end, AdviceEnd::Application, "{words}");
}

#[test]
fn several_connections_are_not_told_what_one_would_gain() {
    let advice = advised(&[("workload.count", "2")], None);
    let end = (advice.end, advice.narrowest);
    assert_eq!(end, (AdviceEnd::NoKnob, None), "{}", advice.ends_with);
    assert!(
        advice
            .ends_with
            .starts_with("Limited by the send buffer: with several connections"),
        "{}",
        advice.ends_with
    );
}

/// A writer is woken for a third of the buffer, so a larger buffer costs fewer calls.
/// This holds for a processor without idle time and for one that sometimes waits for the
/// buffer.
#[test]
fn a_processor_that_calls_its_writer_too_often_is_given_a_larger_buffer() {
    let mut unet3 = known("unet3");
    unet3.set("device.cpu.call", "20us").unwrap();
    for (size, limit) in [("9216", Cause::SendBuffer), ("16384", Cause::Cpu)] {
        unet3.set("CFG_TCP_SND_WND", size).unwrap();
        let row = unet3.rows.iter().find(|row| row.label == "TCP send, tuned");
        let options = RunOptions::plain(1);
        let advice = advise(&unet3, row.unwrap(), None, MOST_STEPS, &options).unwrap();
        let [before, after] = &advice.steps[..] else {
            panic!("{} steps: {}", advice.steps.len(), advice.ends_with)
        };
        assert_eq!(before.verdict.limit, limit);
        assert_eq!(after.changes[0].set, "device.CFG_TCP_SND_WND");
        assert!(after.goodput_mbps > 1.1 * before.goodput_mbps);
        let off = after.predicted.unwrap().goodput_mbps / after.goodput_mbps - 1.0;
        assert!(off.abs() < 0.05, "{off}");
        assert_eq!(advice.narrowest, Some(Bottleneck::HostCpu));
    }
}

#[test]
fn people_read_one_line_a_step_within_the_width() {
    let linux = known("linux-buffers-b");
    let row = &linux.rows[0];
    let advice = [advise(&linux, row, None, MOST_STEPS, &RunOptions::plain(1)).unwrap()];
    for width in [60, 80, 120] {
        let text = advice_text(&advice, Layout::plain(width), false);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    let text = advice_text(&advice, Layout::plain(80), false);
    let steps = text
        .lines()
        .filter(|line| line.contains("%") || line.contains(" s "));
    assert!(steps.count() >= advice[0].steps.len(), "{text}");
    for part in [
        "measured    predicted  limited by",
        "server.SO_RCVBUF=212992",
        "Nothing left to tune: the transfer takes 2.94 round trips of 40 ms",
        "client: ip route change $(ip route show default) initcwnd 266",
        "Step 4 is risky: RFC 6928 recommends 10 segments",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Because"), "{text}");
    let verbose = advice_text(&advice, Layout::plain(80), true);
    assert!(verbose.contains("Because") && verbose.contains("Receiver"));
}
