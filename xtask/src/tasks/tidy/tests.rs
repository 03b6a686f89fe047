//! Tests of each rule of tidy, with one text that breaks the rule and one that does not.
//!
//! `cargo xtask tidy` itself checks the whole tree.

use serde_json::json;

use super::exceptions::Exception;
use super::{
    Finding, RustFile, circles, edges, firmware, glossary, lengths, links, names, openers, source,
    words,
};

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
        ("bench/src/stacks/a.rs", unsafe_block, 1),
        ("bench/src/stacks/lwip.rs", unsafe_block, 0),
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
        (short, &excepted(82), "is within the limit again"),
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

#[test]
fn a_doc_comment_that_opens_with_a_question_word_is_found() {
    for (text, expected) in [
        ("//! What it is.\nfn f() {}\n", 1),
        ("/// Whether it is open.\nfn f() {}\n", 1),
        ("    /// `Why` not.\n", 1),
        ("/// Bytes in flight.\n/// When it is 0, nothing is.\n", 0),
        ("/// Whatever.\n", 0),
        ("// What follows is a table.\n", 0),
        ("//! A file.\n\n/// How fast it is.\n", 1),
    ] {
        let found = openers::check("a.rs", text);
        assert_eq!(found.len(), expected, "{text}: {:?}", lines(&found));
    }
}

#[test]
fn a_docstring_that_opens_with_a_question_word_is_found() {
    for (text, expected) in [
        ("\"\"\"What it is.\"\"\"\n", 1),
        ("def f():\n    \"\"\"How fast it is.\n\n    \"\"\"\n", 1),
        (
            "\"\"\"Bytes in flight.\n\nWhen it is 0, nothing is.\n\"\"\"\n",
            0,
        ),
        ("\"\"\"Whatever.\"\"\"\n", 0),
        ("# What follows is a table.\n", 0),
    ] {
        let found = openers::check_python("a.py", text);
        assert_eq!(found.len(), expected, "{text}: {:?}", lines(&found));
    }
}

#[test]
fn a_word_that_the_glossary_replaces_is_found_across_lines_and_in_any_case() {
    // The words of this table are not in the glossary, so that this file passes the check.
    let table = "\
| word | meaning | instead of |
| --- | --- | --- |
| in flight | sent | `under its wing`, travelling |
| transmit queue | a queue | `Garage`, `fly over` |
";
    let replaced = glossary::replaced(table);
    assert_eq!(replaced, ["fly over", "garage", "under its wing"]);
    for (text, expected) in [
        ("// It is under its wing.", 1),
        ("// It is under\n    // its wing.", 1),
        ("//! under its\n//! wing", 1),
        ("\"under its \\\n     wing\"", 1),
        ("// Not under. Its wing", 0),
        ("// It is under.\n// Its wing", 0),
        ("struct Garage;", 1),
        ("fn garage_door() {}", 1),
        ("struct SmallGarage;", 1),
        ("const GARAGE_MOST: u8 = 1;", 1),
        ("fn flyover() {}", 0),
        ("let fly_over = 1;", 1),
        ("struct MayFlyOver;", 1),
        ("a fly-over", 1),
        ("fly, over", 0),
        ("// travelling", 0),
    ] {
        let found = glossary::check("a.rs", text, &replaced);
        assert_eq!(found.len(), expected, "{text}: {:?}", lines(&found));
    }
    assert!(glossary::check(glossary::FILE, table, &replaced).is_empty());
}

#[test]
fn a_public_type_name_is_found_the_second_time_and_when_it_shadows_the_prelude() {
    let other = "pub struct Link;\n";
    for (text, expected) in [
        ("pub struct Link;\n", 1),
        ("pub(crate) enum Link {}\n", 1),
        ("mod inner { pub trait Link {} }\n", 1),
        ("struct Link;\n", 0),
        ("#[cfg(test)]\nmod tests { pub struct Link; }\n", 0),
        ("pub fn link() {}\n", 0),
        ("pub struct Send;\n", 1),
        ("pub enum Error { Drop }\n", 0),
        (
            "#[cfg(unix)]\npub type A = u8;\n#[cfg(not(unix))]\npub type A = u16;\n",
            0,
        ),
    ] {
        let (one, two) = (parsed("a.rs", other), parsed("b.rs", text));
        let found = names::check(&[&one, &two]);
        assert_eq!(found.len(), expected, "{text}: {:?}", lines(&found));
    }
}

#[test]
fn a_link_that_leads_out_of_a_crate_is_found_in_its_readme() {
    for (path, text, expected) in [
        ("crates/dns/README.md", "[why](../../docs/a.md)", 1),
        ("crates/dns/README.md", "[code](src/lib.rs)", 0),
        ("crates/dns/scripts/README.md", "[code](../src/lib.rs)", 0),
        ("crates/dns/scripts/README.md", "[why](../../host/b.md)", 1),
        ("docs/dns.md", "[why](../crates/dns/README.md)", 0),
    ] {
        let found = links::check(path, text);
        assert_eq!(found.len(), expected, "{path}: {text}: {:?}", lines(&found));
    }
}

/// Returns the circles of a crate with these files below `src`.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let parsed: Vec<_> = files
        .iter()
        .map(|(path, text)| parsed(path, text))
        .collect();
    let files: Vec<_> = parsed
        .iter()
        .zip(files)
        .map(|(file, (path, _))| (file, *path))
        .collect();
    lines(&circles::check(&circles::Modules::read(&files)))
}

