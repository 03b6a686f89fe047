//! The grammar of the rows that declare knobs (settings of the stack), and the text forms of the
//! knobs' values.
//!
//! Rule: every knob is one row: name, default, legal range, simulation range, unit and
//! documentation. Everything else about a knob derives from its row: the struct's field,
//! validation, `--set`, TOML keys, the printed table and the simulator's random draw. No knob is
//! declared here.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use crate::{Duration, Rng};

#[cfg(test)]
mod tests;

/// A type of knob values.
pub trait KnobType: Copy + PartialOrd + fmt::Display + 'static {
    /// The form of a value, for error messages ("a number such as 16K").
    const EXPECTED: &'static str;

    /// Reads a value from text; `None` when the text is no value of this type.
    fn parse(text: &str) -> Option<Self>;

    /// A random value in `low..=high`. Numbers and durations are uniform in their
    /// logarithm, because small values expose the most bugs.
    fn draw(rng: &mut Rng, low: Self, high: Self) -> Self;

    /// The value as a number: a time in microseconds, a switch as 0 or 1, a choice as its index in
    /// the list of choices.
    fn to_number(self) -> u64;

    /// Returns the value whose [`to_number`](Self::to_number) is `number`; `None` if there is none.
    fn from_number(number: u64) -> Option<Self>;
}

/// A knob's row in text form, as tables, help pages and documentation show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobInfo {
    /// Group and field: `tcp.send_buffer`.
    pub name: String,
    /// Unit of the value; empty for switches and choices.
    pub unit: &'static str,
    /// Default value.
    pub default: String,
    /// Smallest and largest legal value.
    pub legal: (String, String),
    /// Smallest and largest value the simulator draws.
    pub simulated: (String, String),
    /// The knob's meaning, in a few sentences.
    pub doc: String,
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
    /// The value is outside the legal range.
    OutOfRange {
        /// The knob's full name.
        name: String,
        /// The value as given.
        given: String,
        /// Smallest and largest legal value.
        legal: (String, String),
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
        why: String,
    },
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
            Self::Contradiction { why } => f.write_str(why),
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

/// A struct whose fields are knobs; made by [`knobs!`](crate::knobs!).
pub trait KnobTable: Default {
    /// First part of each knob's name.
    const GROUP: &'static str;
    /// Smallest legal value of each knob.
    const LOWEST: Self;
    /// Largest legal value of each knob.
    const HIGHEST: Self;
    /// Full name of each knob, in the order it was declared.
    const NAMES: &'static [&'static str];

    /// Every row, in the order it was declared.
    fn rows() -> Vec<KnobInfo>;

    /// Sets the field called `field` (without its group) from text. The value
    /// is unchanged on error.
    fn set(&mut self, field: &str, text: &str) -> Result<(), KnobError>;

    /// The value of the field called `field`, in the text form that `set` reads.
    fn get(&self, field: &str) -> Option<String>;

    /// Sets the knob at `row` of [`NAMES`](Self::NAMES) from a number, see
    /// [`KnobType::to_number`]. Returns false, and changes nothing, if there is no such row or
    /// the number is not a legal value. Allocates nothing.
    fn set_number(&mut self, row: usize, number: u64) -> bool;

    /// The value of the knob at `row` as a number; `None` if there is no such row.
    fn number(&self, row: usize) -> Option<u64>;

    /// Gives every field a random value from its simulation range. Each value
    /// comes from a generator forked from `rng` by the knob's full name, so a new
    /// row changes no other value.
    fn draw(&mut self, rng: &Rng);

    /// Checks every field against its legal range.
    fn validate(&self) -> Result<(), KnobError>;
}

/// Reads `text` as a value of `T` inside `low..=high`.
///
/// # Errors
/// Returns an error if the text is no value of `T`, or if the value is outside the range.
pub fn parse_in<T: KnobType>(
    name: &str,
    text: &str,
    unit: &'static str,
    low: T,
    high: T,
) -> Result<T, KnobError> {
    let value = T::parse(text).ok_or_else(|| KnobError::NotAValue {
        name: name.to_string(),
        given: text.to_string(),
        expected: T::EXPECTED,
    })?;
    check_in(name, value, unit, low, high)?;
    Ok(value)
}

/// Returns the value whose number is `number`; `None` unless this value is inside `low..=high`.
/// Called by [`knobs!`](crate::knobs!).
pub fn legal_number<T: KnobType>(number: u64, low: T, high: T) -> Option<T> {
    T::from_number(number).filter(|value| (low..=high).contains(value))
}

