//! A parsed Rust file.
//!
//! The one rule: a file is parsed once, and every check reads the same syntax.

use syn::spanned::Spanned;

use super::finding::Finding;

/// A Rust file, with its text and its syntax.
pub struct RustFile {
    /// Path relative to the repository.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// The parsed text.
    pub syntax: syn::File,
}

impl RustFile {
    /// Parses `text`, the content of the file `path`.
    ///
    /// # Errors
    /// Returns the place that is no Rust.
    pub fn parse(path: &str, text: &str) -> Result<RustFile, Finding> {
        match syn::parse_file(text) {
            Ok(syntax) => Ok(RustFile {
                path: path.to_owned(),
                text: text.to_owned(),
                syntax,
            }),
            Err(error) => {
                let line = error.span().span().start().line;
                Err(Finding::new(path, line, format!("does not parse: {error}")))
            }
        }
    }

    /// Returns the crate's folder name if the file belongs to `crates/NAME/`.
    pub fn crate_folder(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// Returns true if the attributes exclude an item from ordinary builds.
pub fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let test = |list: &syn::MetaList| list.tokens.to_string() == "test";
        attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(test)
    })
}
