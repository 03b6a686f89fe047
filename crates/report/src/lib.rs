//! Writes the facts of a run (its recorded series and results) as a page, as tables and as graphs
//! for xplot.
//!
//! [`page()`] returns one self-contained HTML file with its data and the scripts that
//! draw it; [`xplot()`] returns files for `xplot` and its successors, with tcptrace's
//! marks; [`csv()`] returns every series for other tools.
//!
//! Rule: the page contains all facts and judges none; the verdict is one of the facts. The page's
//! data contains every point of a series; the scripts omit points only while drawing, because a
//! screen has fewer pixels.
#![forbid(unsafe_code)]

mod csv;
mod encode;
mod page;
mod xplot;

#[cfg(test)]
mod tests;

pub use csv::csv;
pub use page::page;
pub use xplot::{Graph, xplot};
