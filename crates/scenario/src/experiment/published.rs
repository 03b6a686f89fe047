//! Published figures of a row (scenario): those of the experiment's source, and those of other
//! stacks.
//!
//! Rule: a published figure has the name and unit of a quantity that the lab measures. If the
//! source gives no number, the published figure is an outcome: complete, stalled or dropped.

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::origins::OUTCOME;
use crate::measured::{Outcome, Quantity};

/// The published figures of a row, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    /// Pairs of a quantity and its figure.
    pub figures: Vec<(&'static str, f64)>,
    /// The outcome, if the source states one in words.
    pub outcome: Option<Outcome>,
}

/// Published figures of another stack for a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// Name of the stack.
    pub name: String,
    /// The stack's figures.
    pub figures: Published,
}

impl Published {
    /// Returns the figure of the quantity called `name`.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures
            .iter()
            .find(|(quantity, _)| *quantity == name)
            .map(|(_, figure)| *figure)
    }

    /// Returns the names of the figures; an outcome is called [`OUTCOME`].
    pub fn names(&self) -> Vec<&'static str> {
        let figures = self.figures.iter().map(|(quantity, _)| *quantity);
        figures.chain(self.outcome.map(|_| OUTCOME)).collect()
    }
}

/// Returns true if one of `rows` has a published figure for `quantity`.
pub fn is_published<'a>(
    mut rows: impl Iterator<Item = &'a Published>,
    quantity: &Quantity,
) -> bool {
    rows.any(|published| published.figure(quantity.name).is_some())
}

/// Returns the names of the `peers` that have a figure for `quantity`, each once.
pub fn peers_with<'a>(
    peers: impl Iterator<Item = &'a [Peer]>,
    quantity: &Quantity,
) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for peer in peers.flatten() {
        let has = peer.figures.figure(quantity.name).is_some();
        if has && !names.contains(&peer.name.as_str()) {
            names.push(&peer.name);
        }
    }
    names
}

impl Serialize for Published {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (quantity, figure) in &self.figures {
            map.serialize_entry(quantity, figure)?;
        }
        if let Some(outcome) = self.outcome {
            map.serialize_entry(OUTCOME, outcome.name())?;
        }
        map.end()
    }
}
