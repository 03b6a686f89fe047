//! Finds files of a crate that use each other in a circle.
//!
//! The one rule: an edge is a `use` or a path of an item that the other file defines. A re-exported
//! name leads to the file that defines it. The re-export itself (`pub use`) is not an edge, so a
//! `mod.rs` may re-export items of its children; its own use of the re-exported name is one.
//!
//! Fields and methods are not followed. Tests are ignored.

use std::collections::{BTreeMap, BTreeSet};

use syn::{UseTree, Visibility};

use super::finding::Finding;
use super::paths::{self, Names};
use super::rust_file::{RustFile, is_for_tests};

type ModulePath = Vec<String>;

/// A name that a `use` brings into a module; `*` for all names.
struct Import {
    /// The path of the imported item as written.
    path: Vec<String>,
    /// The name under which the module uses the item.
    binds: String,
    is_reexport: bool,
}

/// A module: its file, its definitions and its imports.
#[derive(Default)]
struct Module<'a> {
    file: &'a str,
    defines: BTreeSet<String>,
    imports: Vec<Import>,
    /// The paths in its items.
    paths: BTreeSet<Names>,
}

/// For each file, the files that it uses, each with one path that does so.
type Edges<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

/// The modules of a crate.
#[derive(Default)]
pub struct Modules<'a> {
    of: BTreeMap<ModulePath, Module<'a>>,
}

impl<'a> Modules<'a> {
    /// Reads the files of one crate's `src`. Each file comes with its path below `src`.
    pub fn read(files: &[(&'a RustFile, &str)]) -> Self {
        let mut modules = Self::default();
        for (file, below_src) in files {
            let path = module_path(below_src);
            modules.add(&file.path, path, &file.syntax.items);
        }
        modules
    }

    fn add(&mut self, file: &'a str, path: ModulePath, items: &[syn::Item]) {
        let mut module = Module {
            file,
            ..Module::default()
        };
        for item in items {
            match item {
                syn::Item::Use(item) if !is_for_tests(&item.attrs) => {
                    let is_reexport = !matches!(item.vis, Visibility::Inherited);
                    flatten(
                        &item.tree,
                        &mut Vec::new(),
                        is_reexport,
                        &mut module.imports,
                    );
                }
                syn::Item::Mod(inner) if !is_for_tests(&inner.attrs) => {
                    if let Some((_, items)) = &inner.content {
                        let mut path = path.clone();
                        path.push(inner.ident.to_string());
                        self.add(file, path, items);
                    }
                }
                other => {
                    module.defines.extend(defined(other));
                    module.paths.extend(paths::in_item(other));
                }
            }
        }
        self.of.insert(path, module);
    }

    /// Returns, for each file, the files that it uses.
    pub fn edges(&self) -> Edges<'a> {
        let mut edges = Edges::new();
        for (path, module) in &self.of {
            let of_file = edges.entry(module.file).or_default();
            let imports = module.imports.iter();
            let imported = imports.filter(|i| !i.is_reexport).map(|i| &i.path);
            let named = module.paths.iter().filter(|names| {
                // A single name is defined here, or is already an edge because of its import.
                let reexports = |i: &Import| i.is_reexport && i.binds == names[0];
                names.len() > 1 || module.imports.iter().any(reexports)
            });
            for names in imported.chain(named) {
                if let Some(file) = self.resolve(path, names, 0)
                    && file != module.file
                {
                    of_file.entry(file).or_insert_with(|| names.join("::"));
                }
            }
        }
        edges
    }

    /// Returns the file that defines the item at `path`, as seen from `module`; `None` if another
    /// crate defines the item.
    fn resolve(&self, module: &[String], path: &[String], depth: usize) -> Option<&'a str> {
        let (mut at, mut rest) = self.start(module, path)?;
        while let Some((name, more)) = rest.split_first() {
            let mut child = at.clone();
            child.push(name.clone());
            if self.of.contains_key(&child) {
                (at, rest) = (child, more);
                continue;
            }
            let here = self.of.get(&at)?;
            if here.defines.contains(name) || depth > 20 {
                return Some(here.file);
            }
            // If the module imports the name, continue at the path of the import, which may rename
            // an item or a module.
            for import in &here.imports {
                let mut onwards = import.path.clone();
                if import.binds == *name {
                    onwards.extend_from_slice(more);
                } else if import.binds == "*" {
                    onwards.push(name.clone());
                    onwards.extend_from_slice(more);
                    if !self.has(&at, &import.path, name) {
                        continue;
                    }
                } else {
                    continue;
                }
                return self.resolve(&at, &onwards, depth + 1);
            }
            return Some(here.file);
        }
        Some(self.of.get(&at)?.file)
    }

