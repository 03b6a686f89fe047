//! Tests of `fullpipe fleet`, which hands its arguments to Python.
//!
//! Rule: a shell script stands for Python, so the tests need neither Python nor the package.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Output},
};

use super::{Folder, stderr, stdout};

/// Runs `fullpipe fleet` with a shell script in place of Python.
fn fleet(script: &str, arguments: &[&str]) -> Output {
    let folder = Folder::new(&format!("fleet-{}", arguments.len()));
    let python = folder.0.join("python");
    fs::write(&python, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .arg("fleet")
        .args(arguments)
        .env("FULLPIPE_PYTHON", &python)
        .output()
        .unwrap()
}

#[test]
fn python_gets_every_argument_and_gives_the_exit_code() {
    let script = r#"test "$1" = -c && exit 0; printf '%s\n' "$@"; exit 3"#;
    let output = fleet(script, &["report", "data set", "--help"]);
    assert_eq!(
        stdout(&output),
        "-m\nfullpipe.fleet\nreport\ndata set\n--help\n"
    );
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_missing_package_is_one_line_that_says_what_to_install() {
    let script = "echo warning >&2; echo has no package pyarrow >&2; exit 1";
    let output = fleet(script, &["report"]);
    let line = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(
        line.contains("has no package pyarrow; run `pip install"),
        "{line}"
    );
}

#[test]
fn help_needs_no_python() {
    let output = fleet("exit 1", &["--help", "", "", ""]);
    assert!(stdout(&output).contains("fullpipe fleet report dataset"));
}
