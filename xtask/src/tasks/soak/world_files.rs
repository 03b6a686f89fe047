//! The folder of worlds that once failed. A world is a random network with settings and traffic;
//! its file describes it completely.
//!
//! The one rule: every `cargo xtask test` runs each world of the folder again. A file contains no
//! seed, so it stays valid when the code that draws worlds from seeds changes. Its first lines name
//! the bug against which it guards.
//!
//! The simulator defines the format of a file (`fullpipe_sim::WorldPlan`).

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use fullpipe_sim::{Seed, WorldPlan};

use xtask::repository;

/// Source of a world's description: a file, or the seed from which the world is drawn.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorldSource {
    /// A world file.
    File(PathBuf),
    /// A seed.
    Seed(u64),
}

impl WorldSource {
    /// Returns the world's description.
    ///
    /// # Errors
    /// Fails if the source is a file that contains no world.
    pub fn plan(&self) -> Result<WorldPlan> {
        match self {
            Self::File(file) => read(file),
            Self::Seed(seed) => Ok(WorldPlan::draw(Seed(*seed))),
        }
    }
}

impl fmt::Display for WorldSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "world {}", file.display()),
            Self::Seed(seed) => write!(f, "world {seed}"),
        }
    }
}

/// Path of the folder, below the root.
const FOLDER: &str = "crates/sim/worlds";

/// Returns the world files of the repository, sorted by name.
///
/// # Errors
/// Fails if the folder can't be read.
pub fn all() -> Result<Vec<PathBuf>> {
    let folder = repository::root().join(FOLDER);
    let entries = fs::read_dir(&folder).with_context(|| format!("reading {FOLDER}"))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("reading {FOLDER}"))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a world file.
///
/// # Errors
/// Fails if the file can't be read or contains no world.
pub fn read(file: &Path) -> Result<WorldPlan> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    WorldPlan::from_toml(&text).map_err(|error| anyhow!("{}: {error}", file.display()))
}

/// Writes a failed world to a file, unless the world came from a file. Returns the path of the
/// file.
///
/// # Errors
/// Fails if the file can't be written.
pub fn keep(world: &WorldSource, why: &str) -> Result<PathBuf> {
    let seed = match world {
        WorldSource::File(file) => return Ok(file.clone()),
        WorldSource::Seed(seed) => *seed,
    };
    let name = format!("{FOLDER}/seed-{seed}.toml");
    let path = repository::root().join(&name);
    fs::write(&path, text(seed, why)).with_context(|| format!("writing {name}"))?;
    Ok(path)
}

/// Returns the file text for a drawn world that failed.
pub fn text(seed: u64, why: &str) -> String {
    let comment = format!(
        "Drawn from seed {seed}. It failed:\n{why}\n\nName the bug here and in the file's name before you commit this file."
    );
    WorldPlan::draw(Seed(seed)).to_toml(&comment)
}
