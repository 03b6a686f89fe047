//! Tests of claims in `README.md` and `docs/kernel.md` that no other test checks, and of the
//! commands that `README.md` recommends.
//!
//! Rule: the pages' own words are the input, so a test fails if a claim changes and its test does
//! not. The program is run, and no part of it is linked.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns what stands between `before` and `after` in the README, which must contain both.
fn claimed(before: &str, after: &str) -> String {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once(before).expect(before);
    let (value, _) = rest.split_once(after).expect(after);
    value.to_owned()
}

/// Returns the output of `fullpipe` with these arguments, run in the repository's root.
fn output(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn seven_kilobytes_of_packet_memory_reach_the_share_that_the_readme_claims() {
    let claimed = claimed("with 7 KB of packet memory is ", " of the goodput");
    let json: Value =
        serde_json::from_str(&output(&["lab", "run", "nuttx", "--quick", "--json"])).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let goodput = |label: &str| {
        let row = rows.iter().find(|row| row["label"] == label);
        row.expect(label)["measured"]["goodput_mbps"]
            .as_f64()
            .unwrap()
    };
    let share = 100.0 * goodput("36 x 196, chunked") / goodput("unlimited buffers");
    assert_eq!(format!("{share:.1} %"), claimed);
}

/// Returns the numbers of a line that begins with `label`; words are left out.
fn numbers(line: &str, label: &str) -> Vec<f64> {
    let rest = line.strip_prefix(label).unwrap_or_default();
    let words = rest.split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// The other columns of these tables were measured in real time; the page says when and how.
#[test]
fn the_page_about_kernel_hosts_has_the_results_of_virtual_time() {
    let page = fs::read_to_string(root().join("docs/kernel.md")).unwrap();
    let arguments = ["lab", "run", "linux-buffers-a", "--quick", "--json"];
    let json: Value = serde_json::from_str(&output(&arguments)).unwrap();
    for row in json["rows"].as_array().unwrap() {
        let label = row["label"].as_str().unwrap();
        let lines = page.lines().filter(|line| line.starts_with(label));
        let lines: Vec<_> = lines.map(|line| numbers(line, label)).collect();
        assert_eq!(lines.len(), 2, "two tables have the row {label}");
        for numbers in lines {
            let [goodput, _, elapsed, ..] = numbers[..] else {
                panic!("{label}: {numbers:?}");
            };
            for (name, shown) in [("goodput_mbps", goodput), ("elapsed_s", elapsed)] {
                let result = row["measured"][name].as_f64().unwrap();
                // The page has three digits.
                let error = (shown / result - 1.0).abs();
                assert!(error < 0.005, "{label}, {name}: {shown} for {result}");
            }
        }
    }
}

/// Counts the conformance scripts below `folder`. Another test runs each script and fails unless
/// TCP passes it.
fn scripts(folder: &Path) -> usize {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.fold(0, |sum, path| {
        let is_script = path.extension().is_some_and(|extension| extension == "tcp");
        sum + if path.is_dir() {
            scripts(&path)
        } else {
            usize::from(is_script)
        }
    })
}

#[test]
fn there_are_as_many_conformance_scripts_as_the_readme_claims() {
    let claimed: usize = claimed("TCP passes more than ", " conformance scripts")
        .parse()
        .unwrap();
    let counted = scripts(&root().join("crates/stack/tests/conformance/scripts"));
    assert!(counted > claimed, "{counted} scripts");
}

/// `docs/kernel.md` has the output of the command, which measures in real time.
#[test]
fn the_ratios_to_linux_are_those_of_the_page_about_the_kernel() {
    let page = fs::read_to_string(root().join("docs/kernel.md")).unwrap();
    let (_, table) = page.split_once("medians of Mbit/s").unwrap();
    let (table, _) = table.split_once("```").unwrap();
    let ratios = table.lines().filter_map(|line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        let is_row = ["send", "receive"].contains(columns.get(1)?);
        is_row.then(|| columns[4].parse::<f64>().expect("a ratio"))
    });
    let ratios: Vec<f64> = ratios.collect();
    assert_eq!(ratios.len(), 4, "{table}");
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let range = claimed("fullpipe reaches ", " times the goodput of Linux");
    assert_eq!(range, format!("{least:.2} to {most:.2}"));
    let day = claimed("the goodput of Linux, measured ", " (");
    let (before, _) = page.split_once("medians of Mbit/s").unwrap();
    assert!(
        before.contains(&day),
        "the page says another day than {day}"
    );
}

/// The block above these sentences is checked by `command_blocks`.
#[test]
fn the_sentences_about_the_first_example_agree_with_its_run() {
    let arguments = ["lab", "run", "linux-buffers-a", "--quick", "--json"];
    let json: Value = serde_json::from_str(&output(&arguments)).unwrap();
    let measured = &json["rows"][0]["measured"];
    let round_trip = measured["round_trip_bytes"].as_f64().unwrap();
    let payload: f64 = claimed("Of these 32 KB, ", " kB hold payload")
        .parse()
        .unwrap();
    // Only full segments leave, so a round trip carries less than the buffer, by less than a segment.
    let unused = payload * 1e3 - round_trip;
    assert!((0.0..1_448.0).contains(&unused), "{round_trip} bytes");
    let arguments = [
        "lab",
        "advise",
        "linux-buffers-a",
        "--row",
        "SO_SNDBUF 16K",
        "--json",
    ];
    let json: Value = serde_json::from_str(&output(&arguments)).unwrap();
    let steps = json[0]["steps"].as_array().unwrap();
    let elapsed = |step: usize| steps[step]["elapsed_s"].as_f64().unwrap();
    let words = ["seven", "eight", "nine", "ten"];
    let times = (elapsed(0) / elapsed(1)).round() as usize;
    let claimed = claimed("which makes it about ", " times as fast");
    assert_eq!(
        words[times - 7],
        claimed.split_whitespace().collect::<String>()
    );
}

/// Tests the two commands that the README recommends first and that need only the program. The
/// README's third recommendation is an example of `fullpipe-sim`, whose own test compares its
/// output.
#[test]
fn the_commands_that_the_readme_recommends_first_answer_with_a_change() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let doors: Vec<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("    target/release/fullpipe "))
        .collect();
    assert_eq!(doors.len(), 2, "{doors:?}");
    for door in doors {
        let text = output(&door.split(' ').collect::<Vec<_>>());
        for part in ["Limited by", "Change", "Gives"] {
            assert!(text.contains(part), "{door}: no {part} in {text}");
        }
    }
}
