//! Files of a run or of a capture: a page, graphs for xplot, series, records, events.
//!
//! Rule: a destination is refused before the first run if its folder is missing. A file for records
//! is also refused if its extension names no format. The folder of `--xplot` is created. A regular
//! file is written completely or not at all, by `fullpipe_lab::WholeFile`.

use std::{
    ffi::OsString,
    fs,
    io::BufWriter,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use fullpipe_diagnose::facts::Run;
use fullpipe_lab::{
    Experiment, Records, Report, WholeFile, WholeFileWriter,
    watch::{events_json_lines, events_text},
};

use crate::{
    arguments::{LabRunArguments, WhyArguments},
    failure::Failure,
    parquet_file,
};

/// The page, the graphs and the series to write.
pub struct Pictures<'a> {
    report: Option<&'a Path>,
    xplot: Option<&'a Path>,
    csv: Option<&'a Path>,
    /// True if several experiments are run; each then has its own files.
    several: bool,
}

impl<'a> Pictures<'a> {
    /// Collects the files that `arguments` request.
    ///
    /// # Errors
    /// Fails if the folder of `--report` or `--csv` does not exist, or the folder of `--xplot`
    /// cannot be created.
    pub fn new(arguments: &'a LabRunArguments, run: &[Experiment]) -> Result<Self, Failure> {
        Self {
            report: arguments.report.as_deref(),
            xplot: arguments.xplot.as_deref(),
            csv: arguments.csv.as_deref(),
            several: run.len() > 1,
        }
        .checked()
    }

    /// Collects the files that `arguments` request about one connection of a capture.
    ///
    /// # Errors
    /// Returns the errors of [`Pictures::new`].
    pub fn of_capture(arguments: &'a WhyArguments) -> Result<Self, Failure> {
        Self {
            report: arguments.report.as_deref(),
            xplot: arguments.xplot.as_deref(),
            csv: None,
            several: false,
        }
        .checked()
    }

    /// Refuses files without a folder, and creates the folder of `--xplot`.
    fn checked(self) -> Result<Self, Failure> {
        let pictures = self;
        for (flag, file) in [("--report", pictures.report), ("--csv", pictures.csv)] {
            has_folder(flag, file)?;
        }
        if let Some(folder) = pictures.xplot {
            fs::create_dir_all(folder).map_err(|error| failed("--xplot", folder, &error))?;
        }
        Ok(pictures)
    }

    /// Returns true if some file is to be written.
    pub fn are_wanted(&self) -> bool {
        self.report.is_some() || self.xplot.is_some() || self.csv.is_some()
    }

    /// Writes the files of one experiment and frees its observations.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn write(&self, report: &mut Report) -> Result<(), Failure> {
        if !self.are_wanted() {
            return Ok(());
        }
        self.write_run(&fullpipe_lab::facts(report))
    }

    /// Writes the files of `run`.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn write_run(&self, run: &Run) -> Result<(), Failure> {
        if let Some(file) = self.report {
            let file = own(file, &run.experiment, self.several);
            write_whole("--report", &file, fullpipe_report::page(run).as_bytes())?;
        }
        if let Some(folder) = self.xplot {
            for graph in fullpipe_report::xplot(run) {
                let file = folder.join(format!("{}.xpl", graph.name));
                write_whole("--xplot", &file, graph.text.as_bytes())?;
            }
        }
        if let Some(file) = self.csv {
            let file = own(file, &run.experiment, self.several);
            write_whole("--csv", &file, fullpipe_report::csv(run).as_bytes())?;
        }
        Ok(())
    }
}

