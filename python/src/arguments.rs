//! Arguments of several functions.
//!
//! Rule: values have the text form of the command line. A number that is an argument has the unit
//! bit/s or second; a number that is a setting's value has no unit, as in `--set`.

use std::path::PathBuf;

use fullpipe_lab::units::{Time, ambiguous_share, parse_probability, parse_rate};
use pyo3::{prelude::*, types::PyMapping};

use crate::errors;

/// Returns the value of the setting `name` as text. The value is a text, a number or a truth value,
/// of Python or of numpy.
pub fn value_text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.extract::<String>() {
        return Ok(text);
    }
    // `numpy.bool_`, called `bool` since numpy 2, is no subclass of Python's `bool`.
    let kind = value.get_type().name()?;
    if matches!(kind.to_cow()?.as_ref(), "bool" | "bool_") {
        return Ok(value.is_truthy()?.to_string());
    }
    if let Ok(whole) = value.call_method0("__index__") {
        return Ok(whole.str()?.to_string());
    }
    match value.extract::<f64>() {
        // Rust's text of a number has no exponent.
        Ok(number) if number.is_finite() => Ok(number.to_string()),
        _ => {
            let given = value.repr()?;
            let fix = format!("{given} is refused: give a text, a finite number or a bool");
            Err(errors::setting(value.py(), name, fix))
        }
    }
}

/// Returns the argument `name`, a whole number of at least `least`.
pub fn whole<T: TryFrom<i128>>(
    py: Python<'_>,
    name: &str,
    given: i128,
    least: i128,
) -> PyResult<T> {
    let number = (given >= least).then(|| T::try_from(given).ok()).flatten();
    number.ok_or_else(|| {
        let most = match size_of::<T>() {
            4 => u128::from(u32::MAX),
            _ => u128::from(u64::MAX),
        };
        let fix = format!("expected a number from {least} to {most}");
        errors::setting(py, &format!("{name}={given}"), fix)
    })
}

/// Returns each name of a mapping with the result of `of` for its value, in order.
pub fn pairs<T>(
    given: Option<&Bound<'_, PyMapping>>,
    of: impl Fn(&str, &Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<(String, T)>> {
    let Some(given) = given else {
        return Ok(Vec::new());
    };
    let items = given.items()?;
    let items = items.iter().map(|item| {
        let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
        let made = of(&name, &value)?;
        Ok((name, made))
    });
    items.collect()
}

/// Returns the settings of a mapping with their values as texts, in order.
pub fn settings(given: Option<&Bound<'_, PyMapping>>) -> PyResult<Vec<(String, String)>> {
    pairs(given, value_text)
}

/// Returns the path of an object with `__fspath__`; `None` for any other object.
pub fn path(given: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    match given.hasattr("__fspath__")? {
        true => given.extract().map(Some),
        false => Ok(None),
    }
}

/// Returns a rate in bit/s: a number, or text such as `100mbit`.
pub fn rate(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(bps) = given.extract::<f64>() {
        if (1.0..=1e15).contains(&bps) {
            return Ok(bps as u64);
        }
    } else if let Some(bps) = parse_rate(&given.extract::<String>()?) {
        return Ok(bps);
    }
    let expected = "expected a number in bit/s, or a text such as \"100mbit\"";
    Err(errors::setting(given.py(), "rate", expected))
}

/// Returns a time above 0: seconds, or text such as `20ms`.
pub fn time(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Time> {
    let found = match given.extract::<f64>() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => {
            Some(Time::from_nanos((seconds * 1e9).round() as u64))
        }
        Ok(_) => None,
        Err(_) => given.extract::<String>()?.parse().ok(),
    };
    found.filter(|time| *time > Time::ZERO).ok_or_else(|| {
        let expected = "expected a number of seconds above 0, or a text such as \"20ms\"";
        errors::setting(given.py(), name, expected)
    })
}

/// Returns a probability below 1: a number, or text such as `1%`.
pub fn share(name: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let text = match given.extract::<f64>() {
        Ok(share) if (0.0..1.0).contains(&share) => return Ok(share),
        Ok(share) => share.to_string(),
        Err(_) => given.extract::<String>()?,
    };
    let fail = |fix: &str| Err(errors::setting(given.py(), name, fix));
    if let Some(message) = ambiguous_share(&text) {
        return fail(&message);
    }
    match parse_probability(&text) {
        Some(share) if (0.0..1.0).contains(&share) && text.contains('%') => Ok(share),
        _ => fail("expected a probability from 0 to below 1, or a text such as \"1%\""),
    }
}
