//! Tests of `fullpipe try` as people and programs use it.
//!
//! Rule: the program is run, and no part of it is linked. The simulated transfer itself is
//! tested in `fullpipe-lab`.

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::Value;

fn fullpipe(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(arguments)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

const NUTTX: &[&str] = &[
    "try",
    "--preset",
    "nuttx",
    "--set",
    "CONFIG_IOB_NBUFFERS=24",
    "--rate",
    "5mbit",
    "--rtt",
    "30ms",
    "--loss",
    "1%",
    "--time",
    "2s",
];

#[test]
fn one_transfer_is_answered_with_its_goodput_its_limit_and_a_line_to_paste() {
    let text = stdout(&fullpipe(NUTTX));
    for part in [
        "nuttx sends for 2 s over 5 Mbit/s, 30 ms round trip, 1 % loss",
        "of the 4.73 Mbit/s that the path carries",
        "of 4,704 bytes of packet memory",
        "Limited by  the sender's packet memory",
        "Change      CONFIG_IOB_NBUFFERS=",
        "Gives ",
        "Then ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_saved_file_gives_the_same_result_in_the_lab_and_is_not_overwritten() {
    let folder = env::temp_dir().join(format!("fullpipe-try-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file: PathBuf = folder.join("mine.toml");
    let shown = file.to_str().unwrap();
    let more = ["--seed", "7", "--json", "--save", shown];
    let tried: Value = serde_json::from_str(&stdout(&fullpipe(&[NUTTX, &more].concat()))).unwrap();
    let run = fullpipe(&["lab", "run", shown, "--seed", "7", "--json"]);
    let run: Value = serde_json::from_str(&stdout(&run)).unwrap();
    assert_eq!(tried["result"], run["rows"][0]);
    assert_eq!(tried["seed"], 7);
    let again = fullpipe(&[NUTTX, &more].concat());
    let checked = fullpipe(&["lab", "check", shown]);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(again.status.code(), Some(2));
    let line = String::from_utf8(again.stderr).unwrap();
    assert!(line.contains("the file exists"), "{line}");
    stdout(&checked);
}

#[test]
fn a_wrong_flag_is_one_line_and_exit_code_2() {
    let path = ["try", "--rate", "5mbit", "--rtt", "30ms"];
    for (more, expected) in [
        (&["--preset", "nutx"][..], "did you mean `nuttx`?"),
        (
            &["--set", "CONFIG_IOB_NBUFERS=24"],
            "did you mean `CONFIG_IOB_NBUFFERS`?",
        ),
        (
            &["--set", "tcp_fastopen=1"],
            "no knob corresponds to this setting",
        ),
        (&["--queue", "many"], "--queue"),
        (&["--congestion", "vegas"], "newreno, cubic or bbr"),
        (&["--bytes", "1M", "--time", "1s"], "--time"),
        (&["--direction", "up"], "send"),
        (&["--loss", "100%"], "--loss"),
        (&["--loss", "1"], "`1` may mean 1 % or 100 %: write 1%"),
    ] {
        let output = fullpipe(&[&path, more].concat());
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {line}");
        assert!(line.starts_with("error: "), "{more:?}: {line}");
        assert!(line.contains(expected), "{more:?}: {line}");
        assert_eq!(line.trim_end().lines().count(), 1, "{more:?}: {line}");
        assert!(output.stdout.is_empty());
    }
}
