//! Writes `docs/forward-performance.md`: the comparison of forwarders.
//!
//! Rule: every figure on the page is measured by the run that writes the page. A forwarder that
//! failed has its reason on the page.

use std::{fmt::Write as _, fs, path::PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::{Contender, ForwardCase, row::ForwardRow};
use crate::{guard::rustc_version, page::processor};

/// Writes the page.
///
/// # Errors
/// Fails if the page can't be written.
pub fn write(rows: &[ForwardRow], rounds: u32) -> Result<()> {
    let mut text = opening(rounds)?;
    text.push_str(&tables(rows));
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/forward-performance.md");
    fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    eprintln!("docs/forward-performance.md: written");
    Ok(())
}

fn opening(rounds: u32) -> Result<String> {
    let (processor, rustc, versions) = (processor(), rustc_version()?, versions());
    let congestion = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control")?;
    let congestion = congestion.trim();
    Ok(format!(
        "\
# Performance of the forwarder

<!-- Generated; see bench/src/forward/page.rs. -->

This page compares the library of [`fullpipe forward`](forward.md) with other libraries that carry the TCP connections of a TUN device through
kernel sockets. Around each library there is a small program, which uses the library as its README or example shows; `fullpipe` has the defaults of
the command. The client, the forwarder and the server are in network namespaces of their own. The client and the server use kernel sockets and verify
each byte by its position. The MTU is 1500. In each round every forwarder carries the same bytes, one after another. Each figure is the median
of {rounds} rounds. The machine had other work during the measurement, so compare forwarders only within a case.

- `up` is the direction from the client to the server. The number after it is the number of flows at the same time, which carry 512 MiB together.
- `far-loss` has a link of 100 Mbit/s with 20 ms and 1 % loss in each direction between the forwarder and the server, where the kernel's TCP
  ({congestion}) repairs the losses. `near-loss` has this link between the client and the TUN device, where the forwarder's TCP must repair
  them in the direction `down`. One flow carries 16 MiB, for at most 10 s.
- CPU time is that of the forwarder's process. It contains the kernel's work for its system calls.
- Memory is the resident memory of the process while 1,000 flows are open, each of which carried 1 KiB in each direction.
- `ts-netstack-smoltcp` accepts only connections to addresses of its own, so it has the server's address here. `ipstack`, `netstack-smoltcp` and
  `ts-netstack-smoltcp` accept a connection before the server was reached.
- `gvisor` is a program around gVisor's netstack, the stack of tun2socks, with SACK and the tuning of the receive buffer switched on. tun2socks
  itself is not measured: the Go module proxy refused its module (2026-11-27).

Measured on {processor} with {rustc}; {versions}. This command (root; Go for gVisor) measures again and writes this page:

    cargo xtask bench forward --rounds {rounds} --write

"
    ))
}

/// Returns the versions of the other libraries.
fn versions() -> String {
    let lock = include_str!("../../Cargo.lock");
    let rust = ["ipstack", "netstack-smoltcp", "ts_netstack_smoltcp"].map(|name| {
        let found = lock.split_once(&format!("name = \"{name}\"\nversion = \""));
        let version = found.and_then(|(_, rest)| rest.split('"').next());
        format!("{name} {}", version.unwrap_or("of an unknown version"))
    });
    let module = include_str!("../../gvisor/go.mod");
    let found = module.split_once("gvisor.dev/gvisor ");
    let gvisor = found.and_then(|(_, rest)| rest.split_whitespace().next());
    format!(
        "{}, gVisor {}",
        rust.join(", "),
        gvisor.unwrap_or("of an unknown version")
    )
}

/// A table: its heading, the value of a row, and the number of decimals.
type Table = (&'static str, fn(&ForwardRow) -> Option<f64>, usize);

const GOODPUT: Table = ("Goodput, Mbit/s", ForwardRow::goodput_mbps, 0);
const COSTS: [Table; 2] = [
    (
        "CPU time of the forwarder, s per GiB",
        ForwardRow::cpu_s_per_gib,
        2,
    ),
    (
        "Memory with 1,000 open flows, MiB",
        ForwardRow::resident_mib,
        1,
    ),
];

/// Returns the tables, and a list of the forwarders that failed.
pub fn tables(rows: &[ForwardRow]) -> String {
    let mut text = table_of(rows, GOODPUT) + &leads(rows);
    for table in COSTS {
        text.push_str(&table_of(rows, table));
    }
    let failed: Vec<String> = rows.iter().filter_map(failure).collect();
    if !failed.is_empty() {
        let _ = writeln!(text, "## Failures\n\n{}", failed.join("\n"));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Returns a sentence that names the cases in which another forwarder has more goodput than
/// fullpipe by at least half a percent. Empty if there are none.
fn leads(rows: &[ForwardRow]) -> String {
    let of_case = |case| {
        let base = rows
            .iter()
            .find(|row| row.case == case && row.contender == Contender::Fullpipe);
        let base = base.and_then(ForwardRow::goodput_mbps);
        let others = rows.iter().filter(move |row| row.case == case);
        others.filter_map(move |row| {
            let ratio = row.goodput_mbps()? / base?;
            let name = row.contender.name();
            (ratio >= 1.005).then(|| format!("{} ({name}, {ratio:.2} ×)", case.name()))
        })
    };
    let cases = ForwardCase::value_variants().iter().copied();
    let found: Vec<String> = cases.flat_map(of_case).collect();
    match found.is_empty() {
        true => String::new(),
        false => format!(
            "Another forwarder has more goodput than fullpipe in these cases: {}.\n\n",
            found.join(", ")
        ),
    }
}

/// Returns a table: a line for each case, a column for each forwarder. A cell has the value and
/// its ratio to the value of fullpipe.
fn table_of(rows: &[ForwardRow], (heading, value, decimals): Table) -> String {
    let contenders = Contender::value_variants();
    let find = |case, contender| {
        let mut rows = rows.iter();
        rows.find(|row| row.case == case && row.contender == contender)
    };
    let mut lines = String::new();
    for case in ForwardCase::value_variants() {
        let values = contenders.iter().map(|contender| {
            let row = find(*case, *contender)?;
            Some((value(row), !row.failures.is_empty()))
        });
        let values: Vec<_> = values.collect();
        if !values.iter().flatten().any(|(value, _)| value.is_some()) {
            continue;
        }
        let base = values[0].and_then(|(value, _)| value);
        let _ = write!(lines, "| {} |", case.name());
        for (place, cell) in values.into_iter().enumerate() {
            let text = match (cell, base) {
                (None, _) | (Some((None, false)), _) => "–".to_owned(),
                (Some((None, true)), _) => "failed".to_owned(),
                (Some((Some(value), _)), Some(base)) if place > 0 && base > 0.0 => {
                    format!("{value:.decimals$} ({:.2} ×)", value / base)
                }
                (Some((Some(value), _)), _) => format!("{value:.decimals$}"),
            };
            let _ = write!(lines, " {text} |");
        }
        lines.push('\n');
    }
    if lines.is_empty() {
        return lines;
    }
    let names: Vec<&str> = contenders.iter().map(|one| one.name()).collect();
    format!(
        "## {heading}\n\n| case | {} |\n| --- |{}\n{lines}\n",
        names.join(" | "),
        " ---: |".repeat(names.len())
    )
}

/// Returns the number of rounds in which a forwarder failed, and the last reason.
fn failure(row: &ForwardRow) -> Option<String> {
    let reason = row.failures.last()?;
    let failed = row.failures.len();
    Some(format!(
        "- `{}`, {}, {failed} of {} rounds: {reason}",
        row.contender.name(),
        row.case.name(),
        failed + row.measurements.len()
    ))
}
