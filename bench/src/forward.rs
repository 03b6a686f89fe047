//! Compares forwarders: programs that carry the TCP connections of a TUN device through kernel
//! sockets.
//!
//! Rule: client and server are kernel sockets in network namespaces of their own, and every byte is
//! verified by its position. In each round every forwarder carries the same bytes, one forwarder
//! after another, each in a new process and a new network.

mod cases;
mod contender;
mod measure;
mod network;
mod page;
mod programs;
mod row;
mod traffic;

use anyhow::Result;
use serde_json::{Value, json};

pub use cases::ForwardCase;
pub use contender::Contender;
use row::ForwardRow;

#[derive(clap::Args)]
pub struct ForwardArguments {
    /// Cases to measure; all if none is given
    cases: Vec<ForwardCase>,
    /// Forwarder to measure (may be given several times); all if none is given
    #[arg(long)]
    only: Vec<Contender>,
    /// Rounds; each measures every forwarder once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Print a JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// Write docs/forward-performance.md, too
    #[arg(long, conflicts_with_all = ["cases", "only"])]
    write: bool,
}

/// Carries the flows of the TUN device `device` until the process ends.
///
/// # Errors
/// Returns the error of the device or of the library.
pub fn run_program(contender: Contender, device: &str) -> Result<()> {
    // The process that compares closes the pipe when it ends.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    programs::run(contender, device)
}

/// Measures and prints the result.
///
/// # Errors
/// Fails if the page cannot be written. A forwarder that fails is part of the result.
pub fn compare(arguments: &ForwardArguments) -> Result<()> {
    // The client, the server and the forwarder each have a socket for each flow.
    fullpipe_host::raise_file_limit()?;
    let contenders = crate::chosen_or_all(&arguments.only);
    let mut rows = Vec::new();
    for case in crate::chosen_or_all(&arguments.cases) {
        rows.extend(contenders.iter().map(|contender| ForwardRow {
            case,
            contender: *contender,
            measurements: Vec::new(),
            failures: Vec::new(),
        }));
    }
    for round in 0..arguments.rounds {
        for row in &mut rows {
            let said = match measure::measure(row.contender, row.case, round) {
                Ok(measured) => {
                    let line = measured.line();
                    row.measurements.push(measured);
                    line
                }
                Err(error) => {
                    row.failures.push(format!("{error:#}"));
                    format!("failed: {error:#}")
                }
            };
            eprintln!(
                "round {}: {} {}: {said}",
                round + 1,
                row.case.name(),
                row.contender.name(),
            );
        }
    }
    if arguments.write {
        page::write(&rows, arguments.rounds)?;
    }
    match arguments.json {
        true => {
            let rows: Vec<Value> = rows.iter().map(ForwardRow::json).collect();
            println!("{:#}", json!({ "rounds": arguments.rounds, "rows": rows }));
        }
        false => print!("{}", page::tables(&rows)),
    }
    Ok(())
}
