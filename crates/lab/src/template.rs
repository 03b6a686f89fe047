//! A file to start from.
//!
//! Rule: it runs as it is, in less than a second, and says beside each line what
//! else could stand there; so a person changes it and never starts from nothing.

/// The template's text, with `NAME` where the name goes.
const TEMPLATE: &str = include_str!("template.toml");

/// An experiment called `name`, with a comment beside each line.
pub fn template(name: &str) -> String {
    TEMPLATE.replace("NAME", name)
}
