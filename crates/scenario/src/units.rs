//! Parses and prints rates, probabilities and amounts with units.
//!
//! Rule: a unit is written, or is implied by the field; it is never guessed. Prefixes of rates are
//! decimal, prefixes of bytes are binary (`fullpipe_pool::knobs::parse_count`).

#[cfg(test)]
mod tests;

use fullpipe_pool::Duration;

/// A length of time.
pub use fullpipe_pool::{Duration as Time, knobs::parse_count};

/// Parses a rate in bit/s in any common form: `100mbit`, `100Mbit/s`, `100mbps`, `1 Gbit/s`,
/// `100M`, `1g`, `9600bit`.
///
/// Prefixes are decimal. A number needs a prefix or a unit. A unit with a capital `B` is refused,
/// because `B` means bytes.
pub fn parse_rate(text: &str) -> Option<u64> {
    rate_with(text, true)
}

/// Parses a rate with an explicit unit: `100mbit`, but not `100M`, which could be a number of
/// bytes.
fn parse_clear_rate(text: &str) -> Option<u64> {
    rate_with(text, false)
}

fn rate_with(text: &str, may_lack_unit: bool) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, suffix) = (decimal(&text[..end])?, text[end..].trim_start());
    let mut letters = suffix.chars();
    let (scale, unit) = match letters.next()? {
        'k' | 'K' => (1e3, letters.as_str()),
        'm' | 'M' => (1e6, letters.as_str()),
        'g' | 'G' => (1e9, letters.as_str()),
        _ => (1.0, suffix),
    };
    // `MBps` and `MB/s` count bytes; only the capital B distinguishes them from bits.
    let is_bytes = unit.starts_with("Bps") || unit.starts_with("B/s");
    let is_unit = ["bit", "bits", "bit/s", "bits/s", "bps", "b/s"]
        .iter()
        .any(|known| unit.eq_ignore_ascii_case(known));
    let is_right = is_unit && !is_bytes || unit.is_empty() && may_lack_unit;
    let rate = number * scale;
    (is_right && (1.0..1e15).contains(&rate)).then_some(rate.round() as u64)
}

/// Parses a probability: `1%`, `0.5%`, `0.01`. A number of 1 or more needs a `%`.
pub fn parse_probability(text: &str) -> Option<f64> {
    let text = text.trim();
    match text.strip_suffix('%') {
        Some(percent) => decimal(percent.trim_end())
            .map(|percent| percent / 100.0)
            .filter(|share| *share <= 1.0),
        None => decimal(text).filter(|share| *share < 1.0),
    }
}

/// Returns the message for a probability that is a number of 1 or more without `%`; `None` for
/// other texts. For 1, the message gives both possible meanings: 1 % and 100 %.
pub fn ambiguous_probability(text: &str) -> Option<String> {
    let text = text.trim();
    let number = decimal(text).filter(|number| *number >= 1.0)?;
    Some(match number == 1.0 {
        true => format!("`{text}` may mean 1 % or 100 %: write 1% or 100%"),
        false => format!("`{text}` is above 1: write {text}% for {text} of a hundred"),
    })
}

/// Returns the message for a share that must be below 1 and is a number from 1 to below 100 without
/// `%`; `None` for other texts. In contrast to [`ambiguous_probability`], the message does not offer
/// 100 %.
pub fn ambiguous_share(text: &str) -> Option<String> {
    let text = text.trim();
    let number = decimal(text)?;
    (1.0..100.0)
        .contains(&number)
        .then(|| format!("`{text}` is not below 1: write {text}% for {text} of a hundred"))
}

/// Description of the values that [`parse_probability`] accepts.
pub const PROBABILITY: &str = "a probability such as 1% or 0.01";

/// Parses digits with at most one decimal point. A sign or an exponent is refused, because a rate
/// such as `1e3mbit` is probably a mistake.
fn decimal(text: &str) -> Option<f64> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| plain)
}

/// Returns a rate in the largest unit in which the rate is at least one: `12 Mbit/s`.
pub fn rate_text(bps: f64) -> String {
    let (number, unit) = match bps {
        bps if bps >= 1e9 => (bps / 1e9, "Gbit/s"),
        bps if bps >= 1e6 => (bps / 1e6, "Mbit/s"),
        bps if bps >= 1e3 => (bps / 1e3, "kbit/s"),
        bps => (bps, "bit/s"),
    };
    format!("{} {unit}", three_digits(number))
}

/// Returns a rate as settings have it: `200mbit`.
pub fn rate_setting(bps: u64) -> String {
    let units = [
        (1_000_000_000, "gbit"),
        (1_000_000, "mbit"),
        (1_000, "kbit"),
    ];
    let whole = units
        .iter()
        .find(|(unit, _)| bps >= *unit && bps.is_multiple_of(*unit));
    match whole {
        Some((unit, name)) => format!("{}{name}", bps / unit),
        None => format!("{bps}bit"),
    }
}

/// Returns a number with three significant digits and at most four decimals, without an exponent.
pub fn three_digits(number: f64) -> String {
    let decimals = match number.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size if size >= 0.099_95 => 3,
        _ => 4,
    };
    let text = format!("{number:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// Returns a time in s, ms or us with about three significant digits.
pub fn seconds_text(seconds: f64) -> String {
    let (number, unit) = match seconds {
        seconds if seconds >= 0.0995 || seconds <= 0.0 => (seconds, "s"),
        seconds if seconds >= 0.000_099_5 => (seconds * 1e3, "ms"),
        seconds => (seconds * 1e6, "us"),
    };
    format!("{} {unit}", three_digits(number))
}

/// Returns a whole number with thousands separators: `16,384`.
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

/// Returns a number with its noun: `1 probe`, `15 probes`.
pub fn counted(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", grouped(number)),
    }
}

/// Unit of an [`Amount`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count of items or bytes, with binary prefixes.
    Count,
    /// A number with a fraction.
    Plain,
    /// Nanoseconds.
    Time,
    /// Bits per second, with decimal prefixes.
    Rate,
    /// Hundredths, written with a `%`.
    Percent,
}

/// A number with the unit in which it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// The number, in units of `unit`.
    pub number: f64,
    /// The unit.
    pub unit: Unit,
}

impl Amount {
    /// Parses the value of the setting called `path`. If the last part of `path` names a rate, as
    /// in `link.rate=100M`, the value is parsed as a rate.
    pub fn of_setting(path: &str, text: &str) -> Option<Self> {
        let is_rate = path.rsplit('.').next() == Some("rate");
        match parse_rate(text).filter(|_| is_rate) {
            Some(rate) => Some(Self {
                number: rate as f64,
                unit: Unit::Rate,
            }),
            None => Self::parse(text),
        }
    }

    /// Parses a number with its unit: `16K`, `10ms`, `5mbit`, `1%`, `0.01`. `1m` means a minute. A
    /// caller for which `m` may mean 2²⁰ must refuse such a text first.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let amount = |number, unit| Some(Self { number, unit });
        if let Some(rate) = parse_clear_rate(text) {
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

    /// Returns the number in the largest unit in which it is whole.
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

/// Returns the number as text, without rounding errors of floating-point arithmetic.
fn trimmed(number: f64) -> String {
    let text = format!("{number:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
