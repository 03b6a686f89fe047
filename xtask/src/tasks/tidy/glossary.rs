//! Finds words that `docs/glossary.md` replaces by others.
//!
//! The one rule: the words are those between backticks in the glossary's column "instead of". They
//! may not occur in any other file, in upper or lower case.
//!
//! A phrase is also found if the end of a line or a comment marker divides it.

use std::collections::BTreeSet;

use super::Finding;

/// Path of the glossary.
pub const FILE: &str = "docs/glossary.md";

/// Returns the words and phrases that may not occur, in lower case.
pub fn replaced(glossary: &str) -> Vec<String> {
    let mut replaced = BTreeSet::new();
    for line in glossary.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
        let [_, _, instead_of] = cells[..] else {
            continue;
        };
        // Take every second part, because these parts are between backticks.
        let phrases = instead_of.split('`').skip(1).step_by(2);
        replaced.extend(phrases.map(str::to_lowercase));
    }
    replaced.into_iter().collect()
}

/// A word with its line. The flag is true if only spaces, line ends or comment markers separate
/// the word from the previous one.
struct Word<'a> {
    text: &'a str,
    line: usize,
    joins: bool,
}

/// Searches one file for each word in `replaced`.
pub fn check(path: &str, text: &str, replaced: &[String]) -> Vec<Finding> {
    if path == FILE {
        return Vec::new();
    }
    let text = text.to_lowercase();
    let words = words(&text);
    let mut findings = Vec::new();
    for phrase in replaced {
        let wanted: Vec<&str> = phrase.split_whitespace().collect();
        for found in words.windows(wanted.len()) {
            let same = found.iter().zip(&wanted).all(|(f, w)| f.text == *w);
            if same && found[1..].iter().all(|word| word.joins) {
                let says =
                    format!("`{phrase}` may not be used: {FILE} has the word to use instead");
                findings.push(Finding::new(path, found[0].line, says));
            }
        }
    }
    findings
}

fn words(text: &str) -> Vec<Word<'_>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let mut words: Vec<Word> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut end = 0;
        let mut starts_line = true;
        for piece in line.split(|c| !is_part(c)).filter(|p| !p.is_empty()) {
            let at = piece.as_ptr() as usize - line.as_ptr() as usize;
            let between = &line[end..at];
            let joins = if starts_line {
                between.chars().all(|c| " \t/!*#>\"".contains(c)) && ends_open(words.last(), text)
            } else {
                between.chars().all(char::is_whitespace)
            };
            words.push(Word {
                text: piece,
                line: index + 1,
                joins,
            });
            (end, starts_line) = (at + piece.len(), false);
        }
    }
    words
}

/// Returns true if the word is the last one in its line; a `\` may follow it.
fn ends_open(last: Option<&Word<'_>>, text: &str) -> bool {
    last.is_some_and(|word| {
        let end = word.text.as_ptr() as usize - text.as_ptr() as usize + word.text.len();
        let rest = text[end..].split('\n').next().unwrap_or_default();
        rest.chars().all(|c| " \t\\\r".contains(c))
    })
}
