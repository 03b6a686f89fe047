//! Rates, probabilities and amounts as people write them.
//!
//! Rule: a unit is always written or always implied by the field, never
//! guessed. Decimal prefixes for bits a second, as networks have them; binary
//! ones for bytes, as memory has them (`fullpipe_pool::knobs::parse_count`).

#[cfg(test)]
mod tests;

use fullpipe_pool::Duration;

/// A length of virtual time.
pub use fullpipe_pool::{Duration as Time, knobs::parse_count};

/// Reads a rate in bits a second: `12mbit`, `500kbit`, `1.5gbit`, `9600bit`.
pub fn parse_rate(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let number = text.strip_suffix("bit")?;
    let (number, scale) = match number.as_bytes().last()? {
        b'k' => (&number[..number.len() - 1], 1e3),
        b'm' => (&number[..number.len() - 1], 1e6),
        b'g' => (&number[..number.len() - 1], 1e9),
        _ => (number, 1.0),
    };
    let rate = decimal(number)? * scale;
    (1.0..1e15).contains(&rate).then_some(rate.round() as u64)
}

/// Reads a probability: `1%`, `0.5%`, `0.01`.
pub fn parse_probability(text: &str) -> Option<f64> {
    let text = text.trim();
    let probability = match text.strip_suffix('%') {
        Some(percent) => decimal(percent)? / 100.0,
        None => decimal(text)?,
    };
    (0.0..=1.0).contains(&probability).then_some(probability)
}

/// A number of digits with at most one point; no sign, no exponent, because a
/// rate of `1e3mbit` is more likely a slip than a wish.
fn decimal(text: &str) -> Option<f64> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| plain)
}

/// A rate in the largest unit that keeps it at or above one: `12 Mbit/s`.
pub fn rate_text(bps: f64) -> String {
    let (number, unit) = match bps {
        bps if bps >= 1e9 => (bps / 1e9, "Gbit/s"),
        bps if bps >= 1e6 => (bps / 1e6, "Mbit/s"),
        bps if bps >= 1e3 => (bps / 1e3, "kbit/s"),
        bps => (bps, "bit/s"),
    };
    format!("{} {unit}", three_digits(number))
}

/// A number with about three significant digits, without an exponent.
pub fn three_digits(number: f64) -> String {
    let decimals = match number.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    let text = format!("{number:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// A time with about three significant digits, in a unit that leaves it some.
pub fn seconds_text(seconds: f64) -> String {
    let (number, unit) = match seconds {
        seconds if seconds >= 0.0995 || seconds <= 0.0 => (seconds, "s"),
        seconds if seconds >= 0.000_099_5 => (seconds * 1e3, "ms"),
        seconds => (seconds * 1e6, "us"),
    };
    format!("{} {unit}", three_digits(number))
}

/// A whole number with its thousands set apart: `16,384`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What an [`Amount`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things or bytes; binary prefixes.
    Count,
    /// A number with a fraction.
    Plain,
    /// Nanoseconds.
    Time,
    /// Bits a second; decimal prefixes.
    Rate,
    /// Hundredths, written with `%`.
    Percent,
}

/// A number with the unit that it was written in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// How much, in the unit.
    pub number: f64,
    /// The unit.
    pub unit: Unit,
}

impl Amount {
    /// Reads a number with its unit: `16K`, `10ms`, `5mbit`, `1%`, `0.01`.
    /// `1m` is a minute here; whoever may mean 2^20 by it must ask.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let amount = |number, unit| Some(Self { number, unit });
        if let Some(rate) = parse_rate(text) {
            return amount(rate as f64, Unit::Rate);
        }
        if let Some(percent) = text.strip_suffix('%') {
            return amount(decimal(percent)?, Unit::Percent);
        }
        if !text.ends_with('m')
            && let Some(count) = parse_count(text)
        {
            return amount(count as f64, Unit::Count);
        }
        if let Ok(time) = text.parse::<Duration>() {
            return amount(time.as_nanos() as f64, Unit::Time);
        }
        amount(decimal(text)?, Unit::Plain)
    }

    /// The number in the largest unit that leaves it whole.
    pub fn text(self) -> String {
        let in_largest = |units: &[(f64, &str)]| {
            let whole = self.number.round();
            let (size, name) = units
                .iter()
                .copied()
                .find(|(size, _)| whole >= *size && whole % size == 0.0)
                .unwrap_or(units[units.len() - 1]);
            format!("{}{name}", whole / size)
        };
        match self.unit {
            Unit::Count => in_largest(&[
                ((1u64 << 30) as f64, "G"),
                ((1u64 << 20) as f64, "M"),
                (1024.0, "K"),
                (1.0, ""),
            ]),
            Unit::Time => in_largest(&[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")]),
            Unit::Rate => in_largest(&[(1e9, "gbit"), (1e6, "mbit"), (1e3, "kbit"), (1.0, "bit")]),
            Unit::Plain => trimmed(self.number),
            Unit::Percent => format!("{}%", trimmed(self.number)),
        }
    }
}

/// The number without what adding and multiplying left behind it.
fn trimmed(number: f64) -> String {
    let text = format!("{number:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
