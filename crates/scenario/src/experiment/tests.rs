//! Tests of correct files. Incorrect files are in `tests/mistakes`.

use fullpipe_pool::Duration;
use fullpipe_sim::link::{Direction, Queue, Radio};

use super::*;
use crate::measured::Outcome;

const FILE: &str = r#"
title = "A transfer"
subject = "server"

[hosts.client]
preset = "nuttx"
set.tcp.send_buffer = "64K"
set."tcp.nagle" = false

[hosts.server]

[links.wire]
between = ["client", "server"]
rate = "10mbit"
delay = "5ms"
queue = "32 packets"
loss = "1%"

[workload]
from = "client"
to = "server"
write = "1K"
bytes = 2_000_000

[[rows]]
label = "as it is"
published = { goodput_mbps = 5, outcome = "complete" }

[[rows]]
label = "changed"
set.pool.blocks = 0x40
set.client.pool.blocks = 12
set.wire.radio = { access = "300us", backoff = "1ms" }
set.link.loss = 0
set.workload.duration = "5s"
baseline = true
note = "why"
"#;

fn experiment() -> Experiment {
    Experiment::parse("transfer", "f.toml", FILE).unwrap()
}

#[test]
fn a_file_has_hosts_links_a_transfer_and_rows() {
    let Experiment {
        name, title, rows, ..
    } = experiment();
    assert_eq!(
        (name.as_str(), title.as_str(), rows.len()),
        ("transfer", "A transfer", 2)
    );
    let Setup {
        hosts,
        links,
        flows,
        subject,
        ..
    } = &rows[0].setup;
    let workload = &flows[0];
    let client = &hosts[0];
    assert_eq!(
        (client.name.as_str(), client.preset.name),
        ("client", "nuttx")
    );
    assert_eq!(client.config.tcp.send_buffer, 64 << 10);
    assert!(!client.config.tcp.nagle);
    assert_eq!(client.config.pool.blocks, 36);
    assert_eq!(
        (hosts[1].name.as_str(), hosts[1].preset.name),
        ("server", "default")
    );
    assert_eq!(*subject, 1);
    let link = links[0].link(Direction::Forward);
    assert_eq!(
        (link.rate_bps, link.delay_us, link.loss),
        (10_000_000, 5_000, 0.01)
    );
    assert_eq!(link.queue, Queue::Packets(32));
    assert_eq!((workload.from, workload.to, workload.write), (0, 1, 1_024));
    assert_eq!(workload.stop, Stop::Bytes(2_000_000));
    assert_eq!(rows[0].published.figure("goodput_mbps"), Some(5.0));
    assert_eq!(rows[0].published.outcome, Some(Outcome::Complete));
}

#[test]
fn a_row_changes_a_copy_of_the_experiment() {
    let rows = experiment().rows;
    let Setup {
        hosts,
        links,
        flows,
        ..
    } = &rows[1].setup;
    let workload = &flows[0];
    assert_eq!(hosts[0].config.pool.blocks, 12, "named by its host");
    assert_eq!(hosts[1].config.pool.blocks, 64, "of the host under study");
    let link = links[0].link(Direction::Forward);
    assert_eq!(
        link.radio,
        Some(Radio {
            access_us: 300,
            backoff_us: 1_000
        })
    );
    assert_eq!((link.loss, link.rate_bps), (0.0, 10_000_000));
    assert_eq!(workload.stop, Stop::After(Duration::from_secs(5)));
    assert!(rows[1].baseline && !rows[0].baseline);
    assert_eq!(rows[1].note.as_deref(), Some("why"));
    assert_eq!(
        rows[0].setup.hosts[0].config.pool.blocks, 36,
        "the other row is as it was"
    );
}

