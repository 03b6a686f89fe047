//! Checks the first word of each doc comment and docstring.
//!
//! The one rule: a doc comment begins with a noun or a verb: "Bytes in flight", "Returns the …".
//! It does not begin with a question word, as in "How many …".
//!
//! Lines are read instead of syntax, so that comments in macros are also checked. In Python, every
//! line that begins with three double quotes counts as the beginning of a docstring.

use super::finding::Finding;

const QUESTIONS: [&str; 10] = [
    "What", "Whether", "Who", "Whom", "Whose", "How", "Where", "When", "Which", "Why",
];

/// Three quotes, which begin and end a docstring of Python.
const DOCSTRING: &str = "\"\"\"";

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
            findings.extend(finding(path, index, &line[marker.len()..], "doc comment"));
        }
        before = marker;
    }
    findings
}

/// Checks the first line of each docstring of a Python file.
pub fn check_python(path: &str, text: &str) -> Vec<Finding> {
    let lines = text.lines().enumerate();
    let opening = lines.filter_map(|(index, line)| {
        let opening = line.trim_start().strip_prefix(DOCSTRING)?;
        finding(path, index, opening, "docstring")
    });
    opening.collect()
}

/// Returns the finding for a `what` whose first line, at `index`, opens with a question word.
fn finding(path: &str, index: usize, opening: &str, what: &str) -> Option<Finding> {
    let mut words = opening.split(|c: char| !c.is_alphanumeric());
    let word = words.find(|word| !word.is_empty())?;
    QUESTIONS.contains(&word).then(|| {
        let says = format!("a {what} opens with `{word}`: begin with a noun phrase or a verb");
        Finding::new(path, index + 1, says)
    })
}
