//! The result of each step, and the table of all results.
//!
//! The one rule: a test that did not run never counts as passed. If one step ignores a test and a
//! later step runs it, the test does not count as left out.
//!
//! This file starts no process and chooses no exit code.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::Result;

use super::console;

/// The result of one step.
#[derive(Default)]
pub struct Outcome {
    /// Number of tests that ran and passed; a check without tests counts as one test.
    pub passed: usize,
    /// Names of tests that ran and failed, and errors of whole commands.
    pub failed: Vec<String>,
    /// Names of tests that did not run, with the reasons.
    pub ignored: BTreeMap<String, String>,
    /// Names of tests that ran.
    pub ran: Vec<String>,
    /// Reasons that the whole step could not run.
    pub left_out: Vec<String>,
}

impl Outcome {
    /// Creates the outcome of a step that consists of one check.
    pub fn of_check(result: Result<()>) -> Outcome {
        match result {
            Ok(()) => Outcome {
                passed: 1,
                ..Outcome::default()
            },
            Err(error) => {
                console::say(&format!("{error:#}"));
                Outcome {
                    failed: vec![format!("{error:#}")],
                    ..Outcome::default()
                }
            }
        }
    }

    /// Creates the outcome of a step that this machine cannot run, with the reasons.
    pub fn left_out(reasons: Vec<String>) -> Outcome {
        Outcome {
            left_out: reasons,
            ..Outcome::default()
        }
    }

    /// Combines the outcomes of a step's two commands.
    pub fn and(mut self, other: Outcome) -> Outcome {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.ignored.extend(other.ignored);
        self.ran.extend(other.ran);
        self.left_out.extend(other.left_out);
        self
    }

    /// Parses one line of pytest's summary.
    pub fn read_pytest_line(&mut self, line: &str) {
        let Some((verdict, rest)) = line.split_once(' ') else {
            return;
        };
        // A failed test is followed by its message, and a skipped one by its reason.
        let name = rest.split(" - ").next().unwrap_or(rest).to_owned();
        match verdict {
            "PASSED" if name.contains("::") => {
                self.passed += 1;
                self.ran.push(name);
            }
            "FAILED" | "ERROR" if name.contains(".py") => {
                self.failed.push(name.clone());
                self.ran.push(name);
            }
            // "SKIPPED [1] FILE:LINE: REASON", with the number of tests that were skipped there.
            "SKIPPED" => {
                let place = rest.split_once("] ").map_or(rest, |(_, place)| place);
                let (test, reason) = place.split_once(": ").unwrap_or((place, ""));
                self.ignored.insert(test.to_owned(), reason.to_owned());
            }
            _ => (),
        }
    }

    /// Parses one line of a test program's output.
    pub fn read_line(&mut self, line: &str) {
        let Some((name, verdict)) = line
            .strip_prefix("test ")
            .and_then(|l| l.split_once(" ... "))
        else {
            return;
        };
        if verdict == "ok" {
            self.passed += 1;
            self.ran.push(name.to_owned());
        } else if verdict.starts_with("FAILED") {
            self.failed.push(name.to_owned());
            self.ran.push(name.to_owned());
        } else if let Some(reason) = verdict.strip_prefix("ignored") {
            let reason = reason.trim_start_matches([',', ' ']);
            self.ignored.insert(name.to_owned(), reason.to_owned());
        }
    }
}

/// The results of all steps so far. The text form is the table, the parts left out, and the last
/// line.
pub struct Summary {
    strict: bool,
    steps: Vec<(String, Duration, Outcome)>,
}

impl Summary {
    /// Creates an empty summary. With `strict`, parts that are left out count as failed.
    pub fn new(strict: bool) -> Summary {
        Summary {
            strict,
            steps: Vec::new(),
        }
    }

    /// Adds a step that took `took`.
    pub fn add(&mut self, step: &str, took: Duration, outcome: Outcome) {
        self.steps.push((step.to_owned(), took, outcome));
    }

    /// Number of tests and checks that passed.
    pub fn passed(&self) -> usize {
        self.steps
            .iter()
            .map(|(_, _, outcome)| outcome.passed)
            .sum()
    }

    /// Number of tests and checks that failed. With `strict`, those that were left out are
    /// included.
    pub fn failed(&self) -> usize {
        let failed: usize = self
            .steps
            .iter()
            .map(|(_, _, outcome)| outcome.failed.len())
            .sum();
        failed
            + if self.strict {
                self.left_out().len()
            } else {
                0
            }
    }

    /// Returns each test or step that was not run, with its reason.
    pub fn left_out(&self) -> Vec<String> {
        let mut left_out = Vec::new();
        for (step, _, outcome) in &self.steps {
            for reason in &outcome.left_out {
                left_out.push(format!("{step}: {reason}"));
            }
            for (test, reason) in &outcome.ignored {
                let ran_later = self
                    .steps
                    .iter()
                    .any(|(_, _, other)| other.ran.contains(test));
                if !ran_later {
                    left_out.push(format!("{step}: {test} ({reason})"));
                }
            }
        }
        left_out
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (step, took, outcome) in &self.steps {
            let verdict = match (outcome.failed.is_empty(), outcome.left_out.is_empty()) {
                (false, _) => "FAILED",
                (true, false) => "left out",
                (true, true) => "ok",
            };
            let counts = format!("{} passed, {} failed", outcome.passed, outcome.failed.len());
            writeln!(
                f,
                "{step:<10} {verdict:<9} {:>7.1} s  {counts}",
                took.as_secs_f64()
            )?;
        }
        for (step, _, outcome) in &self.steps {
            for test in &outcome.failed {
                writeln!(f, "failed: {step}: {test}")?;
            }
        }
        for part in self.left_out() {
            writeln!(f, "left out: {part}")?;
        }
        writeln!(f, "{} passed, {} failed", self.passed(), self.failed())
    }
}
