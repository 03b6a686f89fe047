//! Tests of `lab run` in pseudo-terminals of several widths: lines fit, labels are whole, colour is
//! off with `NO_COLOR`, and progress has a line of its own.
//!
//! Rule: standard output or standard error of the program is the pseudo-terminal, so the program
//! itself finds its width and decides about colour. No part of the program is linked.

#![cfg(target_os = "linux")]

use std::{
    env,
    fs::File,
    io::Read,
    os::fd::OwnedFd,
    process::{Command, Stdio},
};

use rustix::{
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

const ESCAPE: char = '\x1b';
const WIDTHS: [u16; 5] = [60, 80, 100, 140, 200];

/// Returns the command `lab run WHAT` without verdicts, which may use colour.
fn lab_run(what: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    command
        .args(["lab", "run", what, "--quick"])
        .env_remove("NO_COLOR")
        .env("TERM", "xterm");
    command
}

/// Opens a pseudo-terminal of `width` columns. Returns the end that this test reads, and the end
/// that a program writes.
fn open_terminal(width: u16) -> (File, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let ours = openpt(flags).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let size = Winsize {
        ws_row: 50,
        ws_col: width,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&ours, size).unwrap();
    let its = ioctl_tiocgptpeer(&ours, flags).unwrap();
    (ours.into(), its)
}

/// Reads what a program writes to the terminal, until the program ends.
fn read_terminal(mut ours: File) -> String {
    let mut bytes = Vec::new();
    // When the last process closes the terminal, reading fails with EIO.
    let _ = ours.read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}

/// Runs `command` in a pseudo-terminal of `width` columns. Returns what it wrote there.
fn in_terminal(mut command: Command, width: u16) -> String {
    let (ours, its) = open_terminal(width);
    let child = command.stdout(its).stderr(Stdio::piped()).spawn().unwrap();
    // `command` keeps the terminal open, and reading ends when no process has it open.
    drop(command);
    let text = read_terminal(ours);
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    text
}

/// Returns `text` without the escape codes that set colours.
fn plain(text: &str) -> String {
    let mut parts = text.split(ESCAPE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let (code, rest) = part.split_once('m').expect("a code ends with m");
        let is_colour = |c: char| c == '[' || c == ';' || c.is_ascii_digit();
        assert!(code.chars().all(is_colour), "{code:?} is not a colour");
        plain + rest
    })
}

/// Returns the labels of the rows of one experiment, or of all experiments (`--all`).
fn labels(what: &str) -> Vec<String> {
    let output = lab_run(what).arg("--json").output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let experiments = match &json {
        Value::Array(experiments) => experiments.iter().collect(),
        one => vec![one],
    };
    let rows = experiments
        .iter()
        .flat_map(|one| one["rows"].as_array().unwrap());
    rows.map(|row| row["label"].as_str().unwrap().to_owned())
        .collect()
}

/// Checks that no line is longer than `width`, and that no text has one word a line.
fn assert_fits(name: &str, text: &str, width: u16) {
    for line in text.lines() {
        let columns = line.width();
        assert!(columns <= usize::from(width), "{name}, {width}: {line}");
    }
    // A path or a setting may take a line of its own.
    let is_word = |line: &&str| line.trim().chars().all(char::is_alphabetic) && !line.is_empty();
    let lines: Vec<_> = text.lines().collect();
    let stacked = lines.windows(3).find(|lines| lines.iter().all(is_word));
    assert_eq!(stacked, None, "{name}, {width}");
}

/// Checks that each line fits and that each label is whole in a terminal of `width` columns.
fn assert_fits_with_labels(name: &str, text: &str, labels: &[String], width: u16) {
    assert_fits(name, text, width);
    for label in labels {
        let is_whole = text.lines().any(|line| line.contains(label));
        assert!(is_whole, "{name}, {width}: no {label} in {text}");
    }
}

/// Checks the output in terminals of all widths. Its lines are also the lines that `--width` prints
/// in a pipe, although a terminal gets each note below its row; for this output the tests of the
/// crate `lab` check that no column is narrower than its longest number.
fn check_widths(experiment: &str) {
    let labels = labels(experiment);
    assert!(labels.len() > 2, "{experiment}: {labels:?}");
    for width in WIDTHS {
        let text = plain(&in_terminal(lab_run(experiment), width));
        assert_fits_with_labels(experiment, &text, &labels, width);
        let asked = width.to_string();
        let piped = lab_run(experiment).args(["--width", &asked]).output();
        let piped = String::from_utf8(piped.unwrap().stdout).unwrap();
        let missing = text
            .lines()
            .find(|line| !piped.lines().any(|other| other == *line));
        assert_eq!(missing, None, "{experiment}, {width}: {piped}");
    }
}

