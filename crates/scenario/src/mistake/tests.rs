//! Tests that a mistake is one line, and that its line and column count from 1.

use super::Mistake;

#[test]
fn lines_and_columns_count_characters_from_one() {
    for (name, text, offset, expected) in [
        ("the start", "abc", 0, (1, 1)),
        ("the same line", "abc", 2, (1, 3)),
        ("after a line break", "a\nbc", 3, (2, 2)),
        ("after a wide character", "\u{e9}b", 2, (1, 2)),
        ("inside a wide character", "a\u{e9}", 2, (1, 2)),
        ("past the end", "a\n", 9, (2, 1)),
    ] {
        let mistake = Mistake::at("f.toml", text, offset, "key", "wrong");
        assert_eq!((mistake.line, mistake.column), expected, "{name}");
    }
}

#[test]
fn a_mistake_is_one_line() {
    let mistake = Mistake::at("f.toml", "a\nb", 2, "a.b", "wrong\nexpected right");
    assert_eq!(
        mistake.to_string(),
        "f.toml:2:1: a.b: wrong, expected right"
    );
}
