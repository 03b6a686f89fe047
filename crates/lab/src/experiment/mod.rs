//! An experiment: hosts, switches, links, flows, and rows that change them.
//!
//! Rule: an [`Experiment`] that exists is right. Everything that could be wrong
//! with it, each row included, was refused while it was read (`parse.rs`).

mod cpu;
mod datagrams;
mod device;
mod flow;
mod link;
mod other_names;
mod parse;
mod published;
mod setting;
mod setup;

#[cfg(test)]
mod tests;

pub use cpu::{CPU_FIELDS, CpuField};
pub(crate) use flow::omitted_until;
pub use flow::{FLOW_FIELDS, FlowField, FlowPlan, LowWater, Stop};
pub use link::{LINK_FIELDS, LinkField, LinkPlan, Place};
pub use published::{Peer, Published};
pub use setting::SettingError;
pub use setup::{HostPlan, Setup};

pub(crate) use device::DEVICE_FIELDS;
pub(crate) use other_names::{OTHER_NAMES, OtherName, of_preset as other_names};
pub(crate) use parse::{HOST_KEYS, ROW_KEYS, TOP_KEYS};

use crate::{mistake::Mistake, sweep::Coordinate};

/// One file's experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The file's name without its ending.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// Where the published figures come from.
    pub source: Option<String>,
    /// Quantities that the table shows, by name; none leaves the choice to it.
    pub columns: Vec<&'static str>,
    /// The rows, those of the matrix first, in the order of the file.
    pub rows: Vec<Row>,
}

/// One line of the experiment's table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the line is called.
    pub label: String,
    /// Where in a sweep the row is, axis by axis.
    pub point: Vec<Coordinate>,
    /// The world it runs in.
    pub setup: Setup,
    /// How many seeds it is run with.
    pub seeds: u32,
    /// What the source says came out.
    pub published: Published,
    /// What came out for others.
    pub peers: Vec<Peer>,
    /// Free parameters of the experiment that were chosen so that this row
    /// comes out; every other row is then a prediction.
    pub fitted: Vec<String>,
    /// The others' goodput is also shown as a share of this one's.
    pub baseline: bool,
    /// A sentence printed below the row's verdict.
    pub note: Option<String>,
}

impl Row {
    /// The label, with the row's point where there is one.
    pub fn title(&self) -> String {
        title(&self.label, &self.point)
    }
}

/// What a row is called where its label alone would not tell it from others.
pub(crate) fn title(label: &str, point: &[Coordinate]) -> String {
    let parts = point.iter().map(|at| format!(", {at}"));
    std::iter::once(label.to_string()).chain(parts).collect()
}

impl Experiment {
    /// Reads an experiment from a file's text.
    ///
    /// `name` is what the experiment is called, `file` what mistakes are
    /// reported under.
    ///
    /// # Errors
    /// The first mistake, with its line and column.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Self, Mistake> {
        Self::check(name, file, text).map_err(|mut mistakes| mistakes.swap_remove(0))
    }

    /// Reads an experiment as [`parse`](Self::parse) does, to find everything
    /// that is wrong with it.
    ///
    /// # Errors
    /// Every mistake, at least one, in the order of the file; what all of it lacks
    /// last. What depends on something that was refused is not judged.
    pub fn check(name: &str, file: &str, text: &str) -> Result<Self, Vec<Mistake>> {
        parse::experiment(name, file, text)
    }

    /// Makes one change to every row, as `--set` does.
    ///
    /// # Errors
    /// An unknown name with the nearest known one, a value refused, or a
    /// contradiction that the change makes; the experiment is then unusable.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), SettingError> {
        for row in &mut self.rows {
            row.setup.set(path, text)?;
        }
        Ok(())
    }

    /// Checks every row for contradictions, after the last [`set`](Self::set).
    ///
    /// # Errors
    /// The first contradiction.
    pub fn validate(&self) -> Result<(), SettingError> {
        self.rows.iter().try_for_each(|row| row.setup.validate())
    }
}