#[test]
fn nuttx_fits_terminals_of_all_widths() {
    check_widths("nuttx");
}

#[test]
fn netburner_fits_terminals_of_all_widths() {
    check_widths("netburner");
}

/// `FULLPIPE_EXPERIMENT=NAME` checks another experiment, or every one if it is `--all`, which takes
/// about an hour with `--profile tested`.
#[test]
fn an_experiment_fits_terminals_of_all_widths() {
    let name = env::var("FULLPIPE_EXPERIMENT");
    check_widths(name.as_deref().unwrap_or("linux-buffers-a"));
}

/// The tables of `size`, `lab advise` and `try` are checked in the tests of the crate `lab`, where
/// one simulation is enough for all widths.
#[test]
fn every_other_table_fits_terminals_of_all_widths() {
    let capture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/captures/send-buffer.pcap.gz"
    );
    let short = "workload.duration=200ms";
    let sweep = "pool.blocks=16..64*2";
    for arguments in [
        &["knobs", "--preset", "nuttx"][..],
        &["footprint", "--preset", "nuttx"],
        &["why", capture],
        &["why", capture, "--quick"],
        &["why", capture, capture, "--quick"],
        &["lab"],
        &[
            "lab", "run", "nuttx", "--quick", "--set", short, "--sweep", sweep,
        ],
        &["lab", "run", "nuttx", "--set", short],
        &["lab", "explain", "nuttx", "--set", short],
        // The first is the attack with the longest name.
        &["lab", "attacks", "on 16 connections", "overlapping"],
        &["watch", "--once"],
    ] {
        for width in WIDTHS {
            let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
            command.args(arguments).env("NO_COLOR", "1");
            let text = in_terminal(command, width);
            assert_fits(&arguments.join(" "), &text, width);
        }
    }
}

#[test]
fn a_terminal_has_colour_unless_no_color_is_set_and_a_pipe_has_none() {
    let coloured = in_terminal(lab_run("nuttx"), 80);
    assert!(coloured.contains(ESCAPE), "{coloured}");
    let mut without = lab_run("nuttx");
    without.env("NO_COLOR", "1");
    let without = in_terminal(without, 80);
    assert!(!without.contains(ESCAPE), "{without}");
    let piped = lab_run("nuttx").arg("--width").arg("80").output().unwrap();
    let piped = String::from_utf8(piped.stdout).unwrap();
    assert_eq!(piped, without);
    assert_eq!(plain(&coloured), without);
}

/// Returns the name, the bar, the percentage and the times of a progress line; `None` for another
/// line.
fn progress_line(line: &str) -> Option<[&str; 5]> {
    let (head, end) = line.split_once(", ETA ")?;
    let (head, elapsed) = head.rsplit_once(" %  ")?;
    let (head, percent) = head.rsplit_once(' ')?;
    let (name, bar) = head.trim_end().rsplit_once(' ')?;
    // A terminal's line is filled with spaces.
    Some([name, bar, percent, elapsed, end.trim_end()])
}

/// Returns true if `text` is a time such as `12s`.
fn is_time(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
    digits.len() < text.len() && digits.parse::<u64>().is_ok()
}

#[test]
fn progress_has_a_name_a_percentage_and_the_time_that_remains() {
    let (ours, its) = open_terminal(100);
    let mut command = lab_run("linux-buffers-a");
    let mut child = command.stdout(Stdio::null()).stderr(its).spawn().unwrap();
    drop(command);
    let text = read_terminal(ours);
    assert!(child.wait().unwrap().success(), "{text}");
    let text = text.replace("\x1b[2K", "\r").replace("\x1b[1A", "\r");
    let lines: Vec<_> = text.split(['\r', '\n']).filter_map(progress_line).collect();
    assert!(!lines.is_empty(), "{text:?}");
    for line @ [name, bar, percent, elapsed, end] in lines {
        assert!(name.starts_with("linux-buffers-a"), "{line:?}");
        assert_eq!(bar.width(), 16, "{line:?}");
        assert!(percent.parse::<u32>().unwrap() <= 100, "{line:?}");
        assert!(is_time(elapsed), "{line:?}");
        assert!(is_time(end) || end == "unknown", "{line:?}");
    }
}
