//! A violation of a rule at one place.
//!
//! The one rule: a finding says what to do.

use std::fmt;

/// A violation of a rule at one place.
pub struct Finding {
    /// The file, relative to the repository.
    pub path: String,
    line: usize,
    says: String,
}

impl Finding {
    /// Returns the finding `says` at a line of the file `path`.
    pub fn new(path: &str, line: usize, says: impl Into<String>) -> Finding {
        Finding {
            path: path.to_owned(),
            line,
            says: says.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.says)
    }
}
