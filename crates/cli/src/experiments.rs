//! Finds the experiments that the command line names, and applies the settings of the command line.
//!
//! Rule: a wrong name or setting is the user's error (exit code 2), and so is a file that is
//! missing or too large. If a file cannot be read for another reason, the exit code is 1.

use std::{env, io};

use fullpipe_lab::{
    Experiment,
    catalogue::{self, CatalogueError, ExperimentFile},
    experiment::Row,
};

use crate::{arguments::Setting, failure::Failure};

/// Returns the experiment, with the command line's settings in every row.
pub fn with_settings(found: &ExperimentFile, settings: &[Setting]) -> Result<Experiment, Failure> {
    let mut experiment = found.parse().map_err(refused)?;
    for setting in settings {
        experiment
            .set(&setting.name, &setting.value)
            .map_err(|error| Failure::usage(format!("--set {setting}: {error}")))?;
    }
    experiment
        .validate()
        .map_err(|error| Failure::usage(format!("--set: {error}")))?;
    Ok(experiment)
}

/// Returns the experiment with this name or file, with the command line's settings and a single
/// row: the row with this label, or the first row if no label is given.
pub fn one_row(
    name: &str,
    label: Option<&str>,
    settings: &[Setting],
) -> Result<Experiment, Failure> {
    let found = catalogue::find(name, &env::current_dir()?).map_err(refused)?;
    let mut experiment = with_settings(&found, settings)?;
    let row = rows_called(&experiment, label)?[0].clone();
    experiment.rows = vec![row];
    Ok(experiment)
}

/// Returns the failure for an experiment's error.
pub fn refused(error: CatalogueError) -> Failure {
    match error {
        CatalogueError::Unknown { .. } | CatalogueError::Mistakes(_) => Failure::usage(error),
        CatalogueError::Unreadable { file, error } => {
            let why = format!("{file}: {error}");
            if [io::ErrorKind::NotFound, io::ErrorKind::FileTooLarge].contains(&error.kind()) {
                Failure::Usage(why)
            } else {
                Failure::Failed(why)
            }
        }
    }
}

/// Returns the row with this label, or all rows if no label is given.
pub fn rows_called<'a>(
    experiment: &'a Experiment,
    label: Option<&str>,
) -> Result<Vec<&'a Row>, Failure> {
    let rows: Vec<_> = experiment
        .rows
        .iter()
        .filter(|row| label.is_none_or(|label| row.label == label))
        .collect();
    if rows.is_empty() {
        let labels: Vec<_> = experiment
            .rows
            .iter()
            .map(|row| format!("`{}`", row.label))
            .collect();
        let label = label.unwrap_or_default();
        return Err(Failure::usage(format!(
            "--row {label}: {} has no such row; its rows are {}",
            experiment.name,
            labels.join(", ")
        )));
    }
    Ok(rows)
}
