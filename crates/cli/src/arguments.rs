//! The command line: every flag, its help and its examples.
//!
//! Rule: what can be wrong with an argument by itself is refused here, in one
//! line. What the arguments mean is not known here.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

use crate::failure::Failure;

/// Moves bytes as fast as the path allows in the memory it is given, and says
/// which bound held it back.
#[derive(Debug, Parser)]
#[command(
    name = "fullpipe",
    version,
    disable_help_subcommand = true,
    after_help = "Examples:\n  \
        fullpipe lab run nuttx        run an experiment\n  \
        fullpipe knobs                every knob with its default and range\n  \
        fullpipe iperf -s             a server for iperf 2"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    Lab(LabArguments),
    Knobs(KnobsArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
}

/// List experiments, or run them in virtual time
///
/// Without a subcommand it lists the experiments: those of the checkout you are
/// in, and those built in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe lab                       what there is\n  \
    fullpipe lab run nuttx             published figures beside ours\n  \
    fullpipe lab run --all --json      everything, for programs")]
pub struct LabArguments {
    #[command(subcommand)]
    pub action: Option<LabAction>,
}

/// What to do in the lab.
#[derive(Debug, Subcommand)]
pub enum LabAction {
    Run(LabRunArguments),
}

/// Run an experiment and print published figures beside ours
///
/// Each row runs in virtual time. The same file, seed and settings give the same output, byte for byte.
#[derive(Debug, Args)]
#[command(after_help = "Settings for --set:\n  \
    pool.blocks=64             a knob of the host under study\n  \
    peer.tcp.delayed_ack=0ms   a knob of the host `peer`\n  \
    wifi.loss=1%               a field of the link `wifi`; `link.loss` means every link\n  \
    workload.duration=5s       a field of the transfer\n\n\
    Examples:\n  \
    fullpipe lab run nuttx\n  \
    fullpipe lab run nuttx --set pool.blocks=12 --set link.loss=1%\n  \
    fullpipe lab run ./mine.toml --json --seed 7\n  \
    fullpipe lab run --all --pcap captures")]
pub struct LabRunArguments {
    /// An experiment's name, or a file
    #[arg(value_name = "NAME|FILE", required_unless_present = "all")]
    pub experiments: Vec<String>,
    /// Run every experiment
    #[arg(long, conflicts_with = "experiments")]
    pub all: bool,
    /// Print JSON instead of tables: an object, or an array with --all or several names
    #[arg(long)]
    pub json: bool,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Change a knob, a link or the transfer in every row; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Write a capture of each row to DIR/EXPERIMENT-ROW.pcapng
    #[arg(long, value_name = "DIR")]
    pub pcap: Option<PathBuf>,
}

/// Print every knob: value, legal range, unit, what it bounds
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe knobs\n  \
    fullpipe knobs --preset nuttx\n  \
    fullpipe knobs --json")]
pub struct KnobsArguments {
    /// Show the values of this preset
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub preset: String,
    /// Print a JSON array, one object a knob
    #[arg(long)]
    pub json: bool,
}

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    fullpipe completions bash > ~/.local/share/bash-completion/completions/fullpipe\n  \
    fullpipe completions fish > ~/.config/fish/completions/fullpipe.fish")]
pub struct CompletionsArguments {
    /// Which shell
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

/// A `NAME=VALUE` of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What is set.
    pub name: String,
    /// To what.
    pub value: String,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => Ok(Setting {
            name: name.trim().to_string(),
            value: value.trim().to_string(),
        }),
        Some(_) | None => Err("expected NAME=VALUE, such as pool.blocks=64".to_string()),
    }
}

/// Why the command line leads to no command.
#[derive(Debug)]
pub enum Stop {
    /// Help or the version was asked for.
    Asked(clap::Error),
    /// It is wrong.
    Wrong(Failure),
}

impl Stop {
    /// Prints what there is to say and returns the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Asked(help) => match help.print() {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => Failure::from(error).report(),
            },
            Self::Wrong(failure) => failure.report(),
        }
    }
}

/// The whole command line, for completions and man pages.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Reads the arguments of this process.
pub fn parse() -> Result<Command, Stop> {
    let matches = command()
        .try_get_matches()
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    matches
        .map(|arguments| arguments.command)
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Stop::Asked(error),
            _ if !error.use_stderr() => Stop::Asked(error),
            _ => Stop::Wrong(Failure::usage(one_line(&error))),
        })
}

/// The parser's message without its paragraphs: what is wrong and what may
/// have been meant, but not how the command is used.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_subcommand_shows_examples() {
        fn check(command: &clap::Command) {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                help.contains("Examples:"),
                "`{}` shows none",
                command.get_name()
            );
            command.get_subcommands().for_each(check);
        }
        check(&command());
    }

    #[test]
    fn a_setting_is_a_name_and_a_value() {
        let right = setting("pool.blocks = 64").unwrap();
        assert_eq!(
            (right.name.as_str(), right.value.as_str()),
            ("pool.blocks", "64")
        );
        for wrong in ["pool.blocks", "=64", "pool.blocks=", ""] {
            assert!(setting(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_the_parser_says_becomes_one_line() {
        for (arguments, expected) in [
            (
                vec!["fullpipe"],
                "a subcommand is missing; `fullpipe --help` lists them",
            ),
            (
                vec!["fullpipe", "lab", "run"],
                "the following required arguments were not provided: <NAME|FILE>...",
            ),
            (
                vec!["fullpipe", "knobs", "--jsn"],
                "unexpected argument '--jsn' found; tip: a similar argument exists: '--json'",
            ),
            (
                vec!["fullpipe", "lab", "run", "x", "--set", "y"],
                "invalid value 'y' for '--set <NAME=VALUE>': expected NAME=VALUE, such as \
                 pool.blocks=64",
            ),
        ] {
            let error = command().try_get_matches_from(&arguments).unwrap_err();
            assert_eq!(one_line(&error), expected, "{arguments:?}");
        }
    }
}
