//! Flash of a program, by the crate and module of its functions.
//!
//! The one rule: every byte of code and of constants counts once, for the function that it is in. A
//! function that the compiler inlined counts for its caller.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::toolchain::Toolchain;

/// Names of the stack's crates and of the crates that the stack uses, as they occur in symbols.
const CRATES: [&str; 9] = [
    "fullpipe_tcp",
    "fullpipe_pool",
    "fullpipe_wire",
    "fullpipe",
    "siphasher",
    "flash",
    "compiler_builtins",
    "alloc",
    "core",
];

/// A function or a constant.
#[derive(Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Bytes in flash.
    pub bytes: u32,
    /// The whole name.
    pub name: String,
}

/// Returns the symbols of `image` that lie in flash, the largest first.
///
/// # Errors
/// Fails if the symbols can't be read.
pub fn symbols(toolchain: &Toolchain, image: &Path) -> Result<Vec<Symbol>> {
    let text = toolchain.symbols(image)?;
    let mut symbols: Vec<_> = text.lines().filter_map(symbol).collect();
    symbols.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    Ok(symbols)
}

/// Parses a line of `nm`: address, size, kind, name. Returns `None` for a symbol in RAM.
pub fn symbol(line: &str) -> Option<Symbol> {
    let mut words = line.splitn(4, ' ').skip(1);
    let (size, kind, name) = (words.next()?, words.next()?, words.next()?);
    let in_flash = matches!(kind, "t" | "T" | "r" | "R" | "w" | "W");
    in_flash.then_some(Symbol {
        bytes: u32::from_str_radix(size, 16).ok()?,
        name: name.to_owned(),
    })
}

/// Returns crate and module of the symbol `name`: the first path in it that names a crate of
/// [`CRATES`].
pub fn part(name: &str) -> String {
    let found = CRATES.iter().filter_map(|crate_name| {
        let start = find_crate(name, crate_name)?;
        Some((start, *crate_name))
    });
    let Some((start, crate_name)) = found.min() else {
        return "other".to_owned();
    };
    let module = name[start..].split("::").nth(1).unwrap_or_default();
    let is_module = module
        .chars()
        .all(|letter| letter.is_ascii_lowercase() || letter == '_' || letter.is_ascii_digit());
    match crate_name {
        "fullpipe" | "fullpipe_tcp" | "fullpipe_pool" if is_module => {
            format!("{crate_name}::{module}")
        }
        _ => crate_name.to_owned(),
    }
}

/// Returns the place in `name` at which a path begins with `crate_name::`.
fn find_crate(name: &str, crate_name: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = name[from..].find(crate_name) {
        let at = from + at;
        let before = name[..at].chars().next_back();
        let begins = before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_');
        let after = &name[at + crate_name.len()..];
        if begins && !name[..at].ends_with("::") && after.starts_with("::") {
            return Some(at);
        }
        from = at + crate_name.len();
    }
    None
}

/// Returns the bytes of each part, the largest first.
pub fn by_part(symbols: &[Symbol]) -> Vec<(String, u32)> {
    let mut parts = BTreeMap::new();
    for symbol in symbols {
        *parts.entry(part(&symbol.name)).or_insert(0) += symbol.bytes;
    }
    let mut parts: Vec<_> = parts.into_iter().collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.1));
    parts
}

/// Returns a list of the largest symbols.
///
/// # Errors
/// Fails if the symbols can't be read.
pub fn largest(toolchain: &Toolchain, image: &Path) -> Result<String> {
    let symbols = symbols(toolchain, image).context("reading symbols")?;
    let lines = symbols.iter().take(60);
    Ok(lines
        .map(|symbol| format!("{:>7} {}\n", symbol.bytes, symbol.name))
        .collect())
}
