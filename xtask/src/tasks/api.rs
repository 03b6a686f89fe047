//! Lists the public API of the crates that other programs use.
//!
//! The one rule: each name that other programs can use has one line with its signature. The lines
//! are sorted, so that the listing changes only if the API changes.
//!
//! The listing is made from syntax, without types: macro expansions and automatic traits are not
//! listed. A re-exported name is looked up in the crate that the `pub use` names. `cargo xtask
//! tidy` ensures that no two types of a crate have the same name.

pub mod mentions;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use quote::ToTokens;
use syn::{Attribute, ImplItem, Item, TraitItem, UseTree, Visibility};

use xtask::repository;

/// The crates with a listing: name, folder and file.
const LISTED: [(&str, &str, &str); 2] = [
    ("fullpipe", "stack", "docs/api/fullpipe.txt"),
    ("fullpipe-host", "host", "docs/api/fullpipe-host.txt"),
];

/// The crates in which a re-exported name may be defined.
const FOLDERS: [&str; 6] = ["stack", "host", "dhcp", "tcp", "pool", "wire"];

/// Returns the path and the text of each listing.
///
/// # Errors
/// Fails if a file can't be read or does not parse.
pub fn listings() -> Result<Vec<(&'static str, String)>> {
    let crates = FOLDERS
        .iter()
        .map(|folder| Crate::read(folder))
        .collect::<Result<Vec<_>>>()?;
    let pages = LISTED.iter().map(|(name, folder, file)| {
        let own = crates.iter().find(|one| one.folder == *folder);
        let own = own.expect("the crate was read");
        let mut listing = Listing {
            crates: &crates,
            own,
            lines: BTreeSet::new(),
        };
        let root = own.items(&[]).unwrap_or_default();
        listing.module(&name.replace('-', "_"), &[], root);
        let lines: Vec<String> = listing.lines.into_iter().collect();
        Ok((*file, lines.join("\n") + "\n"))
    });
    pages.collect()
}

/// A source file of a crate: its module path and its items.
struct SourceModule {
    path: Vec<String>,
    items: Vec<Item>,
}

/// The syntax of a crate.
struct Crate {
    folder: &'static str,
    modules: Vec<SourceModule>,
}

impl Crate {
    fn read(folder: &'static str) -> Result<Self> {
        let src = repository::root().join("crates").join(folder).join("src");
        let mut files = Vec::new();
        collect(&src, &mut files)?;
        let mut modules = Vec::new();
        for file in files {
            let text = fs::read_to_string(&file)?;
            let syntax =
                syn::parse_file(&text).with_context(|| format!("parsing {}", file.display()))?;
            let below = file.strip_prefix(&src)?.with_extension("");
            let mut path: Vec<String> = below
                .iter()
                .map(|part| part.to_string_lossy().into_owned())
                .collect();
            if matches!(path.last().map(String::as_str), Some("lib" | "mod")) {
                path.pop();
            }
            modules.push(SourceModule {
                path,
                items: syntax.items,
            });
        }
        Ok(Self { folder, modules })
    }

    /// Returns the items of the module at `path`; `None` if the module is not a file.
    fn items(&self, path: &[String]) -> Option<&[Item]> {
        let module = self.modules.iter().find(|module| module.path == path)?;
        Some(&module.items)
    }

