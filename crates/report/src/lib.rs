//! Facts as something to look at: a page, tables of numbers, graphs for xplot.
//!
//! [`page`] gives one self-contained HTML file, with the scripts that draw it
//! and the data they draw; [`xplot`] what `xplot` and its successors read, in
//! the grammar of tcptrace; [`csv`] every series for other tools.
//!
//! Rule: nothing is left out and nothing is judged. What a screen cannot show
//! is thinned out where it is drawn, in the reader's browser; a verdict is the
//! one that the facts came with.
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
