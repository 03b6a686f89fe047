//! Checks that a report fits terminals of every usual width.
//!
//! Rule: the experiment runs once, and its report is printed at each width.

use fullpipe_lab::{
    Report, RowReport,
    layout::{Layout, columns},
    report_text,
};

const WIDTHS: [usize; 5] = [60, 80, 100, 140, 200];

/// Asserts that no line of `report` is longer than the width, and that no label and no number is
/// cut.
pub fn assert_fits(report: &Report) {
    let name = &report.experiment;
    for width in WIDTHS {
        let text = report_text(report, Layout::plain(width));
        for line in text.lines() {
            let length = columns(line);
            assert!(
                length <= width,
                "{name}: {length} of {width} columns: {line}"
            );
        }
        let coloured = report_text(
            report,
            Layout {
                colour: true,
                ..Layout::plain(width)
            },
        );
        let lines = coloured.lines().zip(text.lines());
        for (painted, plain) in lines {
            assert_eq!(
                columns(painted),
                columns(plain),
                "{name}: colour moves: {plain}"
            );
        }
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in &report.rows {
            assert_row_is_whole(report, row, &words, width);
        }
    }
}

fn assert_row_is_whole(report: &Report, row: &RowReport, words: &str, width: usize) {
    let label = row.label.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(&label),
        "{}: `{label}` is cut at {width} columns",
        report.experiment
    );
    for quantity in report.quantities() {
        let Some(value) = (quantity.of)(&row.measured) else {
            continue;
        };
        let is_first = quantity.name == report.quantities()[0].name;
        if is_first && row.measured.outcome != fullpipe_lab::Outcome::Complete {
            continue;
        }
        let number = quantity.text(value);
        let is_whole = |before: Option<char>| before.is_none_or(|at| !at.is_ascii_digit());
        let found = words.match_indices(&number);
        let mut found = found.filter(|(at, _)| is_whole(words[..*at].chars().next_back()));
        assert!(
            found.next().is_some(),
            "{}, `{label}`: {number} is cut at {width} columns",
            report.experiment
        );
    }
}