    /// Returns the public item called `name`, preferably from a module called `parent`.
    fn find(&self, name: &str, parent: Option<&str>) -> Option<&Item> {
        let mut found = None;
        for module in &self.modules {
            let of_parent = module.path.last().map(String::as_str) == parent;
            for item in &module.items {
                if name_of(item).is_some_and(|own| own == name) && is_visible(item) {
                    if of_parent {
                        return Some(item);
                    }
                    found = found.or(Some(item));
                }
            }
        }
        found
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "tests" {
            collect(&path, files)?;
        } else if name.ends_with(".rs") && name != "tests.rs" {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// The unfinished listing of one crate.
struct Listing<'a> {
    crates: &'a [Crate],
    own: &'a Crate,
    lines: BTreeSet<String>,
}

impl Listing<'_> {
    /// Lists the public items of a module. Other crates see the module as `shown`.
    fn module(&mut self, shown: &str, path: &[String], items: &[Item]) {
        for item in items {
            match item {
                Item::Mod(module) if is_public(&module.vis) && !is_hidden(&module.attrs) => {
                    let shown = format!("{shown}::{}", module.ident);
                    let mut path = path.to_vec();
                    path.push(module.ident.to_string());
                    self.lines.insert(format!("pub mod {shown}"));
                    match &module.content {
                        Some((_, items)) => self.module(&shown, &path, items),
                        None => {
                            let own = self.own;
                            self.module(&shown, &path, own.items(&path).unwrap_or_default());
                        }
                    }
                }
                Item::Use(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                    self.reexport(shown, &item.tree, &mut Vec::new());
                }
                item if is_visible(item) => self.item(shown, None, item, self.own),
                _ => {}
            }
        }
    }

    fn reexport(&mut self, shown: &str, tree: &UseTree, before: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.reexport(shown, &path.tree, before);
                before.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.reexport(shown, tree, before);
                }
            }
            UseTree::Name(name) => self.name(shown, before, &name.ident.to_string(), None),
            UseTree::Rename(name) => {
                let known_as = name.rename.to_string();
                self.name(shown, before, &name.ident.to_string(), Some(&known_as));
            }
            UseTree::Glob(_) => {
                self.lines
                    .insert(format!("pub use {shown}::* of {}", before.join("::")));
            }
        }
    }

    /// Lists the item `name`, which a `pub use` re-exports. If the `pub use` renames the item,
    /// `known_as` is the new name.
    fn name(&mut self, shown: &str, before: &[String], name: &str, known_as: Option<&str>) {
        let first = before.first().map_or("", String::as_str);
        let folder = match first.strip_prefix("fullpipe") {
            Some("") => "stack",
            Some(rest) => rest.trim_start_matches('_'),
            None => self.own.folder,
        };
        let parent = before.last().map(String::as_str);
        // Search the crate that the `pub use` names first, then the others: the first crate may
        // only re-export an item that another crate defines.
        let crates = self.crates;
        let order = crates.iter().filter(|one| one.folder == folder);
        let order = order.chain(crates.iter().filter(|one| one.folder != folder));
        let found = order
            .filter_map(|one| Some((one, one.find(name, parent)?)))
            .next();
        match found {
            Some((of, item)) => self.item(shown, known_as, item, of),
            None => {
                let path = before.join("::");
                self.lines
                    .insert(format!("pub use {shown}::{name} of {path}"));
            }
        }
    }

    /// Lists one item and everything that is reachable through it.
    fn item(&mut self, shown: &str, known_as: Option<&str>, item: &Item, of: &Crate) {
        let Some(name) = name_of(item) else {
            return;
        };
        let path = format!("{shown}::{}", known_as.unwrap_or(&name));
        match item {
            Item::Fn(item) => self.add("pub fn", &path, &item.sig.clone(), &name),
            Item::Const(item) => {
                self.add("pub const", &path, &item.ty, "");
            }
            Item::Type(item) => self.add("pub type", &path, &item.ty, ""),
            Item::Struct(item) => {
                self.lines
                    .insert(format!("pub struct {path}{}", tokens(&item.generics)));
                self.derives(&path, &item.attrs);
                for (at, field) in item.fields.iter().enumerate() {
                    if is_public(&field.vis) {
                        let name = field
                            .ident
                            .as_ref()
                            .map_or(at.to_string(), |i| i.to_string());
                        self.add("pub field", &format!("{path}::{name}"), &field.ty, "");
                    }
                }
                self.impls(&path, &name, of);
            }
            Item::Enum(item) => {
                self.lines
                    .insert(format!("pub enum {path}{}", tokens(&item.generics)));
                self.derives(&path, &item.attrs);
                for variant in &item.variants {
                    let fields = without_attributes(&variant.fields);
                    self.lines
                        .insert(format!("pub variant {path}::{}{fields}", variant.ident));
                }
                self.impls(&path, &name, of);
            }
            Item::Trait(item) => {
                let above = tokens(&item.supertraits);
                self.lines.insert(format!("pub trait {path}: {above}"));
                for member in &item.items {
                    match member {
                        TraitItem::Fn(member) => {
                            let name = member.sig.ident.to_string();
                            let kind = match member.default {
                                Some(_) => "provided fn",
                                None => "required fn",
                            };
                            self.add(kind, &format!("{path}::{name}"), &member.sig, &name);
                        }
                        TraitItem::Type(member) => {
                            let bounds = tokens(&member.bounds);
                            self.lines.insert(format!(
                                "required type {path}::{}: {bounds}",
                                member.ident
                            ));
                        }
                        TraitItem::Const(member) => {
                            let path = format!("{path}::{}", member.ident);
                            self.add("required const", &path, &member.ty, "");
                        }
                        _ => {}
                    }
                }
            }
            _ => {
                self.lines.insert(format!("pub item {path}"));
            }
        }
    }

    /// Lists a path with the signature or type of the item. The item's own `name` is left out of
    /// the signature.
    fn add(&mut self, kind: &str, path: &str, of: &impl ToTokens, name: &str) {
        let text = tokens(of);
        let line = match (name, text.split_once(&format!("fn {name}"))) {
            // Keep `const` and `async`, which come before `fn`, before the path.
            (_, Some((before, signature))) if !name.is_empty() => {
                format!("{kind} {path}{signature}").replacen("fn ", &format!("{before}fn "), 1)
            }
            _ => format!("{kind} {path}: {text}"),
        };
        self.lines.insert(line.replace("  ", " "));
    }

    fn derives(&mut self, path: &str, attributes: &[Attribute]) {
        for attribute in attributes.iter().filter(|a| a.path().is_ident("derive")) {
            if let Ok(list) = attribute.meta.require_list() {
                for name in list.tokens.to_string().split(',') {
                    self.lines
                        .insert(format!("impl {} for {path}", name.trim()));
                }
            }
        }
    }

    /// Lists the public members of a type and the traits that it implements.
    fn impls(&mut self, path: &str, name: &str, of: &Crate) {
        let items = of.modules.iter().flat_map(|module| &module.items);
        for item in items {
            let Item::Impl(block) = item else { continue };
            let syn::Type::Path(own) = &*block.self_ty else {
                continue;
            };
            let is_of = own
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == name);
            if !is_of || is_hidden(&block.attrs) {
                continue;
            }
            if let Some((implemented, _)) = &block.trait_ {
                let line = format!("impl {} for {path}", tokens(implemented));
                self.lines.insert(line);
                continue;
            }
            for member in &block.items {
                match member {
                    ImplItem::Fn(member) if is_public(&member.vis) && !is_hidden(&member.attrs) => {
                        let name = member.sig.ident.to_string();
                        self.add("pub fn", &format!("{path}::{name}"), &member.sig, &name);
                    }
                    ImplItem::Const(member) if is_public(&member.vis) => {
                        let path = format!("{path}::{}", member.ident);
                        self.add("pub const", &path, &member.ty, "");
                    }
                    _ => {}
                }
            }
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = tokens(&attribute.meta);
        text.replace(' ', "") == "doc(hidden)" || text.replace(' ', "") == "cfg(test)"
    })
}

