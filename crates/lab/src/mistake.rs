//! A mistake in an experiment file: where it is and what to do about it.
//!
//! Rule: a mistake is one line, `file:line:column: key: what`, and `what` says
//! what would have been right. Nothing is read or judged here.

#[cfg(test)]
mod tests;

use std::fmt;

/// Why a file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key that it is about, with all tables above it; empty where it is the
    /// whole file.
    pub key: String,
    /// What is wrong, and what would have been right.
    pub what: String,
}

impl Mistake {
    /// A mistake of `key` at byte `offset` of `text`. Line breaks in `what` are
    /// folded.
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
