//! Tests of causes that are named although a setting of a host helps a little, or in place of it.
//!
//! Rule: each network has one cause that clearly costs most.

use fullpipe_scenario::experiment::{Experiment, Setup};

use super::explained;
use crate::{cause::Cause, explain, explanation::Explanation, lever::changed};

const AMPLE: &str = "near.tcp.send_buffer = 1M\nfar.tcp.receive_buffer = 1M\nnear.pool.blocks = 4096\nfar.pool.blocks = 4096\n";

fn of(settings: &str) -> Explanation {
    explained(&format!("{AMPLE}{settings}"))
}

fn of_file(text: &str) -> (Setup, Explanation) {
    let experiment = Experiment::parse("t", "t.toml", text).expect("no mistake");
    let setup = experiment.rows[0].setup.clone();
    let found = explain(&setup, 1).expect("the stack is right");
    (setup, found)
}

#[test]
fn an_application_that_pauses_is_named_before_the_algorithm_that_delays_its_writes() {
    let found = of("workload.write = 2000\nworkload.pause = 2ms\npath.rate = 100mbit");
    let said = found.parts.line();
    assert_eq!(found.limit, Cause::APPLICATION, "{said}");
    assert!(said.contains("workload.pause"), "{said}");
}

#[test]
fn a_server_with_think_time_is_named_before_the_window_that_saves_a_round_trip() {
    let found = of(
        "workload.ask = 100\nworkload.think = 300ms\nworkload.bytes = 60000\npath.rate = 100mbit",
    );
    let said = found.parts.line();
    assert_eq!(found.limit, Cause::APPLICATION, "{said}");
    assert!(said.contains("workload.think"), "{said}");
}

#[test]
fn a_segment_that_fits_is_tried_on_a_path_that_silently_drops_large_packets() {
    let found = of(
        "path.forward.hop.mtu = 600\npath.forward.hop.silent = true\nnear.tcp.mtu_probing = off\nworkload.give_up = 60s",
    );
    let said = found.parts.line();
    assert_eq!(found.limit, Cause::SEGMENT_SIZE, "{said}");
    let tried: Vec<_> = found.tried.iter().map(|tried| &tried.lever).collect();
    let is_tried = |name: &str| tried.iter().any(|lever| *lever == name);
    assert!(is_tried("near.tcp.mss_max=560"), "{tried:?}");
    assert!(is_tried("near.tcp.base_mss"), "{tried:?}");
}

#[test]
fn a_link_that_jitter_leaves_nearly_full_is_named_by_its_rate() {
    for queue in ["40 packets", "unlimited"] {
        let found = of(&format!(
            "workload.bytes = 8M\npath.forward.jitter = 2ms\npath.forward.queue = {queue}"
        ));
        let said = found.parts.line();
        assert_eq!(found.limit.name, "rate", "{queue}: {said}");
        assert!(found.advice.is_empty(), "{queue}: {said}");
    }
}

#[test]
fn an_advised_buffer_fits_the_packet_memory_of_its_host() {
    let text = r#"
title = "t"
hosts.near = { set.tcp.send_buffer = "8K", set.pool = { blocks = 128, block_size = 1024 } }
hosts.far = { set.tcp.receive_buffer = "8K", set.pool = { blocks = 128, block_size = 1024 } }
links.path = { between = ["near", "far"], rate = "100mbit", delay = "20ms" }
workload = { from = "near", to = "far", bytes = 2000000 }
rows = [{ label = "row" }]
"#;
    let (setup, found) = of_file(text);
    assert!(!found.advice.is_empty(), "{}", found.parts.line());
    let after = changed(&setup, &found.advice).expect("an advice can be set");
    for host in &after.hosts {
        let tcp = &host.config.tcp;
        for size in [tcp.send_buffer, tcp.receive_buffer] {
            let is_advised = found.advice.iter().any(|at| at.to == size.to_string());
            assert!(
                !is_advised || u64::from(size) <= host.pool_bytes(),
                "{size} of {}",
                host.pool_bytes()
            );
        }
    }
}

#[test]
fn the_other_flows_on_a_full_link_are_a_cause() {
    let text = r#"
title = "t"
switches = ["near", "far"]
hosts.one = { set.tcp.send_buffer = "256K" }
hosts.two = { set.tcp.send_buffer = "256K" }
hosts.sink = { set.tcp.receive_buffer = "256K" }
links.one-near = { between = ["one", "near"] }
links.two-near = { between = ["two", "near"] }
links.trunk = { between = ["near", "far"], rate = "20mbit", delay = "20ms", queue = "100K bytes" }
links.far-sink = { between = ["far", "sink"] }
workload = { to = "sink", duration = "5s" }
flows.first = { from = "one" }
flows.second = { from = "two" }
rows = [{ label = "row" }]
"#;
    let (_, found) = of_file(text);
    let said = found.parts.line();
    assert_eq!(found.limit, Cause::SHARED_LINK, "{said}");
    assert!(
        said.contains("the other flows on link `trunk` from `near` to `far`: they carry"),
        "{said}"
    );
    assert_eq!(found.runs, 1, "a run without the other flow");
    assert!(said.contains("Without flow `second`"), "{said}");
}

/// A path whose queue is far smaller than its bandwidth-delay product of 250 KB.
fn shallow(congestion: &str, buffer: u32, seconds: u32) -> Explanation {
    let text = format!(
        r#"
title = "t"
hosts.near = {{ set.tcp.congestion = "{congestion}", set.tcp.send_buffer = {buffer}, set.pool.blocks = 4096 }}
hosts.far = {{ set.tcp.receive_buffer = {buffer}, set.pool.blocks = 4096 }}
links.path = {{ between = ["near", "far"], rate = "20mbit", delay = "50ms", queue = "12K bytes" }}
workload = {{ from = "near", to = "far", write = 16384, duration = "{seconds}s" }}
rows = [{{ label = "row" }}]
"#
    );
    of_file(&text).1
}

#[test]
fn a_smaller_buffer_that_overflows_a_short_queue_less_often_is_said_to_do_so() {
    let found = shallow("cubic", 1 << 20, 40);
    let said = found.parts.line();
    let names_size = said.contains("a send buffer that is too large")
        || said.contains("a receive buffer that is too large");
    assert!(names_size, "{said}");
    assert!(
        said.contains("With a smaller buffer, the sender overflows"),
        "{said}"
    );
    assert!(!found.advice.is_empty(), "{said}");
}

#[test]
fn a_gain_that_depends_on_the_seed_is_predicted_as_a_range() {
    let found = shallow("bbr", 16_384, 40);
    let said = found.parts.line();
    let predicted = found.predicted.expect("larger buffers help");
    assert!(predicted.low_mbps <= predicted.goodput_mbps, "{said}");
    assert!(predicted.high_mbps >= predicted.goodput_mbps, "{said}");
    let is_range = predicted.low_mbps < predicted.high_mbps;
    assert!(is_range, "{said}");
    assert!(said.contains("with different seeds"), "{said}");
}