#[test]
fn files_that_import_each_other_are_found_and_re_exports_are_no_imports() {
    let a = ("a.rs", "use crate::b::B;\npub struct A;\n");
    let b = ("b.rs", "use super::a::A;\npub struct B;\n");
    let plain_b = ("b.rs", "pub struct B;\n");
    assert_eq!(circles_of(&[a, plain_b]), Vec::<String>::new());
    let found = circles_of(&[a, b]);
    assert!(
        found.len() == 1
            && found[0].contains("a.rs uses b.rs (`crate::b::B`); b.rs uses a.rs (`super::a::A`)"),
        "{found:?}"
    );

    for (name, lib, one, two, expected) in [
        (
            "a child that uses its sibling through the parent's re-export",
            "mod one;\nmod two;\npub use one::One;\npub use two::Two;\n",
            "pub struct One;\n",
            "use super::One;\npub struct Two;\n",
            0,
        ),
        (
            "two siblings through it",
            "mod one;\nmod two;\npub use one::One;\npub use two::Two;\n",
            "use super::Two;\npub struct One;\n",
            "use super::One;\npub struct Two;\n",
            1,
        ),
        (
            "a parent and a child that use what the other defines",
            "mod one;\nuse one::One;\npub struct Own;\n",
            "use crate::Own;\npub struct One;\n",
            "",
            1,
        ),
        (
            "a parent that only uses its child",
            "mod one;\nuse self::one::One;\npub struct Own;\n",
            "use std::fmt;\nuse one_crate::One as Other;\npub struct One;\n",
            "use super::one::{self, One};\n",
            0,
        ),
        (
            "imports of tests",
            "mod one;\nuse one::One;\npub struct Own;\n",
            "pub struct One;\n#[cfg(test)]\nmod inner { use crate::Own; }\n",
            "",
            0,
        ),
    ] {
        let found = circles_of(&[("lib.rs", lib), ("one.rs", one), ("two.rs", two)]);
        assert_eq!(found.len(), expected, "{name}: {found:?}");
    }
}

/// Contents of a file: a name, the text, and the number of circles with a file that uses this one.
const USES_BY_PATH: [(&str, &str, usize); 17] = [
    ("a call", "fn g() { crate::two::f(); }\n", 1),
    ("a call through super", "fn g() { super::two::f(); }\n", 1),
    ("a type", "struct S { two: Option<super::two::Two> }\n", 1),
    ("a bound", "fn g<T: super::two::Two>() {}\n", 1),
    (
        "a pattern",
        "fn g(x: u8) { if let crate::two::Two = x {} }\n",
        1,
    ),
    (
        "an argument of a macro",
        "fn g() { dbg!(1, [crate::two::f()]); }\n",
        1,
    ),
    (
        "a capital in a macro",
        "pub use crate::two::Two;\nfn g() { dbg!(Two); }\n",
        1,
    ),
    (
        "an import in a function",
        "fn g() { use crate::two::{f, Two}; }\n",
        1,
    ),
    (
        "an imported module",
        "use crate::two;\nfn g() { two::f(); }\n",
        1,
    ),
    (
        "an implementation",
        "impl crate::two::Two { fn g() {} }\n",
        1,
    ),
    ("a re-export", "pub use crate::two::Two;\n", 0),
    (
        "a re-exported name",
        "pub use crate::two::Two;\nfn g(_: Two) {}\n",
        1,
    ),
    ("a visibility", "pub(in crate::two) struct S;\n", 0),
    (
        "another crate",
        "fn g() { two_crate::two::f(); ::two::f(); }\n",
        0,
    ),
    (
        "an own name",
        "mod two { pub fn f() {} }\nfn g() { two::f(); Self::two(); }\n",
        0,
    ),
    (
        "a method for tests",
        "impl One { #[cfg(test)] fn g() { super::two::f(); } }\n",
        0,
    ),
    (
        "a function for tests",
        "#[cfg(test)]\nfn g() { super::two::f(); }\n",
        0,
    ),
];

#[test]
fn a_path_without_an_import_is_an_edge_wherever_it_stands() {
    let lib = ("lib.rs", "mod one;\npub mod two;\n");
    let two = (
        "two.rs",
        "use crate::one::One;\npub fn f() {}\npub struct Two;\n",
    );
    for (name, text, expected) in USES_BY_PATH {
        let one = format!("pub struct One;\n{text}");
        let found = circles_of(&[lib, ("one.rs", &one), two]);
        assert_eq!(found.len(), expected, "{name}: {found:?}");
    }
}

#[test]
fn a_feature_that_the_firmware_does_not_list_is_found() {
    let with = |features: &[&str]| {
        let metadata = json!({
            "packages": [
                {
                    "name": "fullpipe-firmware",
                    "dependencies": [{ "name": "fullpipe", "features": ["ipv6"] }],
                },
                { "name": "fullpipe", "id": "stack" },
            ],
            "resolve": { "nodes": [{ "id": "stack", "features": features }] },
        });
        lines(&firmware::judge(&metadata))
    };
    assert_eq!(with(&["ipv6"]), Vec::<String>::new());
    let found = with(&["ipv6", "resting"]);
    assert!(
        found.len() == 1 && found[0].contains("resting"),
        "{found:?}"
    );
}
