//! Writes `docs/performance.md`: the result of every case, with its goal.
//!
//! Rule: every figure on the page is measured by the run that writes the page. The page names the
//! machine and the compiler, because times on different machines are not comparable.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::{
    callgrind,
    cases::Case,
    guard::rustc_version,
    many_tables::{self, Many},
    rounds::{self, Timing},
    stacks::StackName,
};

/// Length of the bar of the baseline's CPU time, in characters.
const BAR: f64 = 16.0;

/// Longest bar, in characters; a longer bar is cut off.
const LONGEST_BAR: usize = 64;

/// The goal of a case.
struct Goal {
    /// Instructions of one unit; `None` without a goal.
    instructions: Option<u32>,
    /// CPU time, as a multiple of the baseline's CPU time; `None` without a goal.
    ratio: Option<f64>,
}

fn goal(case: Case) -> Goal {
    let (instructions, ratio) = match case {
        Case::Bulk16k => (None, Some(0.75)),
        Case::Bulk64k | Case::Bulk4m => (None, Some(0.6)),
        Case::Bulk256k => (Some(2_200), Some(0.6)),
        Case::Rr => (Some(6_000), Some(0.9)),
        Case::Crr => (Some(35_000), Some(1.0)),
        Case::Udp1472 => (Some(2_800), None),
        Case::Udp64 => (Some(1_300), None),
    };
    Goal {
        instructions,
        ratio,
    }
}

/// The results of one case.
struct CaseResults {
    case: Case,
    timings: Vec<Timing>,
    instructions: Vec<(StackName, Option<f64>)>,
}

impl CaseResults {
    fn measure(case: Case, stacks: &[StackName], rounds: u32) -> Result<Self> {
        let count = |name: &StackName| {
            let count = name
                .runs(case)
                .then(|| callgrind::instructions(*name, case));
            Ok((*name, count.transpose()?))
        };
        Ok(Self {
            case,
            instructions: stacks.iter().map(count).collect::<Result<_>>()?,
            timings: rounds::measure(case, stacks, rounds),
        })
    }
}

/// Measures every case with every stack, and writes the page.
///
/// # Errors
/// Fails if valgrind is missing, a run fails or the page can't be written.
pub fn write(rounds: u32) -> Result<()> {
    let stacks = StackName::value_variants();
    // Measure many connections first: memory that an earlier case freed would be reused, and thus
    // not counted.
    let many_connections = many_connections(rounds)?;
    let mut results = Vec::new();
    for case in Case::value_variants() {
        println!("{}", case.name());
        results.push(CaseResults::measure(*case, stacks, rounds)?);
    }
    let mut text = opening(rounds)?;
    text.push_str(&instructions_table(stacks, &results));
    text.push_str(&time_bars(&results));
    text.push_str(&many_connections);
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
    fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    println!("docs/performance.md: written");
    Ok(())
}

fn opening(rounds: u32) -> Result<String> {
    let (processor, rustc, peers) = (processor(), rustc_version()?, peers());
    Ok(format!(
        "\
# Performance

<!-- Generated; see bench/src/page.rs. -->

This page compares the processor cost of fullpipe with that of other TCP/IP stacks. Two hosts of one stack run in one process and exchange
frames over a link in memory: MTU 1500, no offloads, software checksums. Their applications write as long as there is room, read as long as
there is payload, and verify each byte by its position. Each cost is the sum for both hosts and both applications. `null` is a program
without a protocol, as a lower bound: it copies and sums payload into frames, verifies it, copies it out and returns one ACK for two segments.
The cases are bulk transfers with buffers of 16 KiB to 4 MiB (`bulk-…`), requests and answers of one byte (`rr`), one connection for each
request (`crr`), and datagrams (`udp-…`). In `crr` smoltcp has neither a listener nor TIME-WAIT, and gets a new socket for each connection. lwIP has
64 connections, including those in TIME-WAIT.

Measured on {processor} with {rustc}; {peers}. This command measures again and writes this page:

    cargo xtask bench performance --rounds {rounds}

"
    ))
}

/// Returns the model name of the processor.
pub fn processor() -> String {
    let text = fs::read_to_string(Path::new("/proc/cpuinfo")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(": "));
    name.map_or("an unknown processor", |(_, name)| name)
        .to_owned()
}

