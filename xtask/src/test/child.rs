//! Runs a command as a step; its output is printed and parsed at the same time.
//!
//! The one rule: each line of output is printed at once. A command that reaches its time limit is
//! killed with everything that it started.
//!
//! No log is kept.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::console;
use super::limit::Limit;
use super::outcome::Outcome;
use crate::repository;

/// A command that runs in the repository's root.
pub struct Child {
    command: Command,
    shown: String,
    limit: Duration,
}

impl Child {
    /// Creates a command without arguments and without standard input.
    pub fn new(program: &str, limit: Duration) -> Child {
        let mut command = Command::new(program);
        command.current_dir(repository::root()).stdin(Stdio::null());
        let shown = program.rsplit('/').next().unwrap_or(program).to_owned();
        Child {
            command,
            shown,
            limit,
        }
    }

    /// Appends arguments.
    pub fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Child {
        for argument in arguments {
            self.command.arg(argument);
            self.shown.push(' ');
            self.shown.push_str(argument);
        }
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Child {
        self.command.env(name, value);
        self
    }

    /// Runs the command; the step passes if the exit code is 0.
    pub fn outcome(mut self) -> Outcome {
        Outcome::of_check(self.run(|_| ()))
    }

    /// Runs the command as a test program of Rust, and counts each of its tests.
    pub fn tests(self) -> Outcome {
        self.counted(Outcome::read_line)
    }

    /// Runs the command as pytest with `-rpfEs`, and counts each of its tests.
    pub fn pytest(self) -> Outcome {
        self.counted(Outcome::read_pytest_line)
    }

    /// Runs the command and passes each line of its output to `read`.
    fn counted(mut self, read: fn(&mut Outcome, &str)) -> Outcome {
        self.command.stdout(Stdio::piped());
        let mut outcome = Outcome::default();
        let result = self.run(|line| read(&mut outcome, line.trim_end()));
        // Add the error if no test failed: the build or the test program itself failed then. If a
        // test failed, it explains the exit code, so only an exceeded time limit is added.
        if let Err(error) = result
            && (outcome.failed.is_empty() || error.is::<TookTooLong>())
        {
            outcome.failed.push(format!("{error:#}"));
        }
        if outcome.ran.is_empty() && outcome.failed.is_empty() {
            outcome.failed.push(format!("`{}` ran no test", self.shown));
        }
        outcome
    }

    /// Runs the command until it ends or reaches its limit. If standard output is captured, prints
    /// each line with the label of this thread, and passes it to `line`.
    fn run(&mut self, mut line: impl FnMut(&str)) -> Result<()> {
        console::say(&format!("$ {}", self.shown));
        let mut running = self
            .command
            .spawn()
            .with_context(|| format!("starting {}", self.shown))?;
        let limit = Limit::start(running.id(), self.limit);
        if let Some(output) = running.stdout.take() {
            for bytes in BufReader::new(output).split(b'\n') {
                let bytes = bytes?;
                let text = String::from_utf8_lossy(&bytes);
                console::say(&text);
                line(&text);
            }
        }
        let status = running.wait()?;
        if limit.is_over() {
            return Err(TookTooLong {
                command: self.shown.clone(),
                limit: self.limit,
            }
            .into());
        }
        self.judge(status)
    }

    fn judge(&self, status: ExitStatus) -> Result<()> {
        anyhow::ensure!(status.success(), "`{}` ended with {status}", self.shown);
        Ok(())
    }
}

/// Error of a command that was killed at its limit.
#[derive(Debug)]
struct TookTooLong {
    command: String,
    limit: Duration,
}

impl std::fmt::Display for TookTooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}` was killed with its children after {} s",
            self.command,
            self.limit.as_secs()
        )
    }
}

impl std::error::Error for TookTooLong {}
