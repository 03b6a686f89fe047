//! Benchmarks of fullpipe and of other TCP/IP stacks, in one process and without I/O.
//!
//! Rule: every stack does the same work, with the same applications, on the same link. Only figures
//! of the same run are compared.
//!
//! This file contains the command line and the tables; the modules measure.

mod callgrind;
mod cases;
#[cfg(feature = "forward")]
mod forward;
mod guard;
mod hosts;
mod link;
mod many;
mod many_tables;
mod page;
mod payload;
mod rounds;
mod stack;
mod stacks;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use serde_json::{Value, json};

use cases::Case;
use many_tables::{Many, ManyArguments};
use stacks::StackName;

/// Benchmarks of fullpipe beside other TCP/IP stacks
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure the CPU time of one segment, transaction, connection or datagram
    #[command(after_help = "\
Examples:
  cargo xtask bench stacks                      every case and every stack
  cargo xtask bench stacks bulk-256k rr         these cases
  cargo xtask bench stacks --rounds 201 rr      more rounds, for small differences
  cargo xtask bench stacks --json > times.json")]
    Stacks(StacksArguments),
    /// Measure the CPU time of one segment with many connections that carry payload
    #[command(after_help = "\
Examples:
  cargo xtask bench active
  cargo xtask bench active 1000 --rounds 201
  cargo xtask bench active 10 100 --stack smoltcp")]
    Active(ManyArguments),
    /// Measure the CPU time of one transaction while many other connections are idle, and the
    /// memory of each idle connection
    #[command(after_help = "\
Examples:
  cargo xtask bench idle
  cargo xtask bench idle 1000000
  cargo xtask bench idle 1000 --stack smoltcp --json")]
    Idle(ManyArguments),
    /// Count the instructions of one segment, transaction, connection or datagram
    #[command(after_help = "\
Examples:
  cargo xtask bench callgrind                            every case and every stack
  cargo xtask bench callgrind bulk-256k rr               these cases
  cargo xtask bench callgrind --stack fullpipe           one stack
  cargo xtask bench callgrind --profile rr               the functions of fullpipe in one case
  cargo xtask bench callgrind --profile rr --stack smoltcp --top 20")]
    Callgrind(CallgrindArguments),
    /// Compare the instructions of fullpipe with the committed figures
    ///
    /// More than 3 % over a figure of bench/instructions.toml is a failure.
    #[command(after_help = "\
Examples:
  cargo xtask bench guard               compare
  cargo xtask bench guard --update      write new figures")]
    Guard {
        /// Write the counted figures to bench/instructions.toml instead of comparing
        #[arg(long)]
        update: bool,
    },
    /// Measure stacks, callgrind, active and idle, and write docs/performance.md
    #[command(after_help = "\
Examples:
  cargo xtask bench performance
  cargo xtask bench performance --rounds 201    on a busy machine")]
    Performance {
        /// Rounds; each runs every stack for about 10 ms
        #[arg(long, value_name = "N", default_value_t = 51, value_parser = clap::value_parser!(u32).range(1..))]
        rounds: u32,
    },
    /// Compare forwarders between a TUN device and kernel sockets (root)
    #[cfg(feature = "forward")]
    #[command(after_help = "\
Examples:
  cargo xtask bench forward                          every case and every forwarder
  cargo xtask bench forward up-1 down-1 --rounds 9   these cases
  cargo xtask bench forward --only fullpipe --json
  cargo xtask bench forward --write                  also write docs/forward-performance.md")]
    Forward(forward::ForwardArguments),
    /// Carry the flows of a TUN device, for `forward`
    #[cfg(feature = "forward")]
    #[command(hide = true)]
    Forwarder {
        /// Library that carries the flows
        contender: forward::Contender,
        /// Name of the TUN device
        device: String,
    },
    /// Run one case once, for a profiler, and print the units of work done
    Run {
        /// Stack under test
        stack: StackName,
        /// Case to run
        case: Case,
        /// Number of segments, transactions, connections or datagrams (the unit of the case)
        units: u64,
    },
}

#[derive(clap::Args)]
struct StacksArguments {
    /// Cases to measure; all if none is given
    cases: Vec<Case>,
    /// Rounds; each runs every stack for about 10 ms
    #[arg(long, value_name = "N", default_value_t = 51, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Print a JSON object instead of the table
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct CallgrindArguments {
    /// Cases to count; all if none is given
    cases: Vec<Case>,
    /// Stack to count (may be given several times); all if none is given
    #[arg(long)]
    stack: Vec<StackName>,
    /// Print a JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// List the most expensive functions of one stack (default: fullpipe) in this case
    #[arg(long, value_name = "CASE", conflicts_with_all = ["cases", "json"])]
    profile: Option<Case>,
    /// Number of functions that --profile lists
    #[arg(long, value_name = "N", default_value_t = 40)]
    top: usize,
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Stacks(arguments) => {
            print_times(&arguments);
            Ok(())
        }
        Command::Active(arguments) => many_tables::print(Many::Active, &arguments),
        Command::Idle(arguments) => many_tables::print(Many::Idle, &arguments),
        Command::Callgrind(arguments) => match arguments.profile {
            Some(case) => print_profile(&arguments, case),
            None => print_instructions(&arguments),
        },
        Command::Guard { update: true } => guard::update(),
        Command::Guard { update: false } => guard::check(),
        Command::Performance { rounds } => page::write(rounds),
        #[cfg(feature = "forward")]
        Command::Forward(arguments) => forward::compare(&arguments),
        #[cfg(feature = "forward")]
        Command::Forwarder { contender, device } => forward::run_program(contender, &device),
        Command::Run { stack, case, units } => {
            println!("{}", stacks::start(stack, case).run(units));
            Ok(())
        }
    }
}

