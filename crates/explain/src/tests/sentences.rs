//! Tests of sentences in explanations: hosts, readers, losses, and settings to paste.
//!
//! Rule: each test guards against a mistake that a verdict once made.

use std::sync::Arc;

use fullpipe_scenario::experiment::{Experiment, Setup};

use super::explained;
use crate::{
    cause::Cause,
    explain,
    explanation::Explanation,
    lever::{LeverKind, changed},
    twin::Twin,
    work::Work,
};
use fullpipe_scenario::scene::Part;

fn of_file(text: &str) -> Setup {
    let experiment = Experiment::parse("t", "t.toml", text).expect("no mistake");
    experiment.rows[0].setup.clone()
}

fn explain_file(text: &str) -> Explanation {
    explain(&of_file(text), 1).expect("the stack is right")
}

/// A buffer as large as the transfer would hide the slow reader, but the verdict names the reader.
#[test]
fn a_reader_that_stopped_is_named_although_a_larger_buffer_takes_the_transfer() {
    let stops = "far.tcp.receive_buffer = 8K\nworkload.read.stall_after = 50ms\nworkload.read.stall_for = 5s";
    let found = explained(stops);
    assert_eq!(found.limit, Cause::SLOW_READER, "{}", found.parts.line());
    assert_eq!(found.kind, Some(LeverKind::Application));
    assert!(found.advice.is_empty());
    let said = found.parts.line();
    assert!(
        said.contains("`far` left received payload unread"),
        "{said}"
    );
}

/// If the unchanged transfer delivers nothing, every value that delivers one byte has an infinite
/// gain.
#[test]
fn the_memory_of_a_transfer_that_moved_nothing_keeps_the_speed_of_ample_memory() {
    let file = r#"
title = "t"
hosts.near = { preset = "nuttx", set.tcp.write_atomic = true }
hosts.far = { preset = "linux" }
links.path = { between = ["near", "far"], rate = "5mbit", delay = "2ms" }
workload = { from = "near", to = "far", write = 16384, duration = "2s" }
rows = [{ label = "row" }]
"#;
    let setup = of_file(file);
    let found = explain_file(file);
    assert_eq!(found.limit, Cause::MEMORY, "{}", found.parts.line());
    let mbps = |setup: &Setup| {
        let twin =
            Twin::of(setup, 1, Part::WHOLE, Arc::new(Work::any())).expect("the stack is right");
        twin.base().expect("the stack is right").mean_mbps()
    };
    let advised = changed(&setup, &found.advice).expect("it is legal");
    let mut ample = setup.clone();
    ample.set("near.pool.blocks", "20000").expect("it is legal");
    assert_eq!(mbps(&setup), 0.0);
    assert!(mbps(&advised) >= 0.97 * mbps(&ample), "{:?}", found.advice);
}

/// The sentence, the JSON and `--set` use one name and one value.
#[test]
fn a_buffer_to_be_left_unset_is_set_by_the_word_unset() {
    let file = r#"
title = "t"
hosts.near = { preset = "linux", set.SO_SNDBUF = "8K" }
hosts.far = { preset = "linux" }
links.path = { between = ["near", "far"], rate = "100mbit", delay = "10ms" }
workload = { from = "near", to = "far", bytes = 3000000 }
rows = [{ label = "row" }]
"#;
    let found = explain_file(file);
    let [change] = &found.advice[..] else {
        panic!("{:?}", found.advice);
    };
    assert_eq!((&*change.set, &*change.to), ("near.SO_SNDBUF", "unset"));
    assert_eq!(found.needed.as_deref(), Some("unset"));
    let after = changed(&of_file(file), &found.advice).expect("it can be pasted");
    let twin = Twin::of(&after, 1, Part::WHOLE, Arc::new(Work::any())).expect("the stack is right");
    let mbps = twin.base().expect("the stack is right").mean_mbps();
    let predicted = found.predicted.expect("an advice").goodput_mbps;
    assert!((predicted / mbps - 1.0).abs() < 1e-9, "{predicted} {mbps}");
}

