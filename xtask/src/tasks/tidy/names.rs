//! Checks the names of public types: each name is unique in its crate, and differs from all names
//! of the prelude.
//!
//! The one rule: a name means one thing in a crate. Types, traits and aliases count if they are
//! visible outside their module.
//!
//! Private types, types of tests, and files that stand in for a feature that is off are not checked.

use std::collections::BTreeMap;

use syn::{Attribute, Ident, Visibility};

use super::exceptions::MIRRORS;
use super::finding::Finding;
use super::rust_file::{RustFile, is_for_tests};

/// Types and traits that are visible in each module without an import.
const PRELUDE: [&str; 33] = [
    "AsMut",
    "AsRef",
    "AsyncFn",
    "AsyncFnMut",
    "AsyncFnOnce",
    "Box",
    "Clone",
    "Copy",
    "Default",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Into",
    "IntoIterator",
    "Iterator",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Send",
    "Sized",
    "String",
    "Sync",
    "ToOwned",
    "Vec",
];

/// Place at which a name is defined.
struct Place<'a> {
    path: &'a str,
    line: usize,
    /// True for an item with `cfg`, because alternatives for platforms or features may share a
    /// name.
    is_conditional: bool,
}

/// Checks the files of one crate's `src`.
pub fn check(files: &[&RustFile]) -> Vec<Finding> {
    let mut places: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    let mirrors = |path: &str| MIRRORS.iter().any(|(folder, _)| path.starts_with(folder));
    let is_counted = |file: &&&RustFile| !mirrors(&file.path) && !is_stand_in(&file.path);
    for file in files.iter().filter(is_counted) {
        collect(&file.path, &file.syntax.items, &mut places);
    }
    let mut findings = Vec::new();
    for (name, places) in &places {
        for place in places.iter().filter(|_| PRELUDE.contains(&name.as_str())) {
            let says = format!("`{name}` shadows a name of the Rust prelude: rename the type");
            findings.push(Finding::new(place.path, place.line, says));
        }
        let first = &places[0];
        for place in &places[1..] {
            if !(first.is_conditional && place.is_conditional) {
                let says = format!(
                    "a public type is called `{name}` here and in {}:{}: rename one of the two",
                    first.path, first.line
                );
                findings.push(Finding::new(place.path, place.line, says));
            }
        }
    }
    findings
}

/// Returns true for a file that is compiled instead of another if a feature is off. It defines the
/// same names as the file that it replaces.
fn is_stand_in(path: &str) -> bool {
    path.ends_with("/off.rs") || path.ends_with("_off.rs")
}

fn collect<'a>(path: &'a str, items: &[syn::Item], places: &mut BTreeMap<String, Vec<Place<'a>>>) {
    for item in items {
        if let syn::Item::Mod(module) = item {
            if let Some((_, items)) = &module.content
                && !is_for_tests(&module.attrs)
            {
                collect(path, items, places);
            }
            continue;
        }
        let Some((ident, visibility, attributes)) = parts(item) else {
            continue;
        };
        if matches!(visibility, Visibility::Inherited) || is_for_tests(attributes) {
            continue;
        }
        let place = Place {
            path,
            line: ident.span().start().line,
            is_conditional: attributes.iter().any(|a| a.path().is_ident("cfg")),
        };
        places.entry(ident.to_string()).or_default().push(place);
    }
}

/// Name, visibility and attributes of a type, a trait or an alias.
fn parts(item: &syn::Item) -> Option<(&Ident, &Visibility, &[Attribute])> {
    Some(match item {
        syn::Item::Struct(item) => (&item.ident, &item.vis, &item.attrs),
        syn::Item::Enum(item) => (&item.ident, &item.vis, &item.attrs),
        syn::Item::Union(item) => (&item.ident, &item.vis, &item.attrs),
        syn::Item::Trait(item) => (&item.ident, &item.vis, &item.attrs),
        syn::Item::Type(item) => (&item.ident, &item.vis, &item.attrs),
        _ => return None,
    })
}
