//! Tests that advice is followed step by step until it ends.

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
fn windows_that_help_only_together_are_one_step_and_then_the_path_is_the_limit() {
    let advice = advised(&[], None);
    let [first, together, ..] = &advice.steps[..] else {
        panic!("one step is too few: {}", advice.ends_with);
    };
    assert_eq!(first.verdict.limit, Cause::SEND_BUFFER);
    let names: Vec<_> = together.changes.iter().map(|change| &*change.set).collect();
    assert_eq!(names, ["near.tcp.send_buffer", "far.tcp.receive_buffer"]);
    assert_eq!(advice.end, AdviceEnd::Path, "{}", advice.ends_with);
    assert_foretold(&advice, 0.02);
}

/// Checks that each step's duration differs from the predicted duration by less than the share
/// `most`.
fn assert_foretold(advice: &Advice, most: f64) {
    for step in &advice.steps[1..] {
        let predicted = step.predicted.unwrap();
        let off = predicted.elapsed_s / step.elapsed_s - 1.0;
        assert!(off.abs() < most, "{predicted:?}, {}", step.elapsed_s);
    }
}

/// The verdict names the initial window of the receiver (ten segments by default) as the limit,
/// although the full window is larger than the transfer.
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
    assert_eq!(first.verdict.limit, Cause::INITIAL_RECEIVE_WINDOW);
    let change = &raised.changes[0];
    assert_eq!(change.set, "far.tcp.initial_receive_window");
    // 28 segments carry the 40,000 bytes of the transfer. The value that the search finds may be 5
    // % larger.
    assert!(["28", "29"].contains(&&*change.to), "{change:?}");
    assert!(raised.elapsed_s < first.elapsed_s * 0.8, "{raised:?}");
    // The window in a SYN is at most 65,535 bytes: 45 segments.
    let advice = opening("300000", "250");
    let change = &advice.steps[1].changes[0];
    assert_eq!(
        (&*change.set, &*change.to),
        ("far.tcp.initial_receive_window", "45")
    );
    assert_eq!(advice.end, AdviceEnd::Path, "{}", advice.ends_with);
}

/// Settings with a queue of 1,000 packets. The queue overflows at the end of slow start, and drops
/// every second segment of the 2 MB in flight.
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

/// Returns the explanation of the row (scenario) without following its advice.
fn explained(changes: &[(&str, &str)]) -> Explanation {
    let mut experiment = Experiment::parse("t", "t.toml", FILE).unwrap();
    for (path, value) in changes {
        experiment.set(path, value).unwrap();
    }
    let mut report = run(&experiment, &RunOptions::plain(1)).unwrap();
    report.rows.remove(0).verdict.unwrap()
}

#[test]
fn a_table_of_ranges_that_is_too_small_is_named_with_the_size_that_it_needs() {
    for table in ["near.stack.sent_ranges_each", "far.tcp.holes"] {
        let verdict = explained(&[OVERFLOW, &[(table, "32")]].concat());
        assert_eq!(verdict.limit, Cause::RANGE_TABLE, "{table}");
        let [change, ..] = &verdict.advice[..] else {
            panic!("{table}: {:?}", verdict.advice);
        };
        assert_eq!(change.set, table);
        assert!(change.to.parse::<u64>().unwrap() > 200, "{change:?}");
    }
}

#[test]
fn tables_of_ranges_at_their_defaults_are_not_named() {
    let verdict = explained(OVERFLOW);
    assert_ne!(verdict.limit, Cause::RANGE_TABLE, "{verdict:?}");
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
}

