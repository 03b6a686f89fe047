//! Tests that each column has one type, and that every format has the same columns.

use fullpipe_scenario::Experiment;

use super::{Records, Values};

use crate::{Axis, RunOptions, run, sweep};

const TEXT: &str = r#"
title = "t"
hosts.a = {}
hosts.b = {}
links.wire = { between = ["a", "b"], rate = "100mbit", delay = "1ms" }
workload = { from = "a", to = "b", bytes = "100K" }
[[rows]]
label = "one, \"two\""
"#;

fn swept(axes: &[(&str, &str)]) -> Records {
    let mut experiment = Experiment::parse("t", "t.toml", TEXT).unwrap();
    let axes: Vec<_> = axes
        .iter()
        .map(|(path, values)| Axis::parse(path, values).unwrap())
        .collect();
    sweep(&mut experiment, &axes).unwrap();
    let options = RunOptions::quick(1);
    Records::of(&run(&experiment, &options).unwrap())
}

fn column<'a>(records: &'a Records, name: &str) -> &'a Values {
    let mut columns = records.columns.iter();
    let found = columns.find(|column| column.name == name);
    &found.unwrap_or_else(|| panic!("no column {name}")).values
}

#[test]
fn a_swept_setting_is_a_number_in_its_unit_where_it_is_one() {
    let records = swept(&[
        ("tcp.send_buffer", "4K,8K"),
        ("link.rtt", "1ms,2500us"),
        ("link.loss", "0%,0.5%"),
        ("tcp.congestion", "cubic,bbr"),
    ]);
    assert_eq!(records.count, 16);
    let Values::Whole(buffers) = column(&records, "tcp.send_buffer") else {
        panic!("a count is whole");
    };
    assert_eq!((buffers[0], buffers[15]), (Some(4096), Some(8192)));
    let Values::Decimal(rtts) = column(&records, "link.rtt_us") else {
        panic!("a time is a number");
    };
    assert_eq!((rtts[0], rtts[15]), (Some(1_000.0), Some(2_500.0)));
    let Values::Decimal(losses) = column(&records, "link.loss") else {
        panic!("a share is a number");
    };
    assert_eq!((losses[0], losses[15]), (Some(0.0), Some(0.005)));
    let Values::Text(names) = column(&records, "tcp.congestion") else {
        panic!("a name is text");
    };
    assert_eq!((names[0].as_str(), names[15].as_str()), ("cubic", "bbr"));
}

#[test]
fn csv_and_json_say_the_same() {
    let records = swept(&[("tcp.send_buffer", "4K,8K")]);
    let csv = records.csv();
    let mut lines = csv.lines();
    let names = lines.next().unwrap();
    assert!(names.starts_with("experiment,row,tcp.send_buffer,seed,seeds,outcome,goodput_mbps,"));
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("t,\"one, \"\"two\"\"\",4096,1,1,complete,"),
        "{first}"
    );
    assert_eq!(lines.count(), 1);
    let json: serde_json::Value = serde_json::from_str(&records.json()).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert_eq!(json[0]["row"], "one, \"two\"");
    assert_eq!(json[1]["tcp.send_buffer"], 8192);
    let goodput = json[0]["goodput_mbps"].as_f64().unwrap();
    assert!(
        goodput > 0.0 && first.contains(&format!(",{goodput},")),
        "{first}"
    );
}

#[test]
fn the_same_sweep_gives_the_same_bytes_each_time() {
    let axes = [("tcp.send_buffer", "4K..32K*2"), ("link.loss", "0%,3%")];
    assert_eq!(swept(&axes).csv(), swept(&axes).csv());
}

#[test]
fn the_shares_of_each_end_add_up() {
    let records = swept(&[("tcp.send_buffer", "4K,8K")]);
    for end in ["sender_", "receiver_"] {
        let sum: f64 = records
            .columns
            .iter()
            .filter(|column| column.name.starts_with(end) && column.name.ends_with("_share"))
            .map(|column| match &column.values {
                Values::Decimal(values) => values[1].unwrap(),
                Values::Text(_) | Values::Whole(_) => 0.0,
            })
            .sum();
        assert!((sum - 1.0).abs() < 1e-6, "{end} {sum}");
    }
}
