//! Rates, probabilities and amounts as people write them.
//!
//! Rule: a unit is always written or always implied by the field, never
//! guessed. Decimal prefixes for bits a second, as networks have them; binary
//! ones for bytes, as memory has them (`fullpipe_pool::knobs::parse_count`).

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

#[cfg(test)]
mod tests {
    use super::{grouped, parse_probability, parse_rate, rate_text, three_digits};

    #[test]
    fn rates_carry_their_unit() {
        for (text, expected) in [
            ("12mbit", Some(12_000_000)),
            ("1.5Gbit", Some(1_500_000_000)),
            ("500kbit", Some(500_000)),
            ("9600bit", Some(9_600)),
            ("12", None),
            ("12mb", None),
            ("mbit", None),
            ("-1mbit", None),
            ("1e3mbit", None),
            ("0bit", None),
            ("", None),
        ] {
            assert_eq!(parse_rate(text), expected, "{text}");
        }
    }

    #[test]
    fn probabilities_are_percent_or_fractions_between_none_and_all() {
        for (text, expected) in [
            ("1%", Some(0.01)),
            ("0.25", Some(0.25)),
            ("100%", Some(1.0)),
            ("101%", None),
            ("1.01", None),
            ("-1%", None),
            ("nan", None),
            ("much", None),
        ] {
            assert_eq!(parse_probability(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_shown_short() {
        assert_eq!(three_digits(5.349_9), "5.35");
        assert_eq!(three_digits(0.0), "0");
        assert_eq!(three_digits(948.4), "948");
        assert_eq!(rate_text(54_321.0), "54.3 kbit/s");
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(16_384), "16,384");
        assert_eq!(grouped(2_000_000), "2,000,000");
    }
}
