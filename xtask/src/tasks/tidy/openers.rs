//! Checks the first word of each doc comment.
//!
//! The one rule: a doc comment begins with a noun or a verb: "Bytes in flight", "Returns the …".
//! It does not begin with a question word, as in "How many …".
//!
//! Lines are read instead of syntax, so that comments in macros are also checked.

use super::Finding;

const QUESTIONS: [&str; 10] = [
    "What", "Whether", "Who", "Whom", "Whose", "How", "Where", "When", "Which", "Why",
];

/// Checks the first line of each doc comment of a Rust file.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut before = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let marker = ["///", "//!"].into_iter().find(|m| line.starts_with(m));
        if let Some(marker) = marker
            && before != Some(marker)
        {
            let words = line[marker.len()..].split(|c: char| !c.is_alphanumeric());
            let first = words.into_iter().find(|word| !word.is_empty());
            if let Some(word) = first.filter(|word| QUESTIONS.contains(word)) {
                let says = format!(
                    "a doc comment opens with `{word}`: begin with a noun phrase or a verb"
                );
                findings.push(Finding::new(path, index + 1, says));
            }
        }
        before = marker;
    }
    findings
}
