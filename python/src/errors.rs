//! Exceptions. Their classes are in the Python module `fullpipe.errors`.
//!
//! Rule: a mistake of the caller names the file, the line or the setting, and the fix.

use std::io;

use fullpipe_diagnose::capture::CaptureError;
use fullpipe_lab::{
    Mistake, RunError, SizeError, SweepError, TrialError, catalogue::CatalogueError,
};
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyRuntimeError},
    prelude::*,
    types::{IntoPyDict, PyDict},
};

/// Creates an exception of the class `class`, with `subject` as the value of its attribute `name`.
/// The message consists of the subject and `fix`, or of `fix` alone if the subject is empty.
fn about(py: Python<'_>, class: &str, (name, subject): (&str, &str), fix: &str) -> PyErr {
    let message = match subject {
        "" => fix.to_string(),
        subject => format!("{subject}: {fix}"),
    };
    match [(name, subject), ("fix", fix)].into_py_dict(py) {
        Ok(attributes) => exception(py, class, &message, &attributes),
        Err(error) => error,
    }
}

/// Creates an exception of the class `class` with `attributes`.
fn exception(py: Python<'_>, class: &str, message: &str, attributes: &Bound<'_, PyDict>) -> PyErr {
    let made = py
        .import("fullpipe.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call((message,), Some(attributes)));
    match made {
        Ok(made) => PyErr::from_value(made),
        Err(error) => error,
    }
}

/// Returns the exception for a file that does not begin like a capture.
pub fn capture(py: Python<'_>, file: &str, fix: &str) -> PyErr {
    about(py, "CaptureError", ("file", file), fix)
}

/// Returns the exception for a file that cannot be opened. If the error comes from the operating
/// system, the exception is a `ReadError`, because the file may be good.
pub fn opening(py: Python<'_>, file: &str, error: &io::Error) -> PyErr {
    let Some(code) = error.raw_os_error() else {
        return capture(py, file, &error.to_string());
    };
    let of_system = || {
        let attributes = [("file", file), ("fix", &error.to_string())].into_py_dict(py)?;
        attributes.set_item("errno", code)?;
        PyResult::Ok(attributes)
    };
    of_system().map_or_else(
        |error| error,
        |attributes| exception(py, "ReadError", &format!("{file}: {error}"), &attributes),
    )
}

/// Returns the exception for a file whose reading failed at its beginning.
pub fn reading(py: Python<'_>, file: &str, error: &CaptureError) -> PyErr {
    match error {
        CaptureError::Read(error) => opening(py, file, error),
        _ => capture(py, file, &error.to_string()),
    }
}

/// Returns the exception for a setting or an argument that was refused.
pub fn setting(py: Python<'_>, setting: &str, fix: impl std::fmt::Display) -> PyErr {
    about(py, "SettingError", ("setting", setting), &fix.to_string())
}

fn place<'py>(py: Python<'py>, mistake: &Mistake) -> PyResult<Bound<'py, PyDict>> {
    let attributes = PyDict::new(py);
    attributes.set_item("file", &mistake.file)?;
    attributes.set_item("line", mistake.line)?;
    attributes.set_item("column", mistake.column)?;
    attributes.set_item("key", &mistake.key)?;
    attributes.set_item("fix", &mistake.what)?;
    Ok(attributes)
}

/// Returns the exception for the mistakes of a file; `others` are those after the first.
fn mistakes(py: Python<'_>, first: &Mistake, others: &[Mistake]) -> PyErr {
    let attributes = || {
        let attributes = place(py, first)?;
        let others = others.iter().map(ToString::to_string);
        attributes.set_item("others", others.collect::<Vec<_>>())?;
        PyResult::Ok(attributes)
    };
    let message = match others.len() {
        0 => first.to_string(),
        more => format!("{first} ({more} more in the attribute `others`)"),
    };
    attributes().map_or_else(
        |error| error,
        |attributes| exception(py, "ScenarioError", &message, &attributes),
    )
}

/// Returns the exception for an experiment that is not available.
pub fn catalogue(py: Python<'_>, error: &CatalogueError) -> PyErr {
    let (file, fix) = match error {
        CatalogueError::Mistakes(all) => match all.split_first() {
            Some((first, others)) => return mistakes(py, first, others),
            None => {
                return PyRuntimeError::new_err(
                    "a file was refused without a reason: this is a bug of fullpipe",
                );
            }
        },
        CatalogueError::Unknown { name, hint } => (name.clone(), hint.clone()),
        CatalogueError::Unreadable { file, error } => (file.clone(), error.to_string()),
    };
    match [("file", file), ("fix", fix)].into_py_dict(py) {
        Ok(attributes) => exception(py, "ScenarioError", &error.to_string(), &attributes),
        Err(error) => error,
    }
}

/// Returns the exception for a run without a result.
pub fn run(py: Python<'_>, error: &RunError) -> PyErr {
    match error {
        RunError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        RunError::World { .. } | RunError::Twin { .. } | RunError::Capture { .. } => {
            let attributes = PyDict::new(py);
            exception(py, "SimulationError", &error.to_string(), &attributes)
        }
    }
}

/// Returns the exception for a sweep that was refused.
pub fn sweep(py: Python<'_>, error: &SweepError) -> PyErr {
    setting(py, &error.setting, &error.fix)
}

/// Returns the exception for a transfer that was refused.
pub fn trial(py: Python<'_>, error: &TrialError) -> PyErr {
    match error {
        TrialError::Setting { flag, given, error } => {
            let argument = match (*flag, given.as_str()) {
                ("--set", "") => "settings",
                ("--set", given) => given,
                (flag, _) => flag.trim_start_matches('-'),
            };
            setting(py, argument, error)
        }
        TrialError::Refused(mistake) => setting(py, &mistake.key, &mistake.what),
        TrialError::Run(error) => run(py, error),
    }
}

/// Returns the exception for a search that was refused or failed.
pub fn size(py: Python<'_>, error: &SizeError) -> PyErr {
    match error {
        SizeError::Run(error) => run(py, error),
        SizeError::Memory(_) => setting(py, "memory", error),
        SizeError::Setting { given, .. } => setting(py, given, error),
        SizeError::TooFar => setting(py, "rtt", error),
        SizeError::Path(mistake) => setting(py, &mistake.key, &mistake.what),
        SizeError::TooLong(_) => setting(py, "rate", error),
        SizeError::Nothing(_) => setting(py, "", error),
    }
}