/// Returns `chosen`, or every value if nothing was chosen.
fn chosen_or_all<T: ValueEnum>(chosen: &[T]) -> Vec<T> {
    match chosen {
        [] => T::value_variants().to_vec(),
        [_, ..] => chosen.to_vec(),
    }
}

/// A row of a table: a case, and a cell for each stack.
fn row(case: &str, unit: &str, cells: impl IntoIterator<Item = String>) -> String {
    let mut line = format!("{case:<10} {unit:<12}");
    for cell in cells {
        line.push_str(&format!(" {cell:>17}"));
    }
    line
}

fn print_times(arguments: &StacksArguments) {
    let names = StackName::value_variants();
    let cases = chosen_or_all(&arguments.cases);
    if arguments.json {
        let cases = cases.into_iter().map(|case| {
            let timings = rounds::measure(case, names, arguments.rounds);
            let stacks = timings.iter().map(|timing| {
                let figures = json!({ "ns": timing.ns, "ratio": timing.ratio });
                (timing.stack.name().to_owned(), figures)
            });
            json!({ "case": case.name(), "unit": case.unit(), "stacks": stacks.collect::<Value>() })
        });
        let cases: Vec<Value> = cases.collect();
        println!(
            "{:#}",
            json!({ "rounds": arguments.rounds, "cases": cases })
        );
        return;
    }
    println!(
        "CPU time of one unit, both hosts and both applications together: the median of {} rounds, and\n\
         the median of the ratios to the time of {} in the same round:",
        arguments.rounds,
        StackName::BASELINE.name()
    );
    println!(
        "{}",
        row(
            "case",
            "unit",
            names.iter().map(|name| name.name().to_owned())
        )
    );
    for case in cases {
        let timings = rounds::measure(case, names, arguments.rounds);
        let cell = |name: &StackName| {
            let timing = timings.iter().find(|timing| timing.stack == *name);
            timing.map_or("-".to_owned(), |timing| {
                format!("{:.0} ns {:.2} ×", timing.ns, timing.ratio)
            })
        };
        println!("{}", row(&case.name(), case.unit(), names.iter().map(cell)));
    }
}

fn print_instructions(arguments: &CallgrindArguments) -> Result<()> {
    let names = chosen_or_all(&arguments.stack);
    let mut table = Vec::new();
    if !arguments.json {
        println!("Instructions for one unit, both hosts and both applications together:");
        println!(
            "{}",
            row(
                "case",
                "unit",
                names.iter().map(|name| name.name().to_owned())
            )
        );
    }
    for case in chosen_or_all(&arguments.cases) {
        let count = |name: &StackName| match name.runs(case) {
            true => callgrind::instructions(*name, case).map(Some),
            false => Ok(None),
        };
        let counts: Vec<Option<f64>> = names.iter().map(count).collect::<Result<_>>()?;
        if arguments.json {
            let stacks = names.iter().zip(&counts);
            let stacks: Value = stacks
                .filter_map(|(name, count)| {
                    count.map(|count| (name.name().to_owned(), json!(count)))
                })
                .collect();
            table.push(json!({ "case": case.name(), "unit": case.unit(), "instructions": stacks }));
        } else {
            let cells = counts
                .iter()
                .map(|count| count.map_or("-".to_owned(), |count| format!("{count:.0}")));
            println!("{}", row(&case.name(), case.unit(), cells));
        }
    }
    if arguments.json {
        println!("{:#}", json!({ "cases": table }));
    }
    Ok(())
}

fn print_profile(arguments: &CallgrindArguments, case: Case) -> Result<()> {
    let stack = arguments.stack.first().copied();
    let stack = stack.unwrap_or(StackName::Fullpipe);
    println!(
        "Instructions of {} in {}, for one {}:",
        stack.name(),
        case.name(),
        case.unit()
    );
    println!("{:>8} {:>9}  function", "own", "inclusive");
    let functions = callgrind::profile(stack, case)?;
    let functions = functions.iter().filter(|function| function.own >= 0.5);
    for function in functions.take(arguments.top) {
        let (own, inclusive) = (function.own, function.inclusive);
        println!("{own:>8.0} {inclusive:>9.0}  {}", function.name);
    }
    Ok(())
}
