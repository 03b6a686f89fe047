//! Tests of `lab run` in pseudo-terminals of several widths: lines fit, labels are whole, and colour
//! is off with `NO_COLOR`.
//!
//! Rule: standard output of the program is the pseudo-terminal, so the program itself finds its
//! width and decides about colour. No part of the program is linked.

#![cfg(target_os = "linux")]

use std::{
    fs::File,
    io::Read,
    process::{Command, Stdio},
};

use rustix::{
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use serde_json::Value;

const ESCAPE: char = '\x1b';
const WIDTHS: [u16; 5] = [60, 80, 100, 140, 200];

fn lab_run(experiment: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    command
        .args(["lab", "run", experiment, "--quick"])
        .env_remove("NO_COLOR")
        .env("TERM", "xterm");
    command
}

/// Runs `command` in a pseudo-terminal of `width` columns. Returns what it wrote there.
fn in_terminal(mut command: Command, width: u16) -> String {
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
    let child = command.stdout(its).stderr(Stdio::piped()).spawn().unwrap();
    // `command` keeps the terminal open, and reading ends when no process has it open.
    drop(command);
    let mut bytes = Vec::new();
    // When the last process closes the terminal, reading fails with EIO.
    let _ = File::from(ours).read_to_end(&mut bytes);
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
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

/// Returns the labels of the experiment's rows.
fn labels(experiment: &str) -> Vec<String> {
    let output = lab_run(experiment).arg("--json").output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = json["rows"].as_array().unwrap().iter();
    rows.map(|row| row["label"].as_str().unwrap().to_owned())
        .collect()
}

/// Checks that no line is longer than `width`, and that no text has one word a line.
fn assert_fits(name: &str, text: &str, width: u16) {
    for line in text.lines() {
        let columns = line.chars().count();
        assert!(columns <= usize::from(width), "{name}, {width}: {line}");
    }
    // A path or a setting may take a line of its own.
    let is_word = |line: &&str| line.trim().chars().all(char::is_alphabetic) && !line.is_empty();
    let lines: Vec<_> = text.lines().collect();
    let stacked = lines.windows(3).find(|lines| lines.iter().all(is_word));
    assert_eq!(stacked, None, "{name}, {width}");
}

/// Checks that each line fits and that each label is whole, in terminals of all widths.
fn check_widths(experiment: &str) {
    let labels = labels(experiment);
    assert!(labels.len() > 2, "{experiment}: {labels:?}");
    for width in WIDTHS {
        let text = plain(&in_terminal(lab_run(experiment), width));
        assert_fits(experiment, &text, width);
        for label in &labels {
            let is_whole = text.lines().any(|line| line.contains(label));
            assert!(is_whole, "{experiment}, {width}: no {label} in {text}");
        }
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

#[test]
fn linux_buffers_a_fits_terminals_of_all_widths() {
    check_widths("linux-buffers-a");
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
        &["why", capture, "--quick"],
        &["why", capture, capture, "--quick"],
        &["lab"],
        &[
            "lab", "run", "nuttx", "--quick", "--set", short, "--sweep", sweep,
        ],
        &["lab", "run", "nuttx", "--set", short],
        &["lab", "explain", "nuttx", "--set", short],
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