#[test]
fn a_setting_applies_to_every_row_and_mistakes_are_refused_as_in_files() {
    let mut experiment = experiment();
    experiment.set("client.tcp.send_buffer", "32K").unwrap();
    experiment.set("link.delay", "1ms").unwrap();
    for row in &experiment.rows {
        assert_eq!(
            row.setup.hosts[0].config.tcp.send_buffer,
            32 << 10,
            "{}",
            row.label
        );
        assert_eq!(
            row.setup.links[0].link(Direction::Forward).delay_us,
            1_000,
            "{}",
            row.label
        );
    }
    for (path, value, expected) in [
        (
            "tcp.send_bufer",
            "1K",
            "no knob is called `tcp.send_bufer`; did you mean `tcp.send_buffer`?",
        ),
        (
            "clint.pool.blocks",
            "1",
            "unknown setting `clint.pool.blocks`; did you mean `client.pool.blocks`?",
        ),
        (
            "wire.rate",
            "fast",
            "wire.rate = fast: expected a rate such as 12mbit, 500kbit or 1gbit",
        ),
        (
            "link.lss",
            "1%",
            "unknown link field `link.lss`; did you mean `loss`?",
        ),
        (
            "workload.byte",
            "1",
            "unknown flow field `workload.byte`; did you mean `bytes`?",
        ),
        (
            "workload.write",
            "0",
            "workload.write = 0: expected a number of bytes such as 16384 or 16K, at least 1",
        ),
        ("xyzzy", "1", "unknown setting `xyzzy`; known are"),
        ("", "1", "unknown setting ``; known are"),
    ] {
        let error = experiment.set(path, value).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{path}: {error}");
        assert!(!error.contains('\n'), "{path}");
    }
}

#[test]
fn contradictions_are_found_after_all_settings_are_made() {
    let mut experiment = experiment();
    experiment.set("pool.send_floor", "60").unwrap();
    experiment.set("pool.receive_floor", "60").unwrap();
    let error = experiment.validate().unwrap_err().to_string();
    assert!(error.starts_with("server: pool: "), "{error}");
}

#[test]
fn every_link_field_takes_a_value_of_the_kind_it_names() {
    for field in LINK_FIELDS {
        let value = match field.expected {
            expected if expected.contains("time") => "20ms",
            expected if expected.contains("rate") => "12mbit",
            expected if expected.contains("probability") => "1%",
            expected if expected.contains("packets") => "64K bytes",
            expected if expected.contains("true") => "true",
            _ => "1400",
        };
        let mut plan = LinkPlan::new("wire", [0, 1].map(Place::Host));
        let before = plan.clone();
        plan.set(field.name, value)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(plan, before, "{} = {value} changes nothing", field.name);
        let error = plan.set(field.name, "?").unwrap_err();
        assert!(
            error.to_string().contains(field.expected),
            "{}: {error}",
            field.name
        );
        assert!(!field.doc.is_empty());
    }
}

const DUMBBELL: &str = r#"
title = "Two senders, one queue"
seeds = 3
switches = ["left", "right"]
columns = ["goodput_mbps", "jain"]

[hosts.near]
[hosts.far]
[hosts.sink]

[links.near-left]
between = ["near", "left"]
[links.far-left]
between = ["left", "far"]
delay = "10ms"
[links.trunk]
between = ["left", "right"]
rate = "10mbit"
delay = "5ms"
forward.loss = "1%"
back.queue = "10 packets"
[links.right-sink]
between = ["right", "sink"]

[workload]
to = "sink"
duration = "5s"

[flows.one]
from = "near"
count = 2
[flows.two]
from = "far"
start = "1s"
bytes = "1M"

[matrix]
label = "{buffer} by {path}"
buffer = { set = ["near.tcp.send_buffer", "far.tcp.send_buffer"], values = ["4K", "8K"] }

[matrix.path]
clean = { seeds = 1, set.trunk.loss = 0 }
lossy = {}

[[rows]]
label = "beside"
set.two.write = 100
set.workload.pause = "1ms"

[peers.other.goodput_mbps]
"8K by lossy" = 4.5
"#;

#[test]
fn a_route_across_switches_has_the_direction_of_each_link() {
    let experiment = Experiment::parse("dumbbell", "f.toml", DUMBBELL).unwrap();
    let setup = &experiment.rows[2].setup;
    assert_eq!(
        setup.route(1, 2),
        [
            (1, Direction::Back),
            (2, Direction::Forward),
            (3, Direction::Forward)
        ]
    );
    assert_eq!(
        setup.route(1, 0),
        [(1, Direction::Back), (0, Direction::Back)]
    );
    let trunk = &setup.links[2];
    assert_eq!(trunk.link(Direction::Back).queue, Queue::Packets(10));
    assert_eq!(trunk.link(Direction::Forward).queue, Queue::Unlimited);
}

