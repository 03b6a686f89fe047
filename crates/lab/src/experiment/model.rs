//! An experiment and its rows.
//!
//! Rule: an [`Experiment`] is valid, because its reader (`parse`) refuses every mistake.

use super::{
    published::{Peer, Published},
    setting::SettingError,
    setup::Setup,
};
use crate::coordinate::Coordinate;

/// One file's experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The file's name without its ending.
    pub name: String,
    /// Title, in a line.
    pub title: String,
    /// Source of the published figures.
    pub source: Option<String>,
    /// Quantities that the table shows, by name; empty leaves the choice to it.
    pub columns: Vec<&'static str>,
    /// The rows, those of the matrix first, in the order of the file.
    pub rows: Vec<Row>,
}

/// One line of the experiment's table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Label of the row.
    pub label: String,
    /// Point of a sweep that the row is at, axis by axis.
    pub point: Vec<Coordinate>,
    /// Hosts, links and flows.
    pub setup: Setup,
    /// The row's own settings: path and value, as `--set` takes them.
    pub own: Vec<(String, String)>,
    /// Settings of `--set` that replaced settings in which rows differ.
    pub overridden: Vec<String>,
    /// Number of seeds that it is run with.
    pub seeds: u32,
    /// Figures of the source.
    pub published: Published,
    /// Figures of other stacks.
    pub peers: Vec<Peer>,
    /// Free parameters that were fitted on this row; every other row is then a
    /// prediction.
    pub fitted: Vec<String>,
    /// The goodput of other rows is also shown as a share of this row's.
    pub baseline: bool,
    /// A sentence printed below the row's verdict.
    pub note: Option<String>,
}

impl Row {
    /// The label, with the row's point and the settings that replaced its own.
    pub fn title(&self) -> String {
        title(&self.label, &self.point, &self.overridden)
    }

    /// Returns true if one of the row's own settings was in force in `before` and is not
    /// in `self.setup`. The test makes the setting again, so aliases are recognized too.
    fn loses_a_setting(&self, before: &Setup) -> bool {
        let is_in_force = |setup: &Setup, (path, text): &(String, String)| {
            let mut again = setup.clone();
            again.set(path, text).is_ok() && again == *setup
        };
        let mut own = self.own.iter();
        own.any(|setting| is_in_force(before, setting) && !is_in_force(&self.setup, setting))
    }
}

/// A row's label with the point of a sweep and the settings that replaced its
/// own: `unlimited buffers [pool.blocks=24 by --set]`.
pub(crate) fn title(label: &str, point: &[Coordinate], overridden: &[String]) -> String {
    let mut title = label.to_string();
    for at in point {
        title.push_str(&format!(", {at}"));
    }
    if !overridden.is_empty() {
        title.push_str(&format!(" [{} by --set]", overridden.join(", ")));
    }
    title
}

impl Experiment {
    /// Makes one change to every row, as `--set` does.
    ///
    /// # Errors
    /// An unknown name with the nearest known one, a value refused, or a
    /// contradiction that the change makes; the experiment is then unusable.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), SettingError> {
        let before: Vec<Setup> = self.rows.iter().map(|row| row.setup.clone()).collect();
        for row in &mut self.rows {
            row.setup.set(path, text)?;
        }
        // Labels name what rows differ in. Where a row loses such a setting, the
        // label of every row that changed may be wrong.
        let mut pairs = self.rows.iter().zip(&before);
        if pairs.any(|(row, before)| row.loses_a_setting(before)) {
            let rows = self.rows.iter_mut().zip(&before);
            for (row, _) in rows.filter(|(row, before)| row.setup != **before) {
                row.overridden.push(format!("{path}={text}"));
            }
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
