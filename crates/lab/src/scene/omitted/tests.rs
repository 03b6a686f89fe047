//! What is left out changes nothing but what is measured.

use crate::{Experiment, Report, RunOptions, run};

fn report(omit: &str, flows: &str) -> Report {
    let text = format!(
        r#"
title = "t"
hosts.near = {{ cpu.send_packet = "20us" }}
hosts.far = {{}}
links.path = {{ between = ["near", "far"], rate = "10mbit", delay = "50ms" }}
workload = {{ from = "near", to = "far", duration = "4s"{omit}{flows} }}
rows = [{{ label = "row", set.near.tcp.send_buffer = "1M", set.far.tcp.receive_buffer = "1M" }}]
"#
    );
    let experiment = Experiment::parse("t", "t.toml", &text).unwrap();
    run(&experiment, &RunOptions::plain(1)).unwrap()
}

#[test]
fn without_slow_start_a_path_is_full_and_every_account_is_of_the_rest() {
    let whole = &report("", "").rows[0];
    let rest = &report(r#", omit = "2s""#, "").rows[0];
    let (all, later) = (&whole.measured, &rest.measured);
    assert!(all.goodput_mbps < 9.2, "{}", all.goodput_mbps);
    assert!(
        (9.54..9.57).contains(&later.goodput_mbps),
        "{}",
        later.goodput_mbps
    );
    assert!((all.elapsed_s - later.elapsed_s - 2.0).abs() < 1e-9);
    assert!(later.delivered_bytes < all.delivered_bytes);
    assert_eq!(
        later.data_segments, all.data_segments,
        "counted from the start"
    );
    // The last frame is on its way for 50 ms.
    let idle = |row: &crate::Measured| (1.0 - row.link_busy_share) * row.elapsed_s;
    assert!(
        idle(all) > 0.2 && (0.049..0.052).contains(&idle(later)),
        "{} {}",
        idle(all),
        idle(later)
    );
    let worked_s = |row: &crate::Measured| row.cpu_busy_share.unwrap() * row.elapsed_s;
    let less = worked_s(later) / worked_s(all);
    assert!((0.3..0.6).contains(&less), "{less}");
    let seconds = |row: &crate::RowReport| -> f64 {
        let times = row.account.sender.times();
        times.map(|(_, time)| time.as_secs_f64()).sum()
    };
    assert!((seconds(whole) - seconds(rest) - 2.0).abs() < 1e-9);
    assert!(rest.limits.sender.share("handshake") == 0.0);
}

#[test]
fn each_of_several_connections_is_measured_over_the_rest() {
    let rest = &report(r#", omit = "2s""#, ", count = 2").rows[0].measured;
    let sum: f64 = rest.flows[0].connections_mbps.iter().sum();
    assert!((9.4..9.6).contains(&rest.goodput_mbps), "{rest:?}");
    assert!((sum - rest.goodput_mbps).abs() < 0.5, "{rest:?}");
}
