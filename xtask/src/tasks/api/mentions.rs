//! Finds types that the public API mentions although other programs cannot name them.
//!
//! The one rule: each type in a listed signature, field or variant is listed itself, or belongs to
//! the standard library or tokio.
//!
//! Implemented traits are not checked: a program can use an implementation without its trait's name.

use std::collections::BTreeSet;

use crate::tidy::Finding;

/// Types and traits of the standard library and of tokio.
const OUTSIDE: [&str; 32] = [
    "AsFd",
    "AsRawFd",
    "BorrowedFd",
    "Box",
    "Context",
    "Copy",
    "Default",
    "Fn",
    "FnMut",
    "FnOnce",
    "HashMap",
    "Into",
    "IpAddr",
    "Ipv4Addr",
    "Ipv6Addr",
    "Item",
    "IntoIterator",
    "Iterator",
    "Option",
    "PartialEq",
    "Path",
    "Poll",
    "ReadBuf",
    "Result",
    "Self",
    "Send",
    "Shutdown",
    "SocketAddr",
    "String",
    "Sync",
    "Vec",
    "Write",
];

/// Types that macros in `crates/stack/src/counters.rs` define. The
/// listing, which does not expand macros, lacks them; `crates/stack/tests/face.rs` names them.
const MADE_BY_MACROS: [&str; 2] = ["Discard", "MibCounters"];

/// Checks the listings. Each comes with the path of its file.
pub fn check(listings: &[(&str, String)]) -> Vec<Finding> {
    let lines = || listings.iter().flat_map(|(_, text)| text.lines());
    let defined: BTreeSet<&str> = lines().filter_map(defined).collect();
    let mut findings = Vec::new();
    for (path, text) in listings {
        let is_known = |name: &str| {
            defined.contains(name) || OUTSIDE.contains(&name) || MADE_BY_MACROS.contains(&name)
        };
        for (index, line) in text.lines().enumerate() {
            for name in mentioned(line) {
                if !is_known(name) {
                    let says = format!(
                        "the public API mentions `{name}`, which other programs cannot name: \
                         re-export the type, or hide the item that mentions it"
                    );
                    findings.push(Finding::new(path, index + 1, says));
                }
            }
        }
    }
    findings
}

/// Returns the name of the type or trait that a line of a listing defines.
fn defined(line: &str) -> Option<&str> {
    let kinds = ["struct", "enum", "trait", "type", "item", "use"];
    let (kind, rest) = line.strip_prefix("pub ")?.split_once(' ')?;
    let path = rest.split([' ', '<']).next()?.trim_end_matches(':');
    let name = path.rsplit("::").next()?;
    kinds.contains(&kind).then_some(name)
}

/// Returns the types that a line of a listing mentions: words that begin with a capital letter,
/// except constants, type parameters of one letter, and the later parts of paths.
fn mentioned(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = line.split(move |c| !is_part(c)).filter(move |word| {
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        let is_name = word.starts_with(char::is_uppercase) && word.len() > 1;
        let is_constant = !word.contains(char::is_lowercase);
        is_name && !is_constant && !line[..at].ends_with("::")
    });
    words.filter(move |_| !line.starts_with("impl "))
}

#[cfg(test)]
mod tests;
