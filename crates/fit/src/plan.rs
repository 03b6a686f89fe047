//! The experiment that a capture suggests, value by value, and its file.
//!
//! Rule: the twin (the simulated copy of the captured connection) is run from this file, so a user
//! who runs the file gets the twin's results. Each value is marked as seen, inferred, guessed or
//! assumed.

use fullpipe::presets::Preset;
use fullpipe_scenario::{
    Experiment, Setup,
    units::{Amount, Unit},
};
use serde::Serialize;

use crate::failure::FitFailure;

/// Name of the host that sends the payload.
pub const SENDER: &str = "sender";
/// Name of the host that receives the payload.
pub const RECEIVER: &str = "receiver";
/// Name of the link between the hosts.
pub const PATH: &str = "path";

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Segments contain the value.
    Seen,
    /// The value follows from times and numbers of segments.
    Inferred,
    /// The value is the most likely of several.
    Guessed,
    /// The capture does not show the value.
    Assumed,
}

impl Basis {
    /// Name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Inferred => "inferred",
            Self::Guessed => "guessed",
            Self::Assumed => "assumed",
        }
    }
}

/// A setting of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedValue {
    /// The setting, as `--set` takes it.
    pub set: String,
    /// Value of the setting.
    pub to: String,
    /// Origin of the value.
    pub basis: Basis,
    /// The segments that showed the value, or the reason for which the value is assumed.
    pub why: String,
    /// True for a buffer's size if the capture leaves open which of two settings gave it.
    #[serde(skip)]
    pub is_either: bool,
}

/// An experiment that is being fitted.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Preset of both hosts.
    pub preset: &'static Preset,
    /// Title of the experiment file.
    pub title: String,
    /// Values in the order of the file. A later value of the same setting replaces an earlier one.
    pub values: Vec<FittedValue>,
}

impl Plan {
    /// Creates an experiment without values.
    pub fn new(preset: &'static Preset, title: String) -> Self {
        Self {
            preset,
            title,
            values: Vec::new(),
        }
    }

    /// Sets a value, and replaces an earlier value of the same setting.
    pub fn set(&mut self, set: &str, to: impl ToString, basis: Basis, why: impl Into<String>) {
        let value = FittedValue {
            set: set.to_string(),
            to: to.to_string(),
            basis,
            why: why.into(),
            is_either: false,
        };
        match self.values.iter_mut().find(|known| known.set == set) {
            Some(known) => *known = value,
            None => self.values.push(value),
        }
    }

    /// Marks the value of `set` as one that another setting may have given.
    pub fn mark_either(&mut self, set: &str) {
        let mut values = self.values.iter_mut();
        if let Some(value) = values.find(|value| value.set == set) {
            value.is_either = true;
        }
    }

    /// Removes the value of a setting.
    pub fn unset(&mut self, set: &str) {
        self.values.retain(|known| known.set != set);
    }

    /// The value of a setting.
    pub fn get(&self, set: &str) -> Option<&FittedValue> {
        self.values.iter().find(|known| known.set == set)
    }

    /// Returns true if a link draws losses at random.
    pub fn is_random(&self) -> bool {
        let is_loss = |value: &FittedValue| value.set.contains("loss");
        self.values.iter().any(is_loss)
    }

    /// Returns the experiment file.
    pub fn file(&self) -> String {
        let preset = self.preset.name;
        let mut out = format!(
            "# Written by `fullpipe why`. Run it: fullpipe lab run FILE\n\
             # The comment above a value says how it was found. All other values are the preset's.\n\
             title = {}\nsubject = \"{SENDER}\"\n",
            quoted(&self.title)
        );
        for host in [SENDER, RECEIVER] {
            out += &format!("\n[hosts.{host}]\npreset = \"{preset}\"\nacquainted = true\n");
            out += &self.table(host, "set.");
        }
        out += &format!("\n[links.{PATH}]\nbetween = [\"{SENDER}\", \"{RECEIVER}\"]\n");
        out += &self.table(PATH, "");
        out += &format!("\n[workload]\nfrom = \"{SENDER}\"\nto = \"{RECEIVER}\"\n");
        out += &self.table("workload", "");
        out + "\n[[rows]]\nlabel = \"as captured\"\n"
    }

    /// Returns the lines of the values whose settings begin with `first`.
    fn table(&self, first: &str, prefix: &str) -> String {
        let own = self.values.iter().filter_map(|value| {
            let name = value.set.strip_prefix(first)?.strip_prefix('.')?;
            Some((name, value))
        });
        let lines = own.map(|(name, value)| {
            let FittedValue { to, basis, why, .. } = value;
            let (basis, to) = (basis.name(), quoted(to));
            format!("# {basis}: {why}\n{prefix}{name} = {to}\n")
        });
        lines.collect()
    }

    /// Returns the setup that the file describes.
    ///
    /// # Errors
    /// Fails if the capture shows a value outside the range of its setting.
    pub fn setup(&self) -> Result<Setup, FitFailure> {
        let text = self.file();
        let experiment = Experiment::parse("capture", "capture.toml", &text)
            .map_err(|mistake| FitFailure::Refused(mistake.to_string()))?;
        Ok(experiment.rows[0].setup.clone())
    }
}

/// A rate, as written in experiment files.
pub fn rate_value(bps: f64) -> String {
    Amount {
        number: bps.max(1.0).round(),
        unit: Unit::Rate,
    }
    .text()
}

/// A time in whole microseconds, as written in experiment files.
pub fn micros_value(us: f64) -> String {
    format!("{}us", us.max(0.0).round() as u64)
}

/// Text as a TOML string.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
