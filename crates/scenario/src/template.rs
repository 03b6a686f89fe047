//! The experiment file that `lab new` writes.
//!
//! Rule: the file runs unchanged in less than a second, and its comments name the
//! alternatives of each line.

/// The template, with `NAME` in place of the name.
const TEMPLATE: &str = include_str!("template.toml");

/// Returns an experiment file called `name`, with a comment beside each line.
pub fn template(name: &str) -> String {
    TEMPLATE.replace("NAME", name)
}
