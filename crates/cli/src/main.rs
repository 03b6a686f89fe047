//! The command `fullpipe`.
//!
//! Rule: results are printed to standard output, everything else to standard error. An error is one
//! line. Exit codes: 0 done, 1 failed, 2 wrong request, 3 a condition of `--fail-on` was met, 130
//! interrupted. The work itself is done by other crates.

mod advise;
mod arguments;
mod attacks;
mod experiments;
mod explain;
mod failure;
mod files;
mod fleet;
mod footprint;
mod forward;
mod generate;
mod inspect;
mod iperf;
mod kernel_hosts;
mod knobs;
mod lab;
mod lab_run;
mod link;
mod output;
mod parquet_file;
mod progress;
mod size;
mod try_command;
mod watch;
mod why;

use std::process::ExitCode;

use arguments::Command;
use failure::Failure;
use output::Terminal;

fn main() -> ExitCode {
    let (command, terminal) = match arguments::parse() {
        Ok((command, flags)) => (command, Terminal::new(flags)),
        Err(refusal) => return refusal.report(),
    };
    match run(command, &terminal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(terminal.errors()),
    }
}

fn run(command: Command, terminal: &Terminal) -> Result<(), Failure> {
    match command {
        Command::Lab(arguments) => lab::run(arguments, terminal),
        Command::Knobs(arguments) => knobs::run(&arguments, terminal),
        Command::Footprint(arguments) => footprint::run(&arguments, terminal),
        Command::Size(arguments) => size::run(&arguments, terminal),
        Command::Try(arguments) => try_command::run(&arguments, terminal),
        Command::Iperf(arguments) => iperf::run(&arguments),
        Command::Link(arguments) => link::run(&arguments),
        Command::Forward(arguments) => forward::run(&arguments, terminal),
        Command::Addr(arguments) => inspect::addresses(&arguments.stacks),
        Command::Route(arguments) => inspect::routes(&arguments.stacks),
        Command::Neigh(arguments) => inspect::neighbours(&arguments.stacks),
        Command::Fleet(arguments) => fleet::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments, terminal),
        Command::Why(arguments) => why::run(&arguments, terminal),
        Command::Completions(arguments) => generate::completions(&arguments),
        Command::Man(arguments) => generate::man(&arguments),
    }
}