/// Refuses an output of `why` that would replace one of its input files.
///
/// # Errors
/// Fails if an output is the same file as an input.
pub fn keep_inputs(arguments: &WhyArguments) -> Result<(), Failure> {
    // Returns the number of a regular file; a device or a FIFO is not replaced.
    let number = |path: &Path| {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        found.map(|found| (found.dev(), found.ino()))
    };
    let inputs = arguments.files.iter().map(|path| match path.to_str() {
        Some("-") => Path::new("/dev/stdin"),
        _ => path.as_path(),
    });
    let inputs: Vec<_> = inputs.filter_map(number).collect();
    let standard_output = Path::new("/dev/stdout");
    if number(standard_output).is_some_and(|file| inputs.contains(&file)) {
        let why = "standard output is one of the input files; redirect it to another file";
        return Err(Failure::usage(why));
    }
    let mut outputs = Vec::new();
    for (flag, path, ending) in [
        ("--report", &arguments.report, None),
        ("--scenario", &arguments.scenario, None),
        ("--xplot", &arguments.xplot, Some("xpl")),
        (PARQUET, &arguments.parquet, Some("parquet")),
    ] {
        let Some(path) = path else {
            continue;
        };
        outputs.push((flag, path.clone()));
        // The names of the files in a folder are not known yet, so every file with their extension
        // counts.
        let inside = ending.and_then(|_| fs::read_dir(path).ok());
        let inside = inside.into_iter().flatten().flatten();
        let inside = inside.map(|entry| entry.path());
        let own = inside.filter(|path| path.extension().and_then(|own| own.to_str()) == ending);
        outputs.extend(own.map(|path| (flag, path)));
    }
    let is_input = |path: &Path| number(path).is_some_and(|file| inputs.contains(&file));
    match outputs.iter().find(|(_, path)| is_input(path)) {
        Some((flag, path)) => Err(Failure::usage(format!(
            "{flag} {}: this file is one of the input files; choose another name",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// The folder of `--parquet`.
pub struct ParquetFolder<'a>(&'a Path);

impl<'a> ParquetFolder<'a> {
    /// Creates the folder if it does not exist.
    ///
    /// # Errors
    /// Fails if the folder cannot be created.
    pub fn create(folder: &'a Path) -> Result<Self, Failure> {
        fs::create_dir_all(folder).map_err(|error| failed(PARQUET, folder, &error))?;
        Ok(Self(folder))
    }

    /// Writes `records` to the file `name`.parquet in the folder.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, name: &str, records: &Records) -> Result<(), Failure> {
        let bytes = parquet_file::encode(records)
            .map_err(|error| Failure::failed(format!("{PARQUET}: {error}")))?;
        write_whole(PARQUET, &self.0.join(format!("{name}.parquet")), &bytes)
    }
}

/// Destination of the records and the events of a run.
pub struct Output<'a> {
    file: Option<&'a Path>,
    format: Format,
    events: Option<&'a Path>,
    several: bool,
}

/// Format of records.
#[derive(Clone, Copy)]
enum Format {
    Csv,
    Json,
    Parquet,
}

impl<'a> Output<'a> {
    /// Collects the files that `arguments` request.
    ///
    /// # Errors
    /// Fails if a file's extension is not a known format, or a file's folder does not exist.
    pub fn new(arguments: &'a LabRunArguments, run: &[Experiment]) -> Result<Self, Failure> {
        let file = arguments.output.as_deref();
        has_folder(OUTPUT, file)?;
        let ending = file.and_then(Path::extension).and_then(|at| at.to_str());
        let format = match (file, ending) {
            (None, _) | (Some(_), Some("csv")) => Format::Csv,
            (Some(_), Some("json")) => Format::Json,
            (Some(_), Some("parquet")) => Format::Parquet,
            (Some(file), _) => {
                return Err(Failure::usage(format!(
                    "{OUTPUT} {}: the name must end in .csv, .json or .parquet",
                    file.display()
                )));
            }
        };
        let events = arguments.events.as_ref().and_then(Option::as_deref);
        has_folder(EVENTS, events)?;
        Ok(Self {
            file,
            format,
            events,
            several: run.len() > 1,
        })
    }

    /// Writes the records and the events of one experiment. Events that are written to a file are
    /// removed from the report.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn write(&self, report: &mut Report) -> Result<(), Failure> {
        if let Some(file) = self.events {
            let text = match file.extension().is_some_and(|ending| ending == "jsonl") {
                true => events_json_lines(report),
                false => events_text(report),
            };
            let file = own(file, &report.experiment, self.several);
            write_whole(EVENTS, &file, text.as_bytes())?;
            for row in &mut report.rows {
                row.watched.events.clear();
            }
        }
        let Some(file) = self.file else {
            return Ok(());
        };
        let records = Records::of(report);
        let bytes = match self.format {
            Format::Csv => records.csv().into_bytes(),
            Format::Json => records.json().into_bytes(),
            Format::Parquet => parquet_file::encode(&records)
                .map_err(|error| Failure::failed(format!("{OUTPUT}: {error}")))?,
        };
        write_whole(OUTPUT, &own(file, &report.experiment, self.several), &bytes)
    }
}

const OUTPUT: &str = "--output";
const PARQUET: &str = "--parquet";
const EVENTS: &str = "--events";
const PCAP: &str = "--pcap";

fn has_folder(flag: &str, file: Option<&Path>) -> Result<(), Failure> {
    let folder = file.and_then(Path::parent);
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        Some(folder) => Err(Failure::usage(format!(
            "{flag}: there is no folder {}; create it first",
            folder.display()
        ))),
        None => Ok(()),
    }
}

/// Returns `file`; with several experiments, the experiment's name is added before the extension.
fn own(file: &Path, experiment: &str, several: bool) -> PathBuf {
    // Do not change the name if all experiments are written one after another: to standard output,
    // or to a path that is not a regular file (such as a pipe).
    if !several || WholeFile::is_in_place(file) {
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

/// Writes the file that `flag` requests.
///
/// # Errors
/// Fails if the file cannot be written. An existing file is then unchanged.
pub fn write_whole(flag: &str, file: &Path, text: &[u8]) -> Result<(), Failure> {
    fullpipe_lab::write_whole(file, text).map_err(|error| failed(flag, file, &error))
}

/// A capture that is written while a device is used.
pub struct LiveCapture<'a> {
    path: &'a Path,
    file: WholeFile,
}

impl<'a> LiveCapture<'a> {
    /// Begins to write `path`.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn create(path: &'a Path) -> Result<Self, Failure> {
        match WholeFile::create(path) {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => Err(failed(PCAP, path, &error)),
        }
    }

    /// Returns the writer for the frames.
    pub fn writer(&self) -> BufWriter<WholeFileWriter> {
        BufWriter::with_capacity(1 << 18, self.file.writer())
    }

    /// Moves the file to its place. The writer of the frames must have been dropped, because
    /// dropping flushes it.
    ///
    /// # Errors
    /// Fails if a write to the file failed.
    pub fn finish(self) -> Result<(), Failure> {
        let done = self.file.finish();
        done.map_err(|error| failed(PCAP, self.path, &error))
    }
}

fn failed(flag: &str, file: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{flag} {}: {error}", file.display()))
}
