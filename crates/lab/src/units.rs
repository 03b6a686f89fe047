//! Rates, probabilities and amounts as people write them.
//!
//! Rule: a unit is always written or always implied by the field, never
//! guessed. Decimal prefixes for bits a second, as networks have them; binary
//! ones for bytes, as memory has them (`fullpipe_pool::knobs::parse_count`).

#[cfg(test)]
mod tests;

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
