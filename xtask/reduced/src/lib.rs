//! Tests of the stack in builds that leave features out. The tests are in `tests/`.
//!
//! Rule: this package depends on the crate `fullpipe` only, because other crates of the repository
//! turn on its features.

/// The example of the documentation of `fullpipe` for firmware, which leaves features out.
#[cfg(doctest)]
#[doc = include_str!(concat!(env!("OUT_DIR"), "/example.md"))]
mod example {}
