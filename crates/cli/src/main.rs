//! The command `fullpipe`.
//!
//! Rule: results go to standard output, everything else to standard error; what
//! goes wrong is one line there, and the exit code says whose fault it was: 2
//! for what was asked, 1 for what happened. The work is done elsewhere.

mod advise;
mod arguments;
mod failure;
mod files;
mod generate;
mod iperf;
mod knobs;
mod lab;
mod link;
mod output;
mod parquet_file;
mod progress;
mod size;
mod try_command;

use std::process::ExitCode;

use arguments::Command;
use failure::Failure;

fn main() -> ExitCode {
    let command = match arguments::parse() {
        Ok(command) => command,
        Err(stop) => return stop.report(),
    };
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Lab(arguments) => lab::run(arguments),
        Command::Knobs(arguments) => knobs::run(&arguments),
        Command::Size(arguments) => size::run(&arguments),
        Command::Try(arguments) => try_command::run(&arguments),
        Command::Iperf(arguments) => iperf::run(&arguments),
        Command::Link(arguments) => link::run(&arguments),
        Command::Completions(arguments) => generate::completions(&arguments),
        Command::Man(arguments) => generate::man(&arguments),
    }
}
