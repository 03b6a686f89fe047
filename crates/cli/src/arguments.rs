//! The command line: every flag, its help and its examples.
//!
//! Rule: an argument that is wrong by itself is refused here, with an error of one line. Other
//! files interpret the arguments.

mod advice;
mod fail_on;
mod fleet;
mod forward;
mod inspect;
mod iperf;
mod lab;
mod link;
mod link_flags;
mod terminal;
mod values;
mod watch;
mod why;

#[cfg(test)]
mod tests;

use std::{path::PathBuf, process::ExitCode};

use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ErrorKind},
};

use fullpipe_lab::layout::{Layout, PIPED};

use crate::failure::Failure;
pub use advice::{
    Bytes, LabAdviseArguments, LabExplainArguments, SizeArguments, TryArguments, TryDirection,
};
pub use fail_on::FailOn;
pub use fleet::FleetArguments;
pub use forward::{EchoTreatment, ForwardArguments};
pub use inspect::{AddrArguments, NeighArguments, RouteArguments, StackChoice};
pub use iperf::{IperfArguments, NetworkDevice, OwnAddress};
pub use lab::{
    LabAction, LabArguments, LabAttacksArguments, LabCheckArguments, LabNewArguments,
    LabRunArguments, LabSchemaArguments,
};
pub use link::LinkArguments;
pub use terminal::{Colour, TerminalFlags};
pub use values::Setting;
pub use watch::{MetricsBy, WatchArguments};
pub use why::{ConnectionCondition, WhyArguments};

/// A TCP/IP stack for little memory, and a simulator that says what limits a transfer
#[derive(Debug, Parser)]
#[command(
    name = "fullpipe",
    version,
    disable_help_subcommand = true,
    max_term_width = 80,
    after_help = "Examples:\n  \
        fullpipe why capture.pcap     say why the transfers in a capture are slow\n  \
        fullpipe lab run nuttx        run an experiment\n  \
        fullpipe try --help           simulate one transfer from a few flags\n  \
        fullpipe knobs                list every setting with its default and range\n  \
        fullpipe size --help          find the smallest buffers for a path\n  \
        fullpipe iperf -s             serve clients of iperf 2\n  \
        fullpipe link --help          emulate a link between two TAP devices\n  \
        fullpipe forward --help       carry a TUN device's flows through a proxy\n  \
        fullpipe addr                 print the addresses of running stacks\n  \
        fullpipe watch                show what limits each connection of this host\n  \
        fullpipe fleet report dataset report which limits cost most time"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    terminal: TerminalFlags,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Why(WhyArguments),
    Lab(LabArguments),
    Knobs(KnobsArguments),
    Footprint(FootprintArguments),
    Size(SizeArguments),
    Try(TryArguments),
    Iperf(Box<IperfArguments>),
    Link(LinkArguments),
    Forward(Box<ForwardArguments>),
    Addr(AddrArguments),
    Route(RouteArguments),
    Neigh(NeighArguments),
    Watch(Box<WatchArguments>),
    Fleet(FleetArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
}

/// Print knobs (settings of the stack): value, legal range, unit and meaning
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe knobs\n  \
    fullpipe knobs send_buffer\n  \
    fullpipe knobs --preset nuttx\n  \
    fullpipe knobs --preset nuttx CONFIG_IOB\n  \
    fullpipe knobs --json")]
pub struct KnobsArguments {
    /// Print only knobs whose name, or whose name in the preset's system, contains this text
    #[arg(value_name = "NAME")]
    pub filter: Option<String>,
    /// Show the values of this preset (the settings of a known system), and the names that the system uses
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub preset: String,
    /// Print a JSON array, one object per knob
    #[arg(long)]
    pub json: bool,
}

/// Print the memory that a stack takes on this machine, part by part
///
/// The pool holds the payload of all packets. Everything else is memory beside the pool: tables, connections and the stack
/// itself. A part that takes nothing is left out, except in JSON.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe footprint\n  \
    fullpipe footprint --preset nuttx --set stack.connections=4\n  \
    fullpipe footprint --preset nuttx --json")]
pub struct FootprintArguments {
    /// Preset (settings of a known system) from which the configuration starts
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub preset: String,
    /// Set a knob (a setting of the stack); repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = values::setting)]
    pub settings: Vec<Setting>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe completions bash > ~/.local/share/bash-completion/completions/fullpipe\n  \
    fullpipe completions fish > ~/.config/fish/completions/fullpipe.fish")]
pub struct CompletionsArguments {
    /// Shell for which the completions are
    pub shell: clap_complete::Shell,
}

/// Print the man page, or write one for each subcommand
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe man | man -l -\n  \
    fullpipe man --dir ~/.local/share/man/man1")]
pub struct ManArguments {
    /// Write every page into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// A command line that names no subcommand to run.
#[derive(Debug)]
pub enum NoCommand {
    /// The command line asks for help or for the version.
    Help(clap::Error),
    /// The command line is wrong.
    Wrong(Failure),
}

impl NoCommand {
    /// Prints the help or the error and returns the exit code.
    pub fn report(&self) -> ExitCode {
        let errors = Layout::plain(PIPED);
        match self {
            Self::Help(help) => match help.print() {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => Failure::from(error).report(errors),
            },
            Self::Wrong(failure) => failure.report(errors),
        }
    }
}

/// The complete command line, for completions and man pages.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Reads the arguments of this process.
pub fn parse() -> Result<(Command, TerminalFlags), NoCommand> {
    let matches = command()
        .try_get_matches()
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    matches
        .map(|arguments| (arguments.command, arguments.terminal))
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => NoCommand::Help(error),
            _ if !error.use_stderr() => NoCommand::Help(error),
            _ => {
                let given = std::env::args().skip(1);
                let tip = swapped_letters(&command(), given).filter(|_| !has_tip(&error));
                let tip = tip.map_or_else(String::new, |name| {
                    format!("; tip: a similar subcommand exists: '{name}'")
                });
                NoCommand::Wrong(Failure::usage(one_line(&error) + &tip))
            }
        })
}

/// Returns true if no further suggestion is needed: the parser suggests a similar name itself,
/// or the error is not about the subcommand.
fn has_tip(error: &clap::Error) -> bool {
    error.kind() != ErrorKind::InvalidSubcommand
        || error.get(ContextKind::SuggestedSubcommand).is_some()
}

/// Returns the subcommand that has the letters of the first unknown word of `given` in another
/// order: `run` for `rnu`. The parser does not recognise such words as similar.
fn swapped_letters(command: &clap::Command, given: impl Iterator<Item = String>) -> Option<String> {
    let sorted = |word: &str| {
        let mut letters: Vec<_> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let mut here = command;
    for word in given.filter(|word| !word.starts_with('-')) {
        match here.find_subcommand(&word) {
            Some(found) => here = found,
            None => {
                let mut names = here.get_subcommands().map(clap::Command::get_name);
                let like = names.find(|name| sorted(name) == sorted(&word));
                return like.map(str::to_string);
            }
        }
    }
    None
}

/// Returns the parser's message in one line: the mistake and the suggestion, without the usage.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let mut parts = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            continue;
        }
        let line = line.strip_prefix("error: ").unwrap_or(line);
        if !line.is_empty() {
            parts.push(line.to_string());
        }
    }
    if parts.is_empty() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a subcommand is missing; `fullpipe --help` lists them".to_string();
    }
    parts.join("; ").replace(":; ", ": ")
}
