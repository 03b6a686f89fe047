//! All experiments: files of the checkout, and those built into the program.
//!
//! Rule: a file in the checkout's `experiments` folder replaces the built-in experiment of the
//! same name, so that an edited file takes effect. Outside a checkout, the built-in experiments
//! are used.

use std::{
    fmt, fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use fullpipe_pool::knobs::nearest;
use fullpipe_scenario::{Mistake, experiment::Experiment};

/// Folder of experiments at the top of a checkout.
const FOLDER: &str = "experiments";
/// Size of the largest experiment file that is read, in bytes.
const LARGEST: u64 = 1 << 20;
/// File whose presence marks the top of a checkout.
const LANDMARK: &str = "crates/lab/Cargo.toml";

/// Names and texts of the experiments that are part of the program.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("autotune", include_str!("../experiments/autotune.toml")),
    ("ecn", include_str!("../experiments/ecn.toml")),
    ("fairness", include_str!("../experiments/fairness.toml")),
    (
        "linux-buffers-a",
        include_str!("../experiments/linux-buffers-a.toml"),
    ),
    (
        "linux-buffers-b",
        include_str!("../experiments/linux-buffers-b.toml"),
    ),
    (
        "linux-buffers-c",
        include_str!("../experiments/linux-buffers-c.toml"),
    ),
    (
        "linux-buffers-d",
        include_str!("../experiments/linux-buffers-d.toml"),
    ),
    (
        "linux-buffers-e",
        include_str!("../experiments/linux-buffers-e.toml"),
    ),
    ("loss", include_str!("../experiments/loss.toml")),
    ("memory", include_str!("../experiments/memory.toml")),
    ("netburner", include_str!("../experiments/netburner.toml")),
    (
        "netburner-push",
        include_str!("../experiments/netburner-push.toml"),
    ),
    (
        "netburner-vanish",
        include_str!("../experiments/netburner-vanish.toml"),
    ),
    ("nuttx", include_str!("../experiments/nuttx.toml")),
    ("shallow", include_str!("../experiments/shallow.toml")),
    ("tso", include_str!("../experiments/tso.toml")),
    ("unet3", include_str!("../experiments/unet3.toml")),
];

/// An experiment's text and the file it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentFile {
    /// The experiment's name.
    pub name: String,
    /// Name of the file in messages.
    pub file: String,
    /// The text.
    pub text: String,
}

/// Reason that an experiment is not available.
#[derive(Debug)]
pub enum CatalogueError {
    /// No experiment and no file has this name.
    Unknown {
        /// The name as given.
        name: String,
        /// The nearest name, or all names.
        hint: String,
    },
    /// A file cannot be read.
    Unreadable {
        /// The file.
        file: String,
        /// The operating system's error.
        error: io::Error,
    },
    /// The mistakes of the file, at least one.
    Mistakes(Vec<Mistake>),
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, hint } => {
                let ending = if name.contains('.') { "" } else { ".toml" };
                write!(
                    f,
                    "no experiment is called `{name}` (name a file as ./{name}{ending}); {hint}"
                )
            }
            Self::Unreadable { file, error } => write!(f, "{file}: {error}"),
            Self::Mistakes(mistakes) => {
                let (first, others) = mistakes.split_first().ok_or(fmt::Error)?;
                first.fmt(f)?;
                match others.len() {
                    0 => Ok(()),
                    more => write!(
                        f,
                        " ({more} more: `fullpipe lab check {}` lists all)",
                        first.file
                    ),
                }
            }
        }
    }
}

impl std::error::Error for CatalogueError {}

impl ExperimentFile {
    /// Parses the text as an experiment.
    ///
    /// # Errors
    /// Returns every mistake in the text.
    pub fn parse(&self) -> Result<Experiment, CatalogueError> {
        self.check().map_err(CatalogueError::Mistakes)
    }

    /// Parses the text and collects every mistake.
    ///
    /// # Errors
    /// Returns the mistakes, in the order of the file; mistakes about the whole file come last.
    pub fn check(&self) -> Result<Experiment, Vec<Mistake>> {
        Experiment::check(&self.name, &self.file, &self.text)
    }
}

/// Returns every experiment, sorted by name. `from` is the current folder.
///
/// # Errors
/// Fails if a file of the checkout cannot be read.
pub fn all(from: &Path) -> Result<Vec<ExperimentFile>, CatalogueError> {
    let mut found: Vec<_> = BUILT_IN
        .iter()
        .map(|(name, text)| ExperimentFile {
            name: name.to_string(),
            file: format!("built-in {name}.toml"),
            text: text.to_string(),
        })
        .collect();
    if let Some(folder) = folder_above(from) {
        let unreadable = |error| CatalogueError::Unreadable {
            file: shown(&folder, from),
            error,
        };
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|ending| ending == "toml") {
                let file = read(&path, from)?;
                found.retain(|other| other.name != file.name);
                found.push(file);
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Returns the experiment called `name`, or the one in the file `name`. `from` is the current
/// folder.
///
/// # Errors
/// Fails if no experiment and no file has the name `name`, or if the file cannot be read.
pub fn find(name: &str, from: &Path) -> Result<ExperimentFile, CatalogueError> {
    if name.ends_with(".toml") || name.contains(std::path::is_separator) {
        return read(&from.join(name), from);
    }
    let all = all(from)?;
    if let Some(found) = all.iter().find(|found| found.name == name) {
        return Ok(found.clone());
    }
    let names = || all.iter().map(|found| found.name.as_str());
    let hint = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("experiments are {}", names().collect::<Vec<_>>().join(", ")),
    };
    Err(CatalogueError::Unknown {
        name: name.to_string(),
        hint,
    })
}

fn read(path: &Path, from: &Path) -> Result<ExperimentFile, CatalogueError> {
    let file = shown(path, from);
    let text = text_of(path).map_err(|error| CatalogueError::Unreadable {
        file: file.clone(),
        error,
    })?;
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(ExperimentFile { name, file, text })
}

/// Reads the text of an experiment, which may come from a pipe.
fn text_of(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path)?;
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "the file is larger than 1 MiB, the limit for an experiment",
        ));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns `path` relative to the folder `from` if the path is inside that folder.
fn shown(path: &Path, from: &Path) -> String {
    path.strip_prefix(from)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Returns the folder of experiments in the checkout that contains `from`.
fn folder_above(from: &Path) -> Option<PathBuf> {
    from.ancestors()
        .find(|folder| folder.join(LANDMARK).is_file())
        .map(|folder| folder.join(FOLDER))
        .filter(|folder| folder.is_dir())
}
