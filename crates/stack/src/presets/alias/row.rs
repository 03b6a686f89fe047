//! The rows of the alias table: names, meanings, and differences from a knob.
//!
//! Rule: a row is data. Reading and writing values is in `alias` and
//! `alias/present`.

use core::fmt;

use super::set_by::SetBy;

/// Relation between the value of an alias and the value of its knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The same value.
    Same,
    /// The knob's bytes as a number of pieces; the field has the bytes of one piece.
    Pieces(u64),
    /// A whole number of time units; the field has the unit.
    Time(&'static str),
    /// On and off as the system writes them.
    Switch {
        /// Value that turns the knob on.
        on: &'static str,
        /// Value that turns the knob off.
        off: &'static str,
    },
    /// Other words for the knob's values: pairs of the alias's word and the knob's word.
    Words(&'static [(&'static str, &'static str)]),
    /// The three numbers "min default max" in bytes (Linux: `tcp_wmem`, `tcp_rmem`).
    /// [`Alias::knob`] is the knob of the default, and the field names the knob of the maximum. No
    /// knob is needed for the minimum, because no buffer shrinks below its default.
    Bounds(&'static str),
    /// Half of the knob's bytes: the system doubles what is set.
    Doubled,
    /// Half of the knob's bytes. The field names the knob that lets the buffer grow; setting the
    /// alias clears it.
    DoubledForGood(&'static str),
    /// Share of a buffer that becomes window, as Linux's `tcp_adv_win_scale` *n*: all but
    /// 1/2ⁿ of it for *n* > 0 (1 is 50 %, 2 is 75 %), all of it for 0, 1/2⁻ⁿ of it for
    /// *n* < 0.
    WindowScale,
    /// "low pressure high" in pages of memory. [`Alias::knob`] is the number of blocks; the field
    /// names the knobs of the block size and of the three percentages.
    Memory([&'static str; 4]),
}

impl fmt::Display for Meaning {
    /// Writes the alias's value in terms of its knob.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => f.write_str("same value"),
            Self::Pieces(bytes) => write!(f, "pieces of {bytes} bytes"),
            Self::Time(unit) => write!(f, "time in {unit}"),
            Self::Switch { on, off } => write!(f, "{on} for true, {off} for false"),
            Self::Words(words) => {
                for (place, (word, value)) in words.iter().enumerate() {
                    let separator = if place == 0 { "" } else { ", " };
                    write!(f, "{separator}{word} for {value}")?;
                }
                Ok(())
            }
            Self::Bounds(max) => write!(f, "\"min default max\" in bytes, max is {max}"),
            Self::Doubled => f.write_str("half of the bytes"),
            Self::DoubledForGood(growth) => write!(f, "half of the bytes, clears {growth}"),
            Self::WindowScale => f.write_str("share of the buffer, as tcp_adv_win_scale"),
            Self::Memory(_) => f.write_str("\"low pressure high\" in pages"),
        }
    }
}

/// A name of another system for a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name, spelled as the other system spells it.
    pub name: &'static str,
    /// The preset of the other system.
    pub preset: &'static str,
    /// The knob; the first one if the meaning names further knobs.
    pub knob: &'static str,
    /// Relation between the alias's value and the knob's.
    pub meaning: Meaning,
    /// Command, call or configuration line that sets the alias.
    pub set_by: SetBy,
    /// Difference between the system's behaviour and the knob's, if the knob cannot
    /// express it exactly.
    pub differs: Option<&'static str>,
}

/// A setting of another system that no knob expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotExpressible {
    /// The name, spelled as the other system spells it.
    pub name: &'static str,
    /// The preset of the other system.
    pub preset: &'static str,
    /// Behaviour of this stack instead of the setting, in a sentence.
    pub instead: &'static str,
}
