//! Tests of the parsing of lists and ranges, and of the rows (scenarios) after a sweep.

use fullpipe_scenario::experiment::Experiment;

use super::{Axis, SweepError, sweep};

const TEXT: &str = r#"
title = "t"
hosts.a = {}
hosts.b = {}
links.wire = { between = ["a", "b"], delay = "1ms" }
workload = { from = "a", to = "b", bytes = "1M" }
[[rows]]
label = "one"
published.elapsed_s = 2
[[rows]]
label = "two"
baseline = true
"#;

fn values(text: &str) -> Vec<String> {
    Axis::parse("x", text).unwrap().values
}

fn refusal(text: &str) -> String {
    Axis::parse("x", text).unwrap_err().to_string()
}

#[test]
fn lists_and_ranges_give_values_as_a_person_types_them() {
    for (text, expected) in [
        ("1ms,10ms, 100ms", "1ms 10ms 100ms"),
        ("cubic,bbr", "cubic bbr"),
        ("4K..32K*2", "4K 8K 16K 32K"),
        ("4K..20K*2", "4K 8K 16K"),
        ("1..1000*10", "1 10 100 1000"),
        ("1460..4380+1460", "1460 2920 4380"),
        ("512..2K*2", "512 1K 2K"),
        ("1ms..2ms+500us", "1ms 1500us 2ms"),
        ("100us..10s*100", "100us 10ms 1s"),
        ("1mbit..1gbit*10", "1mbit 10mbit 100mbit 1gbit"),
        ("0%..0.3%+0.1%", "0% 0.1% 0.2% 0.3%"),
        ("0.01..0.04*2", "0.01 0.02 0.04"),
        ("0,4K..16K*2,1M", "0 4K 8K 16K 1M"),
        ("10..15*1.5", "10 15"),
    ] {
        assert_eq!(values(text).join(" "), expected, "{text}");
    }
}

#[test]
fn the_error_of_a_wrong_range_describes_a_correct_one() {
    for (text, expected) in [
        ("", "a value is missing: write values such as 1,2,4"),
        ("1,,2", "a value is missing: write values such as 1,2,4"),
        ("1..4", "the step of the range is missing"),
        ("1..cubic*2", "`cubic` cannot be an end of a range"),
        ("1ms..4K*2", "the same unit"),
        ("8..4*2", "a range must go up"),
        ("1..8*1", "a factor must be above 1"),
        ("0..8*2", "a factor must be above 1"),
        ("1..8*x", "after `*` a factor"),
        ("1..8+0", "a step above 0"),
        ("1ms..8ms+1", "a step above 0 in the unit of the ends"),
        ("1..100*1.1", "rounding makes two values equal"),
        ("1..100000000+1", "more than 10000 values"),
        ("1m..8m*2", "`1m` may mean minutes or 2^20"),
    ] {
        let line = refusal(text);
        assert!(line.contains(expected), "{text}: {line}");
    }
}

fn swept(axes: &[(&str, &str)]) -> Result<Experiment, SweepError> {
    let mut experiment = Experiment::parse("t", "t.toml", TEXT).unwrap();
    let axes: Result<Vec<_>, _> = axes
        .iter()
        .map(|(path, values)| Axis::parse(path, values))
        .collect();
    sweep(&mut experiment, &axes?)?;
    Ok(experiment)
}

#[test]
fn each_row_gets_every_combination_and_the_first_axis_changes_slowest() {
    let experiment = swept(&[("tcp.send_buffer", "4K,8K"), ("link.rtt", "1ms,10ms")]).unwrap();
    let titles: Vec<_> = experiment.rows.iter().map(|row| row.title()).collect();
    assert_eq!(titles.len(), 8);
    assert_eq!(titles[0], "one, tcp.send_buffer=4K, link.rtt=1ms");
    assert_eq!(titles[1], "one, tcp.send_buffer=4K, link.rtt=10ms");
    assert_eq!(titles[7], "two, tcp.send_buffer=8K, link.rtt=10ms");
    assert_eq!(
        experiment.rows[7].setup.hosts[0].config.tcp.send_buffer,
        8 << 10
    );
    assert_eq!(experiment.rows[7].setup.bare_path().1, 0.01);
}

#[test]
fn a_swept_row_has_no_published_figures_but_the_same_columns() {
    let experiment = swept(&[("link.rtt", "1ms,10ms")]).unwrap();
    assert_eq!(experiment.columns, ["elapsed_s"]);
    for row in &experiment.rows {
        assert!(row.published.figures.is_empty() && !row.baseline);
    }
}

#[test]
fn a_value_that_set_refuses_is_refused_in_a_sweep() {
    for (axes, expected) in [
        (
            vec![("tcp.sendbuffer", "4K")],
            "did you mean `tcp.send_buffer`?",
        ),
        (
            vec![("link.rtt", "1ms,x")],
            "link.rtt=x: wire.rtt = x: expected a round-trip time",
        ),
        (
            vec![("link.rtt", "1ms"), ("link.rtt", "2ms")],
            "swept twice",
        ),
        (
            vec![
                ("pool.blocks", "1..10000+1"),
                ("pool.block_size", "64..6400+64"),
            ],
            "too many",
        ),
    ] {
        let line = swept(&axes).unwrap_err().to_string();
        assert!(line.contains(expected), "{axes:?}: {line}");
    }
}
