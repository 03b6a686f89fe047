//! What came out of an experiment, and the JSON that programs read.
//!
//! Rule: the JSON is a stable interface. Fields are added, never renamed; a
//! quantity has its unit in its name; shares add up to 1.

use fullpipe_diagnose::facts::{Observed, PathFacts};
use serde::{Serialize, Serializer};

use crate::{
    experiment::{Peer, Published, title},
    measured::{Measured, Quantity},
    shares::{Shares, Times},
    sweep::Coordinate,
    verdict::Verdict,
    watch::Watched,
};

/// One experiment's result. An array of these is the result of several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The experiment's name.
    pub experiment: String,
    /// What it shows.
    pub title: String,
    /// Where the published figures come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The seed that repeats it.
    pub seed: u64,
    /// Settings that were given beside the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
    /// Quantities that the table shows; none leaves the choice to it.
    #[serde(skip)]
    pub columns: Vec<&'static str>,
    /// The rows, in the order of the file.
    pub rows: Vec<RowReport>,
}

/// One row's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowReport {
    /// What the row is called.
    pub label: String,
    /// Where in a sweep the row is: settings and their values.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_path")]
    pub point: Vec<Coordinate>,
    /// How many seeds it was run with, from the report's on; where there are
    /// several, what was measured are medians.
    #[serde(skip_serializing_if = "is_one")]
    pub seeds: u32,
    /// What the source says came out.
    pub published: Published,
    /// What came out for others, by name.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    pub peers: Vec<Peer>,
    /// What came out here.
    pub measured: Measured,
    /// Which bounds held, for what share of the connection's lifetime.
    pub limits: Limits,
    /// How long each bound held, and what was sent and received meanwhile.
    pub account: Account,
    /// The binding limit with its proof, the knob that moves it, and what that
    /// would give.
    pub verdict: Verdict,
    /// What was fitted on this row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<String>,
    /// Whether others are compared with this row.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub baseline: bool,
    /// What the file says about the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Events, sockets and counters, where they were wanted.
    #[serde(flatten)]
    pub watched: Watched,
    /// Every segment and every series, where the row was observed. For pages,
    /// not for the JSON.
    #[serde(skip)]
    pub observed: Option<Observed>,
    /// The path of the first flow, where the row was observed. For pages, not for the JSON.
    #[serde(skip)]
    pub path: Option<PathFacts>,
}

/// Both ends' limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Limits {
    /// What held the sender back.
    pub sender: Shares,
    /// What the receiver did to the sender.
    pub receiver: Shares,
}

/// Both ends' limits in seconds and bytes; they add up to the connections'
/// lifetime and to the bytes that moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Account {
    /// What held the sender back.
    pub sender: Times,
    /// What the receiver did to the sender.
    pub receiver: Times,
}

impl RowReport {
    /// The label, with the row's point where there is one.
    pub fn title(&self) -> String {
        title(&self.label, &self.point)
    }

    /// What came out for `peer`.
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
    /// What a table of it shows: the quantities that the file asks for; else
    /// those that some row has a published figure for; goodput where none has,
    /// because a table without a number says nothing.
    pub fn quantities(&self) -> Vec<&'static Quantity> {
        if !self.columns.is_empty() {
            let names = self.columns.iter();
            return names.map(|name| Quantity::named(name)).collect();
        }
        let published = |quantity: &&Quantity| self.is_published(quantity);
        let quantities: Vec<_> = Quantity::ALL.iter().filter(published).collect();
        if quantities.is_empty() {
            Quantity::ALL[..1].iter().collect()
        } else {
            quantities
        }
    }

    /// The settings that were swept, in the order they were given.
    pub fn axes(&self) -> Vec<&str> {
        let point = self.rows.first().map_or(&[][..], |row| &row.point);
        point.iter().map(|at| at.path.as_str()).collect()
    }

    /// Whether some row has a published figure for the quantity.
    pub fn is_published(&self, quantity: &Quantity) -> bool {
        let mut rows = self.rows.iter();
        rows.any(|row| row.published.figure(quantity.name).is_some())
    }

    /// Everyone beside us who has a figure for the quantity in some row, in the
    /// order they come.
    pub fn peers_with(&self, quantity: &Quantity) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for peer in self.rows.iter().flat_map(|row| &row.peers) {
            let has = peer.figures.figure(quantity.name).is_some();
            if has && !names.contains(&peer.name.as_str()) {
                names.push(&peer.name);
            }
        }
        names
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

pub(crate) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("string keys and finite numbers")
}