#[test]
fn where_no_knob_helps_nothing_is_turned() {
    let slow = [
        ("workload.read.bytes", "4K"),
        ("workload.read.every", "20ms"),
    ];
    let advice = advised(&slow, None);
    assert_eq!(advice.end, AdviceEnd::Application, "{}", advice.ends_with);
    assert_eq!(advice.steps.len(), 1);
    assert_eq!(advice.steps[0].verdict.limit, Cause::SLOW_READER);
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

/// Returns the goodput of a row as given, in Mbit/s.
fn as_given(experiment: &Experiment, label: &str) -> f64 {
    let alone = Experiment {
        rows: vec![row(experiment, label).clone()],
        ..experiment.clone()
    };
    let report = run(&alone, &RunOptions::plain(1)).unwrap();
    report.rows[0].measured.goodput_mbps
}

/// Returns two goodputs of a row in Mbit/s: as given, and after all advised changes.
fn at_the_end(experiment: &Experiment, label: &str) -> (f64, f64) {
    let row = row(experiment, label);
    let advice = advise(experiment, row, None, MOST_STEPS, &RunOptions::plain(1)).unwrap();
    let [first, .., last] = &advice.steps[..] else {
        let only = advice.steps[0].goodput_mbps;
        return (only, only);
    };
    (first.goodput_mbps, last.goodput_mbps)
}

/// A row with a system's default settings, after all advised changes, has at least 95 % of the
/// goodput of the row with the published tuned settings.
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

/// Returns the reason for the end of the advice for a row, and the remaining limit.
fn end_of(experiment: &str, label: &str) -> (AdviceEnd, &'static str) {
    let experiment = known(experiment);
    let row = row(&experiment, label);
    let advice = advise(&experiment, row, None, MOST_STEPS, &RunOptions::plain(1)).unwrap();
    let last = advice.steps.last().unwrap();
    (advice.end, last.verdict.limit.name)
}

#[test]
fn the_advice_ends_at_what_no_setting_of_a_host_moves() {
    for (experiment, label, end, limit) in [
        ("nuttx", "36 x 196, whole writes", AdviceEnd::Path, "radio"),
        ("netburner", "LAN, 5 buffers", AdviceEnd::Path, "host_cpu"),
        (
            "netburner-push",
            "SO_NOPUSH: full segments only",
            AdviceEnd::Application,
            "write_size",
        ),
        (
            "linux-buffers-e",
            "RTT 5 ms",
            AdviceEnd::Application,
            "application",
        ),
    ] {
        assert_eq!(end_of(experiment, label), (end, limit), "{label}");
    }
}

#[test]
fn several_connections_gain_what_the_advice_says() {
    let advice = advised(&[("workload.count", "2")], None);
    assert_eq!(advice.steps[0].verdict.limit, Cause::SEND_BUFFER);
    assert_eq!(advice.end, AdviceEnd::Path, "{}", advice.ends_with);
    assert_foretold(&advice, 0.02);
}

#[test]
fn people_read_one_line_a_step_within_the_width() {
    let linux = known("linux-buffers-b");
    let row = &linux.rows[0];
    let advice = [advise(&linux, row, None, MOST_STEPS, &RunOptions::plain(1)).unwrap()];
    for width in [60, 80, 100, 140, 200] {
        let text = advice_text(&advice, Layout::plain(width), false);
        let mut words = Vec::new();
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
            // A setting has a line of its own.
            let is_setting = line.contains('=');
            words.push(line.split_whitespace().count() + usize::from(is_setting));
        }
        let is_stacked = words.windows(2).any(|lines| lines == [1, 1]);
        assert!(!is_stacked, "{width}: a word a line in {text}");
    }
    let text = advice_text(&advice, Layout::plain(80), false);
    let steps = text
        .lines()
        .filter(|line| line.contains("%") || line.contains(" s "));
    assert!(steps.count() >= advice[0].steps.len(), "{text}");
    for part in [
        "measured    predicted  limited by",
        "server.SO_RCVBUF=",
        "Nothing left to tune: limited by the delay of link",
        "server: setsockopt(fd, SOL_SOCKET, SO_RCVBUF, ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Because"), "{text}");
    // The final list contains each setting once, with one value.
    let last = text.split("Settings:").nth(1).unwrap();
    let mut named: Vec<_> = ["SO_RCVBUF", "SO_SNDBUF", "initcwnd", "initrwnd", "rmem_max"]
        .iter()
        .map(|name| last.matches(name).count())
        .collect();
    named.retain(|count| *count > 1);
    assert!(named.is_empty(), "{text}");
    let verbose = advice_text(&advice, Layout::plain(80), true);
    assert!(verbose.contains("Because") && verbose.contains("Receiver"));
}
