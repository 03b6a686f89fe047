//! The result of each step, and the table of all results.
//!
//! The one rule: a test that did not run is never counted as passed. Tests that one step
//! ignores and a later step runs do not count as left out.
//!
//! No process is started here and no exit code is chosen.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::Result;

/// The result of one step.
#[derive(Default)]
pub struct Outcome {
    /// Tests that ran and passed; a check without tests counts as one.
    pub passed: usize,
    /// Tests that ran and failed, by name, and errors of whole commands.
    pub failed: Vec<String>,
    /// Tests that did not run, by name, with their reason.
    pub ignored: BTreeMap<String, String>,
    /// Tests that ran, by name.
    pub ran: Vec<String>,
    /// Reasons for which the whole step could not run.
    pub left_out: Vec<String>,
}

impl Outcome {
    /// The outcome of a step that is one check.
    pub fn of_check(result: Result<()>) -> Outcome {
        match result {
            Ok(()) => Outcome {
                passed: 1,
                ..Outcome::default()
            },
            Err(error) => {
                println!("{error:#}");
                Outcome {
                    failed: vec![format!("{error:#}")],
                    ..Outcome::default()
                }
            }
        }
    }

    /// The outcome of a step that this machine cannot run, with the reasons.
    pub fn left_out(reasons: Vec<String>) -> Outcome {
        Outcome {
            left_out: reasons,
            ..Outcome::default()
        }
    }

    /// The failed tests, if every failure is that of a test that ran.
    pub fn to_try_again(&self) -> Vec<String> {
        let ran = self.failed.iter().all(|name| self.ran.contains(name));
        if ran { self.failed.clone() } else { Vec::new() }
    }

    /// Counts tests that passed in a second try as passed.
    pub fn with_second_try(mut self, second: Outcome) -> Outcome {
        self.failed
            .retain(|name| !second.ran.contains(name) || second.failed.contains(name));
        self.passed += second.passed;
        self
    }

    /// The outcome of a step of two commands: this one and `other`.
    pub fn and(mut self, other: Outcome) -> Outcome {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.ignored.extend(other.ignored);
        self.ran.extend(other.ran);
        self.left_out.extend(other.left_out);
        self
    }

    /// Processes one line of a test program's output.
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

/// All steps so far. Displays as the table, the parts left out, and the closing line.
pub struct Summary {
    strict: bool,
    steps: Vec<(String, Duration, Outcome)>,
}

impl Summary {
    /// `strict` counts what is left out as failed.
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

    /// Number of tests and checks that failed; under `strict`, with those that were left
    /// out.
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

    /// Each test or step that was not run, with its reason.
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
