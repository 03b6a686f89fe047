//! Lines of a table: columns below headings, with two spaces between columns.
//!
//! Rule: each column keeps its given width. A cell that is longer than its column is refused, never
//! cut. Every column except the last is padded. A cell may have several lines.

use crate::layout::{Layout, Tone, columns};

const GAP: usize = 2;

/// Alignment of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Spaces follow the text.
    Left,
    /// Spaces precede the text.
    Right,
}

/// A column.
#[derive(Clone, Debug)]
pub struct GridColumn {
    heading: Vec<String>,
    /// Width in terminal columns.
    pub width: usize,
    align: Align,
}

impl GridColumn {
    /// Creates a column that is as wide as its heading, and at least `width` wide. The heading may
    /// have several lines.
    pub fn new(heading: &[&str], width: usize, align: Align) -> Self {
        let widest = heading.iter().map(|line| columns(line)).max().unwrap_or(0);
        Self {
            heading: heading.iter().map(ToString::to_string).collect(),
            width: width.max(widest),
            align,
        }
    }
}

/// A table's columns.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The columns, from left to right.
    pub columns: Vec<GridColumn>,
}

impl Grid {
    /// Returns the total width of these columns in terminal columns.
    pub fn width_of(columns: &[GridColumn]) -> usize {
        let widths: usize = columns.iter().map(|column| column.width).sum();
        widths + GAP * columns.len().saturating_sub(1)
    }

    /// Returns the width of a line in terminal columns.
    pub fn width(&self) -> usize {
        Self::width_of(&self.columns)
    }

    /// Returns the headings and the line below them.
    pub fn head(&self, layout: Layout) -> String {
        let most = self.columns.iter().map(|column| column.heading.len()).max();
        let most = most.unwrap_or(0);
        // A heading with one line is printed in the last line of the headings.
        let cells: Vec<_> = self
            .columns
            .iter()
            .map(|column| {
                let missing = most - column.heading.len();
                let above = std::iter::repeat_n(String::new(), missing);
                let lines = column.heading.iter();
                let painted = lines.map(|line| layout.paint(Tone::Heading, line));
                above.chain(painted).collect()
            })
            .collect();
        let rule = "\u{2500}".repeat(self.width());
        format!("{}{rule}\n", self.lines(&cells))
    }

    /// Returns the lines of a row; `None` if a cell is longer than its column.
    pub fn row(&self, cells: &[Vec<String>]) -> Option<String> {
        let mut sizes = self.columns.iter().zip(cells).flat_map(|(column, lines)| {
            let lines = lines.iter();
            lines.map(|line| columns(line) <= column.width)
        });
        sizes.all(|fits| fits).then(|| self.lines(cells))
    }

    fn lines(&self, cells: &[Vec<String>]) -> String {
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let mut out = String::new();
        for number in 0..height {
            let mut line = String::new();
            for (place, (column, lines)) in self.columns.iter().zip(cells).enumerate() {
                let text = lines.get(number).map_or("", String::as_str);
                let pad = " ".repeat(column.width.saturating_sub(columns(text)));
                if place > 0 {
                    line.push_str(&" ".repeat(GAP));
                }
                match column.align {
                    Align::Left => line.push_str(&format!("{text}{pad}")),
                    Align::Right => line.push_str(&format!("{pad}{text}")),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}
