//! One transfer from a few flags: a host, its peer and the path between them.
//!
//! Rule: the flags become an experiment file, and that file is run. Therefore a saved file gives
//! the same result. The peer is an unchanged Linux host, so that the limit is usually the host or
//! the path.

mod text;

#[cfg(test)]
mod tests;

use fullpipe::presets::Preset;
use fullpipe_explain::Effort;
use fullpipe_pool::Duration;
use fullpipe_scenario::{
    Mistake,
    experiment::{Experiment, SettingError, Stop},
    path::{Path, full_segment},
    units::{Amount, Unit},
};
use serde::Serialize;

pub use text::trial_text;

use crate::{
    report::{RowReport, pretty, versioned},
    run::{RunError, RunOptions, run},
    size::HostRole,
};

/// Bytes of each write of the sending application.
const WRITE: u64 = 16_384;
/// Longest duration of a transfer for which neither bytes nor duration are given.
const LONGEST: Duration = Duration::from_secs(10);
/// On a fast path, a transfer without a given end lasts as long as this many bytes take at the
/// path's rate.
const BYTES: u64 = 1_000_000_000;
/// Smallest number of round trips of a transfer without a given end. The longest duration takes
/// precedence.
const ROUND_TRIPS: u64 = 50;
/// Time after which an incomplete transfer is given up.
const GIVE_UP: &str = "600s";

/// Condition at which the transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialEnd {
    /// The transfer ends after this many bytes.
    Bytes(u64),
    /// The transfer ends after this time.
    Time(Duration),
}

/// One transfer, as the command line describes it.
#[derive(Clone, Debug)]
pub struct TrialPlan {
    /// The host under study.
    pub preset: &'static Preset,
    /// Role of the host under study.
    pub role: HostRole,
    /// Settings as `--set` takes them. A setting without a prefix applies to the host. With the
    /// prefix `peer.`, `link.` or `workload.`, it applies to the other end, the path or the
    /// application, respectively.
    pub settings: Vec<(String, String)>,
    /// Rate of the path, in bit/s.
    pub rate_bps: u64,
    /// Round-trip time of the idle path.
    pub rtt: Duration,
    /// Probability that a frame with payload is lost.
    pub loss: f64,
    /// Queue of the link, in the form of an experiment file; `None` for the default.
    pub queue: Option<String>,
    /// Congestion control of the sender; `None` for the one in the sender's preset (default
    /// settings of a system).
    pub congestion: Option<String>,
    /// Condition at which the transfer ends; `None` for a duration that suits the path.
    pub end: Option<TrialEnd>,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Result of one transfer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The preset's name.
    pub preset: &'static str,
    /// The host's role: `send` or `receive`.
    pub direction: &'static str,
    /// Rate of the path, in bit/s.
    pub rate_bps: u64,
    /// Round-trip time of the idle path, in milliseconds.
    pub rtt_ms: f64,
    /// Probability that a frame with payload is lost.
    pub loss: f64,
    /// Seed with which the run can be repeated.
    pub seed: u64,
    /// Further settings of the command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Payload that the path carries in full segments, minus losses, in Mbit/s.
    pub path_mbps: f64,
    /// Goodput as a share of `path_mbps`.
    pub of_path: f64,
    /// Size of the host's packet memory, in bytes.
    pub pool_bytes: u64,
    /// Bytes of the transfer, if it ends after an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Duration of the transfer in seconds, if it ends after a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Measured values, limits and verdict.
    pub result: RowReport,
}

/// Reason that a transfer has no result.
#[derive(Debug)]
pub enum TrialError {
    /// A setting was refused.
    Setting {
        /// The flag of the command that made the setting, such as `--queue`.
        flag: &'static str,
        /// The setting `NAME=VALUE` of `--set`; empty for another flag, and if the settings
        /// together were refused.
        given: String,
        /// The error of the setting.
        error: Box<SettingError>,
    },
    /// The path, its queue or the congestion control was refused.
    Refused(Box<Mistake>),
    /// A run failed: a checker of the simulator found a violation.
    Run(Box<RunError>),
}

impl std::fmt::Display for TrialError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setting { flag, given, error } => match given.as_str() {
                "" => write!(f, "{flag}: {error}"),
                given => write!(f, "{flag} {given}: {error}"),
            },
            Self::Refused(mistake) => f.write_str(&mistake.what),
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TrialError {}

impl TrialPlan {
    /// Returns the experiment file of this transfer.
    ///
    /// # Errors
    /// Fails if a setting or a part of the path is refused.
    pub fn file(&self) -> Result<String, TrialError> {
        let mut plain = self.parse(&self.text(&[]))?;
        for (flag, name, value) in self.all_settings() {
            plain
                .set(&name, &value)
                .map_err(|error| TrialError::Setting {
                    flag,
                    given: match flag {
                        "--set" => format!("{name}={value}"),
                        _ => String::new(),
                    },
                    error: Box::new(error),
                })?;
        }
        plain.validate().map_err(|error| TrialError::Setting {
            flag: "--set",
            given: String::new(),
            error: Box::new(error),
        })?;
        let text = self.text(&self.all_settings());
        self.parse(&text).map(|_| text)
    }

    /// Runs the transfer. Calls `progress` with the finished share.
    ///
    /// # Errors
    /// Fails if a setting or the path is refused, or a checker of the simulator finds a violation.
    pub fn run(&self, progress: &(dyn Fn(f64) + Sync)) -> Result<Trial, TrialError> {
        let experiment = self.parse(&self.file()?)?;
        let settings = self.settings.iter();
        let settings = settings.map(|(name, value)| format!("{name}={value}"));
        let trial = Trial::of_row(&experiment, settings.collect(), self.seed, progress)?;
        Ok(Trial {
            rate_bps: self.rate_bps,
            rtt_ms: self.rtt.as_secs_f64() * 1e3,
            loss: self.loss,
            ..trial
        })
    }

