//! Tests of the page in a browser: the page draws, reacts to input, and does a bounded amount of
//! work for each frame.
//!
//! Rule: tests read pixels and texts, and act by clicks and keys, as a person does. No test judges
//! a time. These tests need Chromium; `cargo xtask test --only page` runs them.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;
mod browser;
mod harness;
mod in_browser;
mod synthetic;
