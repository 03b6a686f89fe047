//! The matrix of levers (settings that could be changed, each with its gain) as text and as JSON.

use fullpipe_explain::{LeverKind, Matrix, MatrixLine, Tried};
use fullpipe_scenario::units::{rate_text, three_digits};

use crate::{
    layout::Layout,
    report::{pretty, versioned_each},
};

/// Columns that the two gains and the gaps after them take.
const INDENT: usize = 40;
/// Gains below this share are printed as no gain.
const NOTHING: f64 = 0.0005;

/// Returns the matrices as a JSON array, indented.
pub fn matrix_json(matrices: &[Matrix]) -> String {
    pretty(&versioned_each(matrices))
}

/// Returns the matrix as a table: each lever with its gain at twice the present amount and at the
/// ample amount (one that is so large that it no longer limits), then the levers that change
/// nothing.
pub fn matrix_text(matrix: &Matrix, layout: Layout) -> String {
    let mut text = String::new();
    let head = format!(
        "{}: {} without a change{}; {} possible changes, tried in {} runs with {}",
        matrix.row,
        rate_text(matrix.goodput_mbps * 1e6),
        if matrix.is_complete {
            ""
        } else {
            ", and the transfer does not complete"
        },
        matrix.levers.len(),
        matrix.runs,
        match matrix.seeds {
            1 => "1 seed".to_string(),
            seeds => format!("{seeds} seeds"),
        },
    );
    layout.paragraph(&mut text, "", 2, &head);
    let (changing, idle): (Vec<_>, Vec<_>) = matrix
        .levers
        .iter()
        .partition(|line| changes_something(line));
    if !changing.is_empty() {
        text.push('\n');
        let head = figures("twice", "no limit");
        layout.paragraph(
            &mut text,
            &head,
            INDENT,
            "change (value that no longer limits)",
        );
    }
    for line in changing {
        of_line(&mut text, line, layout);
    }
    if !idle.is_empty() {
        let names: Vec<_> = idle.iter().map(|line| line.lever.as_str()).collect();
        text.push('\n');
        let line = format!("Without effect: {}.", names.join(", "));
        layout.paragraph(&mut text, "", 2, &line);
    }
    if let Some(together) = &matrix.together {
        text.push('\n');
        let line = format!(
            "Together {}: {}.",
            together.levers.join(" and "),
            gain(&together.tried)
        );
        layout.paragraph(&mut text, "", 2, &line);
    }
    text
}

/// Returns true if a run with the lever did not complete or changed the goodput, or if the run's
/// error is too large to exclude a change.
fn changes_something(line: &MatrixLine) -> bool {
    let all = line.twice.iter().chain([&line.ample]);
    all.into_iter().any(|tried| {
        !tried.is_complete || tried.gain_share.abs() + tried.error_share * 2.0 >= NOTHING
    })
}

fn of_line(text: &mut String, line: &MatrixLine, layout: Layout) {
    let twice = line.twice.as_ref().map_or_else(|| "-".to_string(), gain);
    let mut words = match line.ample.changes.first() {
        // For a link, print the field that is set instead of the lever's name: the lever may name a
        // property that consists of several fields.
        Some(change) if line.kind == LeverKind::Path => format!("{} = {}", change.set, change.to),
        Some(change) if !line.lever.contains('=') => format!("{} = {}", line.lever, change.to),
        _ => line.lever.clone(),
    };
    if let Some(called) = &line.called {
        words += &format!(" ({called})");
    }
    layout.paragraph(text, &figures(&twice, &gain(&line.ample)), INDENT, &words);
}

fn figures(twice: &str, ample: &str) -> String {
    format!("{twice:>18}  {ample:>18}  ")
}

/// Returns the gain in percent, with its standard error.
fn gain(tried: &Tried) -> String {
    if !tried.is_complete {
        return "not complete".to_string();
    }
    if tried.gain_share.is_infinite() {
        return "from 0 Mbit/s".to_string();
    }
    let sign = if tried.gain_share >= NOTHING { "+" } else { "" };
    let percent = if tried.gain_share.abs() < NOTHING {
        "0".to_string()
    } else {
        three_digits(tried.gain_share * 100.0)
    };
    match tried.error_share {
        0.0 => format!("{sign}{percent} %"),
        error => format!("{sign}{percent} ± {} %", three_digits(error * 100.0)),
    }
}
