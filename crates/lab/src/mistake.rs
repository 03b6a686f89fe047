//! A mistake in an experiment file: where it is and what to do about it.
//!
//! Rule: a mistake is one line, `file:line:column: what`, and `what` says what
//! would have been right. Nothing is read or judged here.

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
    /// What is wrong, and what would have been right.
    pub what: String,
}

impl Mistake {
    /// A mistake at byte `offset` of `text`. Line breaks in `what` are folded.
    pub fn at(file: &str, text: &str, offset: usize, what: impl fmt::Display) -> Self {
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
            what,
        } = self;
        write!(f, "{file}:{line}:{column}: {what}")
    }
}

impl std::error::Error for Mistake {}

#[cfg(test)]
mod tests {
    use super::Mistake;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        for (name, text, offset, expected) in [
            ("the start", "abc", 0, (1, 1)),
            ("the same line", "abc", 2, (1, 3)),
            ("after a line break", "a\nbc", 3, (2, 2)),
            ("after a wide character", "\u{e9}b", 2, (1, 2)),
            ("inside a wide character", "a\u{e9}", 2, (1, 2)),
            ("past the end", "a\n", 9, (2, 1)),
        ] {
            let mistake = Mistake::at("f.toml", text, offset, "wrong");
            assert_eq!((mistake.line, mistake.column), expected, "{name}");
        }
    }

    #[test]
    fn a_mistake_is_one_line() {
        let mistake = Mistake::at("f.toml", "a\nb", 2, "wrong\nexpected right");
        assert_eq!(mistake.to_string(), "f.toml:2:1: wrong, expected right");
    }
}
