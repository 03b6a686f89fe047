//! Finds words that `docs/glossary.md` replaces by others.
//!
//! The one rule: the words are those between backticks in the glossary's column "instead of". They
//! may not occur in any other file, in upper or lower case.
//!
//! A phrase is also found if the end of a line or a comment marker divides it, and as part of a
//! name: the words of `names_like_this`, `NamesLikeThis` and names-like-this count one by one.

use std::collections::BTreeSet;

use super::finding::Finding;

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
/// the word from the previous one, or if both are parts of one name.
struct Word<'a> {
    text: &'a str,
    in_lower_case: String,
    line: usize,
    joins: bool,
}

/// Searches one file for each word in `replaced`.
pub fn check(path: &str, text: &str, replaced: &[String]) -> Vec<Finding> {
    if path == FILE {
        return Vec::new();
    }
    let words = words(text);
    let mut findings = Vec::new();
    for phrase in replaced {
        let wanted: Vec<&str> = phrase.split_whitespace().collect();
        for found in words.windows(wanted.len()) {
            let mut pairs = found.iter().zip(&wanted);
            let same = pairs.all(|(found, wanted)| found.in_lower_case == *wanted);
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
    let mut words: Vec<Word> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut end = 0;
        let mut starts_line = true;
        for piece in pieces(line) {
            let at = piece.as_ptr() as usize - line.as_ptr() as usize;
            let between = &line[end..at];
            let joins = if starts_line {
                between.chars().all(|c| " \t/!*#>\"".contains(c)) && ends_open(words.last(), text)
            } else {
                between == "-" || between.chars().all(|c| c.is_whitespace() || c == '_')
            };
            words.push(Word {
                text: piece,
                in_lower_case: piece.to_lowercase(),
                line: index + 1,
                joins,
            });
            (end, starts_line) = (at + piece.len(), false);
        }
    }
    words
}

/// Returns the words of a line. A name is divided at `_`, and before a capital letter that follows
/// a small one.
fn pieces(line: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '\'';
    let mut pieces = Vec::new();
    for name in line.split(|c| !is_part(c)).filter(|name| !name.is_empty()) {
        let mut start = 0;
        let letters = name.char_indices().zip(name.chars().skip(1));
        for ((at, letter), next) in letters {
            if !letter.is_uppercase() && next.is_uppercase() {
                let end = at + letter.len_utf8();
                pieces.push(&name[start..end]);
                start = end;
            }
        }
        pieces.push(&name[start..]);
    }
    pieces
}

/// Returns true if the word is the last one in its line; a `\` may follow it.
fn ends_open(last: Option<&Word<'_>>, text: &str) -> bool {
    last.is_some_and(|word| {
        let end = word.text.as_ptr() as usize - text.as_ptr() as usize + word.text.len();
        let rest = text[end..].split('\n').next().unwrap_or_default();
        rest.chars().all(|c| " \t\\\r".contains(c))
    })
}
