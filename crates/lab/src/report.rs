//! The result of an experiment, and its JSON.
//!
//! Rule: the JSON is a stable interface (`docs/json.md`). Keys are added; a key that is
//! renamed, removed or changes its meaning needs a new [`JSON_SCHEMA`]. A quantity has its
//! unit in its name; shares add up to 1.

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

/// Version of the JSON that this crate prints, in `schema` of each object.
/// Incremented when a key is renamed or removed or changes its meaning, not when one is
/// added. `docs/json.md` lists the changes of each version.
pub const JSON_SCHEMA: u32 = 2;

/// One experiment's result. An array of these is the result of several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`JSON_SCHEMA`].
    pub schema: u32,
    /// The experiment's name.
    pub experiment: String,
    /// Its title.
    pub title: String,
    /// Source of the published figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The seed that repeats it.
    pub seed: u64,
    /// Settings that `--set` made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
    /// The published figures with the parameters behind the results, counted. Absent if
    /// there are none or if `--set` changed the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// Origins of the values in the file, for tables.
    #[serde(skip)]
    pub origins: Origins,
    /// Quantities that the table shows; if empty, those with published figures, or
    /// goodput.
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
    /// Point of a sweep to which the row belongs: settings and their values.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_path")]
    pub point: Vec<Coordinate>,
    /// Settings of `--set` that replaced settings by which rows differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<String>,
    /// Number of seeds that it was run with, from the report's seed on; with several, the
    /// measured values are medians.
    #[serde(skip_serializing_if = "is_one")]
    pub seeds: u32,
    /// Figures of the source.
    pub published: Published,
    /// Figures of other stacks, by name.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    pub peers: Vec<Peer>,
    /// Results.
    pub measured: Measured,
    /// Share of the connections' lifetime charged to each limit.
    pub limits: Limits,
    /// Time charged to each limit, and the bytes that moved in that time.
    pub account: Account,
    /// The cause of the limit with its proof, the smallest settings that free it, and their
    /// result; absent if no explanation was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Explanation>,
    /// Parameters that were fitted to published figures of this row, each with the
    /// values tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<String>,
    /// This row is the baseline: other rows are compared with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub baseline: bool,
    /// The file's note about the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Events, sockets and counters, if they were asked for.
    #[serde(flatten)]
    pub watched: Watched,
    /// The same row on hosts of this machine's kernel, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRow>,
    /// Every segment and every series, if the row was observed. For pages, not for the
    /// JSON.
    #[serde(skip)]
    pub observed: Option<Observed>,
    /// The path of the first flow, if the row was observed. For pages, not for the JSON.
    #[serde(skip)]
    pub path: Option<PathFacts>,
}

impl RowReport {
    /// The label, with the row's point of a sweep and the settings of `--set` that
    /// replaced the row's own.
    pub fn title(&self) -> String {
        title(&self.label, &self.point, &self.overridden)
    }

    /// The published figures and the results.
    pub fn published_row(&self) -> PublishedRow<'_> {
        PublishedRow {
            label: &self.label,
            published: &self.published,
            measured: &self.measured,
        }
    }

    /// The verdict as text; without an explanation, the limit with the most time.
    pub fn verdict_parts(&self) -> VerdictParts {
        let known = self.verdict.as_ref().map(|verdict| verdict.parts.clone());
        known.unwrap_or_else(|| {
            let longest = self.limits.sender.largest_first();
            let waited = longest.first().map_or_else(
                || "no connection came about".to_string(),
                |(limit, _)| format!("the sender mostly waited {}", waits_for(*limit)),
            );
            VerdictParts::limited_by(format!(
                "nothing known, because nothing was tried: {waited}"
            ))
        })
    }

    /// Returns the result of the other stack named `peer`, or `None` if none is given.
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
    /// Quantities that a table of the report shows.
    pub fn quantities(&self) -> Vec<&'static Quantity> {
        Quantity::shown(&self.columns, &|quantity| self.is_published(quantity))
    }

    /// Notes that `--set` made the settings `overrides`. The file's origins are about the
    /// experiment without them.
    pub fn set_overrides(&mut self, overrides: Vec<String>) {
        if !overrides.is_empty() {
            self.reference = None;
        }
        self.overrides = overrides;
    }

    /// The settings that were swept, in the order in which they were given.
    pub fn axes(&self) -> Vec<&str> {
        let point = self.rows.first().map_or(&[][..], |row| &row.point);
        point.iter().map(|at| at.path.as_str()).collect()
    }

    /// Returns true if some row has a published figure for `quantity`.
    pub fn is_published(&self, quantity: &Quantity) -> bool {
        is_published(self.rows.iter().map(|row| &row.published), quantity)
    }

    /// Other stacks with a figure for `quantity` in some row, in the file's order.
    pub fn peers_with(&self, quantity: &Quantity) -> Vec<&str> {
        peers_with(self.rows.iter().map(|row| row.peers.as_slice()), quantity)
    }

    /// This result as JSON, indented.
    pub fn json(&self) -> String {
        pretty(self)
    }
}

/// Several results as a JSON array, indented.
pub fn json_array(reports: &[Report]) -> String {
    pretty(&reports)
}

/// `value` with [`JSON_SCHEMA`] as its first key.
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

/// `values`, each with [`JSON_SCHEMA`] as its first key.
pub(crate) fn versioned_each<T: Serialize>(values: &[T]) -> impl Serialize {
    values.iter().map(versioned).collect::<Vec<_>>()
}

pub(crate) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("string keys and finite numbers")
}
