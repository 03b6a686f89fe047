//! The files and functions that are longer than the house allows.
//!
//! The one rule: this list only shrinks. An entry states today's length; tidy
//! fails when the thing grows, when it has shrunk (lower the number) and when
//! it fits again or is gone (delete the entry).
//!
//! It is no place for new code: write that shorter.

/// One thing that may be longer than the limit, and why it still is.
pub struct Exception {
    /// `path/file.rs` for a file, `path/file.rs::function` for a function.
    pub what: &'static str,
    /// Its length today, in lines.
    pub lines: usize,
    /// Why it is still this long.
    pub why: &'static str,
}

/// All of them.
pub const LONG: [Exception; 0] = [];
