//! What goes to standard output: results, and nothing else.
//!
//! Rule: a result is written whole. What it says is decided elsewhere.

use std::io;

use crate::failure::Failure;

/// Columns of the terminal that standard output is, if it is one.
pub fn terminal_width() -> Option<u16> {
    terminal_size::terminal_size_of(io::stdout()).map(|(columns, _)| columns.0)
}

/// Layout of standard output: the terminal's width.
pub fn layout() -> fullpipe_lab::layout::Layout {
    use fullpipe_lab::layout::Layout;
    terminal_width().map_or_else(Layout::default, |width| Layout::plain(width.into()))
}

/// Writes `text` to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    use io::Write;
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
