//! Each rule of tidy, shown a text that breaks it and one that does not.
//!
//! The whole tree is checked by `cargo xtask tidy` itself, not here.

use serde_json::json;

use super::exceptions::Exception;
use super::{Finding, RustFile, edges, lengths, source, words};

fn parsed(path: &str, text: &str) -> RustFile {
    match RustFile::parse(path, text) {
        Ok(file) => file,
        Err(finding) => panic!("{finding}"),
    }
}

fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn unfinished_work_and_empty_names_are_found() {
    let to_do = concat!("TO", "DO");
    for (path, text, expected) in [
        ("a.rs", format!("// {to_do}: later"), 1),
        ("a.rs", format!("{to_do}LIST and my{to_do}"), 0),
        ("a.rs", concat!("    to", "do!()").to_owned(), 1),
        ("a.md", "nothing to say".to_owned(), 0),
        ("crates/x/src/utils.rs", String::new(), 1),
        ("crates/common/src/lib.rs", String::new(), 1),
        ("crates/x/src/utility_bill.rs", String::new(), 0),
    ] {
        let found = words::check(path, &text);
        assert_eq!(found.len(), expected, "{path}: {text}: {:?}", lines(&found));
    }
}

#[test]
fn the_text_of_a_file_is_held_to_the_rules() {
    let bare_allow = "//! A file.\n#[allow(dead_code)]\nfn f() {}\n";
    let reasoned = "//! A file.\n// Only one platform calls it.\n#[allow(dead_code)]\nfn f() {}\n";
    let inline_tests = "//! A file.\n#[cfg(test)]\nmod tests { fn f() {} }\n";
    let unsafe_block = "//! A file.\nfn f() { unsafe { g() } }\n";
    let unsafe_impl = "//! A file.\nunsafe impl Send for X {}\n";
    let core_root = "//! A file.\n#![no_std]\n#![forbid(unsafe_code)]\n";
    let core_with_std = "//! A file.\nextern crate std;\n";
    for (path, text, expected) in [
        ("crates/pool/src/a.rs", "//! A file.\nfn f() {}\n", 0),
        ("crates/pool/src/a.rs", "fn f() {}\n", 1),
        ("crates/pool/src/a.rs", bare_allow, 1),
        ("crates/pool/src/a.rs", reasoned, 0),
        ("crates/pool/src/a.rs", inline_tests, 1),
        ("crates/pool/src/a.rs", unsafe_block, 1),
        ("crates/host/src/a.rs", unsafe_block, 0),
        ("crates/lab/src/a.rs", unsafe_impl, 1),
        ("crates/pool/src/lib.rs", core_root, 0),
        ("crates/pool/src/lib.rs", "//! A file.\n#![no_std]\n", 1),
        ("crates/pool/src/lib.rs", "//! A file.\n", 2),
        ("crates/tcp/src/a.rs", core_with_std, 1),
        ("crates/sim/src/a.rs", core_with_std, 0),
    ] {
        let found = source::check(&parsed(path, text));
        assert_eq!(found.len(), expected, "{path}: {text}: {:?}", lines(&found));
    }
}

#[test]
fn exceptions_only_shrink() {
    let long = format!("//! A file.\nfn long() {{\n{}}}\n", "    f();\n".repeat(80));
    let short = "//! A file.\nfn long() {}\n";
    let excepted = |lines| {
        [Exception {
            what: "a.rs::long",
            lines,
            why: "a table",
        }]
    };
    for (text, exceptions, expected) in [
        (short, &[][..], ""),
        (&long, &[], "has 82 lines"),
        (&long, &excepted(82), ""),
        (&long, &excepted(81), "grew"),
        (&long, &excepted(83), "has shrunk"),
        (short, &excepted(82), "fits again"),
        ("//! A file.\n", &excepted(82), "is gone"),
    ] {
        let measured = lengths::measure(&[parsed("a.rs", text)]);
        let found = lines(&lengths::check(&measured, exceptions));
        match expected {
            "" => assert_eq!(found, Vec::<String>::new()),
            words => assert!(
                found.len() == 1 && found[0].contains(words),
                "{words}: {found:?}"
            ),
        }
    }
}

#[test]
fn a_long_file_is_found_and_comments_above_a_function_do_not_count() {
    let long = format!("//! A file.\n{}", "\n".repeat(800));
    assert_eq!(
        lengths::check(&lengths::measure(&[parsed("a.rs", &long)]), &[]).len(),
        1
    );
    let documented = format!("//! A file.\n{}fn f() {{}}\n", "/// Words.\n".repeat(100));
    assert_eq!(
        lengths::check(&lengths::measure(&[parsed("a.rs", &documented)]), &[]).len(),
        0
    );
}

#[test]
fn a_dependency_that_points_up_is_found() {
    let dependency = |name: &str, kind: Option<&str>, path: Option<&str>| json!({ "name": name, "kind": kind, "path": path, "optional": false });
    let package = |name: &str, dependencies: Vec<serde_json::Value>| json!({ "packages": [{ "name": name, "dependencies": dependencies }] });
    for (metadata, expected) in [
        (
            package(
                "fullpipe-tcp",
                vec![dependency("fullpipe-pool", None, Some("/x"))],
            ),
            0,
        ),
        (
            package(
                "fullpipe-pool",
                vec![dependency("fullpipe-tcp", None, Some("/x"))],
            ),
            1,
        ),
        (
            package(
                "fullpipe-pool",
                vec![dependency("fullpipe-tcp", Some("dev"), Some("/x"))],
            ),
            0,
        ),
        (
            package(
                "fullpipe-report",
                vec![dependency("fullpipe-cli", None, Some("/x"))],
            ),
            1,
        ),
        (
            package("fullpipe", vec![dependency("serde", None, None)]),
            1,
        ),
        (
            package("fullpipe", vec![dependency("hashbrown", None, None)]),
            0,
        ),
        (
            package("fullpipe-cli", vec![dependency("serde", None, None)]),
            0,
        ),
        (package("fullpipe-new", vec![]), 1),
    ] {
        let found = edges::judge(&metadata);
        assert_eq!(found.len(), expected, "{metadata}: {:?}", lines(&found));
    }
}
