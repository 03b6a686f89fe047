//! The template of a new experiment file.
//!
//! Rule: it runs unchanged, in less than a second, and each line has a comment
//! with the alternatives.

/// The template's text; `NAME` is replaced by the experiment's name.
const TEMPLATE: &str = include_str!("template.toml");

/// An experiment called `name`, with a comment beside each line.
pub fn template(name: &str) -> String {
    TEMPLATE.replace("NAME", name)
}
