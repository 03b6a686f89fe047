//! Tests of the pages of `docs/` that list names of this crate.
//!
//! Rule: each list is compared with the code in both directions.

use std::fs;

use fullpipe_explain::Cause;

fn page(name: &str) -> String {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_page_about_verdicts_lists_every_cause_with_its_words_and_no_other() {
    let page = page("verdicts.md");
    let from = page.find("\n## Causes\n").expect("the section exists") + 1;
    let section = &page[from..];
    let to = section[3..]
        .find("\n## ")
        .map_or(section.len(), |to| to + 3);
    let rows = section[..to].lines().filter(|line| line.starts_with("| `"));
    let listed: Vec<String> = rows
        .map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" | "))
        .collect();
    let causes: Vec<String> = Cause::all()
        .map(|cause| format!("| `{}` | {}", cause.name, cause.words))
        .collect();
    assert_eq!(listed, causes);
}
