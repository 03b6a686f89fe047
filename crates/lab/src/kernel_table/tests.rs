//! Tests that tables, lines and columns show the result on kernel hosts beside the result of
//! fullpipe's stack.

use fullpipe_diagnose::observe::SeenLimit;
use fullpipe_pool::Duration;
use fullpipe_scenario::{Experiment, Times};
use fullpipe_tcp::Limit;

use super::kernel_text;
use crate::{
    KernelAccount, KernelMeasured, KernelRow, Records, Report, RunOptions, layout::Layout, run,
};

const TEXT: &str = r#"
title = "t"
hosts.a = {}
hosts.b = {}
links.wire = { between = ["a", "b"], rate = "100mbit", delay = "1ms" }
workload = { from = "a", to = "b", bytes = "100K" }
rows = [{ label = "ran" }, { label = "not on a kernel" }]
"#;

fn report() -> Report {
    let experiment = Experiment::parse("t", "t.toml", TEXT).unwrap();
    run(&experiment, &RunOptions::quick(1)).unwrap()
}

fn on_kernels() -> Report {
    let mut report = report();
    let mut limits = Times::default();
    let of = |limit: Limit, ms| (SeenLimit::Known(limit), Duration::from_millis(ms), 0);
    limits.add([of(Limit::Closing, 90), of(Limit::SendBuffer, 10)]);
    report.rows[0].kernel = Some(KernelRow::Ran(Box::new(KernelMeasured {
        kernel: "6.18".to_string(),
        goodput_mbps: 12.5,
        elapsed_s: 0.064,
        by_socket: KernelAccount::of(limits),
        not_applied: vec!["a.pool.blocks = 7".to_string()],
        ..KernelMeasured::default()
    })));
    report.rows[1].kernel = Some(KernelRow::Skipped {
        skipped: "it has a switch".to_string(),
    });
    report
}

#[test]
fn a_report_without_kernel_hosts_has_no_such_table() {
    assert_eq!(kernel_text(&report(), Layout::plain(200)), "");
    let names = Records::of(&report());
    assert!(!names.csv().contains("kernel_"));
}

#[test]
fn both_stacks_stand_in_one_line_and_what_is_not_applied_below() {
    let text = kernel_text(&on_kernels(), Layout::plain(200));
    let line = text.lines().find(|line| line.starts_with("ran")).unwrap();
    // The line names the send buffer, because closing is a main limit only if no other limit has
    // time.
    assert!(
        line.contains("12.5") && line.contains("send buffer 10 %"),
        "{line}"
    );
    assert!(text.contains("not applied a.pool.blocks = 7"), "{text}");
    assert!(text.contains("skipped     it has a switch"), "{text}");
}

#[test]
fn a_narrow_terminal_gets_lines() {
    let text = kernel_text(&on_kernels(), Layout::plain(80));
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(
        text.contains("Linux       12.5 Mbit/s in 0.064 s"),
        "{text}"
    );
}

#[test]
fn columns_have_the_kernels_values_and_the_reason_of_a_skipped_row() {
    let csv = Records::of(&on_kernels()).csv();
    // Split lines from the end, because the verdict before these columns contains a comma.
    let lines: Vec<Vec<_>> = csv.lines().map(|line| line.rsplit(',').collect()).collect();
    let [names, ran, skipped] = &lines[..] else {
        panic!("a line of names and two records");
    };
    let cell = |record: &[&str], name: &str| {
        let place = names.iter().position(|known| *known == name);
        record[place.expect("there is such a column")].to_string()
    };
    assert_eq!(cell(ran, "kernel_outcome"), "complete");
    assert_eq!(cell(ran, "kernel_goodput_mbps"), "12.5");
    assert_eq!(cell(ran, "kernel_limit_by_socket"), "send_buffer");
    assert_eq!(cell(skipped, "kernel_outcome"), "skipped");
    assert_eq!(cell(skipped, "kernel_goodput_mbps"), "");
    assert_eq!(cell(skipped, "kernel_not_applied"), "it has a switch");
}

#[test]
fn accounts_agree_if_a_main_limit_of_one_is_nearly_that_of_the_other() {
    let account = |parts: [(Limit, u64); 2]| {
        let mut limits = Times::default();
        let times =
            parts.map(|(limit, ms)| (SeenLimit::Known(limit), Duration::from_millis(ms), 0));
        limits.add(times);
        KernelAccount::of(limits)
    };
    let socket = account([(Limit::SendBuffer, 52), (Limit::Application, 48)]);
    let near = account([(Limit::SendBuffer, 10), (Limit::Application, 90)]);
    let other = account([(Limit::SendBuffer, 10), (Limit::Nagle, 90)]);
    assert!(socket.agrees(&socket) && socket.agrees(&near) && near.agrees(&socket));
    assert!(!socket.agrees(&other));
    assert!(!socket.agrees(&KernelAccount::default()));
}
