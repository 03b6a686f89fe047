//! A report as text: a table, or a record of a few lines for each row (scenario).
//!
//! Rule: the results come from the report. Only their deviations from published figures are
//! computed here, and numbers are rounded for display. A table is chosen before there are results,
//! so that each row can be printed as soon as it has run. A table is printed if the terminal is
//! wide enough for every label and number. A table that shows neither a sweep nor chosen quantities
//! also needs a terminal of at least [`WIDE`] characters. Without a table, each row is printed as a
//! record. With a table, a row is printed as a record if one of its results is longer than its
//! column. The verdicts of a table follow its last row. For a user who watches, they follow each
//! row at once ([`TablePrinter::watched`]). The verdicts of a sweep are not printed here, because
//! they would be too many.

mod columns;
mod record;
mod words;

#[cfg(test)]
mod tests;

pub use columns::{ColumnError, Columns};

use crate::{
    layout::{Layout, Tone},
    outline::Outline,
    report::{Report, RowReport},
};
use columns::{ResultTable, Shown};

/// Smallest width of a table that shows no sweep and no columns chosen with `--columns`.
pub const WIDE: usize = 120;

/// Prints a report row by row.
pub struct TablePrinter {
    outline: Outline,
    layout: Layout,
    shown: Vec<Shown>,
    /// The table's columns; `None` if rows are printed as records.
    table: Option<ResultTable>,
    /// True if the verdict of each row follows the row.
    is_watched: bool,
}

impl TablePrinter {
    /// Creates a printer for the report of `outline`. `columns` are the columns that the user
    /// chose.
    pub fn new(outline: Outline, layout: Layout, columns: Option<&Columns>) -> Self {
        let shown = columns::shown(&outline, columns);
        let is_wanted = layout.width >= WIDE || columns.is_some() || outline.is_sweep();
        let table = if is_wanted {
            ResultTable::fitting(&outline, &shown, layout)
        } else {
            None
        };
        Self {
            outline,
            layout,
            shown,
            table,
            is_watched: false,
        }
    }

    /// If `is_watched` is true, prints the verdict of each row below the row when the row has run.
    /// Otherwise, the verdicts follow the table.
    #[must_use]
    pub const fn watched(mut self, is_watched: bool) -> Self {
        self.is_watched = is_watched;
        self
    }

    /// Returns the lines above the first row.
    pub fn head(&self) -> String {
        let mut out = words::head(&self.outline, self.layout);
        if let Some(table) = &self.table {
            out.push_str(&table.grid.head(self.layout));
        }
        out
    }

    /// Returns a row's lines, which follow those of the previous row.
    pub fn row(&self, row: &RowReport) -> String {
        let cells = self.table.as_ref().and_then(|table| {
            let cells = table.cells(row, self.layout);
            table.grid.row(&cells)
        });
        match cells {
            Some(mut lines) => {
                if self.is_watched && !self.outline.is_sweep() {
                    let end = lines.len();
                    self.explanation(&mut lines, row);
                    if lines.len() > end {
                        lines.push('\n');
                    }
                }
                lines
            }
            None => self.record(row),
        }
    }

    /// Returns the lines below the last row. If the rows are lines of a table, each row's verdict,
    /// flows and note follow here; a row without any of them is omitted.
    pub fn tail(&self, rows: &[RowReport]) -> String {
        let mut out = String::new();
        if self.table.is_some() && !self.is_watched && !self.outline.is_sweep() {
            for row in rows {
                let mut explanation = String::new();
                self.explanation(&mut explanation, row);
                if !explanation.is_empty() {
                    self.title(&mut out, row);
                    out.push_str(&explanation);
                }
            }
        }
        words::reference(&mut out, &self.outline, rows, self.layout);
        out
    }

    /// Returns a row as a record of a few lines.
    fn record(&self, row: &RowReport) -> String {
        let mut out = String::new();
        self.title(&mut out, row);
        record::figures(&mut out, &self.outline, &self.shown, row, self.layout);
        if !self.outline.is_sweep() {
            self.explanation(&mut out, row);
        }
        out
    }

    fn title(&self, out: &mut String, row: &RowReport) {
        let mark = if row.fitted.is_empty() {
            ""
        } else {
            " (fitted)"
        };
        let title = format!("{}{mark}", row.title());
        let painted = self.layout.paint(Tone::Heading, &title);
        if self.table.is_none() || !self.outline.is_sweep() {
            out.push('\n');
        }
        self.layout.paragraph(out, "", 2, &painted);
    }

    /// Appends the verdict, and the lines about the flows and the row.
    fn explanation(&self, out: &mut String, row: &RowReport) {
        words::verdict(out, row, self.layout);
        words::flows(out, row, self.layout);
        // Print the file's note only without changes by `--set`, because the note is about the row
        // as written.
        if let Some(note) = row.note.as_ref().filter(|_| self.is_as_written()) {
            self.layout.field(out, "Note", note);
        }
    }

    fn is_as_written(&self) -> bool {
        self.outline.overrides.is_empty()
    }
}

/// Returns the whole report.
pub fn text(report: &Report, layout: Layout) -> String {
    let printer = TablePrinter::new(Outline::of_report(report), layout, None);
    let rows = report.rows.iter().map(|row| printer.row(row));
    let mut out = printer.head();
    out.extend(rows);
    out + &printer.tail(&report.rows)
}
