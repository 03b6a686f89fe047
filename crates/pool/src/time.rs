//! Points in time and lengths of time, in nanoseconds.
//!
//! The one rule: arithmetic saturates. A clock that steps back or a sum that
//! overflows gives the nearest representable value. Only a division by zero panics.
//!
//! Nothing here reads a clock: callers pass each [`Instant`] in.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::str::FromStr;

#[cfg(test)]
mod tests;

const NANOS_PER_MICRO: u64 = 1_000;
const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A point in time: nanoseconds since an epoch the caller chose. The latest one is
/// `u64::MAX - 1` nanoseconds after the epoch, so that `Option<Instant>` takes 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(
    /// Nanoseconds since the epoch, plus 1.
    NonZeroU64,
);

impl Default for Instant {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Instant {
    /// The epoch.
    pub const ZERO: Self = Self(NonZeroU64::MIN);

    /// The instant `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// The instant `micros` microseconds after the epoch.
    pub const fn from_micros(micros: u64) -> Self {
        Self::from_nanos(micros.saturating_mul(NANOS_PER_MICRO))
    }

    /// The instant `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self::from_nanos(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// The instant `secs` seconds after the epoch.
    pub const fn from_secs(secs: u64) -> Self {
        Self::from_nanos(secs.saturating_mul(NANOS_PER_SEC))
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Whole microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.as_nanos() / NANOS_PER_MICRO
    }

    /// Whole milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.as_nanos() / NANOS_PER_MILLI
    }

    /// Seconds since the epoch, for tables and plots.
    pub const fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / NANOS_PER_SEC as f64
    }

    /// Time from `earlier` to `self`; zero when `earlier` is later.
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.get().saturating_sub(earlier.0.get()))
    }
}

/// Time since the epoch as people write it: `Instant(1.5 s)`.
impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instant({:?})", Duration(self.as_nanos()))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, length: Duration) {
        *self = *self + length;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn sub(self, length: Duration) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(length.0))
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// A length of time in nanoseconds, up to about 584 years.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// Zero nanoseconds.
    pub const ZERO: Self = Self(0);
    /// The longest duration; sums saturate at this value.
    pub const MAX: Self = Self(u64::MAX);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(NANOS_PER_MICRO))
    }

    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SEC))
    }

    /// `secs` seconds to the nearest nanosecond; negative and NaN give zero.
    pub const fn from_secs_f64(secs: f64) -> Self {
        // A float cast saturates and maps NaN to zero.
        Self((secs * NANOS_PER_SEC as f64 + 0.5) as u64)
    }

    /// The length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The length in whole microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0 / NANOS_PER_MICRO
    }

    /// The length in whole milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0 / NANOS_PER_MILLI
    }

    /// The length in whole seconds.
    pub const fn as_secs(self) -> u64 {
        self.0 / NANOS_PER_SEC
    }

    /// The length in seconds.
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// Returns true for a duration of zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Duration {
    type Output = Self;
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u32> for Duration {
    type Output = Self;
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn mul(self, factor: u32) -> Self {
        Self(self.0.saturating_mul(u64::from(factor)))
    }
}

impl Div<u32> for Duration {
    type Output = Self;
    #[cfg_attr(target_pointer_width = "32", inline(never))]
    fn div(self, divisor: u32) -> Self {
        Self(self.0 / u64::from(divisor))
    }
}

