//! Experiments as the command line names and changes them.
//!
//! Rule: a name or a setting that is wrong is the user's error; a file that
//! cannot be read is not.

use std::io;

use fullpipe_lab::{
    Experiment,
    catalogue::{CatalogueError, ExperimentFile},
};

use crate::{arguments::Setting, failure::Failure};

/// The experiment with the command line's settings in every row.
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

/// The failure that an experiment's error is.
pub fn refused(error: CatalogueError) -> Failure {
    match error {
        CatalogueError::Unknown { .. } | CatalogueError::Mistakes(_) => Failure::usage(error),
        CatalogueError::Unreadable { file, error } => {
            let why = format!("{file}: {error}");
            if error.kind() == io::ErrorKind::NotFound {
                Failure::Usage(why)
            } else {
                Failure::Failed(why)
            }
        }
    }
}
