//! The repository's root, and its files without generated ones.
//!
//! The one rule: returned paths are relative to the root and use `/`, so that messages and lists
//! of exceptions are the same on every machine.
//!
//! Git is not used, so that a source archive without history can also be checked.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders whose contents tools generate.
const MADE_BY_TOOLS: [&str; 5] = ["target", "out", "corpus", "artifacts", "node_modules"];

/// Returns the root of the repository: the folder that contains `xtask/`.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask/ lies in the repository")
        .to_path_buf()
}

/// One file of the repository that was not generated.
pub struct SourceFile {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// The whole text of the file.
    pub text: String,
}

/// Returns every file whose name ends in one of `endings`, sorted by path.
///
/// Hidden folders (except `.ci` and `.cargo`) and build output are skipped.
///
/// # Errors
/// Fails if a folder or file can't be read, or a file is not UTF-8.
pub fn files(endings: &[&str]) -> Result<Vec<SourceFile>> {
    let root = root();
    let mut found = Vec::new();
    collect(&root, &root, endings, &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn collect(
    root: &Path,
    folder: &Path,
    endings: &[&str],
    found: &mut Vec<SourceFile>,
) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            let hidden = name.starts_with('.') && name != ".ci" && name != ".cargo";
            if !hidden && !MADE_BY_TOOLS.contains(&name.as_str()) {
                collect(root, &path, endings, found)?;
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            let text =
                fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            let relative = path.strip_prefix(root).expect("found below the root");
            found.push(SourceFile {
                path: relative.to_string_lossy().replace('\\', "/"),
                text,
            });
        }
    }
    Ok(())
}
