//! An experiment and its rows. A row is a scenario of the experiment with changed settings.
//!
//! Rule: an [`Experiment`] is valid, because its reader (`parse`) refuses every mistake.

use super::{
    congestion::OutsideCongestion,
    origins::Origins,
    published::{Peer, Published},
    setting::SettingError,
    setup::Setup,
};
use crate::coordinate::Coordinate;

/// The experiment of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The file's name without its ending.
    pub name: String,
    /// Title, one line long.
    pub title: String,
    /// Source of the published results.
    pub source: Option<String>,
    /// Meaning of the rows' labels, one line long.
    pub labels: Option<String>,
    /// Names of the quantities that the table shows. If empty, the table shows the quantities with
    /// published figures, or goodput if there are none.
    pub columns: Vec<&'static str>,
    /// Origins of the values in the file.
    pub origins: Origins,
    /// The rows in the order of the file. Rows from a matrix, one for each combination of values,
    /// come first.
    pub rows: Vec<Row>,
}

/// One row of the experiment's table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Label of the row.
    pub label: String,
    /// If the row belongs to a sweep: the row's combination of values, with one setting for each
    /// axis.
    pub point: Vec<Coordinate>,
    /// Hosts, links and flows.
    pub setup: Setup,
    /// Settings that only this row makes, each with path and value as `--set` takes them.
    pub own: Vec<(String, String)>,
    /// Settings made by `--set` that replaced a setting in which the rows differ.
    pub overridden: Vec<String>,
    /// True if `--set` changed the setup, so that published figures are not about this setup.
    pub changed_by_set: bool,
    /// Number of seeds with which the row is run.
    pub seeds: u32,
    /// Published figures of the source.
    pub published: Published,
    /// Published figures of other stacks.
    pub peers: Vec<Peer>,
    /// Parameters that were fitted to published figures of this row, each with the values that
    /// were tried. Empty if `--set` changed the setup.
    pub fitted: Vec<String>,
    /// True if this row is the baseline, so that the goodput of other rows is also shown as a
    /// share of this row's goodput.
    pub baseline: bool,
    /// A sentence that is printed below the row's verdict (the explanation of its limit).
    pub note: Option<String>,
}

impl Row {
    /// Returns the label, with the row's point of a sweep and with the settings of `--set` that
    /// replaced the row's own settings.
    pub fn title(&self) -> String {
        title(&self.label, &self.point, &self.overridden)
    }

    /// Returns true if one of the row's own settings had an effect in `before` and has none in
    /// `self.setup`. A setting counts as having an effect if making it once more does not change
    /// the setup. This test also finds a setting that was replaced under its other name, without a
    /// table of such names.
    fn loses_a_setting(&self, before: &Setup) -> bool {
        let is_in_force = |setup: &Setup, (path, text): &(String, String)| {
            let mut again = setup.clone();
            again.set(path, text).is_ok() && again == *setup
        };
        let mut own = self.own.iter();
        own.any(|setting| is_in_force(before, setting) && !is_in_force(&self.setup, setting))
    }
}

/// Returns a row's label with the row's point of a sweep and with the settings that replaced the
/// row's own settings: `unlimited buffers [pool.blocks=24 by --set]`.
pub fn title(label: &str, point: &[Coordinate], overridden: &[String]) -> String {
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
    /// Adds a congestion control from another crate to every host. `tcp.congestion` accepts its
    /// name from now on.
    pub fn register_congestion(&mut self, congestion: &OutsideCongestion) {
        let hosts = self.rows.iter_mut().flat_map(|row| &mut row.setup.hosts);
        hosts.for_each(|host| host.register_congestion(congestion.clone()));
    }

    /// Changes one setting of every row, as `--set` does.
    ///
    /// # Errors
    /// Fails if the name is unknown, the value is refused, or the change causes a contradiction.
    /// The error for an unknown name contains the most similar known name. After an error the
    /// experiment must not be used.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), SettingError> {
        let before: Vec<Setup> = self.rows.iter().map(|row| row.setup.clone()).collect();
        for row in &mut self.rows {
            row.setup.set(path, text)?;
        }
        // If one row loses a setting of its own, mark all changed rows: the labels name the
        // settings in which rows differ, so each label may now be wrong.
        let mut pairs = self.rows.iter().zip(&before);
        if pairs.any(|(row, before)| row.loses_a_setting(before)) {
            let rows = self.rows.iter_mut().zip(&before);
            for (row, _) in rows.filter(|(row, before)| row.setup != **before) {
                row.overridden.push(format!("{path}={text}"));
            }
        }
        // A fit was made with the setup as written, and does not hold for another one.
        let rows = self.rows.iter_mut().zip(&before);
        for (row, _) in rows.filter(|(row, before)| row.setup != **before) {
            row.changed_by_set = true;
            row.fitted.clear();
        }
        Ok(())
    }

    /// Checks every row for contradictions, and for runs that could not finish. To be called after
    /// the last [`set`](Self::set).
    ///
    /// # Errors
    /// Returns the first contradiction, or the first part that no run could finish.
    pub fn validate(&self) -> Result<(), SettingError> {
        self.rows.iter().try_for_each(|row| row.setup.validate())
    }
}
