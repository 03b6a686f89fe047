//! One setting of a point of a sweep.
//!
//! Rule: path and value have the form of `--set`. Nothing is set here.

use std::fmt;

/// One setting of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// The setting's path.
    pub path: String,
    /// Its value at the point.
    pub value: String,
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}
