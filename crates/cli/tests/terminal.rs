//! Tests of the output of `lab run` on terminals and in pipes: width, colour, labels, rows printed
//! as soon as they finish, and conditions that fail a run.
//!
//! Rule: the program is run, and no part of it is linked.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Arguments for a short run of `nuttx`, followed by `more`.
fn nuttx<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [
        &["lab", "run", "nuttx", "--set", "workload.duration=1s"][..],
        more,
    ]
    .concat()
}

#[test]
fn a_run_fits_the_width_that_is_asked_for() {
    // Verdicts take most of the time, and their lines have the same width as all others.
    for (width, more) in [
        (60, None),
        (80, Some("--quick")),
        (100, Some("--quick")),
        (140, None),
        (200, Some("--quick")),
    ] {
        let asked = width.to_string();
        let arguments: Vec<_> = ["--width", &asked].into_iter().chain(more).collect();
        let text = stdout(&run(&nuttx(&arguments)));
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        for label in ["36 x 196, whole writes", "unlimited buffers"] {
            assert!(text.contains(label), "{width}: {text}");
        }
    }
}

#[test]
fn a_quick_run_prints_limits_and_no_verdict() {
    for width in ["80", "160"] {
        let text = stdout(&run(&nuttx(&["--quick", "--width", width])));
        assert!(text.to_lowercase().contains("limits"), "{width}: {text}");
        for part in ["Limited by", "Because", "unknown cause"] {
            assert!(!text.contains(part), "{width}: {part} in {text}");
        }
    }
}

#[test]
fn chosen_columns_are_a_table_where_they_fit() {
    let chosen = [
        "--quick",
        "--columns",
        "goodput_mbps,timeouts",
        "--width",
        "80",
    ];
    let text = stdout(&run(&nuttx(&chosen)));
    let heading = text.lines().find(|line| line.starts_with("row "));
    let heading = heading.expect("a table has headings");
    assert!(
        heading.contains("Mbit/s") && heading.contains("timeouts"),
        "{text}"
    );
}

#[test]
fn colour_is_off_in_a_pipe_and_on_when_asked_for() {
    assert!(!stdout(&run(&nuttx(&["--quick"]))).contains('\x1b'));
    let coloured = stdout(&run(&nuttx(&["--quick", "--color", "always"])));
    assert!(coloured.contains("\x1b[1;31mstalled"), "{coloured}");
    assert!(!stdout(&run(&nuttx(&["--quick", "--color", "never"]))).contains('\x1b'));
}

#[test]
fn rows_whose_settings_were_replaced_say_so_in_their_label() {
    let text = stdout(&run(&nuttx(&[
        "--quick",
        "--set",
        "CONFIG_IOB_NBUFFERS=24",
    ])));
    for label in ["128 x 196, chunked", "unlimited buffers"] {
        let expected = format!("{label} [CONFIG_IOB_NBUFFERS=24 by --set]");
        assert!(text.contains(&expected), "{expected} in {text}");
    }
    let text = stdout(&run(&nuttx(&["--quick", "--set", "wifi.rate=100Mbit/s"])));
    assert!(!text.contains("by --set]"), "no row sets the rate: {text}");
}

/// The fits and the published figures are about the rows as written.
#[test]
fn changed_rows_are_neither_fitted_nor_compared_with_published_figures() {
    for width in ["80", "200"] {
        let set = ["--quick", "--set", "CONFIG_IOB_NBUFFERS=24"];
        let text = stdout(&run(&nuttx(&[&set[..], &["--width", width]].concat())));
        assert!(text.contains("5.14"), "{width}: {text}");
        for part in ["(fitted)", "difference", "deviation"] {
            assert!(!text.contains(part), "{width}: {part} in {text}");
        }
    }
}

#[test]
fn rates_are_read_as_people_write_them() {
    let json = |rate: &str| {
        let output = run(&nuttx(&[
            "--quick",
            "--json",
            "--set",
            &format!("wifi.rate={rate}"),
        ]));
        assert!(output.status.success(), "{rate}: {}", stderr(&output));
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        json["rows"].clone()
    };
    let expected = json("20mbit");
    for rate in ["20mbps", "20Mbit/s", "20M", "20 Mbit/s"] {
        assert_eq!(json(rate), expected, "{rate}");
    }
}