#[test]
fn flows_take_fields_of_the_workload_unless_they_set_them() {
    let rows = Experiment::parse("dumbbell", "f.toml", DUMBBELL)
        .unwrap()
        .rows;
    let [one, two] = rows[0].setup.flows.as_slice() else {
        panic!("two flows");
    };
    assert_eq!((one.from, one.to, one.count), (0, 2, 2));
    assert_eq!((two.from, two.to, two.count), (1, 2, 1));
    assert_eq!(one.stop, Stop::After(Duration::from_secs(5)));
    assert_eq!(two.stop, Stop::Bytes(1 << 20));
    assert_eq!(two.start, Duration::from_secs(1));
    let last = &rows[4].setup.flows;
    assert_eq!((last[0].write, last[1].write), (16 << 10, 100));
    assert_eq!(last[0].pause(), Duration::from_millis(1));
}

#[test]
fn a_matrix_gives_every_combination_and_written_rows_follow() {
    let rows = Experiment::parse("dumbbell", "f.toml", DUMBBELL)
        .unwrap()
        .rows;
    let labels: Vec<_> = rows
        .iter()
        .map(|row| (row.label.as_str(), row.seeds))
        .collect();
    assert_eq!(
        labels,
        [
            ("4K by clean", 1),
            ("4K by lossy", 3),
            ("8K by clean", 1),
            ("8K by lossy", 3),
            ("beside", 3)
        ]
    );
    for (row, buffer, loss) in [(0, 4 << 10, 0.0), (3, 8 << 10, 0.01)] {
        let Setup { hosts, links, .. } = &rows[row].setup;
        assert_eq!(hosts[0].config.tcp.send_buffer, buffer);
        assert_eq!(hosts[1].config.tcp.send_buffer, buffer);
        assert_eq!(links[2].link(Direction::Forward).loss, loss);
    }
    assert_eq!(rows[3].peers[0].figures.figure("goodput_mbps"), Some(4.5));
    assert!(rows[2].peers.is_empty());
}

