//! Errors that end the command without a result, and their exit codes.
//!
//! Rule: an error is one line on standard error. The exit code shows who must act: 2 the user, 1
//! the program or its environment. The exit code is 3 if a condition of `--fail-on` was met, and
//! 130 after an interrupt. It is no error if the reader of the output closes it.

use std::{fmt, io, process::ExitCode};

use fullpipe_lab::layout::{Layout, Tone};

/// The reason for which the command ends without a result.
#[derive(Debug)]
pub enum Failure {
    /// The request is wrong: exit code 2.
    Usage(String),
    /// The request was valid and failed: exit code 1.
    Failed(String),
    /// The request failed, and the lines about it have been printed: exit code 1.
    Reported,
    /// The request is wrong, and the lines about it have been printed: exit code 2.
    Refused,
    /// A row (a scenario of an experiment file) met a condition of `--fail-on`, and the line about
    /// it has been printed: exit code 3.
    ConditionMet,
    /// Ctrl-C: exit code 130.
    Interrupted(String),
    /// The reader of standard output has closed the pipe: exit code 0.
    ReaderGone,
}

impl Failure {
    /// Creates the failure for a wrong request.
    pub fn usage(why: impl fmt::Display) -> Self {
        Self::Usage(why.to_string())
    }

    /// Creates the failure for a request that failed.
    pub fn failed(why: impl fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }

    /// Prints the line and returns the exit code.
    pub fn report(&self, errors: Layout) -> ExitCode {
        let (key, why, code) = match self {
            Self::Usage(why) => ("error", why, 2),
            Self::Failed(why) => ("error", why, 1),
            Self::Interrupted(why) => ("interrupted", why, 130),
            Self::Reported => return ExitCode::FAILURE,
            Self::Refused => return ExitCode::from(2),
            Self::ConditionMet => return ExitCode::from(3),
            Self::ReaderGone => return ExitCode::SUCCESS,
        };
        let why: Vec<_> = why.split('\n').map(str::trim).collect();
        let key = errors.paint(Tone::Bad, &format!("{key}:"));
        note(format_args!("{key} {}", why.join(" ")));
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

/// Writes a line to standard error. Errors are ignored, because nobody reads a closed standard
/// error.
pub fn note(line: impl fmt::Display) {
    use io::Write;
    let _ = writeln!(io::stderr().lock(), "{line}");
}
