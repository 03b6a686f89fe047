//! Tests of the forms in which the cost of attacks is printed.

use super::*;

fn rows() -> Vec<AttackRow> {
    let names = ["overlapping fragments", "on 16 connections"].map(String::from);
    fullpipe_attacks::attacks(&names).unwrap()
}

#[test]
fn the_cost_of_attacks_fits_every_width_and_has_every_value() {
    let rows = rows();
    for width in [40, 60, 80, 119, 120, 137, 138, 139, 200] {
        let text = text(&rows, Layout::plain(width));
        for line in text.lines() {
            assert!(columns(line) <= width, "{width}: {line}");
        }
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in &rows {
            let texts = row.cells().into_iter().chain([row.counters_text()]);
            for text in texts {
                assert!(words.contains(&text), "{width}: no {text} in {words}");
            }
        }
    }
}

#[test]
fn a_wide_terminal_has_a_table_and_a_narrow_one_has_records() {
    let rows = rows();
    let has_rule = |width| text(&rows, Layout::plain(width)).contains('\u{2500}');
    assert!(!has_rule(80));
    assert!(!has_rule(119));
    assert!(has_rule(140));
}