/// Returns the versions of the other stacks.
fn peers() -> String {
    let lock = include_str!("../Cargo.lock");
    let smoltcp = lock.split_once("name = \"smoltcp\"\nversion = \"");
    let smoltcp = smoltcp.and_then(|(_, rest)| rest.split('"').next());
    let smoltcp = format!("smoltcp {}", smoltcp.unwrap_or("of an unknown version"));
    // Take the version from the name of the source's folder.
    match option_env!("LWIP_SOURCE")
        .map(Path::new)
        .and_then(Path::file_name)
    {
        Some(name) => format!(
            "{smoltcp}, {}",
            name.to_string_lossy().replacen('-', " ", 1)
        ),
        None => smoltcp,
    }
}

fn instructions_table(stacks: &[StackName], results: &[CaseResults]) -> String {
    let mut text = String::from(
        "## Instructions\n\n\
         Instructions for one unit: the difference between a long and a short run under callgrind \
         (`cargo xtask bench callgrind`). A segment is 1,460 bytes of payload.\n\n| case | unit |",
    );
    for name in stacks {
        let _ = write!(text, " {} |", name.name());
    }
    text.push_str(" fullpipe wanted |\n| --- | --- |");
    text.push_str(&" ---: |".repeat(stacks.len() + 1));
    text.push('\n');
    for CaseResults {
        case, instructions, ..
    } in results
    {
        let _ = write!(text, "| {} | {} |", case.name(), case.unit());
        for (_, count) in instructions {
            let cell = count.map_or("–".to_owned(), |count| thousands(count.round() as u64));
            let _ = write!(text, " {cell} |");
        }
        let goal = goal(*case).instructions;
        let cell = goal.map_or("–".to_owned(), |goal| {
            format!("≤ {}", thousands(goal.into()))
        });
        let _ = writeln!(text, " {cell} |");
    }
    text.push('\n');
    text
}

fn time_bars(results: &[CaseResults]) -> String {
    let baseline = StackName::BASELINE.name();
    let mut text = format!(
        "## CPU time\n\n\
         Each line has two medians: the ratio to the time of {baseline} in the same round, and the time of \
         one unit (`cargo xtask bench stacks`). `null` is the lower bound, `wanted` the goal of fullpipe.\n\n```text\n"
    );
    for CaseResults { case, timings, .. } in results {
        let _ = writeln!(text, "{}, one {}", case.name(), case.unit());
        for timing in timings {
            let ns = format!("{:.0} ns", timing.ns);
            text.push_str(&bar(timing.stack.name(), timing.ratio, &ns));
        }
        if let Some(ratio) = goal(*case).ratio {
            text.push_str(&bar("wanted", ratio, ""));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push_str("\n```\n");
    text
}

/// Returns the section about many connections of fullpipe.
fn many_connections(rounds: u32) -> Result<String> {
    let mut text = String::from(
        "
## Many connections

The ratio compares the CPU time with the time for one connection in the same rounds. In case `idle` one connection carries transactions, and
the other connections were used once. Bytes per end count all memory of the process, tables included. In case `active` all connections carry 8 KiB each
at the same time. `cargo xtask bench active` and `cargo xtask bench idle` measure other numbers of connections, and smoltcp.

| case | connections | CPU time | ratio to one connection | wanted | bytes per end | wanted |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
",
    );
    for (many, name, unit) in [
        (Many::Idle, "idle", "transaction"),
        (Many::Active, "active", "segment"),
    ] {
        println!("{name}");
        let numbers = many.default_numbers();
        for row in many_tables::measure(many, StackName::Fullpipe, numbers, rounds)? {
            let connections = row.connections.into();
            let (ratio, bytes) = match (many, connections) {
                (Many::Active, 1_000) => ("≤ 1.5 ×", "–"),
                (Many::Idle, 100_000) => ("≤ 1.05 ×", "≤ 400"),
                (Many::Active | Many::Idle, _) => ("–", "–"),
            };
            let memory = match (many, connections) {
                (Many::Active, _) | (Many::Idle, 1) => "–".to_owned(),
                (Many::Idle, _) => thousands(row.bytes),
            };
            let _ = writeln!(
                text,
                "| {name} | {} | {:.0} ns a {unit} | {:.2} × | {ratio} | {memory} | {bytes} |",
                thousands(connections),
                row.ns,
                row.ratio,
            );
        }
    }
    Ok(text)
}

/// Returns a line with a bar whose length is proportional to `ratio`.
fn bar(name: &str, ratio: f64, note: &str) -> String {
    let len = (ratio * BAR).round() as usize;
    let bar = match len <= LONGEST_BAR {
        true => "#".repeat(len.max(1)),
        false => "#".repeat(LONGEST_BAR - 1) + ">",
    };
    let line = format!("  {name:<9} {ratio:>5.2} × {note:>8}  {bar}");
    line.trim_end().to_owned() + "\n"
}

/// Returns `number` with a comma before each group of three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
