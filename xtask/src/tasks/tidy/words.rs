//! Finds words that may not occur in any file of the tree.
//!
//! The one rule: if a word marks work as unfinished, the work must be finished or the word deleted.
//!
//! The words are composed of halves here, so that this file passes the check.

use super::finding::Finding;

/// Each word, with the remedy.
const FORBIDDEN: [(&str, &str); 5] = [
    (concat!("TO", "DO"), "finish the work or delete the word"),
    (concat!("FIX", "ME"), "finish the work or delete the word"),
    (concat!("XX", "X"), "finish the work or delete the word"),
    (
        concat!("unimpl", "emented!"),
        "implement the function or leave it out",
    ),
    (
        concat!("to", "do!("),
        "implement the function or leave it out",
    ),
];

/// File names that do not describe the contents.
const EMPTY_NAMES: [&str; 8] = [
    "util", "utils", "helper", "helpers", "manager", "common", "misc", "shared",
];

/// Checks the name and the text of one file.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for part in path.split('/') {
        let stem = part.split('.').next().unwrap_or(part);
        if EMPTY_NAMES.contains(&stem) {
            let says = format!(
                "the name `{stem}` does not describe the contents: rename it after what it does"
            );
            findings.push(Finding::new(path, 1, says));
        }
    }
    for (index, line) in text.lines().enumerate() {
        for (word, advice) in FORBIDDEN {
            if stands_alone(line, word) {
                findings.push(Finding::new(path, index + 1, format!("`{word}`: {advice}")));
            }
        }
    }
    findings
}

/// Returns true if `line` contains `word` and the word is not part of a longer one.
fn stands_alone(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let joins = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
        let whole_call = word.ends_with(['!', '(']);
        !joins(before) && (whole_call || !joins(after))
    })
}
