//! The part of the graphs that shows a cause.
//!
//! Rule: whoever names the cause names this too, so that a graph knows no causes.

use crate::vocabulary::Limit;

/// The part of the graphs that shows the cause of a row's limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownBy {
    /// The time in which this link was busy.
    Link(String),
    /// The time in which this host's processor worked.
    Processor(String),
    /// The time that the sender waited for these, the one with the most time first. Without
    /// any, the limit with the most time.
    Limits(Vec<Limit>),
}

impl Default for ShownBy {
    fn default() -> Self {
        Self::Limits(Vec::new())
    }
}
