//! Advice is taken step by step, until it ends.

use super::*;

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
    assert_eq!(advice.end, End::Path);
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

#[test]
fn memory_that_is_spent_ends_it() {
    let small = [("pool.blocks", "24"), ("tcp.send_buffer", "1M")];
    let advice = advised(&small, Some(48 << 10));
    assert_eq!(
        advice.end,
        End::MemorySpent,
        "{}",
        advice.steps[0].verdict.sentence
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
    assert_eq!(advice.end, End::NoKnob);
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