    /// Returns true if the module at `path`, as seen from `module`, defines `name`.
    fn has(&self, module: &[String], path: &[String], name: &str) -> bool {
        let Some((mut at, rest)) = self.start(module, path) else {
            return false;
        };
        at.extend_from_slice(rest);
        self.of.get(&at).is_some_and(|module| {
            let imports = module.imports.iter();
            module.defines.contains(name) || imports.into_iter().any(|i| i.binds == name)
        })
    }

    /// Returns the module at which a path begins, and the remaining path.
    fn start<'p>(
        &self,
        module: &[String],
        path: &'p [String],
    ) -> Option<(ModulePath, &'p [String])> {
        let mut at = module.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (at, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    at.pop()?;
                    rest = &rest[1..];
                }
            }
            child => {
                let mut path = at.clone();
                path.push(child.to_owned());
                // Stop at a name that is neither a child nor an item nor an import of this module:
                // it is another crate.
                let here = self.of.get(&at)?;
                let bound = here.imports.iter().any(|i| i.binds == child);
                if !self.of.contains_key(&path) && !here.defines.contains(child) && !bound {
                    return None;
                }
            }
        }
        Some((at, rest))
    }
}

/// Returns the module of a file, from the file's path below `src`.
fn module_path(below_src: &str) -> ModulePath {
    let stem = below_src.trim_end_matches(".rs");
    let mut path: ModulePath = stem.split('/').map(str::to_owned).collect();
    if matches!(
        path.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        path.pop();
    }
    path
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, is_reexport: bool, to: &mut Vec<Import>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, is_reexport, to);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, is_reexport, to);
            }
        }
        UseTree::Name(name) => to.push(import(before, &name.ident, None, is_reexport)),
        UseTree::Rename(name) => {
            to.push(import(before, &name.ident, Some(&name.rename), is_reexport));
        }
        UseTree::Glob(_) => to.push(Import {
            path: before.clone(),
            binds: "*".to_owned(),
            is_reexport,
        }),
    }
}

/// Creates one import; `a::{self}` imports `a`.
fn import(
    before: &[String],
    name: &syn::Ident,
    rename: Option<&syn::Ident>,
    is_reexport: bool,
) -> Import {
    let mut path = before.to_vec();
    if name != "self" || path.is_empty() {
        path.push(name.to_string());
    }
    let binds = rename.map_or_else(
        || path.last().cloned().unwrap_or_default(),
        ToString::to_string,
    );
    Import {
        path,
        binds,
        is_reexport,
    }
}

/// Returns the name that an item defines.
fn defined(item: &syn::Item) -> Option<String> {
    let ident = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::TraitAlias(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// Returns the groups of files that use each other, directly or through other files. Each group is
/// sorted.
fn circles<'a>(edges: &Edges<'a>) -> Vec<Vec<&'a str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = edges
        .keys()
        .map(|file| {
            let mut seen = BTreeSet::new();
            let mut open = vec![*file];
            while let Some(at) = open.pop() {
                let next = edges.get(at).into_iter().flat_map(BTreeMap::keys);
                open.extend(next.filter(|file| seen.insert(**file)).copied());
            }
            (*file, seen)
        })
        .collect();
    let mut circles = BTreeSet::new();
    for (file, reached) in &reach {
        if reached.contains(file) {
            let back = |other: &&&str| reach.get(**other).is_some_and(|r| r.contains(file));
            circles.insert(reached.iter().filter(back).copied().collect::<Vec<_>>());
        }
    }
    circles.into_iter().collect()
}

/// Reports the circles of one crate.
pub fn check(modules: &Modules<'_>) -> Vec<Finding> {
    let edges = modules.edges();
    let mut findings = Vec::new();
    for circle in circles(&edges) {
        let inside = |file: &str| -> Vec<String> {
            let of = edges.get(file).into_iter().flatten();
            of.filter(|(other, _)| circle.contains(other))
                .map(|(other, path)| format!("{other} (`{path}`)"))
                .collect()
        };
        let shown: Vec<String> = circle
            .iter()
            .map(|file| format!("{file} uses {}", inside(file).join(", ")))
            .collect();
        let says = format!("files use each other in a circle: {}", shown.join("; "));
        findings.push(Finding::new(circle[0], 1, says));
    }
    findings
}
