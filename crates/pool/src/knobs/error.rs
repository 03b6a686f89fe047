//! The reasons for which a setting is refused.
//!
//! Rule: an error that a stack's construction can return holds numbers and names, and makes its text
//! only when it is displayed. A program that never displays the error has no code for the text.

use alloc::string::String;
use core::fmt;

use crate::Duration;

/// The form in which a knob's number is displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobKind {
    /// A number.
    Number,
    /// A number of microseconds, displayed as a time.
    Time,
    /// 0 or 1, displayed as `false` or `true`.
    Switch,
    /// The place of a choice in the list of choices.
    Choice,
}

impl fmt::Display for KnobKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Number => "number",
            Self::Time => "time",
            Self::Switch => "switch",
            Self::Choice => "choice",
        })
    }
}

/// A knob's value, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnobValue {
    /// The value, see [`KnobType::to_number`](super::KnobType::to_number).
    pub number: u64,
    /// The form in which the number is displayed.
    pub kind: KnobKind,
}

impl From<u32> for KnobValue {
    fn from(number: u32) -> Self {
        Self {
            number: number.into(),
            kind: KnobKind::Number,
        }
    }
}

impl From<Duration> for KnobValue {
    fn from(time: Duration) -> Self {
        Self {
            number: time.as_micros(),
            kind: KnobKind::Time,
        }
    }
}

impl fmt::Display for KnobValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            KnobKind::Number | KnobKind::Choice => self.number.fmt(f),
            KnobKind::Time => Duration::from_micros(self.number).fmt(f),
            KnobKind::Switch => (self.number != 0).fmt(f),
        }
    }
}

/// The reason why a setting was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobError {
    /// No knob has this name.
    Unknown {
        /// The name as given.
        name: String,
        /// The knob with the most similar name, if a name is similar enough.
        nearest: Option<String>,
    },
    /// The text is not a value of the knob's type.
    NotAValue {
        /// The knob's full name.
        name: String,
        /// The text as given.
        given: String,
        /// The accepted form.
        expected: &'static str,
    },
    /// The name is known, but this build or this stack has no such setting.
    Unavailable {
        /// The name, the reason, and what to set instead.
        why: String,
    },
    /// The value is outside the legal range.
    OutOfRange {
        /// The knob's full name; without the feature `names`, the name of its group.
        name: &'static str,
        /// The value as given.
        given: KnobValue,
        /// Smallest and largest legal value.
        legal: (KnobValue, KnobValue),
        /// Unit of the range.
        unit: &'static str,
    },
    /// Memory for the value cannot be allocated.
    TooLarge {
        /// The knobs whose product is the amount of memory.
        names: &'static str,
        /// The amount of memory in bytes; saturated.
        bytes: u64,
    },
    /// Two knobs contradict each other.
    Contradiction {
        /// The two knobs, the reason, and what to change.
        why: Contradiction,
    },
}

/// Knobs that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// A knob is above its upper bound, which is another knob.
    Above {
        /// The knob, and its value.
        knob: (&'static str, KnobValue),
        /// The knob that is the upper bound, and its value.
        bound: (&'static str, KnobValue),
        /// The effect that such values would have; may be empty.
        effect: &'static str,
    },
    /// A pool leaves no receive window to any connection.
    NoWindow {
        /// The knob `pool.blocks`.
        blocks: u32,
        /// The knob `pool.send_floor`.
        send_floor: u32,
        /// Blocks that are left for receive windows.
        left: u64,
        /// Blocks that a receive window needs.
        window: u32,
        /// True if a lower `pool.send_floor` would be enough.
        floor_is_enough: bool,
    },
    /// Knobs of packet memory, which the text names.
    Pool(&'static str),
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Above {
                knob: (name, value),
                bound: (bound, most),
                effect,
            } => {
                let gap = if effect.is_empty() { "" } else { ": " };
                write!(f, "{name} = {value} is above {bound} = {most}{gap}{effect}")
            }
            Self::NoWindow {
                blocks,
                send_floor,
                left,
                window,
                floor_is_enough,
            } => {
                let least = u64::from(*send_floor) + u64::from(*window);
                let or = if *floor_is_enough {
                    ", or lower pool.send_floor"
                } else {
                    ""
                };
                write!(
                    f,
                    "pool.blocks = {blocks} leaves only {left} for receive windows beside \
                     pool.send_floor = {send_floor}, and a window needs {window} blocks: no \
                     connection could be opened. Set pool.blocks to at least {least}{or}"
                )
            }
            Self::Pool(why) => write!(f, "pool: {why}"),
        }
    }
}

impl fmt::Display for KnobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown {
                name,
                nearest: Some(nearest),
            } => {
                write!(f, "no knob is called `{name}`; did you mean `{nearest}`?")
            }
            Self::Unknown {
                name,
                nearest: None,
            } => {
                write!(f, "no knob is called `{name}`; `fullpipe knobs` lists them")
            }
            Self::NotAValue {
                name,
                given,
                expected,
            } => {
                write!(f, "{name} = {given}: expected {expected}")
            }
            Self::Unavailable { why } => f.write_str(why),
            Self::OutOfRange {
                name,
                given,
                legal: (low, high),
                unit,
            } => {
                let gap = if unit.is_empty() { "" } else { " " };
                write!(f, "{name} = {given}: outside {low} to {high}{gap}{unit}")
            }
            Self::TooLarge { names, bytes } => {
                write!(f, "{names}: {bytes} bytes cannot be allocated")
            }
            Self::Contradiction { why } => why.fmt(f),
        }
    }
}

impl core::error::Error for KnobError {}

/// The error for a text that is none of an enum's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseChoiceError {
    /// The choices, as they are written.
    pub expected: &'static str,
}

impl fmt::Display for ParseChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl core::error::Error for ParseChoiceError {}
