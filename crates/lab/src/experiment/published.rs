//! What a source, or a peer, says came out of a row.
//!
//! Rule: a published figure is a quantity that we measure too, under the same
//! name and in the same unit, or a few words when the source gives no number.

use serde::{Serialize, Serializer, ser::SerializeMap};

/// A row's published figures, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    /// Quantity and figure.
    pub figures: Vec<(&'static str, f64)>,
    /// What happened, where the source says it in words.
    pub outcome: Option<String>,
}

/// What came out for another stack in a row's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// Which.
    pub name: String,
    /// Its figures.
    pub figures: Published,
}

impl Published {
    /// The figure of the quantity called `name`.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures
            .iter()
            .find(|(quantity, _)| *quantity == name)
            .map(|(_, figure)| *figure)
    }
}

impl Serialize for Published {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (quantity, figure) in &self.figures {
            map.serialize_entry(quantity, figure)?;
        }
        if let Some(outcome) = &self.outcome {
            map.serialize_entry("outcome", outcome)?;
        }
        map.end()
    }
}
