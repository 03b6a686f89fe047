//! The parts of a report that are known before anything runs: the labels and published figures of
//! the rows (scenarios), and the quantities that a table shows.
//!
//! Rule: a table is laid out from an outline alone, so that its first row can be printed before
//! the last row has run. An outline contains no results.

use fullpipe_scenario::{
    Coordinate,
    experiment::{Experiment, Origins, Peer, Published, is_published, peers_with, title},
    measured::Quantity,
};

use crate::report::{Report, RowReport};

/// A report without its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// The experiment's name.
    pub experiment: String,
    /// Title of the experiment.
    pub title: String,
    /// Source of the published results.
    pub source: Option<String>,
    /// Meaning of the rows' labels.
    pub labels: Option<String>,
    /// Settings made by `--set`.
    pub overrides: Vec<String>,
    /// Origins of the values in the file: stated, fitted, chosen or implied.
    pub origins: Origins,
    /// The rows, in the order of the file.
    pub rows: Vec<OutlineRow>,
    /// Quantities that the file requests. If empty, the table shows the quantities with published
    /// figures, or goodput if there are none.
    columns: Vec<&'static str>,
}

/// A row without its results.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlineRow {
    /// The label, with the settings that replaced the row's own settings, and a mark if a
    /// parameter was fitted to the row.
    pub label: String,
    /// If the row belongs to a sweep: the row's combination of swept values.
    pub point: Vec<Coordinate>,
    /// Published figures of the source.
    pub published: Published,
    /// Published figures of other stacks.
    pub peers: Vec<Peer>,
    /// Parameters that were fitted to published figures of this row, each with the values that
    /// were tried.
    pub fitted: Vec<String>,
    /// True if `--set` changed the row's setup.
    pub changed_by_set: bool,
    /// Number of seeds with which the row is run.
    pub seeds: u32,
    /// True if this row is the baseline for the goodput of the other rows.
    pub baseline: bool,
}

/// Returns the label that a table shows.
pub(crate) fn row_label(label: &str, overridden: &[String], fitted: &[String]) -> String {
    let label = title(label, &[], overridden);
    match fitted {
        [] => label,
        [..] => format!("{label} (fitted)"),
    }
}

impl Outline {
    /// Returns the outline of `experiment`, to which `overrides` were applied.
    pub fn of(experiment: &Experiment, overrides: &[String]) -> Self {
        let rows = experiment.rows.iter().map(|row| OutlineRow {
            label: row_label(&row.label, &row.overridden, &row.fitted),
            point: row.point.clone(),
            published: row.published.clone(),
            peers: row.peers.clone(),
            fitted: row.fitted.clone(),
            changed_by_set: row.changed_by_set,
            seeds: row.seeds,
            baseline: row.baseline,
        });
        Self {
            experiment: experiment.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            labels: experiment.labels.clone(),
            overrides: overrides.to_vec(),
            origins: experiment.origins.clone(),
            rows: rows.collect(),
            columns: experiment.columns.clone(),
        }
    }

    /// Returns the outline of a finished report.
    pub fn of_report(report: &Report) -> Self {
        let row = |row: &RowReport| OutlineRow {
            label: row_label(&row.label, &row.overridden, &row.fitted),
            point: row.point.clone(),
            published: row.published.clone(),
            peers: row.peers.clone(),
            fitted: row.fitted.clone(),
            changed_by_set: row.changed_by_set,
            seeds: row.seeds,
            baseline: row.baseline,
        };
        Self {
            experiment: report.experiment.clone(),
            title: report.title.clone(),
            source: report.source.clone(),
            labels: report.labels.clone(),
            overrides: report.overrides.clone(),
            origins: report.origins.clone(),
            rows: report.rows.iter().map(row).collect(),
            columns: report.columns.clone(),
        }
    }

    /// Returns the quantities that a table shows.
    pub fn quantities(&self) -> Vec<&'static Quantity> {
        Quantity::shown(&self.columns, &|quantity| self.is_published(quantity))
    }

    /// Returns true if some row has a published figure for `quantity`.
    pub fn is_published(&self, quantity: &Quantity) -> bool {
        is_published(self.rows.iter().map(|row| &row.published), quantity)
    }

    /// Returns true if some row with a published figure for `quantity` is as written, so that its
    /// result is compared with the figure.
    pub fn is_compared(&self, quantity: &Quantity) -> bool {
        let as_written = self.rows.iter().filter(|row| !row.changed_by_set);
        is_published(as_written.map(|row| &row.published), quantity)
    }

    /// Returns the other stacks that have a figure for `quantity` in some row, in the file's
    /// order.
    pub fn peers_with(&self, quantity: &Quantity) -> Vec<&str> {
        peers_with(self.rows.iter().map(|row| row.peers.as_slice()), quantity)
    }

    /// Returns the swept settings, in the order in which they were given.
    pub fn axes(&self) -> Vec<&str> {
        let point = self.rows.first().map_or(&[][..], |row| &row.point);
        point.iter().map(|at| at.path.as_str()).collect()
    }

    /// Returns true if the rows are points of a sweep.
    pub fn is_sweep(&self) -> bool {
        self.rows.first().is_some_and(|row| !row.point.is_empty())
    }

    /// Returns the largest number of seeds of any row.
    pub fn most_seeds(&self) -> u32 {
        self.rows.iter().map(|row| row.seeds).max().unwrap_or(1)
    }

    /// Returns true if some row is the baseline.
    pub fn has_baseline(&self) -> bool {
        self.rows.iter().any(|row| row.baseline)
    }

    /// Returns the label of the baseline row; an empty string if there is none.
    pub fn baseline(&self) -> &str {
        let baseline = self.rows.iter().find(|row| row.baseline);
        baseline.map_or("", |row| &row.label)
    }
}
