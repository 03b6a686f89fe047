//! One setting of a point of a sweep. A point is one combination of the swept values.
//!
//! Rule: path and value have the form of `--set`. This file changes no setting.

use std::fmt;

/// One setting of a point of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// Path of the setting, as `--set` takes it.
    pub path: String,
    /// Value of the setting at this point.
    pub value: String,
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}
