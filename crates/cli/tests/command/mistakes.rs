//! Tests of mistakes on the command line, in experiments and in settings.
//!
//! Rule: each mistake gives one line on standard error and exit code 2, and leaves no files behind.

use std::{fs, path::Path};

use super::{Folder, fullpipe_in, refused, stderr};

#[test]
fn a_wrong_command_is_one_line_and_exit_code_2() {
    refused(
        Path::new("."),
        &[
            (&[], "a subcommand is missing"),
            (
                &["knob"],
                "unrecognized subcommand 'knob'; tip: a similar subcommand exists: 'knobs'",
            ),
            (
                &["knobs", "--preset", "nutx"],
                "no preset is called `nutx`; did you mean `nuttx`?",
            ),
            (
                &["knobs", "--jsn"],
                "tip: a similar argument exists: '--json'",
            ),
            (
                &["knobs", "send_bufer"],
                "no knob's name contains `send_bufer`; did you mean `send_buffer`?",
            ),
            (
                &["lab", "rnu"],
                "unrecognized subcommand 'rnu'; tip: a similar subcommand exists: 'run'",
            ),
            (
                &["lab", "--width", "9"],
                "invalid value '9' for '--width <N>'",
            ),
            (&["completions", "dos"], "invalid value 'dos'"),
        ],
    );
}

const EXPERIMENT_MISTAKES: &[(&[&str], &str)] = &[
    (&["lab", "run"], "<NAME|FILE>"),
    (&["lab", "run", "nutx"], "did you mean `nuttx`?"),
    (&["lab", "run", "./none.toml"], "none.toml: No such file"),
    (
        &["lab", "run", "bad.toml"],
        "bad.toml:1:9: title: must be a string, not a number (3 more: `fullpipe lab check bad.toml` \
         lists all)",
    ),
    (&["lab", "run", "nuttx", "--all"], "cannot be used with"),
    (
        &["lab", "run", "nuttx", "--seed", "x"],
        "invalid value 'x' for '--seed <N>': expected a whole number such as 7",
    ),
    (
        &["lab", "run", "nuttx", "--set", "pool.blocks"],
        "expected NAME=VALUE",
    ),
    (
        &["lab", "run", "nuttx", "--set", "pool.bloks=4"],
        "did you mean `pool.blocks`?",
    ),
    (
        &["lab", "run", "nuttx", "--set", "pool.blocks=0"],
        "pool.blocks = 0: outside 1 to",
    ),
    (
        &["lab", "run", "nuttx", "--set", "wifi.loss=2"],
        "wifi.loss: `2` is above 1: write 2%",
    ),
    (
        &["lab", "run", "nuttx", "--set", "link.loss=1"],
        "wifi.loss: `1` may mean 1 % or 100 %: write 1% or 100%",
    ),
    (
        &["lab", "run", "nuttx", "--set", "link.loss=much"],
        "wifi.loss = much: expected a probability such as 1% or 0.01",
    ),
    (
        &["lab", "run", "nuttx", "--set", "CONFIG_IOB_NBUFFER=12"],
        "did you mean `CONFIG_IOB_NBUFFERS`?",
    ),
    (
        &["lab", "run", "nuttx", "--columns", "goodput_mbs"],
        "no column is called `goodput_mbs`; did you mean `goodput_mbps`?",
    ),
    (
        &["lab", "run", "nuttx", "--fail-on", "limit=memry"],
        "no limit is called `memry`; did you mean `memory`?",
    ),
    (
        &["lab", "run", "nuttx", "--fail-on", "slow"],
        "expected stalled, dropped, limit=NAME or deviation=PERCENT",
    ),
    (
        &[
            "lab",
            "run",
            "nuttx",
            "--quick",
            "--fail-on",
            "limit=memory",
        ],
        "--fail-on limit=memory: a verdict names the limit, but --quick prints no verdicts; omit --quick",
    ),
    (
        &["lab", "run", "nuttx", "--set", "pool.send_floor=9999"],
        "device: pool: ",
    ),
];

#[test]
fn a_wrong_experiment_or_setting_is_one_line_and_exit_code_2() {
    let folder = Folder::new("wrong");
    fs::write(folder.0.join("bad.toml"), "title = 1\n").unwrap();
    refused(&folder.0, EXPERIMENT_MISTAKES);
}

#[test]
fn memory_that_cannot_be_allocated_is_refused_in_one_line() {
    let folder = Folder::new("too-large");
    let run = ["lab", "run", "nuttx", "--set", "pool.blocks=4294967294"];
    refused(
        &folder.0,
        &[(
            &[&run[..], &["--set", "pool.block_size=1G"]].concat(),
            "pool.blocks x pool.block_size: 4611686016279904256 bytes cannot be allocated",
        )],
    );
}

#[test]
fn a_wrong_link_is_one_line_and_exit_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (&["--between", "tap:a"], "expected two devices such as"),
        (&["--between", "tap:a,tap:a"], "both ends are called a"),
        (&["--between", "tap:a,tun:b"], "two TAP or two TUN devices"),
        (&["--between", "eth0,tap:b"], "write tap:NAME or tun:NAME"),
        (
            &["--between", "tap:a,tap:b", "--loss", "2"],
            "--loss: link.loss: `2` is above 1: write 2%",
        ),
        (
            &["--between", "tap:a,tap:b", "--radio.access", "1ms"],
            "link.radio needs link.rate",
        ),
        (
            &["--between", "tap:a,tap:b", "--reordering.chanse", "1%"],
            "a similar argument exists: '--reordering.chance'",
        ),
    ];
    for (arguments, expected) in cases {
        let arguments = [&["link"], *arguments].concat();
        refused(Path::new("."), &[(&arguments, expected)]);
    }
}

#[test]
fn what_went_wrong_is_one_line_and_exit_code_1_and_leaves_nothing_behind() {
    let folder = Folder::new("failed");
    fs::write(folder.0.join("file"), "").unwrap();
    for arguments in [
        &["lab", "run", "nuttx", "--pcap", "file"][..],
        &["lab", "run", "nuttx", "--pcap", "file/below"],
        &["man", "--dir", "file"],
    ] {
        let output = fullpipe_in(&folder.0, arguments);
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {line}");
        assert_eq!(line.trim_end().lines().count(), 1, "{arguments:?}: {line}");
        assert!(
            line.starts_with("error: ") && line.contains("file"),
            "{line}"
        );
    }
    let left: Vec<_> = fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["file"]);
}

#[test]
fn a_wrong_setting_makes_no_folder_for_captures() {
    let folder = Folder::new("nothing-made");
    let arguments = [
        "lab",
        "run",
        "nuttx",
        "--set",
        "pool.bloks=4",
        "--pcap",
        "captures",
    ];
    assert_eq!(fullpipe_in(&folder.0, &arguments).status.code(), Some(2));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
}