/// Returns true for a public item that is neither a module nor a `use`.
fn is_visible(item: &Item) -> bool {
    let (visibility, attributes) = match item {
        Item::Const(item) => (&item.vis, &item.attrs),
        Item::Enum(item) => (&item.vis, &item.attrs),
        Item::Fn(item) => (&item.vis, &item.attrs),
        Item::Static(item) => (&item.vis, &item.attrs),
        Item::Struct(item) => (&item.vis, &item.attrs),
        Item::Trait(item) => (&item.vis, &item.attrs),
        Item::Type(item) => (&item.vis, &item.attrs),
        _ => return false,
    };
    is_public(visibility) && !is_hidden(attributes)
}

fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// Returns the fields of a variant as written, without their attributes.
fn without_attributes(fields: &syn::Fields) -> String {
    let mut fields = fields.clone();
    for field in &mut fields {
        field.attrs.clear();
    }
    tokens(&fields)
}

/// Returns syntax as text, with usual spaces.
fn tokens(of: &impl ToTokens) -> String {
    let mut text = of.to_token_stream().to_string();
    for (spaced, plain) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" ::", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ,", ","),
        ("& ", "&"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" ;", ";"),
        (" : ", ": "),
        ("& '", "&'"),
        ("- >", "->"),
        (",)", ")"),
        (", )", ")"),
    ] {
        text = text.replace(spaced, plain);
    }
    text.replace("->", " -> ").replace("  ", " ")
}
