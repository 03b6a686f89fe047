//! The error for a text that names no means to reach a target.
//!
//! Rule: the message says what was expected.

use std::fmt;

/// The error for a text that names no [`Via`](super::Via).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViaError(pub(super) String);

impl fmt::Display for ViaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ViaError {}
