//! What a run looks like, as files: a page, graphs for xplot, a table of values.
//!
//! Rule: where a file goes is refused before the first run, not after the last;
//! and a file appears whole or not at all.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use fullpipe_lab::{Experiment, Report};

use crate::{arguments::LabRunArguments, failure::Failure};

/// Which files are wanted, and where.
pub struct Pictures<'a> {
    report: Option<&'a Path>,
    xplot: Option<&'a Path>,
    csv: Option<&'a Path>,
    /// Several experiments are run, so that each needs files of its own.
    several: bool,
}

impl<'a> Pictures<'a> {
    /// What `arguments` ask for.
    ///
    /// # Errors
    /// A folder that is not there and cannot be made.
    pub fn new(arguments: &'a LabRunArguments, run: &[Experiment]) -> Result<Self, Failure> {
        let pictures = Self {
            report: arguments.report.as_deref(),
            xplot: arguments.xplot.as_deref(),
            csv: arguments.csv.as_deref(),
            several: run.len() > 1,
        };
        for (flag, file) in [("--report", pictures.report), ("--csv", pictures.csv)] {
            let folder = file.and_then(Path::parent);
            let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                let text = format!("{flag}: there is no folder {}", folder.display());
                return Err(Failure::usage(text));
            }
        }
        if let Some(folder) = pictures.xplot {
            fs::create_dir_all(folder).map_err(|error| failed("--xplot", folder, &error))?;
        }
        Ok(pictures)
    }

    /// Whether anything is.
    pub fn are_wanted(&self) -> bool {
        self.report.is_some() || self.xplot.is_some() || self.csv.is_some()
    }

    /// Writes what is wanted of one experiment; what was observed of it is gone then.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, report: &mut Report) -> Result<(), Failure> {
        if !self.are_wanted() {
            return Ok(());
        }
        let run = fullpipe_lab::facts(report);
        if let Some(file) = self.report {
            let file = self.own(file, &run.experiment);
            write_whole("--report", &file, &fullpipe_report::page(&run))?;
        }
        if let Some(folder) = self.xplot {
            for graph in fullpipe_report::xplot(&run) {
                let file = folder.join(format!("{}.xpl", graph.name));
                write_whole("--xplot", &file, &graph.text)?;
            }
        }
        if let Some(file) = self.csv {
            let file = self.own(file, &run.experiment);
            write_whole("--csv", &file, &fullpipe_report::csv(&run))?;
        }
        Ok(())
    }

    /// `file`; with the experiment's name before its ending when there are several.
    fn own(&self, file: &Path, experiment: &str) -> PathBuf {
        if !self.several {
            return file.to_path_buf();
        }
        let mut name = file.file_stem().map_or_else(OsString::new, OsString::from);
        name.push("-");
        name.push(experiment);
        if let Some(ending) = file.extension() {
            name.push(".");
            name.push(ending);
        }
        file.with_file_name(name)
    }
}

/// Writes `text` beside `file` and then puts it in its place.
fn write_whole(flag: &str, file: &Path, text: &str) -> Result<(), Failure> {
    let mut part = file.file_name().map_or_else(OsString::new, OsString::from);
    part.push(".part");
    let part = file.with_file_name(part);
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, file));
    written.map_err(|error| {
        // It may never have been there; then nothing is left behind either.
        let _ = fs::remove_file(&part);
        failed(flag, file, &error)
    })
}

fn failed(flag: &str, file: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{flag} {}: {error}", file.display()))
}
