//! `fullpipe fleet`: hands its arguments to the Python package.
//!
//! Rule: nothing is analysed here. The process becomes `python3 -m fullpipe.fleet`, so signals, output and exit
//! code are those of Python.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

use crate::{arguments::FleetArguments, failure::Failure};

/// Variable with the Python interpreter that has the package.
const PYTHON: &str = "FULLPIPE_PYTHON";

/// Variable that keeps Python from importing files of the current folder, which may be a folder of
/// received captures. Python before 3.11 ignores it.
const SAFE_PATH: (&str, &str) = ("PYTHONSAFEPATH", "1");

/// Python program that names the first package that is not installed, on standard error.
const PROBE: &str = "import sys, importlib.util
for name in ('fullpipe', 'pyarrow', 'duckdb'):
    found = importlib.util.find_spec(name)
    if not found or not found.origin:
        sys.exit('has no package ' + name)";

/// Runs the subcommand. Returns only if Python cannot run the package.
pub fn run(arguments: &FleetArguments) -> Result<(), Failure> {
    let python = env::var_os(PYTHON).unwrap_or_else(|| OsString::from("python3"));
    let probe = Command::new(&python)
        .env(SAFE_PATH.0, SAFE_PATH.1)
        .args(["-c", PROBE])
        .stdin(Stdio::null())
        .output();
    let probe = probe.map_err(|error| missing(&python, &not_run(&error)))?;
    if !probe.status.success() {
        let said = String::from_utf8_lossy(&probe.stderr);
        let last = said.lines().last().unwrap_or("failed");
        return Err(missing(&python, last));
    }
    let mut module = Command::new(&python);
    module
        .env(SAFE_PATH.0, SAFE_PATH.1)
        .args(["-m", "fullpipe.fleet"])
        .args(&arguments.given);
    Err(missing(&python, &not_run(&module.exec())))
}

fn not_run(error: &io::Error) -> String {
    format!("cannot run: {error}")
}

/// Returns the failure that says how to install the package.
fn missing(python: &OsStr, reason: &str) -> Failure {
    let python = python.to_string_lossy();
    Failure::failed(format!(
        "{python} {reason}; run `pip install './python[fleet]'` in the repository of fullpipe, or set \
         {PYTHON} to an interpreter that has the package fullpipe"
    ))
}
