//! Tests of the command as people and programs use it: exit codes, one-line errors, standard output
//! and standard error, and files left behind.
//!
//! Rule: the program is run, and no part of it is linked. The content of results is tested in the
//! crates that produce them.

mod checkout;
mod files;
mod fleet;
mod iperf;
mod merges;
mod mistakes;
mod why;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use parquet::{file::reader::SerializedFileReader, record::Field};
use serde_json::Value;

fn fullpipe(arguments: &[&str]) -> Output {
    fullpipe_in(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
}

fn fullpipe_in(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A folder that is deleted after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("fullpipe-cli-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Asserts that each of `cases` is refused in one line as the user's mistake. A case is the
/// arguments and the expected text.
fn refused(folder: &Path, cases: &[(&[&str], &str)]) {
    for (arguments, expected) in cases {
        let output = fullpipe_in(folder, arguments);
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {line}");
        assert!(
            line.starts_with("error: ") && line.contains(expected),
            "{arguments:?}: {line}"
        );
        assert_eq!(line.trim_end().lines().count(), 1, "{arguments:?}: {line}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_sweep_is_a_table_and_a_file_in_the_format_that_its_name_ends_in() {
    let folder = Folder::new("sweep");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sweep = |ending: &str| {
        let file = folder.0.join(format!("sweep.{ending}"));
        let output = fullpipe_in(
            here,
            &[
                "lab",
                "run",
                "nuttx",
                "--set",
                "workload.duration=50ms",
                "--set",
                "workload.give_up=100ms",
                "--sweep",
                "pool.blocks=32..64*2",
                "--sweep",
                "link.loss=0%,1%",
                "--output",
                file.to_str().unwrap(),
            ],
        );
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stdout(&output).contains("pool."), "{}", stdout(&output));
        fs::read(file).unwrap()
    };
    let csv = String::from_utf8(sweep("csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 5 * 2 * 2);
    let json: Value = serde_json::from_slice(&sweep("json")).unwrap();
    assert_eq!(json[19]["pool.blocks"], 64);
    assert_eq!(json[19]["link.loss"], 0.01);
    sweep("parquet");
    let file = fs::File::open(folder.0.join("sweep.parquet")).unwrap();
    let rows: Vec<_> = SerializedFileReader::new(file)
        .unwrap()
        .into_iter()
        .map(|row| row.unwrap())
        .collect();
    assert_eq!(rows.len(), 20);
    let mut columns = 0;
    for (name, field) in rows[19].get_column_iter() {
        let expected = json[19].get(name).cloned().unwrap_or_default();
        let value = match field {
            Field::Null => Value::Null,
            Field::Str(text) => text.as_str().into(),
            Field::ULong(whole) => (*whole).into(),
            Field::Double(number) => (*number).into(),
            other => panic!("{name} is {other:?}"),
        };
        assert_eq!(value, expected, "{name}");
        columns += 1;
    }
    assert_eq!(columns, csv.lines().next().unwrap().split(',').count());
}

#[test]
fn a_sweep_that_cannot_be_run_is_refused_before_anything_is() {
    refused(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        &[
            (
                &["lab", "run", "nuttx", "--sweep", "pool.blocks=1..8"],
                "the step of the range is missing",
            ),
            (
                &["lab", "run", "nuttx", "--sweep", "pool.block=1,8"],
                "did you mean `pool.blocks`?",
            ),
            (
                &["lab", "run", "nuttx", "--sweep", "pool.blocks=64,x"],
                "pool.blocks=x",
            ),
            (
                &["lab", "run", "nuttx", "--output", "x.xls"],
                "must end in .csv, .json or .parquet",
            ),
            (
                &["lab", "run", "nuttx", "--output", "nowhere/x.csv"],
                "there is no folder nowhere",
            ),
        ],
    );
}

#[test]
fn a_new_experiment_is_right_runs_and_is_never_written_over() {
    let folder = Folder::new("new");
    let output = fullpipe_in(&folder.0, &["lab", "new", "mine"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(
        stdout(&output),
        "mine.toml is written; run it: fullpipe lab run ./mine.toml\n"
    );
    let text = fs::read_to_string(folder.0.join("mine.toml")).unwrap();
    assert!(text.lines().filter(|line| line.contains('#')).count() > 15);
    let output = fullpipe_in(&folder.0, &["lab", "check", "mine.toml"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = fullpipe_in(&folder.0, &["lab", "run", "./mine.toml"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("the send buffer: tcp.send_buffer = 16384"));
    refused(
        &folder.0,
        &[
            (&["lab", "new", "mine"], "mine.toml already exists"),
            (&["lab", "new", "nowhere/mine"], "its folder does not exist"),
        ],
    );
    assert_eq!(
        text,
        fs::read_to_string(folder.0.join("mine.toml")).unwrap()
    );
}

#[test]
fn check_prints_every_mistake_of_every_file_and_says_so_with_its_exit_code() {
    let folder = Folder::new("check");
    fs::write(
        folder.0.join("a.toml"),
        "titel = \"t\"\n[hosts.a]\npreset = 1\n",
    )
    .unwrap();
    let output = fullpipe_in(&folder.0, &["lab", "check", "a.toml", "nuttx", "none"]);
    assert_eq!(output.status.code(), Some(2));
    let given = stderr(&output);
    let lines: Vec<_> = given.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "a.toml:1:1: titel: there is no such key; did you mean `title`?",
            "a.toml:3:10: hosts.a.preset: must be a string, not a number",
            "a.toml:1:1: links: is missing: give each link a table, such as [links.wire]",
            "a.toml:1:1: workload: is missing: add [workload] with the hosts `from` and `to`",
        ]
    );
    assert!(lines[4].starts_with("no experiment is called `none` (name a file as ./none.toml); "));
    assert_eq!(lines.len(), 5);
    assert!(stdout(&output).contains("nuttx.toml: 5 rows, no mistake"));
}

#[test]
fn events_sockets_and_counters_follow_the_rows_or_go_to_the_named_file() {
    let folder = Folder::new("events");
    let file = folder.0.join("all.jsonl");
    let events = format!("--events={}", file.display());
    let run = |more: &[&str]| {
        let fixed = ["lab", "run", "nuttx", "--set", "workload.duration=50ms"];
        let fixed = [&fixed[..], &["--set", "workload.give_up=100ms"]].concat();
        let output = fullpipe(&[&fixed[..], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let text = run(&["--events", "--ss", "20ms", "--nstat"]);
    for part in ["writer blocked: ", "skmem:(r0,rb", "IpOutRequests  "] {
        assert!(text.contains(part), "{part}");
    }
    let json: Value = serde_json::from_str(&run(&["--json", "--nstat", &events])).unwrap();
    assert!(json["rows"][4]["counters"][0]["counters"]["IpOutRequests"].is_number());
    assert!(json["rows"][4].get("events").is_none());
    let lines = fs::read_to_string(file).unwrap();
    let kinds: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone())
        .collect();
    assert!(kinds.contains(&"writer-blocked".into()));
    assert!(kinds.contains(&"writer-released".into()));
    refused(
        &folder.0,
        &[
            (
                &["lab", "run", "nuttx", "--ss", "0s"],
                "a time such as 100ms, above 0",
            ),
            (
                &["lab", "run", "nuttx", "--events=no/x"],
                "there is no folder no",
            ),
        ],
    );
}

#[test]
fn a_run_leaves_a_page_graphs_and_a_table_when_asked() {
    let folder = Folder::new("pictures");
    let run = ["lab", "run", "nuttx", "--set", "workload.duration=200ms"];
    let files = ["--report", "p.html", "--xplot", "x", "--csv", "c.csv"];
    let output = fullpipe_in(&folder.0, &[&run[..], &files].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let read = |name: &str| fs::read_to_string(folder.0.join(name)).unwrap();
    let page = read("p.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("36 x 196, chunked"));
    assert!(read("c.csv").lines().count() > 1_000);
    assert!(read("x/nuttx-3-1-device.xpl").ends_with("go\n"));
    assert_eq!(
        fs::read_dir(&folder.0).unwrap().count(),
        3,
        "and nothing else"
    );
    // These flags do not change the printed output.
    let plain = fullpipe_in(&folder.0, &run);
    assert_eq!(stdout(&output), stdout(&plain));
    refused(
        &folder.0,
        &[
            (
                &["lab", "run", "nuttx", "--report", "missing/p.html"],
                "--report: there is no folder missing",
            ),
            (
                &["lab", "run", "nuttx", "--csv", "missing/c.csv"],
                "--csv: there is no folder missing",
            ),
        ],
    );
}

#[test]
fn the_lab_lists_its_experiments() {
    let output = fullpipe(&["lab"]);
    assert!(output.status.success());
    assert!(
        stdout(&output)
            .lines()
            .any(|line| line.starts_with("nuttx ") && line.contains("5 rows"))
    );
}

#[test]
fn an_experiment_runs_from_anywhere_and_prints_published_beside_ours() {
    let folder = Folder::new("anywhere");
    let arguments = [
        "lab",
        "run",
        "nuttx",
        "--set",
        "workload.duration=1s",
        "--pcap",
        "captures",
    ];
    let output = fullpipe_in(&folder.0, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for expected in [
        "published",
        "5.35",
        "stalled",
        "changed: workload.duration=1s",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(
        output.stderr.is_empty(),
        "no progress where there is no terminal"
    );
    assert_eq!(fs::read_dir(folder.0.join("captures")).unwrap().count(), 5);
}

#[test]
fn quick_runs_have_the_same_results_without_verdicts() {
    let run = [
        "lab",
        "run",
        "nuttx",
        "--json",
        "--set",
        "workload.duration=500ms",
    ];
    let rows = |more: &[&str]| {
        let output = fullpipe(&[&run[..], more].concat());
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        json["rows"].as_array().unwrap().clone()
    };
    let (all, quick) = (rows(&[]), rows(&["--quick"]));
    assert_eq!((all.len(), quick.len()), (5, 5));
    for (all, quick) in all.iter().zip(&quick) {
        assert_eq!(all["measured"], quick["measured"]);
        assert!(all["verdict"]["limit"].is_string() && quick["verdict"].is_null());
    }
}

#[test]
fn attacks_are_a_table_for_people_and_an_array_for_programs() {
    let some = ["lab", "attacks", "none", "overlapping"];
    let text = stdout(&fullpipe(&some));
    let json = stdout(&fullpipe(&[&some[..], &["--json"]].concat()));
    let json: Value = serde_json::from_str(&json).unwrap();
    for (row, name) in [(0, "none"), (1, "overlapping fragments")] {
        assert_eq!(json[row]["label"], name);
        assert!(text.contains(name), "{text}");
    }
    assert_eq!(json.as_array().unwrap().len(), 2);
    refused(
        Path::new("."),
        &[(&["lab", "attacks", "nine"], "did you mean `none`?")],
    );
}

#[test]
fn knobs_are_a_table_for_people_and_an_array_for_programs() {
    let list = stdout(&fullpipe(&["knobs", "--preset", "nuttx"]));
    assert!(
        list.contains("pool.blocks (CONFIG_IOB_NBUFFERS)") && list.contains("36 blocks (default"),
        "{list}"
    );
    let wide = ["knobs", "--preset", "nuttx", "--width", "200"];
    let table = stdout(&fullpipe(&wide));
    assert!(
        table.starts_with("name in nuttx ") && table.contains("36 *"),
        "{table}"
    );
    let json: Value = serde_json::from_str(&stdout(&fullpipe(&["knobs", "--json"]))).unwrap();
    let names: Vec<_> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|knob| knob["name"].as_str())
        .collect();
    assert!(names.contains(&Some("tcp.send_buffer")) && names.contains(&Some("pool.blocks")));
}

#[test]
fn footprint_prints_the_parts_and_their_sum_beside_the_pool() {
    let flags = ["footprint", "--preset", "nuttx", "--set"];
    let text = stdout(&fullpipe(&[&flags[..], &["pool.blocks=40"]].concat()));
    assert!(
        text.starts_with("pool ") && text.contains(" 7840 bytes"),
        "{text}"
    );
    let flags = [&flags[..], &["pool.blocks=40", "--json"]].concat();
    let json: Value = serde_json::from_str(&stdout(&fullpipe(&flags))).unwrap();
    let parts = json["parts"].as_array().unwrap();
    assert_eq!(parts[0]["bytes"], 7840);
    let beside: u64 = parts[1..]
        .iter()
        .filter_map(|part| part["bytes"].as_u64())
        .sum();
    assert_eq!(json["beside_pool"], beside);
}

#[test]
fn help_and_version_go_to_standard_output() {
    for arguments in [
        &["--help"][..],
        &["lab", "--help"],
        &["lab", "run", "--help"],
        &["knobs", "--help"],
    ] {
        let output = fullpipe(arguments);
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{arguments:?}"
        );
        assert!(stdout(&output).contains("Examples:"), "{arguments:?}");
    }
    for line in stdout(&fullpipe(&["lab", "run", "--help"])).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(stdout(&fullpipe(&["--version"])).starts_with("fullpipe "));
}

#[test]
fn completions_and_man_pages_are_made_from_the_command_line() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&fullpipe(&["completions", shell]));
        assert!(
            script.contains("fullpipe") && script.contains("preset"),
            "{shell}"
        );
    }
    assert!(stdout(&fullpipe(&["man"])).contains(".TH"));
    let folder = Folder::new("man");
    assert!(
        fullpipe_in(&folder.0, &["man", "--dir", "pages"])
            .status
            .success()
    );
    for page in [
        "fullpipe.1",
        "fullpipe-lab.1",
        "fullpipe-lab-run.1",
        "fullpipe-knobs.1",
    ] {
        assert!(folder.0.join("pages").join(page).is_file(), "{page}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(["knobs", "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        stderr(&output)
    );
}

#[test]
fn advice_is_a_line_a_step_with_the_predicted_and_the_measured_result() {
    let short = [
        "lab",
        "advise",
        "linux-buffers-a",
        "--row",
        "256K, capped at 130K",
    ];
    let text = stdout(&fullpipe(&[&short[..], &["-v"]].concat()));
    for part in [
        "1.  server.SO_SNDBUF=unset",
        "Nothing left to tune: limited by the rate of link `line`",
        "server: leave SO_SNDBUF unset, so that the buffer grows by itself",
        "Because ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let output = fullpipe(&[&short[..], &["--json"]].concat());
    let advice: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let row = &advice[0];
    assert_eq!(row["end"].as_str(), Some("path"));
    assert_eq!(
        row["steps"][1]["changes"][0]["set"].as_str(),
        Some("server.SO_SNDBUF")
    );
    assert!(row["steps"][1]["predicted"]["elapsed_s"].is_number());
    refused(
        Path::new("."),
        &[
            (
                &["lab", "advise", "nuttx", "--row", "none"],
                "--row none: nuttx has no such row",
            ),
            (
                &["lab", "advise", "nuttx", "--memory", "0"],
                "a number of bytes such as 7056",
            ),
            (&["lab", "advise"], "<NAME|FILE>"),
        ],
    );
}

#[test]
fn a_size_is_found_with_its_curve_and_what_makes_no_sense_is_refused() {
    let path = [
        "size",
        "--rate",
        "5mbit",
        "--rtt",
        "10ms",
        "--preset",
        "netburner",
    ];
    let text = stdout(&fullpipe(&path));
    assert!(
        text.contains("send    SetSocketTxBuffers") && text.contains("send buffer < smallest"),
        "{text}"
    );
    let size: Value =
        serde_json::from_str(&stdout(&fullpipe(&[&path[..], &["--json"]].concat()))).unwrap();
    assert_eq!(size["bdp_bytes"].as_u64(), Some(6_250));
    let knob = &size["knobs"][0];
    assert!(
        knob["smallest"]["value"].is_string() && knob["curve"].is_array(),
        "{knob}"
    );
    for (line, says) in [
        ("--rate 5mbit", "--rtt"),
        ("--rate 5 --rtt 1ms", "a rate such as 100mbit"),
        ("--rate 0mbit --rtt 1ms", "a rate such as 100mbit"),
        ("--rate 5mbit --rtt 0ms", "above 0"),
        ("--rate 5mbit --rtt 10ns", "whole microseconds"),
        (
            "--rate 5mbit --rtt 1ms --preset nutx",
            "did you mean `nuttx`?",
        ),
        (
            "--rate 5mbit --rtt 1ms --set tcp.sak=1",
            "no knob is called",
        ),
        ("--rate 5mbit --rtt 1ms --share 0", "a share above 0"),
        (
            "--rate 5mbit --rtt 1ms --share 1",
            "`1` is not below 1: write 1% for 1 of a hundred",
        ),
        (
            "--rate 5mbit --rtt 1ms --loss 1",
            "`1` may mean 1 % or 100 %: write 1%",
        ),
        (
            "--rate 5mbit --rtt 1ms --loss 100%",
            "if all packets are lost, nothing is transferred",
        ),
        ("--rate 100gbit --rtt 1s", "the largest buffer holds"),
        (
            "--rate 5mbit --rtt 1ms --preset nuttx --memory 100",
            "--memory: the host cannot have this memory",
        ),
    ] {
        let words: Vec<_> = ["size"].into_iter().chain(line.split(' ')).collect();
        refused(Path::new("."), &[(&words, says)]);
    }
}
