//! The part of the graphs in which a cause can be seen.
//!
//! Rule: the code that names the cause also names this part, so graphs do not depend on causes.

use crate::vocabulary::Limit;

/// The part of the graphs that shows why a row (scenario) was limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownBy {
    /// The time in which this link was busy.
    Link(String),
    /// The time in which this host's processor worked.
    Processor(String),
    /// The time in which the sender was limited by these limits, the longest first. If the
    /// list is empty, the time of the sender's longest limit.
    Limits(Vec<Limit>),
}

impl Default for ShownBy {
    fn default() -> Self {
        Self::Limits(Vec::new())
    }
}
