//! Flags for the output; every subcommand accepts them.

use clap::{Args, ValueEnum};

/// Output of every subcommand.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct TerminalFlags {
    /// Colour: always, never, or auto (on at a terminal, off in a pipe or with NO_COLOR)
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: Colour,
    /// Width of the output in columns [default: the terminal's; 120 in a pipe]
    #[arg(long, global = true, value_name = "N",
        value_parser = clap::value_parser!(u16).range(40..))]
    pub width: Option<u16>,
    /// Print no progress and no notes on standard error
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// Colour of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// At a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Also in a pipe.
    Always,
    /// Nowhere.
    Never,
}