#[test]
fn processor_ring_and_direction_are_set_like_other_fields() {
    let mut experiment = experiment();
    for (path, value) in [
        ("client.cpu.send_packet", "3us"),
        ("client.cpu.send_byte", "12.345ns"),
        ("cpu.call", "1us"),
        ("client.ETH1_RXDESC_CNT", "18"),
        ("ETH1_RXDESC_CNT", "4"),
        ("client.ETH1_TXDESC_CNT", "4"),
        ("workload.reverse", "true"),
        ("SO_NOPUSH", "false"),
        ("TCP_CORK", "0"),
        ("server.SO_NOPUSH", "true"),
        ("SO_SNDLOWAT", "4K"),
    ] {
        experiment.set(path, value).unwrap();
    }
    let setup = &experiment.rows[0].setup;
    let [client, server] = &setup.hosts[..] else {
        panic!("two hosts")
    };
    assert_eq!(client.cpu.send.packet, Duration::from_micros(3));
    assert_eq!(client.cpu.send.byte_ps, 12_345);
    assert_eq!(server.cpu.call, Duration::from_micros(1));
    assert_eq!(server.device.rx_descriptors, 4);
    assert_eq!((client.device.rx_descriptors, client.device_queue), (18, 4));
    assert_eq!((setup.flow().from, setup.flow().to), (1, 0));
    let written = setup.flow().write_plan(4_096);
    assert!(written.no_push);
    assert_eq!(setup.flow().low_water(), LowWater::Bytes(4_096));
    experiment.set("workload.reverse", "true").unwrap();
    assert_eq!(experiment.rows[0].setup.flow().to, 0, "set, not turned");
    for (path, value, says) in [
        ("client.cpu.sned_packet", "3us", "send_packet"),
        ("client.cpu.send_byte", "12", "4.5ns"),
        ("client.cpu.call", "3", "8us"),
    ] {
        let error = experiment.set(path, value).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn every_flow_field_takes_a_value_of_the_kind_it_names() {
    for field in FLOW_FIELDS {
        let value = match field.expected {
            "true or false" => "true",
            "tcp or udp" => "udp",
            "4 or 6" => "6",
            text if text.contains("rate") => "1mbit",
            text if text.contains("time") => "20ms",
            _ => "1400",
        };
        let mut plan = FlowPlan::new("bulk", 0, 1);
        let before = plan.clone();
        plan.set(field.name, value)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(plan, before, "{} = {value} changes nothing", field.name);
        let error = plan.set(field.name, "?").unwrap_err();
        assert!(error.to_string().contains(field.expected), "{error}");
        assert!(!field.doc.is_empty());
    }
}

#[test]
fn a_vendor_name_sets_the_host_under_study_even_if_a_host_is_called_device() {
    let file = r#"
title = "t"
subject = "device"
hosts.device = { preset = "unet3" }
hosts.peer = {}
links.wire = { between = ["device", "peer"], rate = "10mbit" }
workload = { from = "device", to = "peer", write = 1000, duration = "1s" }
rows = [{ label = "row", set.ETH1_RXDESC_CNT = 18 }]
"#;
    let mut experiment = Experiment::parse("t", "t.toml", file).unwrap();
    experiment.set("ETH1_TXDESC_CNT", "7").unwrap();
    let device = &experiment.rows[0].setup.hosts[0];
    assert_eq!((device.device.rx_descriptors, device.device_queue), (18, 7));
}

#[test]
fn a_vendor_name_after_a_host_sets_only_the_flows_that_the_host_sends() {
    let file = r#"
title = "t"
hosts.device = { preset = "netburner" }
hosts.peer = {}
links.wire = { between = ["device", "peer"], rate = "10mbit" }
flows.out = { from = "device", to = "peer", write = 100, duration = "1s" }
flows.back = { from = "peer", to = "device", write = 100, duration = "1s" }
rows = [{ label = "row" }]
"#;
    let mut experiment = Experiment::parse("t", "t.toml", file).unwrap();
    let before = experiment.rows[0].setup.flows[1].clone();
    experiment.set("device.TCP_CORK", "1").unwrap();
    experiment.set("device.SO_SNDLOWAT", "2K").unwrap();
    let flows = &experiment.rows[0].setup.flows;
    assert!(flows[0].is_no_push());
    assert_eq!(flows[0].low_water(), LowWater::Bytes(2_048));
    assert_eq!(flows[1], before);
}

/// The file of these tests, with origins of its values and a second row (scenario) with published
/// figures.
fn with_origins() -> Experiment {
    let origins = r#"
[[fitted]]
setting = "wire.radio"
tried = "steps of 100us"
rows = ["changed"]
quantities = ["elapsed_s"]

[[chosen]]
settings = ["client.tcp.send_buffer", "wire.queue"]
reason = "both are usual"

[[implied]]
rows = ["as it is"]
quantities = ["outcome"]
reason = "the connection is never dropped"
"#;
    let file = FILE.replace("baseline = true", "published.elapsed_s = 5");
    let file = file.replacen('\n', "\nstated = [\"workload\", \"pool.blocks\"]\n", 1);
    Experiment::parse("transfer", "f.toml", &(file + origins)).unwrap()
}

#[test]
fn a_fitted_parameter_names_the_figures_and_has_the_value_of_their_rows() {
    let Experiment { origins, rows, .. } = with_origins();
    let fitted = &origins.fitted[0];
    assert_eq!(fitted.parameter.value, "300us, 1ms");
    assert_eq!(rows[1].fitted, ["wire.radio (steps of 100us)"]);
    assert!(rows[0].fitted.is_empty());
    assert!(origins.is_fitted("changed", "elapsed_s"));
    assert!(!origins.is_fitted("as it is", "goodput_mbps"));
    assert!(origins.is_implied("as it is", "outcome"));
    assert_eq!(origins.chosen[0].settings[1].value, "32 packets");
}

#[test]
fn a_row_is_fitted_until_a_setting_changes_it() {
    let mut experiment = with_origins();
    experiment.set("link.delay", "7ms").unwrap();
    for row in &experiment.rows {
        assert!(row.changed_by_set && row.fitted.is_empty(), "{}", row.label);
    }
}

#[test]
fn settings_that_are_neither_stated_nor_fitted_nor_chosen_are_listed() {
    let Experiment { origins, .. } = with_origins();
    assert_eq!(
        origins.unexplained,
        [
            "client.tcp.nagle",
            "wire.rate",
            "wire.delay",
            "wire.loss",
            "client.pool.blocks",
            "link.loss"
        ]
    );
}