/// Checks that `value` is inside `low..=high`.
///
/// # Errors
/// Returns [`KnobError::OutOfRange`] if it is not.
pub fn check_in<T: KnobType>(
    name: &str,
    value: T,
    unit: &'static str,
    low: T,
    high: T,
) -> Result<(), KnobError> {
    if value < low || value > high {
        return Err(KnobError::OutOfRange {
            name: name.to_string(),
            given: format!("{value}"),
            legal: (format!("{low}"), format!("{high}")),
            unit,
        });
    }
    Ok(())
}

/// Returns the candidate most like `name`, if a candidate is similar enough.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance * 5 <= candidate.len().max(name.len()) * 2)
        .map(|(_, candidate)| candidate)
}

/// Number of single-character edits that turn `a` into `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.chars().enumerate() {
            let substituted = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[row.len() - 1]
}

/// Reads a whole number with an optional binary suffix: `16384`, `16K`, `4M`, `1G`.
pub fn parse_count(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    if !digits
        .bytes()
        .all(|digit| digit.is_ascii_digit() || digit == b'_')
    {
        return None;
    }
    digits
        .replace('_', "")
        .parse::<u64>()
        .ok()?
        .checked_mul(1 << shift)
}

/// A random number in `low..=high`, uniform in its logarithm.
fn draw_spread(rng: &mut Rng, low: u64, high: u64) -> u64 {
    let (from, to) = (low.max(1), high.max(1));
    let octaves = u64::from(to.ilog2() - from.ilog2());
    let octave = rng.between(0, octaves);
    let bottom = if octave == 0 {
        low
    } else {
        1 << (u64::from(from.ilog2()) + octave)
    };
    let top = (1u64 << (u64::from(from.ilog2()) + octave))
        .saturating_mul(2)
        .saturating_sub(1);
    rng.between(bottom.max(low).min(high), top.min(high).max(low))
}

impl KnobType for u32 {
    const EXPECTED: &'static str = "a whole number such as 4096, 16K or 1M";

    fn parse(text: &str) -> Option<Self> {
        parse_count(text)?.try_into().ok()
    }

    fn draw(rng: &mut Rng, low: Self, high: Self) -> Self {
        draw_spread(rng, low.into(), high.into()) as Self
    }

    fn to_number(self) -> u64 {
        self.into()
    }

    fn from_number(number: u64) -> Option<Self> {
        number.try_into().ok()
    }
}

impl KnobType for u64 {
    const EXPECTED: &'static str = u32::EXPECTED;

    fn parse(text: &str) -> Option<Self> {
        parse_count(text)
    }

    fn draw(rng: &mut Rng, low: Self, high: Self) -> Self {
        draw_spread(rng, low, high)
    }

    fn to_number(self) -> u64 {
        self
    }

    fn from_number(number: u64) -> Option<Self> {
        Some(number)
    }
}

impl KnobType for bool {
    const EXPECTED: &'static str = "true or false";

    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "true" | "on" | "yes" | "1" => Some(true),
            "false" | "off" | "no" | "0" => Some(false),
            _ => None,
        }
    }

    fn draw(rng: &mut Rng, low: Self, high: Self) -> Self {
        if low == high { low } else { rng.chance(0.5) }
    }

    fn to_number(self) -> u64 {
        self.into()
    }

    fn from_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl KnobType for Duration {
    const EXPECTED: &'static str = "a time such as 200ms, 1.5s or 50us";

    fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }

    fn draw(rng: &mut Rng, low: Self, high: Self) -> Self {
        Self::from_micros(draw_spread(rng, low.as_micros(), high.as_micros()))
    }

    fn to_number(self) -> u64 {
        self.as_micros()
    }

    fn from_number(number: u64) -> Option<Self> {
        Some(Self::from_micros(number))
    }
}

