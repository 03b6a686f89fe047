//! A corpus of experiment files with one mistake each.
//!
//! Rule: the first line of each file is a comment with the whole message that
//! refuses it. Whoever changes a message sees here what people will read.

use std::{fs, path::Path};

use fullpipe_lab::Experiment;

#[test]
fn every_mistake_is_refused_in_one_line_that_says_where_and_what() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(
        files.len() >= 60,
        "only {} files: the corpus was not found",
        files.len()
    );
    let mut wrong = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let expected = text.lines().next().unwrap().trim_start_matches("# ");
        let given = match Experiment::parse(name, "f", &text) {
            Err(mistake) => mistake.to_string(),
            Ok(_) => "accepted".to_string(),
        };
        assert!(!given.contains('\n'), "{name}: {given}");
        if given != format!("f:{expected}") {
            wrong.push(format!(
                "{name}\n  expected f:{expected}\n  given    {given}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
