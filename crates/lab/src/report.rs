//! The result of an experiment with its rows (scenarios), as values and as JSON.
//!
//! Rule: the JSON is a stable interface (`docs/json.md`). New keys may be added. Renaming or
//! removing a key, or changing its meaning, needs a new [`JSON_SCHEMA`]. A quantity has its unit
//! in its name; shares add up to 1.

use fullpipe_diagnose::facts::{Observed, PathFacts, VerdictParts};
use fullpipe_explain::{Explanation, waits_for};
use fullpipe_scenario::{
    Account, Coordinate, Limits,
    experiment::{Origins, Peer, Published, is_published, peers_with, title},
    measured::{Measured, Quantity},
    watch::Watched,
};
use serde::{Serialize, Serializer};

use crate::{
    kernel_row::KernelRow,
    reference::{PublishedRow, Reference},
};

/// Version of the JSON that this crate prints, as `schema` in each object. The version increases
/// when a key is renamed or removed or changes its meaning, but not when a key is added.
/// `docs/json.md` lists the changes of each version.
pub const JSON_SCHEMA: u32 = 2;

/// Result of one experiment. In JSON, several experiments are an array of reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The value of [`JSON_SCHEMA`].
    pub schema: u32,
    /// The experiment's name.
    pub experiment: String,
    /// Title of the experiment.
    pub title: String,
    /// Source of the published results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Meaning of the rows' labels. Used by tables.
    #[serde(skip)]
    pub labels: Option<String>,
    /// First seed, with which the run can be repeated.
    pub seed: u64,
    /// Settings made by `--set`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
    /// Comparison of the results with the published figures, and the settings that were fitted or
    /// chosen for the experiment. Absent if there are no published figures or if `--set` changed
    /// the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// Origins of the values in the file: stated, fitted, chosen or implied. Used by tables.
    #[serde(skip)]
    pub origins: Origins,
    /// Quantities that the table shows. If empty, the table shows the quantities with published
    /// figures, or goodput if there are none.
    #[serde(skip)]
    pub columns: Vec<&'static str>,
    /// The rows, in the order of the file.
    pub rows: Vec<RowReport>,
}

/// One row's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowReport {
    /// The row's label.
    pub label: String,
    /// If the row belongs to a sweep: its combination of swept settings and values.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_path")]
    pub point: Vec<Coordinate>,
    /// Settings made by `--set` that replaced a setting in which the rows differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<String>,
    /// True if `--set` changed the row's setup. Used by tables, which then do not compare results
    /// with published figures.
    #[serde(skip)]
    pub changed_by_set: bool,
    /// Number of seeds with which the row was run, from the report's seed on. With several seeds,
    /// the measured values are medians.
    #[serde(skip_serializing_if = "is_one")]
    pub seeds: u32,
    /// The host under study, whose packet memory `measured` describes.
    pub subject: String,
    /// Published figures of the source.
    pub published: Published,
    /// Published figures of other stacks, by name.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    pub peers: Vec<Peer>,
    /// Results.
    pub measured: Measured,
    /// Share of the connections' lifetime charged to each limit.
    pub limits: Limits,
    /// Time charged to each limit, and the bytes carried in that time.
    pub account: Account,
    /// The cause of the limit with its proof, the smallest settings that remove the limit, and
    /// their predicted result. Absent if no explanation was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Explanation>,
    /// Parameters that were fitted to published figures of this row, each with the values that
    /// were tried. Empty if `--set` changed the row's setup.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<String>,
    /// True if this row is the baseline, with which other rows are compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub baseline: bool,
    /// The file's note about the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Events, sockets and counters, if they were requested.
    #[serde(flatten)]
    pub watched: Watched,
    /// Result of the same row on hosts that this machine's kernel runs, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRow>,
    /// Every segment and every series, if the row was observed. Used by pages, omitted from the
    /// JSON.
    #[serde(skip)]
    pub observed: Option<Observed>,
    /// The path of the first flow, if the row was observed. Used by pages, omitted from the JSON.
    #[serde(skip)]
    pub path: Option<PathFacts>,
}

