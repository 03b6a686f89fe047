//! Tests of the fuzzers' initial inputs and arguments.

use super::*;

#[test]
fn a_fuzzer_of_the_stack_begins_with_long_scripts_and_tries_every_length() {
    let seeds = write_seeds("stack_stateful").unwrap();
    let lengths: Vec<u64> = fs::read_dir(&seeds)
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .collect();
    assert_eq!(lengths.len(), 64);
    assert!(lengths.iter().all(|&bytes| (200..=8_192).contains(&bytes)));
    let arguments = arguments("stack_stateful", 20, Some(&seeds));
    let position = |wanted: &str| arguments.iter().position(|argument| argument == wanted);
    assert!(position("corpus/stack_stateful") < position(seeds.to_str().unwrap()));
    assert!(position("-len_control=0") > position("--"));
}

#[test]
fn the_edges_are_those_of_the_last_line_that_has_them() {
    let said = "#2\tINITED cov: 7 ft: 8\n#9\tDONE   cov: 19 ft: 25 corp: 3\nDone 9 runs";
    assert_eq!(edges(said), Some("19"));
    assert_eq!(edges("Done"), None);
}
