//! Fetches the source of lwIP from Debian's source package.
//!
//! The one rule: nothing outside `target/` changes. apt fetches the source from the archive that
//! this machine uses, and stores its package lists beside the source.
//!
//! The source is compiled by `bench/build.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::repository;
use crate::test::tools::find;

/// Returns the folder with the source. The first call fetches the source.
///
/// # Errors
/// Fails if the machine uses no Debian archive, or the archive cannot be reached.
pub fn source() -> Result<PathBuf> {
    let folder = repository::root().join("target/lwip");
    if let Some(source) = unpacked(&folder) {
        return Ok(source);
    }
    for (program, package) in [("apt-get", "apt"), ("dpkg-source", "dpkg-dev")] {
        ensure!(
            find(program).is_some(),
            "{program} is missing (Debian package {package})"
        );
    }
    write_sources(Path::new("/etc/apt"), &folder.join("sources"))?;
    fs::create_dir_all(folder.join("lists/partial")).context("creating target/lwip/lists")?;
    eprintln!("fetching lwIP's source with apt");
    apt(&folder, &["update"])?;
    apt(&folder, &["source", "lwip"])?;
    unpacked(&folder).context("apt unpacked no folder lwip-… with the source")
}

/// Returns the folder of an unpacked source package.
fn unpacked(folder: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(folder).ok()?.flatten();
    let source = entries.find(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && entry.file_name().to_string_lossy().starts_with("lwip-")
    });
    source.map(|entry| entry.path())
}

/// Writes apt's list of archives to `folder`, for source packages instead of binary packages.
fn write_sources(apt: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let parts = fs::read_dir(apt.join("sources.list.d"))
        .into_iter()
        .flatten();
    let parts = parts.flatten().map(|entry| entry.path());
    for file in parts.chain([apt.join("sources.list")]) {
        let (Some(name), Ok(text)) = (file.file_name(), fs::read_to_string(&file)) else {
            continue;
        };
        let lines = text.lines().map(|line| match line.strip_prefix("deb ") {
            Some(rest) => format!("deb-src {rest}\n"),
            None if line.starts_with("Types:") => "Types: deb-src\n".to_owned(),
            None => format!("{line}\n"),
        });
        fs::write(folder.join(name), lines.collect::<String>()).context("writing a list")?;
    }
    Ok(())
}

fn apt(folder: &Path, arguments: &[&str]) -> Result<()> {
    let status = Command::new("apt-get")
        .current_dir(folder)
        .args(["-qq", "-o", "Dir::Etc::sourcelist=/dev/null"])
        .arg("-o")
        .arg(format!(
            "Dir::Etc::sourceparts={}",
            folder.join("sources").display()
        ))
        .arg("-o")
        .arg(format!(
            "Dir::State::lists={}",
            folder.join("lists").display()
        ))
        // Let apt run as root: by default apt fetches as an unprivileged user, who may not write to
        // the folder.
        .args(["-o", "APT::Sandbox::User=root"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .context("starting apt-get")?;
    ensure!(status.success(), "apt-get {} failed", arguments.join(" "));
    Ok(())
}
