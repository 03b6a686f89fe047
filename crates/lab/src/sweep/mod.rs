//! Settings that take many values: every row at every point.
//!
//! Rule: a point goes through the same door as `--set`, so whatever can be set
//! can be swept, and a value that is refused is refused before anything runs. A
//! point has nothing published: figures belong to the row as it was written.

mod values;

#[cfg(test)]
mod tests;

use std::{collections::HashSet, fmt};

use crate::{
    experiment::{Experiment, Published, Row},
    measured::Quantity,
};

/// Rows of one experiment after a sweep.
const MOST_ROWS: usize = 100_000;

/// A setting and the values that it takes, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What is set, as `--set` names it.
    pub path: String,
    /// To what, as `--set` takes it.
    pub values: Vec<String>,
}

/// One setting of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// What is set.
    pub path: String,
    /// To what.
    pub value: String,
}

/// Why a sweep was refused, and what would have been right: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepError(String);

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SweepError {}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}

impl Axis {
    /// Reads the values of `path`: a list `1ms,10ms`, a range `4K..1M*2` or
    /// `10..100+10`, or a list of both.
    ///
    /// # Errors
    /// A range that is none, or has no end.
    pub fn parse(path: &str, values: &str) -> Result<Self, SweepError> {
        Ok(Self {
            path: path.to_string(),
            values: values::parse(values)?,
        })
    }
}

impl Experiment {
    /// Puts every row at every point of `axes`. The first axis changes slowest.
    ///
    /// # Errors
    /// What [`set`](Self::set) refuses of any value, or of values together.
    pub fn sweep(&mut self, axes: &[Axis]) -> Result<(), SweepError> {
        if axes.is_empty() {
            return Ok(());
        }
        let mut paths = HashSet::new();
        if let Some(axis) = axes.iter().find(|axis| !paths.insert(&axis.path)) {
            return Err(SweepError(format!("`{}` is swept twice", axis.path)));
        }
        let points: usize = axes.iter().map(|axis| axis.values.len()).product();
        let rows = points.saturating_mul(self.rows.len());
        if rows > MOST_ROWS {
            return Err(SweepError(format!(
                "{rows} rows are too many; {MOST_ROWS} are the most"
            )));
        }
        self.keep_columns();
        let mut swept = Vec::with_capacity(rows);
        for row in &self.rows {
            let mut placed = vec![without_figures(row)];
            for axis in axes {
                placed = placed
                    .iter()
                    .flat_map(|row| axis.values.iter().map(|value| at(row, &axis.path, value)))
                    .collect::<Result<_, _>>()?;
            }
            swept.append(&mut placed);
        }
        for row in &swept {
            row.setup
                .validate()
                .map_err(|error| SweepError(format!("row `{}`: {error}", row.title())))?;
        }
        self.rows = swept;
        Ok(())
    }

    /// What the table would have shown for its published figures stays in it.
    fn keep_columns(&mut self) {
        if self.columns.is_empty() {
            let published = |name| {
                let mut rows = self.rows.iter();
                rows.any(|row| row.published.figure(name).is_some())
            };
            let names = Quantity::ALL.iter().map(|quantity| quantity.name);
            self.columns = names.filter(|name| published(name)).collect();
        }
    }
}

fn at(row: &Row, path: &str, value: &str) -> Result<Row, SweepError> {
    let mut row = row.clone();
    let point = Coordinate {
        path: path.to_string(),
        value: value.to_string(),
    };
    row.setup
        .set(path, value)
        .map_err(|error| SweepError(format!("{point}: {error}")))?;
    row.point.push(point);
    Ok(row)
}

fn without_figures(row: &Row) -> Row {
    Row {
        published: Published::default(),
        peers: Vec::new(),
        fitted: Vec::new(),
        baseline: false,
        note: None,
        ..row.clone()
    }
}
