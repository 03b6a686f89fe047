//! Text, JSON and metrics about the flows of a forwarder.
//!
//! Rule: nothing is measured here; `fullpipe-netstack` has the accounts (bytes, and time by limit)
//! of the flows.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use fullpipe_lab::layout::Layout;
use fullpipe_netstack::forward::{DirectionReport, FlowReport, FlowTotals, Protocol, WaitSide};
use serde_json::{Value, json};

/// One report about all open flows. A line that is longer than the terminal is wide is wrapped.
pub fn limits(flows: &[FlowReport], totals: &FlowTotals, as_json: bool, layout: Layout) -> String {
    if as_json {
        let flows: Vec<Value> = flows.iter().map(flow_json).collect();
        let report = json!({
            "schema": fullpipe_lab::JSON_SCHEMA,
            "flows": flows,
            "totals": totals_json(totals),
        });
        return report.to_string();
    }
    let mut text = format!(
        "{} TCP and {} UDP flows\n",
        totals.tcp_open, totals.udp_open
    );
    for flow in flows {
        layout.paragraph(&mut text, "", 8, &flow_line(flow));
    }
    text
}

/// The totals that are printed at the end.
pub fn totals(totals: &FlowTotals, as_json: bool) -> String {
    if as_json {
        let report = json!({
            "schema": fullpipe_lab::JSON_SCHEMA,
            "totals": totals_json(totals),
        });
        return report.to_string();
    }
    format!(
        "{} flows carried, {} refused; {} from clients to targets, {} from targets to clients",
        totals.opened,
        totals.refused,
        bytes(totals.up.bytes),
        bytes(totals.down.bytes)
    )
}

/// The totals, and the limits of the open TCP flows, as OpenMetrics.
pub fn metrics(flows: &[FlowReport], totals: &FlowTotals) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, samples: &[(&str, f64)]| {
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if name.ends_with("_seconds") {
            let _ = writeln!(text, "# UNIT {name} seconds");
        }
        let _ = writeln!(text, "# HELP {name} {help}");
        for (suffix, value) in samples {
            let _ = writeln!(text, "{name}{suffix} {value}");
        }
    };
    let whole = |number: u64| number as f64;
    metric(
        "fullpipe_forward_flows",
        "gauge",
        "Open flows.",
        &[
            ("{protocol=\"tcp\"}", whole(totals.tcp_open)),
            ("{protocol=\"udp\"}", whole(totals.udp_open)),
        ],
    );
    metric(
        "fullpipe_forward_flows_opened",
        "counter",
        "Flows opened.",
        &[("_total", whole(totals.opened))],
    );
    metric(
        "fullpipe_forward_flows_refused",
        "counter",
        "Flows whose destination could not be reached.",
        &[("_total", whole(totals.refused))],
    );
    metric(
        "fullpipe_forward_bytes",
        "counter",
        "Payload carried: up is from clients to targets, down from targets to clients.",
        &[
            ("_total{direction=\"up\"}", whole(totals.up.bytes)),
            ("_total{direction=\"down\"}", whole(totals.down.bytes)),
        ],
    );
    metric(
        "fullpipe_forward_waited_seconds",
        "counter",
        "Time for which TCP flows waited for one side, summed over all flows.",
        &waited(totals),
    );
    let limited = limited(flows);
    let limited: Vec<_> = limited
        .iter()
        .map(|(suffix, count)| (suffix.as_str(), whole(*count)))
        .collect();
    metric(
        "fullpipe_forward_flows_limited",
        "gauge",
        "Open TCP flows by the limit of the connection to the client that had the longest time.",
        &limited,
    );
    text.push_str("# EOF\n");
    text
}

