//! Formats text for a terminal: wraps lines with a hanging indent, and adds colour.
//!
//! Rule: no line is longer than the width. Lines break at spaces, but not between a number and its
//! unit. A word that is longer than a line is broken after one of `/ _ . , = -`; a word without
//! these characters is broken at the width. Colour sequences take no columns. This file contains no
//! texts.

#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt::Write};

/// Columns of the key of a [`Layout::field`], including the gap after it.
pub const KEY_COLUMNS: usize = 12;
/// Smallest supported width; a narrower terminal is treated as this wide.
pub const NARROWEST: usize = 40;
/// Width of output to a pipe or a file.
pub const PIPED: usize = 120;

/// Width and colour of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Columns of a line.
    pub width: usize,
    /// True if ANSI colours are written.
    pub colour: bool,
}

/// Meaning of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A heading, or the label of a row (scenario).
    Heading,
    /// The name of a limit.
    Limit,
    /// A value that is as expected.
    Good,
    /// A value that should be checked.
    Doubtful,
    /// A failure.
    Bad,
    /// A key beside its value.
    Key,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Heading => "1",
            Self::Limit => "1;36",
            Self::Good => "32",
            Self::Doubtful => "33",
            Self::Bad => "1;31",
            Self::Key => "2",
        }
    }
}

impl Default for Layout {
    fn default() -> Self {
        Self::plain(PIPED)
    }
}

impl Layout {
    /// Creates a layout without colour, at least [`NARROWEST`] columns wide.
    pub fn plain(width: usize) -> Self {
        Self {
            width: width.max(NARROWEST),
            colour: false,
        }
    }

    /// Returns `text` in the colour of `tone`; unchanged if the layout has no colours.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", tone.code())
        } else {
            text.to_string()
        }
    }

    /// Appends `text` with a line break at its end. The first line begins with `first`, every
    /// other line with `indent` spaces.
    pub fn paragraph(self, out: &mut String, first: &str, indent: usize, text: &str) {
        out.push_str(first);
        let mut column = columns(first);
        let mut is_start = true;
        for word in glued(text) {
            let gap = usize::from(!is_start);
            if !is_start && column + gap + columns(&word) > self.width {
                let _ = write!(out, "\n{:indent$}", "");
                column = indent;
            } else if !is_start {
                out.push(' ');
                column += 1;
            }
            column = self.word(out, column, indent, &word);
            is_start = false;
        }
        out.push('\n');
    }

    /// Appends `  Key   text` with the text wrapped beside its key.
    pub fn field(self, out: &mut String, key: &str, text: &str) {
        let gap = KEY_COLUMNS.saturating_sub(columns(key)).max(1);
        let first = format!("  {}{:gap$}", self.paint(Tone::Key, key), "");
        self.paragraph(out, &first, 2 + KEY_COLUMNS, text);
    }

    /// Divides `text` into lines of at most `width` columns.
    pub fn lines(self, text: &str, width: usize) -> Vec<String> {
        let mut out = String::new();
        let narrow = Self { width, ..self };
        narrow.paragraph(&mut out, "", 0, text);
        out.lines().map(str::to_string).collect()
    }

    /// Appends a word at `column`; a word that is longer than a line is broken. Returns the column
    /// after the word.
    fn word(self, out: &mut String, mut column: usize, indent: usize, word: &str) -> usize {
        let mut rest = word;
        while column + columns(rest) > self.width {
            let room = self.width.saturating_sub(column).max(1);
            let end = piece(rest, room);
            if end == rest.len() {
                break;
            }
            let _ = write!(out, "{}\n{:indent$}", rest[..end].trim_end(), "");
            rest = rest[end..].trim_start();
            column = indent;
        }
        out.push_str(rest);
        column + columns(rest)
    }
}

/// Units that stay on the same line as their number.
const UNITS: [&str; 12] = [
    "%", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "bytes", "blocks", "segments", "s", "ms", "us",
    "ns",
];

/// Returns the words of `text`; a number with its unit is one word.
fn glued(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let plain = without_colour(word);
        let unit = plain.trim_end_matches([',', '.', ';', ':', ')', '?']);
        match words.last_mut() {
            Some(last) if UNITS.contains(&unit) && ends_with_digit(last) => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => words.push(word.to_string()),
        }
    }
    words
}

fn ends_with_digit(word: &str) -> bool {
    without_colour(word).ends_with(|letter: char| letter.is_ascii_digit())
}

/// Returns the length in bytes of the longest beginning of `word` that fits `room` columns and ends
/// after a character at which words may break. Without such a character, returns the length of the
/// longest beginning that fits.
fn piece(word: &str, room: usize) -> usize {
    let (mut fits, mut good, mut seen) = (0, 0, 0);
    let mut in_colour = false;
    for (at, letter) in word.char_indices() {
        if letter == '\x1b' {
            in_colour = true;
        }
        if in_colour {
            in_colour = letter != 'm';
        } else {
            seen += 1;
        }
        if seen > room {
            break;
        }
        fits = at + letter.len_utf8();
        if !in_colour && "/_.,=- ".contains(letter) {
            good = fits;
        }
    }
    if good > 0 { good } else { fits }
}

/// Returns the terminal columns that `text` takes. Colour sequences take none.
pub fn columns(text: &str) -> usize {
    without_colour(text).chars().count()
}

/// Returns `text` without colour sequences.
fn without_colour(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::new();
    let mut in_colour = false;
    for letter in text.chars() {
        match (in_colour, letter) {
            (false, '\x1b') => in_colour = true,
            (false, letter) => plain.push(letter),
            (true, 'm') => in_colour = false,
            (true, _) => {}
        }
    }
    Cow::Owned(plain)
}
