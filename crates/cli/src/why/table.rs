//! The captures that were read, and their connections as a table.
//!
//! Rule: if lines are too narrow for all columns, whole columns are omitted, and no
//! column is cut.

use fullpipe_captures::{Capture, Connections, Row, limit_words};
use fullpipe_diagnose::inferred::Confidence;
use fullpipe_lab::{
    layout::{Layout, Tone},
    units::{grouped, rate_text, seconds_text},
};

/// Spaces between columns.
const GAP: usize = 2;

/// Returns counts of the captures' contents, and the warnings.
pub fn captures(captures: &[Capture], layout: Layout) -> String {
    let mut out = String::new();
    for capture in captures {
        let counters = &capture.counters;
        let span_s = (counters.ended_ns - counters.began_ns) as f64 / 1e9;
        let line = format!(
            "{} packets in {}, {} of them TCP segments",
            grouped(counters.frames),
            seconds_text(span_s),
            grouped(counters.segments),
        );
        let name = layout.paint(Tone::Heading, &capture.name);
        layout.paragraph(&mut out, "", 2, &format!("{name}: {line}"));
        for warning in &capture.warnings {
            let first = format!("  {}  ", layout.paint(Tone::Doubtful, "!"));
            layout.paragraph(&mut out, &first, 5, &warning.to_string());
        }
    }
    out.push('\n');
    out
}

/// A column of the table.
struct Column {
    name: &'static str,
    /// True if the text is aligned to the right.
    is_number: bool,
    /// Columns with the largest rank are omitted first.
    rank: u8,
    text: fn(&Row) -> String,
}

const COLUMNS: [Column; 9] = [
    Column {
        name: "#",
        is_number: true,
        rank: 0,
        text: |row| row.number.to_string(),
    },
    Column {
        name: "connection",
        is_number: false,
        rank: 0,
        text: |row| format!("{} > {}", row.sender, row.receiver),
    },
    Column {
        name: "bytes",
        is_number: true,
        rank: 3,
        text: |row| grouped(row.bytes),
    },
    Column {
        name: "time",
        is_number: true,
        rank: 2,
        text: |row| seconds_text(row.seconds),
    },
    Column {
        name: "goodput",
        is_number: true,
        rank: 0,
        text: |row| rate_text(row.goodput_bps),
    },
    Column {
        name: "RTT",
        is_number: true,
        rank: 4,
        text: |row| row.rtt_s.map_or("?".into(), seconds_text),
    },
    Column {
        name: "retrans",
        is_number: true,
        rank: 5,
        text: |row| {
            format!(
                "{} ({:.1} %)",
                grouped(row.retransmitted),
                row.retransmitted_share() * 100.0
            )
        },
    },
    Column {
        name: "lost",
        is_number: true,
        rank: 1,
        text: |row| seconds_text(row.lost_s),
    },
    Column {
        name: "limited by",
        is_number: false,
        rank: 0,
        text: limit,
    },
];

/// Returns the main limit and its share; a question mark stands for low confidence.
fn limit(row: &Row) -> String {
    let Some((limit, share, confidence)) = row.limit else {
        return "?".to_string();
    };
    let doubt = match confidence {
        Confidence::High => "",
        _ => "?",
    };
    format!(
        "{}{doubt} {:.0} %",
        limit_words(limit.name()),
        share * 100.0
    )
}

/// Returns the table of the connections: at most `top` of them, or all if `top` is 0.
pub fn connections(
    all: &Connections,
    captures: &[Capture],
    rows: &[Row],
    top: usize,
    layout: Layout,
) -> String {
    if rows.is_empty() {
        return "No connection was found.\n".to_string();
    }
    let count = match top {
        0 => rows.len(),
        top => top.min(rows.len()),
    };
    let rows = &rows[..count];
    let mut columns: Vec<_> = COLUMNS.iter().collect();
    let cells = |column: &Column| rows.iter().map(column.text).collect::<Vec<_>>();
    let width = |column: &Column| {
        let cells = cells(column).into_iter().map(|cell| cell.chars().count());
        cells.fold(column.name.len(), usize::max)
    };
    let total = |columns: &[&Column]| {
        let widths = columns.iter().map(|column| width(column) + GAP);
        widths.sum::<usize>().saturating_sub(GAP)
    };
    while total(&columns) > layout.width {
        let (place, widest) = (0..columns.len())
            .map(|place| (place, columns[place].rank))
            .max_by_key(|(_, rank)| *rank)
            .expect("a table has columns");
        if widest == 0 {
            break;
        }
        columns.remove(place);
    }
    let mut lines = vec![String::new(); rows.len() + 1];
    let last = columns.len() - 1;
    for (place, column) in columns.iter().enumerate() {
        let width = if place == last { 0 } else { width(column) };
        let gap = if place == last { 0 } else { GAP };
        let names = std::iter::once(column.name.to_string());
        for (line, cell) in lines.iter_mut().zip(names.chain(cells(column))) {
            *line += &match column.is_number {
                true => format!("{cell:>width$}{:gap$}", ""),
                false => format!("{cell:width$}{:gap$}", ""),
            };
        }
    }
    let mut out = layout.paint(Tone::Heading, lines[0].trim_end()) + "\n";
    for line in &lines[1..] {
        out += line.trim_end();
        out.push('\n');
    }
    out.push('\n');
    layout.paragraph(&mut out, "", 0, &notes(all, captures, rows.len()).join(" "));
    out
}

/// Returns the sentences below a table that shows `shown` connections.
fn notes(all: &Connections, captures: &[Capture], shown: usize) -> Vec<String> {
    let more = all.distinct() - shown as u64;
    let mut notes = Vec::new();
    if more > 0 {
        notes.push(format!(
            "{} more connections lost less time (--top 0 shows all).",
            grouped(more)
        ));
    }
    if let [(later, number), others @ ..] = all.same() {
        let others = match others.len() {
            0 => String::new(),
            more => format!(" {} more are in two captures.", grouped(more as u64)),
        };
        notes.push(format!(
            "Connection {later} is connection {number}, in another capture: `--flow {number}` merges both.{others}"
        ));
    }
    if captures.len() > 1 {
        notes.push("Connections are numbered in the order of the files.".to_string());
    }
    notes.push("`--flow N` prints what limited connection N. `lost` is time in which the sender had something to send and the path was not full; `?` marks low confidence.".to_string());
    notes
}