#[test]
fn a_condition_that_a_row_meets_is_exit_code_3_and_names_the_row() {
    let judged = |condition, more: &[_]| {
        let arguments = ["lab", "run", "nuttx", "--fail-on", condition];
        run(&[&arguments[..], more].concat())
    };
    for (condition, line, more) in [
        (
            "stalled",
            "failed: nuttx, row `36 x 196, whole writes`: stalled",
            &["--quick"][..],
        ),
        (
            "limit=memory",
            "limited by memory (--fail-on limit=memory)",
            &[],
        ),
        (
            "dropped,deviation=0%",
            "from its published figure",
            &["--quick"],
        ),
    ] {
        let output = judged(condition, more);
        assert_eq!(output.status.code(), Some(3), "{condition}");
        assert!(stderr(&output).contains(line), "{}", stderr(&output));
        assert!(stdout(&output).contains("unlimited buffers"), "rows go on");
    }
    let fine = judged("dropped", &["--quick"]);
    assert_eq!(fine.status.code(), Some(0), "{}", stderr(&fine));
}

const TWO_ROWS: &str = r#"
title = "A row that is done and one that is not"
hosts.near = {}
hosts.far = {}
links.path = { between = ["near", "far"], rate = "100mbit", delay = "1ms" }
workload = { from = "near", to = "far", duration = "1s" }
rows = [{ label = "first" }, { label = "second", set.workload.duration = "3000s" }]
"#;

#[test]
fn a_row_is_printed_when_it_is_done_and_stays_after_an_interrupt() {
    let file: PathBuf = env::temp_dir().join(format!("fullpipe-two-{}.toml", std::process::id()));
    fs::write(&file, TWO_ROWS).unwrap();
    let mut child = command(&["lab", "run", "--width", "80", file.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Wait for the first row only: if rows were printed at the end, it would come after minutes.
    let first = lines.find(|line| line.as_ref().unwrap().starts_with("first"));
    assert!(first.is_some(), "the first row is printed");
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    let code = child.wait().unwrap().code();
    let _ = fs::remove_file(&file);
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("interrupted: 1 of 2 rows of"), "{said}");
}

/// Runs `arguments` repeatedly, and interrupts each run later than the run before, until
/// `is_enough` returns true for standard output. Returns standard error of the last run.
fn interrupted(arguments: &[&str], is_enough: impl Fn(&str) -> bool) -> String {
    let mut wait = Duration::from_millis(300);
    loop {
        let child = command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        thread::sleep(wait);
        let killed = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(killed.unwrap().success(), "the run is not over");
        let output = child.wait_with_output().unwrap();
        // If there is no exit code, try again: the program was interrupted before it handled the
        // signal.
        if output.status.code().is_some() && is_enough(&stdout(&output)) {
            assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
            return stderr(&output);
        }
        wait *= 2;
    }
}

#[test]
fn an_interrupt_prints_what_is_complete_and_how_much_is_done() {
    let file: PathBuf = env::temp_dir().join(format!("fullpipe-long-{}.toml", std::process::id()));
    fs::write(&file, TWO_ROWS.replace("3000s", "30000s")).unwrap();
    let advise = ["lab", "advise", file.to_str().unwrap(), "--json"];
    let said = interrupted(&advise, |text| text.contains("\"first\""));
    assert!(said.starts_with("interrupted: ") && said.contains(" % of fullpipe-long-"));
    let _ = fs::remove_file(&file);
    let path = ["--rate", "100mbit", "--rtt", "1ms"];
    let long = [&["try"][..], &path, &["--time", "30000s"]].concat();
    let said = interrupted(&long, str::is_empty);
    assert!(said.starts_with("interrupted: "), "{said}");
    assert!(said.ends_with(" % of try is done\n"), "{said}");
}
