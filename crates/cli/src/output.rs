//! Standard output and its terminal: width, colour, results.
//!
//! Rule: only results are printed to standard output. A result is written while standard output
//! is locked, so the results of two threads do not mix. By default, colour is on at a terminal,
//! except a dumb terminal. It is off in a pipe and with `NO_COLOR`. `--color` overrides the
//! default.

use std::{
    env,
    io::{self, IsTerminal},
};

use fullpipe_lab::layout::{Layout, PIPED};

use crate::{
    arguments::{Colour, TerminalFlags},
    failure::Failure,
};

/// Properties of the output, from the command line.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Width and colour of standard output.
    pub layout: Layout,
    /// True if no progress and no notes are printed.
    pub quiet: bool,
    /// True if standard error is coloured.
    colours_errors: bool,
}

impl Terminal {
    /// Creates the output of this process from `flags`.
    pub fn new(flags: TerminalFlags) -> Self {
        let detected = || terminal_size::terminal_size_of(io::stdout());
        let width = flags.width.map(usize::from);
        let width = width.or_else(|| detected().map(|(columns, _)| usize::from(columns.0)));
        let is_on = |is_terminal: bool| match flags.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => is_terminal && is_colour_wanted(),
        };
        Self {
            layout: Layout {
                colour: is_on(io::stdout().is_terminal()),
                ..Layout::plain(width.unwrap_or(PIPED))
            },
            quiet: flags.quiet,
            colours_errors: is_on(io::stderr().is_terminal()),
        }
    }

    /// Width and colour of standard error.
    pub fn errors(self) -> Layout {
        Layout {
            colour: self.colours_errors,
            ..self.layout
        }
    }
}

/// Returns true if the environment does not turn colours off.
fn is_colour_wanted() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|name| name != "dumb")
}

/// Writes `text` to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    use io::Write;
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
