//! A mistake in an experiment file, with its place and its remedy.
//!
//! Rule: a mistake is one line, `file:line:column: key: what`, and `what` says what would be
//! correct. This file only formats mistakes.

#[cfg(test)]
mod tests;

use std::fmt;

/// Reason that a file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key with the mistake, with all tables above it; empty for a mistake about the whole
    /// file.
    pub key: String,
    /// Description of the mistake, and its remedy.
    pub what: String,
}

impl Mistake {
    /// Creates a mistake about `key`, at byte `offset` of `text`. Line breaks in `what` become
    /// commas.
    pub fn at(file: &str, text: &str, offset: usize, key: &str, what: impl fmt::Display) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let what = what.to_string();
        Self {
            file: file.to_string(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            key: key.to_string(),
            what: what
                .split('\n')
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(", "),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            key,
            what,
        } = self;
        write!(f, "{file}:{line}:{column}: ")?;
        if !key.is_empty() {
            write!(f, "{key}: ")?;
        }
        f.write_str(what)
    }
}

impl std::error::Error for Mistake {}
