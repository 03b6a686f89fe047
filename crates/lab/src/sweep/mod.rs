//! Sweeps: replaces every row (scenario) by rows with every combination of the values of several
//! settings.
//!
//! Rule: each value is set by the code of `--set`. Therefore every setting can be swept, and a
//! wrong value is refused before anything runs. Rows of a sweep have no published figures, because
//! published figures apply to the row in the file.

mod values;

#[cfg(test)]
mod tests;

use std::{collections::HashSet, fmt};

use fullpipe_scenario::{
    Coordinate,
    experiment::{Experiment, Origins, Published, Row},
    measured::Quantity,
};

/// Largest number of rows of one experiment after a sweep.
const MOST_ROWS: usize = 100_000;

/// A setting and the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Path of the setting, as `--set` names it.
    pub path: String,
    /// Values, as `--set` takes them.
    pub values: Vec<String>,
}

/// Reason that a sweep was refused, with its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepError {
    /// The refused setting, `PATH=VALUE` or `PATH`; empty if no single setting is wrong.
    pub setting: String,
    /// The mistake and its remedy, in one line.
    pub fix: String,
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.setting.as_str() {
            "" => f.write_str(&self.fix),
            setting => write!(f, "{setting}: {}", self.fix),
        }
    }
}

impl std::error::Error for SweepError {}

impl Axis {
    /// Parses the values of `path`: a list `1ms,10ms`, a range `4K..1M*2` or `10..100+10`, or a
    /// list that contains ranges.
    ///
    /// # Errors
    /// Fails if a range is malformed, has no last value, or has more than 10,000 values.
    pub fn parse(path: &str, values: &str) -> Result<Self, SweepError> {
        let values = values::parse(path, values).map_err(|fix| SweepError {
            setting: path.to_string(),
            fix,
        })?;
        Ok(Self {
            path: path.to_string(),
            values,
        })
    }
}

/// Replaces each row of `experiment` by one row for each combination of the values of
/// `axes`. The first axis changes slowest.
///
/// # Errors
/// Returns the errors of [`Experiment::set`]. Also fails if values contradict each other.
pub fn sweep(experiment: &mut Experiment, axes: &[Axis]) -> Result<(), SweepError> {
    if axes.is_empty() {
        return Ok(());
    }
    let mut paths = HashSet::new();
    if let Some(axis) = axes.iter().find(|axis| !paths.insert(&axis.path)) {
        return Err(SweepError {
            setting: axis.path.clone(),
            fix: "is swept twice: give all its values in one --sweep".to_string(),
        });
    }
    let points: usize = axes.iter().map(|axis| axis.values.len()).product();
    let rows = points.saturating_mul(experiment.rows.len());
    if rows > MOST_ROWS {
        return Err(SweepError {
            setting: String::new(),
            fix: format!("the sweep makes {rows} rows, too many: at most {MOST_ROWS} are allowed"),
        });
    }
    keep_columns(experiment);
    let mut swept = Vec::with_capacity(rows);
    for row in &experiment.rows {
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
        row.setup.validate().map_err(|error| SweepError {
            setting: String::new(),
            fix: format!("row `{}`: {error}", row.title()),
        })?;
    }
    experiment.rows = swept;
    experiment.origins = Origins::default();
    Ok(())
}

/// If no columns are chosen, chooses the quantities that have published figures. Otherwise their
/// columns would vanish: a quantity that was not chosen has a column only if it has a published
/// figure, and the sweep removes these figures.
fn keep_columns(experiment: &mut Experiment) {
    if experiment.columns.is_empty() {
        let published = |name| {
            let mut rows = experiment.rows.iter();
            rows.any(|row| row.published.figure(name).is_some())
        };
        let names = Quantity::ALL.iter().map(|quantity| quantity.name);
        experiment.columns = names.filter(|name| published(name)).collect();
    }
}

fn at(row: &Row, path: &str, value: &str) -> Result<Row, SweepError> {
    let mut row = row.clone();
    let point = Coordinate {
        path: path.to_string(),
        value: value.to_string(),
    };
    row.setup.set(path, value).map_err(|error| SweepError {
        setting: point.to_string(),
        fix: error.to_string(),
    })?;
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
