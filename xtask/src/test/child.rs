//! A command run as a step: its output passes through and is read on the way.
//!
//! The one rule: a person sees what the command prints, as it prints it.
//!
//! It keeps no log and sets no limit on time: CI has its own.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result};

use super::outcome::Outcome;
use crate::repository;

/// A command to run in the repository's root.
pub struct Child {
    command: Command,
    shown: String,
}

impl Child {
    /// A command without arguments yet; it reads no standard input.
    pub fn new(program: &str) -> Child {
        let mut command = Command::new(program);
        command.current_dir(repository::root()).stdin(Stdio::null());
        let shown = program.rsplit('/').next().unwrap_or(program).to_owned();
        Child { command, shown }
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

    /// Runs it; it passes when it exits with 0.
    pub fn outcome(mut self) -> Outcome {
        println!("$ {}", self.shown);
        let result = self
            .command
            .status()
            .with_context(|| format!("starting {}", self.shown));
        Outcome::of_check(result.and_then(|status| self.judge(status)))
    }

    /// Runs it as a test program: each test counts by itself.
    pub fn tests(mut self) -> Outcome {
        println!("$ {}", self.shown);
        let mut outcome = Outcome::default();
        let result = self.read_tests(&mut outcome);
        // A failing test explains a failing exit; without one, the build or the
        // test program itself went wrong.
        if let Err(error) = result
            && outcome.failed.is_empty()
        {
            outcome.failed.push(format!("{error:#}"));
        }
        if outcome.ran.is_empty() && outcome.failed.is_empty() {
            outcome.failed.push(format!("`{}` ran no test", self.shown));
        }
        outcome
    }

    fn read_tests(&mut self, outcome: &mut Outcome) -> Result<()> {
        let mut running = self
            .command
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", self.shown))?;
        let output = running.stdout.take().expect("stdout was asked for");
        for line in BufReader::new(output).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            outcome.read_line(line.trim_end());
        }
        let status = running.wait()?;
        self.judge(status)
    }

    fn judge(&self, status: ExitStatus) -> Result<()> {
        anyhow::ensure!(status.success(), "`{}` ended with {status}", self.shown);
        Ok(())
    }
}