impl From<core::time::Duration> for Duration {
    fn from(length: core::time::Duration) -> Self {
        Self(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for core::time::Duration {
    fn from(length: Duration) -> Self {
        Self::from_nanos(length.0)
    }
}

/// Writes the duration in the largest of the units s, ms, us and ns that is not longer than the
/// duration. The number is exact to the nanosecond: `20ms`, `1.5s`, `50us`; zero is `0s`. Settings
/// and files use this form, which [`FromStr`] reads back. The alternate form (`{:#}`) is for
/// people: `20 ms`, `50 µs`. A precision (`{:.1}`) cuts decimals.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name, digits) = match self.0 {
            0 | NANOS_PER_SEC.. => (NANOS_PER_SEC, "s", 9),
            NANOS_PER_MILLI.. => (NANOS_PER_MILLI, "ms", 6),
            NANOS_PER_MICRO.. if f.alternate() => (NANOS_PER_MICRO, "µs", 3),
            NANOS_PER_MICRO.. => (NANOS_PER_MICRO, "us", 3),
            1.. => (1, "ns", 0),
        };
        let (whole, mut fraction) = (self.0 / unit, self.0 % unit);
        let mut width = digits;
        while width > f.precision().unwrap_or(digits) || (width > 0 && fraction % 10 == 0) {
            fraction /= 10;
            width -= 1;
        }
        write!(f, "{whole}")?;
        if width > 0 {
            write!(f, ".{fraction:0width$}")?;
        }
        if f.alternate() {
            f.write_str(" ")?;
        }
        f.write_str(name)
    }
}

/// The alternate form of `Display`: `839 µs`.
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

/// The reason why a text is not a [`Duration`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseDurationError {
    /// The text does not begin with a plain decimal number.
    Number,
    /// No unit follows the number.
    MissingUnit,
    /// The unit is none of `ns`, `us`, `ms`, `s`, `m`.
    UnknownUnit,
    /// The number is finer than a nanosecond.
    TooFine,
    /// The length exceeds [`Duration::MAX`].
    TooLong,
}

impl fmt::Display for ParseDurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number => "a duration is a number and a unit, as in 200ms",
            Self::MissingUnit => "a duration needs a unit: ns, us, ms, s or m",
            Self::UnknownUnit => "the units of a duration are ns, us, ms, s and m",
            Self::TooFine => "a duration is a whole number of nanoseconds",
            Self::TooLong => "a duration is at most 584 years",
        })
    }
}

impl core::error::Error for ParseDurationError {}

/// Reads a decimal number and a unit (`ns`, `us` or `µs`, `ms`, `s`, `m`), as in
/// `200ms` or `1.5s`; zero needs no unit. Reads back exactly what `Display` and
/// `Debug` print without a precision.
impl FromStr for Duration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, ParseDurationError> {
        let text = text.trim();
        let unit_at = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = (&text[..unit_at], text[unit_at..].trim_start());
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
            return Err(ParseDurationError::Number);
        }
        let unit_nanos = match unit {
            "ns" => 1,
            "us" | "µs" => NANOS_PER_MICRO,
            "ms" => NANOS_PER_MILLI,
            "s" => NANOS_PER_SEC,
            "m" => 60 * NANOS_PER_SEC,
            "" if number.bytes().all(|digit| matches!(digit, b'0' | b'.')) => 1,
            "" => return Err(ParseDurationError::MissingUnit),
            _ => return Err(ParseDurationError::UnknownUnit),
        };
        // `whole` holds only digits, so parsing fails only on overflow.
        let whole: u64 = whole.parse().map_err(|_| ParseDurationError::TooLong)?;
        let mut nanos = whole
            .checked_mul(unit_nanos)
            .ok_or(ParseDurationError::TooLong)?;
        // `place` is the value, in ns, of a 1 in the decimal place before this digit. Every unit
        // is 10^n ns or, for a minute, 6 x 10^10 ns. A division by ten therefore has a remainder
        // only if this digit's place is finer than a nanosecond.
        let mut place = unit_nanos;
        for digit in fraction.bytes().map(|digit| u64::from(digit - b'0')) {
            if digit != 0 && (place == 0 || place % 10 != 0) {
                return Err(ParseDurationError::TooFine);
            }
            place /= 10;
            nanos = nanos
                .checked_add(digit * place)
                .ok_or(ParseDurationError::TooLong)?;
        }
        Ok(Self(nanos))
    }
}