/// Declares structs whose fields are knobs, one row each:
/// `name: type = default, legal low..=high, drawn low..=high, "unit";`
#[macro_export]
macro_rules! knobs {
    (
        $(#[$meta:meta])*
        pub struct $table:ident in $group:literal {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $default:expr,
                    legal $low:expr => $high:expr,
                    drawn $sim_low:expr => $sim_high:expr,
                    $unit:literal;
            )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $table {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl Default for $table {
            fn default() -> Self {
                Self { $( $field: $default, )+ }
            }
        }

        impl $crate::knobs::KnobTable for $table {
            const GROUP: &'static str = $group;
            const LOWEST: Self = Self { $( $field: $low, )+ };
            const HIGHEST: Self = Self { $( $field: $high, )+ };

            const NAMES: &'static [&'static str] =
                &[$( concat!($group, ".", stringify!($field)), )+];

            fn rows() -> $crate::knobs::Rows {
                let default = Self::default();
                [$(
                    $crate::knobs::row::<$type>(
                        concat!($group, ".", stringify!($field)),
                        $unit,
                        default.$field,
                        ($low, $high),
                        ($sim_low, $sim_high),
                        concat!($($doc),+),
                    ),
                )+].into()
            }

            fn set(&mut self, field: &str, text: &str) -> Result<(), $crate::knobs::KnobError> {
                match field {
                    $(
                        stringify!($field) => {
                            self.$field = $crate::knobs::parse_in(
                                concat!($group, ".", stringify!($field)), text, $unit, $low, $high,
                            )?;
                        }
                    )+
                    _ => return Err($crate::knobs::unknown($group, field)),
                }
                Ok(())
            }

            fn get(&self, field: &str) -> Option<$crate::knobs::Text> {
                match field {
                    $( stringify!($field) => Some($crate::knobs::text(self.$field)), )+
                    _ => None,
                }
            }

            fn set_number(&mut self, row: usize, number: u64) -> bool {
                let mut rows = 0..;
                $(
                    if rows.next() == Some(row) {
                        return match $crate::knobs::legal_number(number, $low, $high) {
                            Some(value) => {
                                self.$field = value;
                                true
                            }
                            None => false,
                        };
                    }
                )+
                false
            }

            fn number(&self, row: usize) -> Option<u64> {
                let mut rows = 0..;
                $(
                    if rows.next() == Some(row) {
                        return Some($crate::knobs::KnobType::to_number(self.$field));
                    }
                )+
                None
            }

            fn draw(&mut self, rng: &$crate::Rng) {
                $(
                    self.$field = <$type as $crate::knobs::KnobType>::draw(
                        &mut rng.fork_named(concat!($group, ".", stringify!($field))),
                        $sim_low,
                        $sim_high,
                    );
                )+
            }

            fn validate(&self) -> Result<(), $crate::knobs::KnobError> {
                $(
                    $crate::knobs::check_in(
                        concat!($group, ".", stringify!($field)), self.$field, $unit, $low, $high,
                    )?;
                )+
                Ok(())
            }
        }
    };
}

/// Declares an enum that can be a knob's value: variants with their text forms. A variant may
/// depend on a feature of its crate.
#[macro_export]
macro_rules! knob_choice {
    (
        $(#[$meta:meta])*
        pub enum $choice:ident ($expected:expr) {
            $(
                $(#[doc = $doc:literal])+
                $(#[cfg($condition:meta)])?
                $variant:ident = $text:literal,
            )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $choice {
            $( $(#[doc = $doc])+ $(#[cfg($condition)])? $variant, )+
        }

        impl $choice {
            /// Every choice, in declaration order.
            pub const ALL: &'static [Self] = &[$( $(#[cfg($condition)])? Self::$variant, )+];

            /// The choice's text form.
            pub const fn name(self) -> &'static str {
                match self {
                    $( $(#[cfg($condition)])? Self::$variant => $text, )+
                }
            }
        }

        impl core::fmt::Display for $choice {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl core::str::FromStr for $choice {
            type Err = $crate::knobs::ParseChoiceError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let error = $crate::knobs::ParseChoiceError { expected: $expected };
                <Self as $crate::knobs::KnobType>::parse(text).ok_or(error)
            }
        }

        impl $crate::knobs::KnobType for $choice {
            const EXPECTED: &'static str = $expected;

            fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|choice| choice.name() == text.trim())
            }

            fn draw(rng: &mut $crate::Rng, low: Self, high: Self) -> Self {
                Self::ALL[rng.between(low as u64, high as u64) as usize]
            }

            fn to_number(self) -> u64 {
                self as u64
            }

            fn from_number(number: u64) -> Option<Self> {
                Self::ALL.get(usize::try_from(number).ok()?).copied()
            }
        }
    };
}

/// The result of [`KnobTable::rows`]. Macros use this name, so that the calling crate
/// needs no `alloc`.
pub type Rows = Vec<KnobInfo>;
/// The result of [`KnobTable::get`]. Macros use this name, so that the calling crate
/// needs no `alloc`.
pub type Text = String;

/// Builds a row's text form. Called by [`knobs!`](crate::knobs!).
pub fn row<T: KnobType>(
    name: &str,
    unit: &'static str,
    default: T,
    legal: (T, T),
    simulated: (T, T),
    doc: &str,
) -> KnobInfo {
    let ends = |(low, high): (T, T)| (text(low), text(high));
    KnobInfo {
        name: name.to_string(),
        unit,
        default: text(default),
        legal: ends(legal),
        simulated: ends(simulated),
        doc: doc.trim().to_string(),
    }
}

/// A value's text form. Called by [`knobs!`](crate::knobs!).
pub fn text<T: KnobType>(value: T) -> String {
    format!("{value}")
}

/// The error for a name that no row has. Called by [`knobs!`](crate::knobs!).
pub fn unknown(group: &str, field: &str) -> KnobError {
    KnobError::Unknown {
        name: format!("{group}.{field}"),
        nearest: None,
    }
}
