//! The values of a swept setting: `1,2,4`, `4K..1M*2`, `1ms..10ms+1ms`.
//!
//! Rule: the values of a list are used unchanged. The values of a range are computed in the unit
//! of its ends, and printed in a unit in which they are exact.

use fullpipe_scenario::units::{Amount, Unit};

/// Largest number of values in one range.
const MOST_VALUES: usize = 10_000;

/// Step of a range.
enum Step {
    Times(f64),
    Plus(f64),
}

/// Parses every value of a list, in the order in which the values are written. The error is the
/// mistake and its remedy.
pub(super) fn parse(path: &str, text: &str) -> Result<Vec<String>, String> {
    let mut values = Vec::new();
    for part in text.split(',').map(str::trim) {
        if part.is_empty() {
            return Err(wrong(
                text,
                "a value is missing: write values such as 1,2,4",
            ));
        }
        match part.split_once("..") {
            Some((first, rest)) => range(path, part, first, rest, &mut values)?,
            None => values.push(part.to_string()),
        }
    }
    Ok(values)
}

fn range(
    path: &str,
    part: &str,
    first: &str,
    rest: &str,
    values: &mut Vec<String>,
) -> Result<(), String> {
    let Some(sign) = rest.find(['*', '+']) else {
        let what =
            "the step of the range is missing; write for example 4K..1M*2 or 10ms..50ms+10ms";
        return Err(wrong(part, what));
    };
    let (last, step) = (&rest[..sign], &rest[sign + 1..]);
    let (first, last) = (amount(path, part, first)?, amount(path, part, last)?);
    if first.unit != last.unit {
        return Err(wrong(part, "both ends of a range must have the same unit"));
    }
    if last.number < first.number {
        return Err(wrong(
            part,
            "a range must go up: its last value may not be below its first",
        ));
    }
    let step = match &rest[sign..=sign] {
        "*" => step.trim().parse().ok().map(Step::Times),
        _ => Amount::of_setting(path, step)
            .filter(|step| step.unit == first.unit)
            .map(|step| Step::Plus(step.number)),
    };
    let step = match step {
        Some(Step::Times(by)) if by > 1.0 && by.is_finite() && first.number > 0.0 => {
            Step::Times(by)
        }
        Some(Step::Plus(more)) if more > 0.0 => Step::Plus(more),
        Some(Step::Times(_)) => {
            return Err(wrong(
                part,
                "a factor must be above 1, and the first value of its range above 0",
            ));
        }
        Some(Step::Plus(_)) | None => {
            let what = "after `+` write a step above 0 in the unit of the ends, after `*` a \
                        factor above 1";
            return Err(wrong(part, what));
        }
    };
    count(part, &step, first, last.number, values)
}

fn count(
    part: &str,
    step: &Step,
    first: Amount,
    last: f64,
    values: &mut Vec<String>,
) -> Result<(), String> {
    // Increase the end slightly, so that a rounding error does not drop the last value.
    let end = last * (1.0 + 1e-9);
    let mut written: Option<String> = None;
    for place in 0.. {
        let number = match step {
            Step::Times(by) => first.number * by.powi(place),
            Step::Plus(more) => first.number + more * f64::from(place),
        };
        if number > end {
            return Ok(());
        }
        let text = Amount {
            number,
            unit: first.unit,
        }
        .text();
        if written.as_deref() == Some(&text) {
            return Err(wrong(
                part,
                "the step is too small: rounding makes two values equal",
            ));
        }
        if values.len() >= MOST_VALUES {
            return Err(wrong(part, "more than 10000 values: enlarge the step"));
        }
        values.push(text.clone());
        written = Some(text);
    }
    Ok(())
}

fn amount(path: &str, part: &str, end: &str) -> Result<Amount, String> {
    let end = end.trim();
    let Some(amount) = Amount::of_setting(path, end) else {
        let what = format!(
            "`{end}` cannot be an end of a range: write a number such as 4K, 10ms, 5mbit or 1%, \
             or list the values with commas"
        );
        return Err(wrong(part, &what));
    };
    if amount.unit == Unit::Time && end.ends_with('m') {
        let what = format!("`{end}` may mean minutes or 2^20; write seconds or `M`");
        return Err(wrong(part, &what));
    }
    Ok(amount)
}

fn wrong(given: &str, what: &str) -> String {
    format!("`{given}`: {what}")
}
