//! Benchmarks of fullpipe beside other TCP/IP stacks, in one process and without I/O.
//!
//! Rule: every stack does the same work, with the same applications, on the same link; a
//! figure is measured beside the figures that it is compared with.

mod callgrind;
mod cases;
mod link;
mod payload;
mod stack;
mod stacks;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};

use cases::Case;
use stack::Stack;
use stacks::{Run, StackName};

/// Benchmarks of fullpipe beside other TCP/IP stacks
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Count the instructions of one segment, transaction, connection or datagram
    #[command(after_help = "\
Examples:
  cargo xtask bench callgrind                            every case and every stack
  cargo xtask bench callgrind bulk-256k rr               these cases
  cargo xtask bench callgrind --stack fullpipe           one stack
  cargo xtask bench callgrind --profile rr               the functions of fullpipe in one case
  cargo xtask bench callgrind --profile rr --stack smoltcp --top 20")]
    Callgrind(CallgrindArguments),
    /// Run one case once, for a profiler
    Run {
        /// Stack under test
        stack: StackName,
        /// Case to run
        case: Case,
        /// Segments, transactions, connections or datagrams
        units: u64,
    },
}

#[derive(clap::Args)]
struct CallgrindArguments {
    /// Cases to count; all if none is given
    cases: Vec<Case>,
    /// Stack to count (may be given several times); all if none is given
    #[arg(long)]
    stack: Vec<StackName>,
    /// List the functions with the highest cost of one stack (default fullpipe) in this case
    #[arg(long, value_name = "CASE", conflicts_with = "cases")]
    profile: Option<Case>,
    /// Number of functions that --profile lists
    #[arg(long, value_name = "N", default_value_t = 40)]
    top: usize,
}

/// A case that is run once.
struct Once {
    case: Case,
    units: u64,
}

impl Run for Once {
    type Outcome = ();

    fn with<S: Stack>(self) {
        self.case.run::<S>(self.units);
    }
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Callgrind(arguments) => match arguments.profile {
            Some(case) => print_profile(&arguments, case),
            None => print_instructions(&arguments),
        },
        Command::Run { stack, case, units } => {
            Once { case, units }.on(stack);
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

fn print_instructions(arguments: &CallgrindArguments) -> Result<()> {
    let stacks = chosen_or_all(&arguments.stack);
    println!("Instructions, both ends and both applications together:");
    print!("{:<12} {:<12}", "case", "unit");
    for stack in &stacks {
        print!(" {:>10}", stack.name());
    }
    println!();
    for case in chosen_or_all(&arguments.cases) {
        print!("{:<12} {:<12}", case.name(), case.unit());
        for stack in &stacks {
            match stack.runs(case) {
                true => print!(" {:>10.0}", callgrind::instructions(*stack, case)?),
                false => print!(" {:>10}", "-"),
            }
        }
        println!();
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
