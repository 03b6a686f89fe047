//! Tests of all kinds of files that the command writes and reads.

use std::{
    fs,
    os::unix::fs::{FileTypeExt, symlink},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use super::{Folder, fullpipe_in, refused, stderr, stdout};

const SHORT: [&str; 5] = ["lab", "run", "nuttx", "--set", "workload.duration=50ms"];

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(&folder.0).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn links_are_followed_and_devices_and_fifos_stay_what_they_are() {
    let folder = Folder::new("kinds");
    let at = |name: &str| folder.0.join(name);
    symlink("page.html", at("link")).unwrap();
    let made = Command::new("mkfifo").arg(at("fifo")).status();
    assert!(made.unwrap().success());
    let reader = thread::spawn({
        let fifo = at("fifo");
        move || fs::read_to_string(fifo).unwrap()
    });
    let files = ["--csv", "/dev/null", "--report", "link", "--events=fifo"];
    let output = fullpipe_in(&folder.0, &[&SHORT[..], &files].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(reader.join().unwrap().contains("writer blocked"));
    let kind = |path: &Path| fs::symlink_metadata(path).unwrap().file_type();
    assert!(kind(Path::new("/dev/null")).is_char_device());
    assert!(kind(&at("fifo")).is_fifo());
    assert!(kind(&at("link")).is_symlink());
    assert_eq!(names(&folder), ["fifo", "link", "page.html"]);
}

#[test]
fn what_cannot_be_written_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new("unwritten");
    fs::create_dir(folder.0.join("folder")).unwrap();
    symlink("/dev/full", folder.0.join("full.csv")).unwrap();
    for (flag, file, why) in [
        ("--csv", "full.csv", "No space left on device"),
        ("--output", "full.csv", "No space left on device"),
        ("--report", "folder", "is a directory"),
    ] {
        let output = fullpipe_in(&folder.0, &[&SHORT[..], &[flag, file]].concat());
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{flag}: {line}");
        assert!(line.contains(flag) && line.contains(why), "{line}");
    }
    assert_eq!(names(&folder), ["folder", "full.csv"]);
    fs::write(folder.0.join("mine.toml"), "old").unwrap();
    let path = ["--rate", "5mbit", "--rtt", "10ms", "--save", "mine.toml"];
    refused(
        &folder.0,
        &[(&[&["try"][..], &path].concat(), "the file exists")],
    );
    let kept = fs::read_to_string(folder.0.join("mine.toml"));
    assert_eq!(kept.unwrap(), "old");
}

#[test]
fn a_man_page_appears_whole_or_not_at_all_and_devices_stay_what_they_are() {
    let folder = Folder::new("man");
    let at = |name: &str| folder.0.join("pages").join(name);
    fs::create_dir(at("")).unwrap();
    fs::write(at("fullpipe.1"), "old").unwrap();
    fs::hard_link(at("fullpipe.1"), folder.0.join("reader")).unwrap();
    symlink("../linked", at("fullpipe-lab.1")).unwrap();
    symlink("/dev/null", at("fullpipe-iperf.1")).unwrap();
    let written = fullpipe_in(&folder.0, &["man", "--dir", "pages"]);
    assert!(written.status.success(), "{}", stderr(&written));
    let text = |file: &Path| fs::read_to_string(file).unwrap();
    assert!(text(&at("fullpipe.1")).contains("fullpipe"));
    assert!(text(&folder.0.join("linked")).contains("fullpipe"));
    let old = text(&folder.0.join("reader"));
    assert_eq!(old, "old", "a reader of the old page has it to its end");
    for link in ["fullpipe-lab.1", "fullpipe-iperf.1"] {
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink());
    }
    let null = fs::metadata("/dev/null").unwrap().file_type();
    assert!(null.is_char_device());

    symlink("/dev/full", at("fullpipe-link.1.new")).unwrap();
    fs::rename(at("fullpipe-link.1.new"), at("fullpipe-link.1")).unwrap();
    let failed = fullpipe_in(&folder.0, &["man", "--dir", "pages"]);
    let line = stderr(&failed);
    assert_eq!(failed.status.code(), Some(1), "{line}");
    assert!(
        line.contains("--dir pages/fullpipe-link.1: No space left on device"),
        "{line}"
    );
}

#[test]
fn a_file_that_is_the_standard_output_has_both_results() {
    let folder = Folder::new("stdout");
    let run = |file: &str| {
        let out = fs::File::create(folder.0.join("out")).unwrap();
        let ran = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
            .args(SHORT)
            .args(["--csv", file])
            .current_dir(&folder.0)
            .stdout(Stdio::from(out))
            .status();
        assert!(ran.unwrap().success());
        let text = fs::read_to_string(folder.0.join("out")).unwrap();
        assert!(text.contains("Limited by"), "{text}");
        assert!(text.lines().filter(|line| line.contains(',')).count() > 1_000);
    };
    run("/dev/stdout");
    run("out");
    assert_eq!(names(&folder), ["out"]);
}

#[test]
fn an_experiment_without_end_is_refused() {
    let folder = Folder::new("large");
    let large = fs::File::create(folder.0.join("large.toml")).unwrap();
    large.set_len(1 << 30).unwrap();
    refused(
        &folder.0,
        &[
            (
                &["lab", "run", "/dev/zero"],
                "/dev/zero: the file is larger than 1 MiB",
            ),
            (
                &["lab", "run", "large.toml"],
                "the file is larger than 1 MiB",
            ),
        ],
    );
}

#[test]
fn an_interval_without_end_is_refused_with_the_least() {
    let folder = Folder::new("interval");
    refused(
        &folder.0,
        &[
            (
                &["lab", "run", "nuttx", "--ss", "1ns"],
                "--ss 1ns: too short; give at least ",
            ),
            (
                &["iperf", "-s", "-i", "0.000001"],
                "'0.000001' is too short: give at least 0.005 s",
            ),
        ],
    );
    let long = ["--set", "workload.give_up=50ms", "--ss", "1ms"];
    let output = fullpipe_in(&folder.0, &[&SHORT[..], &long].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("skmem"));
}
