//! The rows of the alias table: names, meanings and the difference to a knob.
//!
//! Rule: a row is data. Reading and writing values is in `alias` and
//! `alias/present`.

use super::set_by::SetBy;

/// Relation between the value of an alias and the value of its knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The same value.
    Same,
    /// A number of pieces of this many bytes each.
    Pieces(u64),
    /// A whole number of time units: the unit that follows the number.
    Time(&'static str),
    /// On and off as the system writes them.
    Switch {
        /// Value that turns the knob on.
        on: &'static str,
        /// Value that turns it off.
        off: &'static str,
    },
    /// One word for another: the alias's value and the knob's.
    Words(&'static [(&'static str, &'static str)]),
    /// "least default most" in bytes: the knob is the default, and the knob named
    /// here the most. No buffer shrinks below its default, so any least is met.
    Bounds(&'static str),
    /// Half of the knob's bytes: the system doubles what is set.
    Doubled,
    /// Half of the knob's bytes; the knob named here, which would let the buffer
    /// grow, is cleared.
    DoubledForGood(&'static str),
    /// Percent of a buffer that is window, as a power of two: 1 is half of it, 2
    /// three quarters; 0 is all of it, and below zero it is that power.
    WindowScale,
    /// "low pressure high" in pages of memory. The knob is the number of blocks;
    /// these are their size and the percentages of them.
    Memory([&'static str; 4]),
}

/// A name of another system for a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name, spelled as that system spells it.
    pub name: &'static str,
    /// The preset of that system.
    pub preset: &'static str,
    /// The knob, the first of two where the meaning names another.
    pub knob: &'static str,
    /// Relation between the alias's value and the knob's.
    pub meaning: Meaning,
    /// Command, call or configuration line that sets it.
    pub set_by: SetBy,
    /// Difference between the system's behaviour and the knob's, where the knob
    /// cannot express it exactly.
    pub differs: Option<&'static str>,
}

/// A setting of another system that no knob expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotExpressible {
    /// The name, spelled as that system spells it.
    pub name: &'static str,
    /// The preset of that system.
    pub preset: &'static str,
    /// Behaviour of the stack instead, in a sentence.
    pub instead: &'static str,
}
