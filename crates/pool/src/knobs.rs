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

mod error;
#[cfg(test)]
mod tests;

pub use error::{Contradiction, KnobError, KnobKind, KnobValue, ParseChoiceError};

/// A type of knob values.
pub trait KnobType: Copy + PartialOrd + fmt::Display + 'static {
    /// The form of a value, for error messages ("a number such as 16K").
    const EXPECTED: &'static str;
    /// The form in which [`to_number`](Self::to_number) is displayed.
    const KIND: KnobKind;

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
    /// The display of each knob in errors, in the same order.
    const DISPLAYS: &'static [KnobDisplay];
    /// A bit for each knob that is a time. A build without the feature `names` has no
    /// [`DISPLAYS`](Self::DISPLAYS), but shows times with their unit.
    const TIMES: [u32; TIME_WORDS] = times_of(Self::DISPLAYS);

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
    ///
    /// # Errors
    /// Returns [`KnobError::OutOfRange`] with the first field that is outside.
    fn validate(&self) -> Result<(), KnobError> {
        let displays = if cfg!(feature = "names") {
            Self::DISPLAYS
        } else {
            &[]
        };
        check_rows(Self::GROUP, displays, Self::TIMES, &|row| {
            Some([
                self.number(row)?,
                Self::LOWEST.number(row)?,
                Self::HIGHEST.number(row)?,
            ])
        })
    }
}

/// The display of a knob in an error.
#[derive(Clone, Copy, Debug)]
pub struct KnobDisplay {
    /// The knob's full name.
    pub name: &'static str,
    /// Unit of the value; empty for switches and choices.
    pub unit: &'static str,
    /// The form in which the value's number is displayed.
    pub kind: KnobKind,
}

/// Words of [`KnobTable::TIMES`]: a table has at most 128 knobs.
const TIME_WORDS: usize = 4;

/// Returns a bit for each of `displays` that is a time.
const fn times_of(displays: &[KnobDisplay]) -> [u32; TIME_WORDS] {
    let (mut times, mut row) = ([0; TIME_WORDS], 0);
    while row < displays.len() {
        if let KnobKind::Time = displays[row].kind {
            times[row / 32] |= 1 << (row % 32);
        }
        row += 1;
    }
    times
}

/// Checks every row of the table `group`. `numbers` returns the value, the smallest and the largest
/// legal value of a row as numbers, and `None` after the last row.
///
/// This function has no type parameter, so that a program contains it once.
#[inline(never)]
fn check_rows(
    group: &'static str,
    displays: &[KnobDisplay],
    times: [u32; TIME_WORDS],
    numbers: &dyn Fn(usize) -> Option<[u64; 3]>,
) -> Result<(), KnobError> {
    let mut row = 0;
    while let Some([value, low, high]) = numbers(row) {
        if value < low || value > high {
            let word = times.get(row / 32).copied().unwrap_or(0);
            let nameless = KnobDisplay {
                name: group,
                unit: "",
                kind: match word >> (row % 32) & 1 {
                    1 => KnobKind::Time,
                    _ => KnobKind::Number,
                },
            };
            let display = displays.get(row).copied().unwrap_or(nameless);
            return Err(out_of_range(display, [value, low, high]));
        }
        row += 1;
    }
    Ok(())
}

/// The error for a value outside its range: the numbers of the value and of the range's ends.
fn out_of_range(display: KnobDisplay, numbers: [u64; 3]) -> KnobError {
    let KnobDisplay { name, unit, kind } = display;
    let [given, low, high] = numbers.map(|number| KnobValue { number, kind });
    KnobError::OutOfRange {
        name,
        given,
        legal: (low, high),
        unit,
    }
}

/// Reads `text` as a value of `T` inside `low..=high`.
///
/// # Errors
/// Returns an error if the text is no value of `T`, or if the value is outside the range.
pub fn parse_in<T: KnobType>(
    name: &'static str,
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
    if value < low || value > high {
        let kind = T::KIND;
        let numbers = [value, low, high].map(T::to_number);
        return Err(out_of_range(KnobDisplay { name, unit, kind }, numbers));
    }
    Ok(value)
}

/// Returns the value whose number is `number`; `None` unless this value is inside `low..=high`.
/// Called by [`knobs!`](crate::knobs!).
pub fn legal_number<T: KnobType>(number: u64, low: T, high: T) -> Option<T> {
    T::from_number(number).filter(|value| (low..=high).contains(value))
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
    const KIND: KnobKind = KnobKind::Number;

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
    const KIND: KnobKind = KnobKind::Number;

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
    const KIND: KnobKind = KnobKind::Switch;

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
    const KIND: KnobKind = KnobKind::Time;

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
                const DEFAULT: $table = $table { $( $field: $default, )+ };
                DEFAULT
            }
        }

        impl $crate::knobs::KnobTable for $table {
            const GROUP: &'static str = $group;
            const LOWEST: Self = Self { $( $field: $low, )+ };
            const HIGHEST: Self = Self { $( $field: $high, )+ };

            const NAMES: &'static [&'static str] =
                &[$( concat!($group, ".", stringify!($field)), )+];

            const DISPLAYS: &'static [$crate::knobs::KnobDisplay] = &[$(
                $crate::knobs::KnobDisplay {
                    name: concat!($group, ".", stringify!($field)),
                    unit: $unit,
                    kind: <$type as $crate::knobs::KnobType>::KIND,
                },
            )+];

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
            const KIND: $crate::knobs::KnobKind = $crate::knobs::KnobKind::Choice;

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
