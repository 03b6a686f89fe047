//! Tests that the words belong to levers that exist, and that the page about verdicts has them.

use std::fs;

use super::*;
use crate::host;

#[test]
fn every_row_is_about_a_lever_of_a_host() {
    for (field, ..) in ROWS {
        assert!(host::knobs().any(|knob| knob == *field), "{field}");
    }
}

#[test]
fn the_page_about_verdicts_has_every_lever_with_words_of_its_own() {
    let path = format!("{}/../../docs/verdicts.md", env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(path).expect("the page exists");
    for (field, _, words) in ROWS {
        let lever = format!("| `{field}`");
        let mut lines = page.lines().filter(|line| line.starts_with(&lever));
        assert!(lines.any(|line| line.contains(words)), "{field}: {words}");
    }
}
