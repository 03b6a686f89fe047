//! Finds links in a crate's README that lead out of the crate.
//!
//! The one rule: a registry shows the README of a crate without the rest of the repository, so a
//! link to a file outside the crate's folder leads nowhere there.
//!
//! Links inside the crate and links to other sites are not checked.

use super::finding::Finding;

/// Checks a README of `crates/`.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    if !(path.starts_with("crates/") && path.ends_with("/README.md")) {
        return Vec::new();
    }
    // A README below the crate's folder may link to the folder above it.
    let depth = path.matches('/').count() - 2;
    let outside = format!("]({}", "../".repeat(depth + 1));
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| line.contains(&outside))
        .map(|(index, _)| {
            let says = "this link leads out of the crate: a registry cannot follow it; name the file in words";
            Finding::new(path, index + 1, says)
        })
        .collect()
}
