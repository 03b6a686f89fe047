//! Collects the paths by which a module names items.
//!
//! The one rule: every path counts, wherever it stands: in types, expressions, patterns, bounds,
//! `use` declarations inside functions, and the arguments of macros.
//!
//! The module's own `use` declarations are not collected here. Attributes, visibilities and code
//! for tests are skipped.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::rust_file::is_for_tests;

/// A path, as the names between its `::`.
pub type Names = Vec<String>;

/// Returns the paths in an item; for an item that only tests use, none.
pub fn in_item(item: &syn::Item) -> BTreeSet<Names> {
    let mut paths = Paths(BTreeSet::new());
    paths.visit_item(item);
    paths.0
}

/// Returns the paths that a `use` declaration imports.
pub fn imported(tree: &syn::UseTree) -> Vec<Names> {
    match tree {
        syn::UseTree::Path(path) => {
            let mut below = imported(&path.tree);
            for names in &mut below {
                names.insert(0, path.ident.to_string());
            }
            below
        }
        syn::UseTree::Group(group) => group.items.iter().flat_map(imported).collect(),
        syn::UseTree::Name(name) if name.ident == "self" => vec![Vec::new()],
        syn::UseTree::Rename(name) if name.ident == "self" => vec![Vec::new()],
        syn::UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        syn::UseTree::Rename(name) => vec![vec![name.ident.to_string()]],
        syn::UseTree::Glob(_) => vec![Vec::new()],
    }
}

struct Paths(BTreeSet<Names>);

impl Paths {
    /// Adds the paths in the arguments of a macro, whose syntax only the macro knows: each run of
    /// names joined by `::`. A single name is added if it is capitalised; otherwise it may be a
    /// variable.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut names = Names::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.add_run(&mut names);
                    }
                    names.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.add_run(&mut names);
                    colons = 0;
                    self.add_tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.add_run(&mut names);
                    colons = 0;
                }
            }
        }
        self.add_run(&mut names);
    }

    fn add_run(&mut self, names: &mut Names) {
        let capitalised = |name: &String| name.starts_with(|first: char| first.is_uppercase());
        if names.len() > 1 || names.first().is_some_and(capitalised) {
            self.0.insert(std::mem::take(names));
        }
        names.clear();
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !attributes(item).is_some_and(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter().map(|part| part.ident.to_string());
            self.0.insert(names.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.0.extend(imported(&item.tree));
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.add_tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

fn attributes(item: &syn::Item) -> Option<&[syn::Attribute]> {
    Some(match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => return None,
    })
}