impl RowReport {
    /// Returns the label, with the row's point of a sweep and with the settings of `--set` that
    /// replaced the row's own settings.
    pub fn title(&self) -> String {
        title(&self.label, &self.point, &self.overridden)
    }

    /// Returns the published figures with the results.
    pub fn published_row(&self) -> PublishedRow<'_> {
        PublishedRow {
            label: &self.label,
            published: &self.published,
            measured: &self.measured,
        }
    }

    /// Returns the parts of the verdict. Without an explanation, the parts name the limit for which
    /// the sender waited longest.
    pub fn verdict_parts(&self) -> VerdictParts {
        let known = self.verdict.as_ref().map(|verdict| verdict.parts.clone());
        known.unwrap_or_else(|| {
            let longest = self.limits.sender.largest_first();
            let is_udp = self.measured.lost_share.is_some();
            let waited = longest.first().map_or_else(
                || "No connection was established".to_string(),
                |(limit, _)| {
                    let words = waits_for(*limit, is_udp);
                    format!("The sender waited longest {words}")
                },
            );
            VerdictParts::limited_by(format!(
                "an unknown cause, because the row was not explained. {waited}"
            ))
        })
    }

    /// Returns the published figure of the other stack named `peer`; `None` if there is none.
    pub fn peer_figure(&self, peer: &str, quantity: &Quantity) -> Option<f64> {
        let found = self.peers.iter().find(|known| known.name == peer)?;
        found.figures.figure(quantity.name)
    }
}

fn is_one(seeds: &u32) -> bool {
    *seeds == 1
}

fn by_path<S: Serializer>(point: &[Coordinate], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(point.iter().map(|at| (&at.path, &at.value)))
}

fn by_name<S: Serializer>(peers: &[Peer], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(peers.iter().map(|peer| (&peer.name, &peer.figures)))
}

impl Report {
    /// Returns the quantities that a table of the report shows.
    pub fn quantities(&self) -> Vec<&'static Quantity> {
        Quantity::shown(&self.columns, &|quantity| self.is_published(quantity))
    }

    /// Sets `overrides`, the settings that `--set` made. If there is one, removes the comparison
    /// with published figures: the file says which figures are fitted, implied or predicted, but
    /// only for the experiment without `--set`.
    pub fn set_overrides(&mut self, overrides: Vec<String>) {
        if !overrides.is_empty() {
            self.reference = None;
        }
        self.overrides = overrides;
    }

    /// Returns the swept settings, in the order in which they were given.
    pub fn axes(&self) -> Vec<&str> {
        let point = self.rows.first().map_or(&[][..], |row| &row.point);
        point.iter().map(|at| at.path.as_str()).collect()
    }

    /// Returns true if some row has a published figure for `quantity`.
    pub fn is_published(&self, quantity: &Quantity) -> bool {
        is_published(self.rows.iter().map(|row| &row.published), quantity)
    }

    /// Returns the other stacks that have a figure for `quantity` in some row, in the file's
    /// order.
    pub fn peers_with(&self, quantity: &Quantity) -> Vec<&str> {
        peers_with(self.rows.iter().map(|row| row.peers.as_slice()), quantity)
    }

    /// Returns the report as JSON, indented.
    pub fn json(&self) -> String {
        pretty(self)
    }
}

/// Returns several reports as a JSON array, indented.
pub fn json_array(reports: &[Report]) -> String {
    pretty(&reports)
}

/// Returns `value` with [`JSON_SCHEMA`] as its first key.
pub(crate) fn versioned<T: Serialize>(value: &T) -> impl Serialize {
    #[derive(Serialize)]
    struct Versioned<'a, T> {
        schema: u32,
        #[serde(flatten)]
        value: &'a T,
    }
    Versioned {
        schema: JSON_SCHEMA,
        value,
    }
}

/// Returns `values`, each with [`JSON_SCHEMA`] as its first key.
pub(crate) fn versioned_each<T: Serialize>(values: &[T]) -> impl Serialize {
    values.iter().map(versioned).collect::<Vec<_>>()
}

pub(crate) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("string keys and finite numbers")
}
