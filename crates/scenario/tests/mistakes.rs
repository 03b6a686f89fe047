//! Tests with a corpus of experiment files: each file has one mistake, except one file with
//! many.
//!
//! Rule: the first line of each file is a comment with the complete error message, `line:column:
//! key: what`. A change of a message therefore changes a file of the corpus. With
//! `UPDATE_SNAPSHOTS=1` the test rewrites the messages.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use fullpipe_pool::Rng;
use fullpipe_scenario::Experiment;

fn corpus() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let paths = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = paths
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    assert!(
        files.len() >= 60,
        "only {} files: the corpus was not found",
        files.len()
    );
    files
}

/// Returns every mistake of a file, one per line.
fn mistakes(text: &str) -> Vec<String> {
    match Experiment::check("name", "f", text) {
        Err(mistakes) => mistakes.iter().map(ToString::to_string).collect(),
        Ok(_) => vec!["accepted".to_string()],
    }
}

#[test]
fn every_mistake_is_refused_in_one_line_that_says_where_and_what() {
    let update = env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut wrong = Vec::new();
    for (path, text) in corpus() {
        let (first, rest) = text.split_once('\n').unwrap();
        let given = mistakes(&text);
        if update {
            let line = given[0].strip_prefix("f:").unwrap();
            fs::write(&path, format!("# {line}\n{rest}")).unwrap();
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let expected = format!("f:{}", first.trim_start_matches("# "));
        if given != [expected.as_str()] {
            let given = given.join("\n           ");
            wrong.push(format!("{name}\n  expected {expected}\n  given    {given}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_line_names_file_line_key_and_what_would_be_right() {
    for (path, text) in corpus() {
        let [line] = &mistakes(&text)[..] else {
            panic!("{}: more than one", path.display());
        };
        assert!(!line.contains('\n'), "{line}");
        let mut parts = line.splitn(5, ':');
        assert_eq!(parts.next(), Some("f"), "{line}");
        for _ in 0..2 {
            let number = parts.next().unwrap();
            assert!(number.parse::<usize>().unwrap() > 0, "{line}");
        }
        let key = parts.next().unwrap().trim();
        assert!(!key.is_empty(), "{line}");
        // Either the key occurs in the file, or the mistake is that the key is missing.
        let last = key.rsplit('.').next().unwrap();
        let last = last.split('[').next().unwrap();
        let what = parts.next().unwrap_or_default();
        assert!(text.contains(last) || what.contains("is missing"), "{line}");
        assert!(what.len() > 15, "{line}");
    }
}

#[test]
fn every_mistake_of_a_file_is_reported_at_once_and_only_once() {
    let text = r#"
titel = "A transfer"
columns = ["goodput_mbs"]
[hosts.client]
preset = "nutx"
set.tcp.send_bufer = "64K"
set.tcp.receive_buffer = 1
[hosts.server]
device_queue = 0
[links.wire]
between = ["client", "server"]
rate = "10"
dealy = "5ms"
[workload]
from = "client"
to = "server"
duration = "5"
[[rows]]
label = "one"
set.wire.loss = "200%"
published.goodput_mbit = 5
[[rows]]
set.wire.delay = "1ms"
"#;
    let given = mistakes(text);
    let expected = [
        "f:2:1: titel: there is no such key; did you mean `title`?",
        "f:3:12: columns[1]: unknown quantity `goodput_mbs`; did you mean `goodput_mbps`?",
        "f:5:10: hosts.client.preset: no preset is called `nutx`; did you mean `nuttx`?",
        "f:6:9: hosts.client.set.tcp.send_bufer: there is no such knob; did you mean `tcp.send_buffer`?",
        "f:7:26: hosts.client.set.tcp.receive_buffer: 1 is outside 128 to 1073741824 bytes",
        "f:9:16: hosts.server.device_queue: `0` is not a number of frames, at least 1",
        "f:12:8: links.wire.rate: `10` is not a rate such as 12mbit, 500kbit or 1gbit",
        "f:13:1: links.wire.dealy: there is no such link field; did you mean `delay`?",
        "f:17:12: workload.duration: `5` is not a time such as 30s, above 0",
        "f:20:17: rows[1].set.wire.loss: `200%` is not a probability such as 1% or 0.01",
        "f:21:11: rows[1].published.goodput_mbit: there is no such figure; did you mean `goodput_mbps`?",
        "f:22:1: rows[2].label: is missing: give the row a label",
    ];
    assert_eq!(given, expected, "{}", given.join("\n"));
}

/// Returns a file's text with a few bytes removed, doubled or inserted.
fn mangled(text: &str, rng: &mut Rng) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..rng.between(1, 4) {
        let at = rng.between(0, chars.len() as u64 - 1) as usize;
        let from = rng.between(0, chars.len() as u64 - 1) as usize;
        let length = rng.between(1, 12) as usize;
        let piece = chars[from..(from + length).min(chars.len())].to_vec();
        match rng.between(0, 3) {
            0 => drop(chars.drain(at..(at + length).min(chars.len()))),
            1 => drop(chars.splice(at..at, piece)),
            2 => chars[at] = ['"', '=', '[', '\n', '\u{e9}', '-'][length % 6],
            _ => drop(chars.splice(at..(at + length).min(chars.len()), piece)),
        }
        if chars.is_empty() {
            chars.push('x');
        }
    }
    chars.into_iter().collect()
}

#[test]
fn a_mangled_file_is_read_or_refused_at_an_existing_line() {
    let mut rng = Rng::seeded(1);
    let mut refused = 0;
    for (path, text) in corpus() {
        for _ in 0..60 {
            let text = mangled(&text, &mut rng);
            let Err(mistakes) = Experiment::check("name", "f", &text) else {
                continue;
            };
            refused += 1;
            assert!(!mistakes.is_empty(), "{}: {text}", path.display());
            for mistake in mistakes {
                assert!(!mistake.to_string().contains('\n'), "{mistake}");
                assert!(
                    (1..=text.split('\n').count()).contains(&mistake.line),
                    "{mistake}"
                );
            }
        }
    }
    assert!(refused > 3_000, "{refused}");
}