/// A system with autotuned buffers also has a name for a fixed size: `SO_SNDBUF` in Linux.
#[test]
fn a_fixed_size_for_a_tuned_buffer_has_the_name_of_its_system() {
    let setup = of_file(
        r#"
title = "t"
hosts.near = { preset = "linux" }
hosts.far = { preset = "linux" }
links.path = { between = ["near", "far"], rate = "100mbit", delay = "10ms" }
workload = { from = "near", to = "far", bytes = 300000 }
rows = [{ label = "row" }]
"#,
    );
    let lever = crate::levers_of(&setup, crate::Ample::of(&setup, 1e8, 0.02));
    let fixed = lever
        .iter()
        .find(|lever| lever.name == "near.tcp.send_buffer");
    let fixed = fixed.expect("it is a lever");
    let settings = crate::advice::of_lever(&setup, fixed, &fixed.ample);
    let names: Vec<_> = settings.iter().map(|at| at.setting.name.as_str()).collect();
    assert_eq!(names, ["SO_SNDBUF"]);
    let noted = |name: &str| {
        let settings = crate::advice::noted(settings.clone(), &[name.to_string()]);
        let mut notes = settings.iter().flat_map(|at| &at.setting.cautions);
        notes.any(|note| note.starts_with("A smaller value may suffice"))
    };
    assert!(noted("near.tcp.send_buffer"));
    assert!(!noted("far.tcp.send_buffer"));
}

/// The ring is named, although it loses only 1.5 % of the datagrams and therefore no change can gain
/// 2 % of goodput.
#[test]
fn a_ring_that_loses_datagrams_is_named_and_not_the_sender() {
    let udp = "workload.protocol = udp\nworkload.write = 1000\nworkload.rate = 8mbit\nworkload.bytes = 400000\n";
    let found = explained(&format!(
        "{udp}path.rate = 1gbit\nworkload.tick = 1ms\nfar.cpu.receive_packet = 1us\nfar.device.rx_descriptors = 1\nfar.cpu.call = 200us"
    ));
    let said = found.parts.line();
    assert!(
        found.limit == Cause::DESCRIPTORS || found.limit == Cause::RECEIVE_QUEUE,
        "{said}"
    );
    assert!(said.contains("of the datagrams were lost. "), "{said}");
}

#[test]
fn datagrams_that_all_arrive_are_limited_by_their_sender() {
    let found = explained(
        "workload.protocol = udp\nworkload.write = 1000\nworkload.rate = 2mbit\nworkload.bytes = 400000",
    );
    assert_eq!(found.limit, Cause::APPLICATION, "{}", found.parts.line());
}

/// The receiver's processor is as slow as the link, so neither a faster processor nor a faster link
/// helps alone.
#[test]
fn a_full_link_is_named_where_nothing_helps_alone() {
    let full = "workload.bytes = 4M\nnear.tcp.send_buffer = 32K\nfar.tcp.receive_buffer = 32K\nfar.cpu.receive_packet = 1200us\npath.delay = 1ms";
    let found = explained(full);
    let said = found.parts.line();
    assert_eq!(found.limit.name, "rate", "{said}");
    assert!(found.levers.is_empty(), "{said}");
    assert!(
        said.contains("Link `path` from `near` to `far` was busy 9"),
        "{said}"
    );
}

#[test]
fn more_of_a_resource_is_said_with_the_name_of_its_host() {
    let found = explained(
        "workload.bytes = 2M\nnear.tcp.send_buffer = 256K\nfar.tcp.receive_buffer = 256K\nnear.cpu.send_packet = 1210us",
    );
    let said = found.parts.line();
    let useless = said.split("On `far`, raising only ").nth(1);
    assert!(
        useless.is_some_and(|rest| rest.contains(" gains nothing.")),
        "{said}"
    );
}

/// One lever sets window scaling at both hosts, because both must offer it. Only the receiver lacks
/// it here.
#[test]
fn an_option_that_one_host_lacks_is_advised_to_this_host_alone() {
    let found = explain_file(
        r#"
title = "t"
hosts.near = { preset = "linux" }
hosts.far = { preset = "linux", set.tcp_window_scaling = "0" }
links.path = { between = ["near", "far"], rate = "20mbit", delay = "20ms" }
workload = { from = "near", to = "far", bytes = 3000000 }
rows = [{ label = "row" }]
"#,
    );
    let said = found.parts.line();
    assert!(
        said.contains("missing window scaling: tcp_window_scaling = 0"),
        "{said}"
    );
    let is_new = |at: &crate::Advised| at.setting.present != at.setting.wanted;
    assert!(found.settings.iter().all(is_new), "{:?}", found.settings);
    let change = found.advice.first().map(|change| change.set.as_str());
    assert_eq!(change, Some("far.tcp_window_scaling"), "{said}");
}
