//! Why the command ends without a result.
//!
//! Rule: one line on standard error, and an exit code that says whose fault it
//! was. A reader of our output that goes away is nobody's fault.

use std::{fmt, io, process::ExitCode};

/// Why the command ends without a result.
#[derive(Debug)]
pub enum Failure {
    /// What was asked for makes no sense: exit code 2.
    Usage(String),
    /// It made sense and went wrong: exit code 1.
    Failed(String),
    /// It went wrong, and the line about it has been printed: exit code 1.
    Reported,
    /// What was asked for is wrong, and the lines about it have been printed:
    /// exit code 2.
    Refused,
    /// Whoever read our output has had enough: no failure at all.
    ReaderGone,
}

impl Failure {
    /// What was asked for makes no sense.
    pub fn usage(why: impl fmt::Display) -> Self {
        Self::Usage(why.to_string())
    }

    /// It went wrong.
    pub fn failed(why: impl fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }

    /// Prints the line and returns the exit code.
    pub fn report(&self) -> ExitCode {
        let (why, code) = match self {
            Self::Usage(why) => (why, 2),
            Self::Failed(why) => (why, 1),
            Self::Reported => return ExitCode::FAILURE,
            Self::Refused => return ExitCode::from(2),
            Self::ReaderGone => return ExitCode::SUCCESS,
        };
        eprintln!(
            "error: {}",
            why.split('\n').map(str::trim).collect::<Vec<_>>().join(" ")
        );
        ExitCode::from(code)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderGone
        } else {
            Self::Failed(error.to_string())
        }
    }
}
