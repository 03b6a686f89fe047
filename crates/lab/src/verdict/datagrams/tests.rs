//! Verdicts on datagrams, and the results of their advice.

use fullpipe_scenario::experiment::Experiment;

use crate::{
    advise::{Advice, advise},
    run::RunOptions,
    verdict::Cause,
};

/// Thirty datagrams at once; the receiver takes 250 µs for each.
const FILE: &str = r#"
title = "t"
[hosts.a]
acquainted = true
[hosts.b]
cpu = { call = "200us", receive_packet = "50us" }
[links.wire]
between = ["a", "b"]
rate = "100mbit"
delay = "1ms"
[workload]
from = "a"
to = "b"
protocol = "udp"
write = 1000
rate = "24mbit"
tick = "10ms"
duration = "1s"
[[rows]]
label = "row"
"#;

/// The advice on this world with `settings`, followed for at most two steps.
fn advised(settings: &[(&str, &str)]) -> Advice {
    let mut experiment = Experiment::parse("t", "t.toml", FILE).unwrap();
    for (path, value) in settings {
        experiment.set(path, value).unwrap();
    }
    let row = experiment.rows[0].clone();
    advise(&experiment, &row, None, 2, &RunOptions::plain(1)).unwrap()
}

#[test]
fn room_for_what_waits_is_found_in_one_step_and_what_it_gives_is_predicted() {
    for (settings, cause, knob) in [
        (
            &[("b.udp.receive_queue", "4")][..],
            Cause::ReceiveQueue,
            "udp.receive_queue",
        ),
        (
            &[("b.udp.receive_buffer", "4000")],
            Cause::ReceiveQueue,
            "udp.receive_buffer",
        ),
        (
            &[("b.device.rx_descriptors", "1")],
            Cause::Descriptors,
            "device.rx_descriptors",
        ),
        (
            &[("b.pool.blocks", "24"), ("b.pool.block_size", "512")],
            Cause::PeerMemory,
            "pool.blocks",
        ),
        (
            &[("b.udp.receive_queue", "4"), ("workload.bytes", "2000000")],
            Cause::ReceiveQueue,
            "udp.receive_queue",
        ),
    ] {
        let steps = advised(settings).steps;
        let [before, after] = &steps[..] else {
            panic!("{knob}: {} steps", steps.len());
        };
        assert_eq!(
            before.verdict.limit,
            cause,
            "{}",
            before.verdict.parts.line()
        );
        assert_eq!(before.verdict.knob.as_deref(), Some(knob));
        assert!(after.goodput_mbps > before.goodput_mbps * 1.2, "{knob}");
        let predicted = after.predicted.unwrap().goodput_mbps;
        assert!(
            (predicted / after.goodput_mbps - 1.0).abs() < 0.01,
            "{knob}"
        );
        assert_eq!(before.verdict.next.unwrap().limit, Cause::Application);
        assert_eq!(after.verdict.limit, Cause::Application);
    }
}

#[test]
fn blocks_are_for_what_waits_and_not_for_the_longest_queue() {
    let short = [("b.pool.blocks", "24"), ("b.pool.block_size", "512")];
    let steps = advised(&short).steps;
    let needed: u64 = steps[0].verdict.needed.as_ref().unwrap().parse().unwrap();
    // At most thirty datagrams, of two blocks each.
    assert!((40..=24 + 60).contains(&needed), "{needed}");
}

#[test]
fn what_no_queue_helps_against_has_no_advice() {
    for (settings, cause) in [
        (&[("workload.rate", "60mbit")][..], Cause::Cpu),
        (&[("a.cpu.send_packet", "1ms")], Cause::Cpu),
        (&[("wire.forward.loss", "2%")], Cause::Loss),
        (
            &[
                ("workload.rate", "110mbit"),
                ("b.cpu.call", "0s"),
                ("b.cpu.receive_packet", "0s"),
            ],
            Cause::Path,
        ),
        (&[("workload.rate", "1mbit")], Cause::Application),
    ] {
        let Advice { steps, .. } = advised(settings);
        assert_eq!(steps.len(), 1);
        let verdict = &steps[0].verdict;
        assert_eq!(verdict.limit, cause, "{}", verdict.parts.line());
        assert!(verdict.knob.is_none() && verdict.changes.is_empty());
    }
}

#[test]
fn the_account_of_datagrams_adds_up_to_the_time_and_the_bytes() {
    for settings in [
        &[("b.udp.receive_queue", "4")][..],
        &[("b.udp.receive_queue", "4"), ("workload.bytes", "2000000")],
    ] {
        let step = &advised(settings).steps[0];
        let (sender, receiver) = (step.account.sender.times(), step.account.receiver.times());
        let sender: f64 = sender.map(|(_, time)| time.as_secs_f64()).sum();
        let receiver: f64 = receiver.map(|(_, time)| time.as_secs_f64()).sum();
        for seconds in [sender, receiver] {
            assert!((seconds - step.elapsed_s).abs() < 1e-6, "{seconds}");
        }
        let read: u64 = step.account.receiver.parts().map(|(.., bytes)| bytes).sum();
        let goodput = read as f64 * 8.0 / 1e6 / step.elapsed_s;
        assert!(
            (goodput / step.goodput_mbps - 1.0).abs() < 1e-9,
            "{goodput}"
        );
    }
}

#[test]
fn what_the_path_loses_is_the_bound_where_a_queue_lost_less() {
    for (loss, cause) in [("10%", Cause::Loss), ("0.01%", Cause::ReceiveQueue)] {
        let settings = [
            ("wire.forward.loss", loss),
            ("b.udp.receive_queue", "22"),
            ("workload.duration", "2s"),
        ];
        let verdict = &advised(&settings).steps[0].verdict;
        assert_eq!(verdict.limit, cause, "{}", verdict.parts.line());
        let beside = verdict.parts.line().contains("The receiver had no room");
        assert_eq!(beside, cause == Cause::Loss, "{}", verdict.parts.line());
    }
}

#[test]
fn fragments_that_were_lost_before_the_address_was_known_hide_no_losses() {
    for (loss, cause) in [("0%", Cause::Application), ("0.5%", Cause::Loss)] {
        let settings = [
            ("a.acquainted", "false"),
            ("workload.write", "20000"),
            ("b.cpu.receive_packet", "5us"),
            ("wire.delay", "20ms"),
            ("wire.forward.loss", loss),
        ];
        let verdict = &advised(&settings).steps[0].verdict;
        assert_eq!(verdict.limit, cause, "{}", verdict.parts.line());
        let told = verdict.parts.line().contains("the neighbour's address");
        assert_eq!(
            told,
            cause == Cause::Application,
            "{}",
            verdict.parts.line()
        );
    }
}

#[test]
fn more_than_come_at_once_are_not_said_to_be_some_of_them() {
    for (count, rate, at_once) in [("1", "24mbit", true), ("2", "12mbit", false)] {
        let settings = [
            ("b.udp.receive_queue", "256"),
            ("b.device.rx_descriptors", "1"),
            ("workload.rate", rate),
            ("workload.count", count),
        ];
        let verdict = &advised(&settings).steps[0].verdict;
        assert_eq!(
            verdict.limit,
            Cause::Descriptors,
            "{}",
            verdict.parts.line()
        );
        let is_said = verdict.parts.change[0].notes[0].contains("arrive back to back every");
        assert_eq!(is_said, at_once, "{}", verdict.parts.line());
        let other = verdict.parts.change[0].notes[0].contains("would wait for the driver at once");
        assert_eq!(other, !at_once, "{}", verdict.parts.line());
    }
}
