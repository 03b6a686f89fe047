//! Compares the lengths of files and functions with the limits.
//!
//! The one rule: a length is the number of lines that an editor shows. A function counts from `fn`
//! to its closing brace, without the attributes and comments above it.
//!
//! Complexity is not measured.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::exceptions::Exception;
use super::finding::Finding;
use super::rust_file::RustFile;

/// Longest permitted file, in lines.
pub const FILE_LINES: usize = 800;
/// Longest permitted function, in lines.
pub const FUNCTION_LINES: usize = 70;

/// Lengths of all files and functions in the tree.
pub struct Lengths {
    /// Lengths by key. The keys have the form of [`Exception::what`].
    of: BTreeMap<String, Length>,
}

struct Length {
    path: String,
    line: usize,
    lines: usize,
    limit: usize,
}

impl Lengths {
    /// Number of measured functions.
    pub fn functions(&self) -> usize {
        self.of
            .values()
            .filter(|length| length.limit == FUNCTION_LINES)
            .count()
    }
}

/// Measures each file and each function in it.
pub fn measure(files: &[RustFile]) -> Lengths {
    let mut of = BTreeMap::new();
    for file in files {
        let lines = file.text.lines().count();
        let length = Length {
            path: file.path.clone(),
            line: 1,
            lines,
            limit: FILE_LINES,
        };
        of.insert(file.path.clone(), length);
        let mut functions = Functions {
            file: &file.path,
            found: &mut of,
        };
        functions.visit_file(&file.syntax);
    }
    Lengths { of }
}

/// Compares lengths with the limits and with the list of exceptions.
pub fn check(lengths: &Lengths, exceptions: &[Exception]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (what, length) in &lengths.of {
        let excepted = exceptions.iter().find(|exception| exception.what == what);
        let says = match excepted {
            None if length.lines <= length.limit => continue,
            None => format!(
                "{what} has {} lines, the limit is {}",
                length.lines, length.limit
            ),
            Some(_) if length.lines <= length.limit => {
                format!(
                    "{what} is within the limit again: delete its exception in xtask/src/tasks/tidy/exceptions.rs"
                )
            }
            Some(exception) if length.lines > exception.lines => format!(
                "{what} grew from {} to {} lines; shorten it, because an exception ({}) may not grow",
                exception.lines, length.lines, exception.why
            ),
            Some(exception) if length.lines < exception.lines => format!(
                "{what} has shrunk to {} lines: lower its exception from {}",
                length.lines, exception.lines
            ),
            Some(_) => continue,
        };
        findings.push(Finding::new(&length.path, length.line, says));
    }
    for exception in exceptions {
        if !lengths.of.contains_key(exception.what) {
            let says = format!("{} is gone: delete the exception for it", exception.what);
            findings.push(Finding::new("xtask/src/tasks/tidy/exceptions.rs", 1, says));
        }
    }
    findings
}

/// Prints the ten longest files and the ten longest functions.
pub fn print_longest(lengths: &Lengths) {
    for limit in [FILE_LINES, FUNCTION_LINES] {
        let mut ranked: Vec<_> = lengths
            .of
            .iter()
            .filter(|(_, l)| l.limit == limit)
            .collect();
        ranked.sort_by_key(|(_, length)| std::cmp::Reverse(length.lines));
        println!("the longest, where {limit} lines are allowed:");
        for (what, length) in ranked.iter().take(10) {
            println!("{:6}  {what}", length.lines);
        }
    }
}

/// Collects the functions of one file.
struct Functions<'a> {
    file: &'a str,
    found: &'a mut BTreeMap<String, Length>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let line = signature.span().start().line;
        let lines = block.span().end().line + 1 - line;
        let name = format!("{}::{}", self.file, signature.ident);
        let length = Length {
            path: self.file.to_owned(),
            line,
            lines,
            limit: FUNCTION_LINES,
        };
        // Keep only the longer one of two methods with the same name in a file.
        match self.found.get(&name) {
            Some(other) if other.lines >= lines => {}
            Some(_) | None => {
                self.found.insert(name, length);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}