/// Returns the time for which each direction waited for each side, with both as the labels of a
/// metric.
fn waited(totals: &FlowTotals) -> [(&'static str, f64); 4] {
    let (up, down) = (&totals.up, &totals.down);
    [
        (
            "_total{direction=\"up\",side=\"client\"}",
            up.waited_for_client.as_secs_f64(),
        ),
        (
            "_total{direction=\"up\",side=\"target\"}",
            up.waited_for_target.as_secs_f64(),
        ),
        (
            "_total{direction=\"down\",side=\"client\"}",
            down.waited_for_client.as_secs_f64(),
        ),
        (
            "_total{direction=\"down\",side=\"target\"}",
            down.waited_for_target.as_secs_f64(),
        ),
    ]
}

/// Returns the number of flows for each limit of the connection to the client, with the limit as
/// the label of a metric.
fn limited(flows: &[FlowReport]) -> BTreeMap<String, u64> {
    let mut limited = BTreeMap::new();
    for (limit, _) in flows.iter().filter_map(|flow| flow.client_limit) {
        let label = format!("{{limit=\"{}\"}}", limit.name());
        *limited.entry(label).or_default() += 1;
    }
    limited
}

fn flow_line(flow: &FlowReport) -> String {
    let mut line = format!(
        "{} {} {} > {}: {:.0} s",
        flow.number,
        protocol(flow),
        flow.client,
        flow.target,
        flow.age.as_secs_f64()
    );
    for (name, direction) in [("up", &flow.up), ("down", &flow.down)] {
        let _ = write!(line, "; {name} {}", bytes(direction.bytes));
        if let Some((side, share)) = longest_wait(flow, direction) {
            let _ = write!(
                line,
                ", waited for the {} {share:.0} % of the time",
                side.name()
            );
        }
    }
    if let Some((limit, share)) = flow.client_limit {
        let share = share * 100.0;
        let _ = write!(
            line,
            "; connection to the client: limited by {} {share:.0} % of the time",
            limit.name()
        );
    }
    line
}

/// The side (client or target) for which a direction of a TCP flow waited longer, and the time of
/// this wait in per cent of the flow's age.
fn longest_wait(flow: &FlowReport, direction: &DirectionReport) -> Option<(WaitSide, f64)> {
    let side = direction.waited_longest_for();
    let side = side.filter(|_| flow.protocol == Protocol::Tcp)?;
    let waited = match side {
        WaitSide::Client => direction.waited_for_client,
        WaitSide::Target => direction.waited_for_target,
    };
    let age = flow.age.as_secs_f64().max(1e-9);
    Some((side, (100.0 * waited.as_secs_f64() / age).min(100.0)))
}

fn flow_json(flow: &FlowReport) -> Value {
    let direction = |direction: &DirectionReport| {
        let side = longest_wait(flow, direction);
        json!({
            "bytes": direction.bytes,
            "waited_for_client_seconds": direction.waited_for_client.as_secs_f64(),
            "waited_for_target_seconds": direction.waited_for_target.as_secs_f64(),
            "waited_longest_for": side.map(|(side, _)| side.name()),
        })
    };
    json!({
        "number": flow.number,
        "protocol": protocol(flow),
        "client": flow.client.to_string(),
        "target": flow.target.to_string(),
        "seconds": flow.age.as_secs_f64(),
        "up": direction(&flow.up),
        "down": direction(&flow.down),
        "client_limit": flow.client_limit.map(|(limit, share)| {
            json!({ "name": limit.name(), "share": share })
        }),
    })
}

fn totals_json(totals: &FlowTotals) -> Value {
    let seconds = |wait: Duration| wait.as_secs_f64();
    json!({
        "tcp_open": totals.tcp_open,
        "udp_open": totals.udp_open,
        "opened": totals.opened,
        "refused": totals.refused,
        "up_bytes": totals.up.bytes,
        "up_waited_for_client_seconds": seconds(totals.up.waited_for_client),
        "up_waited_for_target_seconds": seconds(totals.up.waited_for_target),
        "down_bytes": totals.down.bytes,
        "down_waited_for_client_seconds": seconds(totals.down.waited_for_client),
        "down_waited_for_target_seconds": seconds(totals.down.waited_for_target),
    })
}

fn protocol(flow: &FlowReport) -> &'static str {
    match flow.protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
    }
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
