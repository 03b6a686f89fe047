//! What a right file means. Wrong ones are in `tests/mistakes`.

use fullpipe_pool::Duration;
use fullpipe_sim::link::{Queue, Radio};

use super::*;

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
published = { goodput_mbps = 5, outcome = "works" }

[[rows]]
label = "changed"
set.pool.blocks = 0x40
set.client.pool.blocks = 12
set.wire.radio = { access = "300us", backoff = "1ms" }
set.link.loss = 0
set.workload.duration = "5s"
baseline = true
fitted = ["wire.rate"]
note = "why"
"#;

fn experiment() -> Experiment {
    Experiment::parse("transfer", "f.toml", FILE).unwrap()
}

#[test]
fn a_file_says_hosts_links_transfer_and_rows() {
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
        workload,
        subject,
    } = &rows[0].setup;
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
    let link = links[0].link();
    assert_eq!(
        (link.rate_bps, link.delay_us, link.loss),
        (10_000_000, 5_000, 0.01)
    );
    assert_eq!(link.queue, Queue::Packets(32));
    assert_eq!((workload.from, workload.to, workload.write), (0, 1, 1_024));
    assert_eq!(workload.stop, Stop::Bytes(2_000_000));
    assert_eq!(rows[0].published.figure("goodput_mbps"), Some(5.0));
    assert_eq!(rows[0].published.outcome.as_deref(), Some("works"));
}

#[test]
fn a_row_changes_a_copy_of_the_experiment() {
    let rows = experiment().rows;
    let Setup {
        hosts,
        links,
        workload,
        ..
    } = &rows[1].setup;
    assert_eq!(hosts[0].config.pool.blocks, 12, "named by its host");
    assert_eq!(hosts[1].config.pool.blocks, 64, "of the host under study");
    let link = links[0].link();
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
    assert_eq!(rows[1].fitted, ["wire.rate"]);
    assert_eq!(rows[1].note.as_deref(), Some("why"));
    assert_eq!(
        rows[0].setup.hosts[0].config.pool.blocks, 36,
        "the other row is as it was"
    );
}

#[test]
fn a_setting_reaches_every_row_and_is_refused_like_the_files() {
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
        assert_eq!(row.setup.links[0].link().delay_us, 1_000, "{}", row.label);
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
            "unknown workload field `workload.byte`; did you mean `bytes`?",
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
fn settings_that_contradict_each_other_are_found_once_all_are_made() {
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
            _ => "1400",
        };
        let mut plan = LinkPlan::new("wire", [0, 1]);
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