    fn parse(&self, text: &str) -> Result<Experiment, TrialError> {
        Experiment::parse("try", "try.toml", text)
            .map_err(|mistake| TrialError::Refused(Box::new(mistake)))
    }

    /// Returns the settings, each with the flag that made it. If two flags set the same name, the
    /// later one applies.
    fn all_settings(&self) -> Vec<(&'static str, String, String)> {
        let mut all: Vec<(&'static str, String, String)> = Vec::new();
        if let Some(queue) = &self.queue {
            all.push(("--queue", "path.queue".to_string(), queue.clone()));
        }
        if let Some(congestion) = &self.congestion {
            let sender = match self.role {
                HostRole::Send => "host",
                HostRole::Receive => "peer",
            };
            // Accept `reno`, Linux's name for NewReno.
            let value = if congestion == "reno" {
                "newreno"
            } else {
                congestion
            };
            let name = format!("{sender}.tcp.congestion");
            all.push(("--congestion", name, value.to_string()));
        }
        for (name, value) in &self.settings {
            all.retain(|(_, known, _)| known != name);
            all.push(("--set", name.clone(), value.clone()));
        }
        all
    }

    fn text(&self, settings: &[(&'static str, String, String)]) -> String {
        let (from, to) = match self.role {
            HostRole::Send => ("host", "peer"),
            HostRole::Receive => ("peer", "host"),
        };
        let rtt_us = self.rtt.as_micros();
        let (there, back) = (rtt_us / 2, rtt_us - rtt_us / 2);
        let end = match self.end.unwrap_or_else(|| self.usual_end()) {
            TrialEnd::Bytes(bytes) => format!("bytes = {bytes}\ngive_up = \"{GIVE_UP}\""),
            TrialEnd::Time(length) => format!("duration = \"{length}\""),
        };
        let set = settings
            .iter()
            .map(|(_, name, value)| format!("set.{} = {}\n", quoted(name), quoted(value)))
            .collect::<String>();
        let seed = match self.seed {
            1 => String::new(),
            seed => format!(" --seed {seed}"),
        };
        format!(
            r#"# Written by `fullpipe try`. Run it: fullpipe lab run FILE{seed}
title = "One transfer of a host with preset {preset}"
subject = "host"

[hosts.host]
preset = "{preset}"

# A stock Linux.
[hosts.peer]
preset = "linux"

[links.path]
between = ["{from}", "{to}"]
rate = "{rate}"
forward.delay = "{there}us"
back.delay = "{back}us"
forward.loss = {loss}

[workload]
from = "{from}"
to = "{to}"
write = {WRITE}
{end}

[[rows]]
label = "as given"
{set}"#,
            preset = self.preset.name,
            rate = Amount {
                number: self.rate_bps as f64,
                unit: Unit::Rate,
            }
            .text(),
            loss = self.loss,
        )
    }

    /// Returns a duration that is long enough for a typical result, and short enough for a fast
    /// simulation.
    fn usual_end(&self) -> TrialEnd {
        let by_bytes = Duration::from_micros(BYTES * 8 * 1_000_000 / self.rate_bps);
        let by_trips = Duration::from_micros(self.rtt.as_micros() * ROUND_TRIPS);
        TrialEnd::Time(by_bytes.min(LONGEST).max(by_trips.min(LONGEST)))
    }
}

impl Trial {
    /// Runs the first row (scenario) of `experiment`, in which `settings` were changed. The host of
    /// the result is the subject of the experiment. Its role is receiver if it is the first flow's
    /// receiver, otherwise sender. Calls `progress` with the finished share.
    ///
    /// # Errors
    /// Returns a violation that a checker of the simulator found.
    ///
    /// # Panics
    /// Panics if the experiment has no row.
    pub fn of_row(
        experiment: &Experiment,
        settings: Vec<String>,
        seed: u64,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Self, TrialError> {
        let mut experiment = experiment.clone();
        experiment.rows.truncate(1);
        let options = RunOptions {
            progress: &|_, share| progress(share),
            effort: Effort::High,
            ..RunOptions::plain(seed)
        };
        let mut report =
            run(&experiment, &options).map_err(|error| TrialError::Run(Box::new(error)))?;
        let result = report.rows.remove(0);
        let setup = &experiment.rows[0].setup;
        let path = Path::of(setup, full_segment(setup));
        let path_mbps = path.payload_bps * (1.0 - path.loss) / 1e6;
        let (rate_bps, rtt_s) = setup.bare_path();
        let host = &setup.hosts[setup.subject];
        let (bytes, duration_s) = match setup.flow().stop {
            Stop::Bytes(bytes) => (Some(bytes), None),
            Stop::After(length) => (None, Some(length.as_secs_f64())),
        };
        let role = match setup.flow().to == setup.subject {
            true => HostRole::Receive,
            false => HostRole::Send,
        };
        Ok(Self {
            preset: host.preset.name,
            direction: role.name(),
            rate_bps: rate_bps as u64,
            rtt_ms: rtt_s * 1e3,
            loss: path.loss,
            seed,
            settings,
            path_mbps,
            of_path: result.measured.goodput_mbps / path_mbps,
            pool_bytes: host.pool_bytes(),
            bytes,
            duration_s,
            result,
        })
    }

    /// Returns the result as JSON, indented.
    pub fn json(&self) -> String {
        pretty(&versioned(self))
    }
}

/// Returns text as a TOML string or key.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
