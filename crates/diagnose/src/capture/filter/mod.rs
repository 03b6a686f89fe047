//! Filters in tcpdump's words (pcap-filter): `host 10.0.0.1 and (port 80 or 443)`.
//!
//! Rule: a filter chooses connections and not segments, because an analysis needs both directions.
//! A connection is chosen if tcpdump would choose a segment of either direction. As in tcpdump,
//! `and` and `or` have the same precedence and associate to the left, and `not` binds more tightly.
//! A value without a keyword repeats the keywords of the value before it.

mod parse;
mod rule;

use std::str::FromStr;

use super::segment::FlowKey;
use rule::Rule;

pub use parse::FilterError;

/// A filter that chooses connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFilter(Rule);

impl FlowFilter {
    /// Returns true if the filter chooses the connection.
    pub fn chooses(&self, key: &FlowKey) -> bool {
        self.0.holds(&key.a, &key.b) || self.0.holds(&key.b, &key.a)
    }
}

impl FromStr for FlowFilter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        parse::rule(text).map(Self)
    }
}

#[cfg(test)]
mod tests;
