//! A lever: something that a person could change, with the values that the judge tries.
//!
//! Rule: a lever says nothing about its effect.

use fullpipe_explain::{Change, LeverKind};

/// Something that a person could change, with the values that the judge tries.
#[derive(Clone, Debug)]
pub struct Lever {
    /// The lever's first setting, followed by the value if the lever takes a named value. Names
    /// that the engine also has are spelled in the same way.
    pub name: String,
    /// The part of the transfer that the lever changes.
    pub kind: LeverKind,
    /// The changes that are tried, the ample value (with which the setting is no limit) last.
    pub values: Vec<Vec<Change>>,
}

impl Lever {
    /// The changes with the ample value.
    pub fn ample(&self) -> &[Change] {
        self.values.last().map_or(&[], Vec::as_slice)
    }
}

/// Returns the change of the setting `set` to the value `to`.
pub fn change(set: String, to: impl ToString) -> Change {
    Change {
        set,
        to: to.to_string(),
    }
}
