//! Checks rules about the text of one Rust file.
//!
//! The one rule: each check reads only one file, so that its findings do not depend on other
//! files.
//!
//! `lengths` measures lengths; `edges` checks dependencies between crates.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::finding::Finding;
use super::rust_file::RustFile;

/// The crates that run on any platform: no standard library, no unsafe code.
pub const CORE: [&str; 4] = ["wire", "pool", "tcp", "stack"];

/// Folders and files that may use `unsafe`: for system calls, for the interface to C, for calls of
/// a stack that is written in C, and for registers. Clippy requires a reason for each unsafe block.
const UNSAFE_ALLOWED: [&str; 5] = [
    "crates/host/",
    "crates/capi/",
    "bench/src/stacks/lwip.rs",
    "firmware/src/",
    "xtask/footprint/src/",
];

/// Checks one Rust file against all rules of this module.
pub fn check(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(header(file));
    findings.extend(core_attributes(file));
    findings.extend(bare_allows(file));
    let mut walk = Walk {
        file,
        findings: &mut findings,
    };
    walk.visit_file(&file.syntax);
    findings
}

/// Checks that the file begins with `//!`. The text of that comment is not checked.
fn header(file: &RustFile) -> Option<Finding> {
    let opens = file
        .text
        .lines()
        .next()
        .is_some_and(|line| line.starts_with("//! "));
    (!opens).then(|| {
        Finding::new(
            &file.path,
            1,
            "the file must begin with a `//!` comment: what the file is, its one rule, what it does not do",
        )
    })
}

/// Checks that the four core crates declare at their root that they use neither std nor unsafe
/// code.
fn core_attributes(file: &RustFile) -> Vec<Finding> {
    let is_core_root = CORE
        .iter()
        .any(|name| file.path == format!("crates/{name}/src/lib.rs"));
    if !is_core_root {
        return Vec::new();
    }
    [
        ("#![no_std]", "no_std"),
        ("#![forbid(unsafe_code)]", "forbid"),
    ]
    .into_iter()
    .filter(|(text, name)| {
        let stated = file
            .syntax
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident(name));
        !(stated && file.text.contains(text))
    })
    .map(|(text, _)| {
        Finding::new(
            &file.path,
            1,
            format!("the root file of a core crate must contain `{text}`"),
        )
    })
    .collect()
}

/// Checks that each attribute that silences a lint has a reason: a comment above it, or its field
/// `reason`.
fn bare_allows(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut line_above = "";
    for (index, line) in file.text.lines().enumerate() {
        let trimmed = line.trim_start();
        let silences = ["#[allow(", "#![allow(", "#[expect(", "#![expect("]
            .iter()
            .any(|opening| trimmed.starts_with(opening));
        let explained = line_above.trim_start().starts_with("//") && !is_doc(line_above)
            || trimmed.contains("//")
            || trimmed.contains("reason");
        if silences && !explained {
            findings.push(Finding::new(
                &file.path,
                index + 1,
                "a silenced lint needs a reason: a comment above the attribute, or `reason = …`",
            ));
        }
        line_above = line;
    }
    findings
}

fn is_doc(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!")
}

/// Searches the syntax for `unsafe`, for inline test modules, and for the standard library in core
/// crates.
struct Walk<'a> {
    file: &'a RustFile,
    findings: &'a mut Vec<Finding>,
}

impl Walk<'_> {
    fn unsafe_at(&mut self, line: usize) {
        let path = &self.file.path;
        if !UNSAFE_ALLOWED.iter().any(|part| path.starts_with(part)) {
            let says = "`unsafe` is permitted only in the paths of UNSAFE_ALLOWED (xtask/src/tasks/tidy/source.rs)";
            self.findings
                .push(Finding::new(&self.file.path, line, says));
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_expr_unsafe(&mut self, block: &'ast syn::ExprUnsafe) {
        self.unsafe_at(block.unsafe_token.span().start().line);
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let Some(token) = &item.unsafety {
            self.unsafe_at(token.span().start().line);
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        if let syn::Safety::Unsafe(token) = &signature.safety {
            self.unsafe_at(token.span().start().line);
        }
        visit::visit_signature(self, signature);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident == "tests" && module.content.is_some() {
            self.findings.push(Finding::new(
                &self.file.path,
                module.span().start().line,
                "tests live in tests.rs beside the code: `#[cfg(test)] mod tests;`",
            ));
        }
        visit::visit_item_mod(self, module);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        let in_core = self
            .file
            .crate_folder()
            .is_some_and(|name| CORE.contains(&name));
        let in_library = self.file.path.contains("/src/") && !self.file.path.contains("tests");
        let for_tests = item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("cfg"));
        if in_core && in_library && item.ident == "std" && !for_tests {
            let line = item.span().start().line;
            let says = "a core crate may not use the standard library";
            self.findings
                .push(Finding::new(&self.file.path, line, says));
        }
        visit::visit_item_extern_crate(self, item);
    }
}
