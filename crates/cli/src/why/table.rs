//! The captures that were read, and their connections as a table.
//!
//! Rule: if lines are too narrow for all columns, whole columns are omitted. Nothing is cut: where
//! no further column can be omitted, cells take several lines.

use fullpipe_captures::{Apart, ApartBy, Capture, Connections, Row, limit_words};
use fullpipe_diagnose::{inferred::Confidence, observe::ConnectionFailure};
use fullpipe_lab::{
    layout::{Layout, Tone},
    units::{counted, grouped, rate_text, seconds_text},
};

/// Spaces between columns.
const GAP: usize = 2;

/// Returns counts of the captures' contents, and the warnings.
pub fn captures(captures: &[Capture], layout: Layout) -> String {
    let mut out = String::new();
    for capture in captures {
        let counters = &capture.counters;
        let span_s = (counters.ended_ns - counters.began_ns) as f64 / 1e9;
        let segments = match counters.segments {
            1 => "1 of them a TCP segment".to_string(),
            several => format!("{} of them TCP segments", grouped(several)),
        };
        let packets = counted(counters.frames, "packet");
        let line = format!("{packets} in {}, {segments}", seconds_text(span_s));
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

/// Name of the column with the addresses.
const CONNECTION: &str = "connection";

/// Name of the column with the lost time.
const LOST: &str = "lost";

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
        name: CONNECTION,
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
            let count = grouped(row.retransmitted);
            match row.data_segments {
                0 => count,
                _ => format!("{count} ({:.1} %)", row.retransmitted_share() * 100.0),
            }
        },
    },
    Column {
        name: LOST,
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

/// Returns the main limit and its share, and the failure if the connection failed; a question mark
/// stands for low confidence. A connection that was never established has only its failure.
fn limit(row: &Row) -> String {
    let failure = row.failure.map(|failure| match failure {
        ConnectionFailure::Unanswered { .. } if row.returned.is_some() => "unreachable",
        _ => failure.name(),
    });
    let limited = main_limit(row);
    match (row.failure, failure) {
        (
            Some(ConnectionFailure::Refused { .. } | ConnectionFailure::Unanswered { .. }),
            Some(name),
        ) => name.to_string(),
        (_, Some(name)) => format!("{limited}; {name}"),
        (_, None) => limited,
    }
}

fn main_limit(row: &Row) -> String {
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

/// Returns the table of the connections: at most `top` of them, or all if `top` is 0. `is_filtered`
/// is true if the user gave a filter.
pub fn connections(
    all: &Connections,
    captures: &[Capture],
    rows: &[Row],
    top: usize,
    is_filtered: bool,
    layout: Layout,
) -> String {
    if rows.is_empty() {
        let text = match is_filtered {
            true => "No connection was found that the filter chooses.\n",
            false => "No connection was found.\n",
        };
        return text.to_string();
    }
    let count = match top {
        0 => rows.len(),
        top => top.min(rows.len()),
    };
    let rows = &rows[..count];
    let (columns, fold) = columns(rows, layout);
    let mut out = lines(rows, &columns, fold, layout);
    out.push('\n');
    let mut notes = notes(all, captures, rows.len());
    notes.extend(legend(rows, &columns));
    layout.paragraph(&mut out, "", 0, &notes.join(" "));
    out
}

/// Form of the cell with the addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fold {
    /// Both addresses are on one line.
    One,
    /// Each address is on a line of its own.
    Ends,
    /// Goodput and limit are below the addresses, instead of in columns of their own.
    All,
}

impl Fold {
    /// Lines of `row` in `column`.
    fn cell(self, column: &Column, row: &Row) -> Vec<String> {
        let ends = [format!("{} >", row.sender), row.receiver.to_string()];
        match (column.name, self) {
            (CONNECTION, Self::Ends) => ends.into(),
            (CONNECTION, Self::All) => {
                let more = [rate_text(row.goodput_bps), limit(row)];
                ends.into_iter().chain(more).collect()
            }
            _ => vec![(column.text)(row)],
        }
    }
}

/// Width of `column`.
fn width(rows: &[Row], column: &Column, fold: Fold) -> usize {
    let cells = rows.iter().flat_map(|row| fold.cell(column, row));
    let cells = cells.map(|cell| cell.chars().count());
    cells.fold(column.name.len(), usize::max)
}

/// Returns the columns that fit, and the form of their cells. If lines are too narrow for all
/// columns, columns are omitted; if they are too narrow for the most important columns, cells take
/// several lines.
fn columns(rows: &[Row], layout: Layout) -> (Vec<&'static Column>, Fold) {
    let mut columns: Vec<_> = COLUMNS.iter().collect();
    let mut fold = Fold::One;
    let total = |columns: &[&Column], fold: Fold| {
        let widths = columns.iter().map(|column| width(rows, column, fold) + GAP);
        widths.sum::<usize>().saturating_sub(GAP)
    };
    while total(&columns, fold) > layout.width {
        let ranks = columns.iter().map(|column| column.rank);
        let widest = ranks.enumerate().max_by_key(|(_, rank)| *rank);
        match (widest, fold) {
            (Some((place, 1..)), _) => drop(columns.remove(place)),
            (_, Fold::One) => fold = Fold::Ends,
            (_, Fold::Ends) => {
                fold = Fold::All;
                columns.retain(|column| ["#", CONNECTION].contains(&column.name));
            }
            (_, Fold::All) => break,
        }
    }
    (columns, fold)
}

/// Returns the heading and the lines of `rows`.
fn lines(rows: &[Row], columns: &[&Column], fold: Fold, layout: Layout) -> String {
    let last = columns.len() - 1;
    // Compute the widths once, because each is computed from all rows.
    let mut widths: Vec<_> = columns
        .iter()
        .map(|column| width(rows, column, fold))
        .collect();
    widths[last] = 0;
    let line = |cell: &dyn Fn(&Column) -> String| {
        let mut line = String::new();
        for (place, column) in columns.iter().enumerate() {
            let wide = widths[place];
            let gap = if place == last { 0 } else { GAP };
            let cell = cell(column);
            line += &match column.is_number {
                true => format!("{cell:>wide$}{:gap$}", ""),
                false => format!("{cell:wide$}{:gap$}", ""),
            };
        }
        line.trim_end().to_string()
    };
    let heading = line(&|column| column.name.to_string());
    let mut out = layout.paint(Tone::Heading, &heading) + "\n";
    for row in rows {
        let cells = columns.iter().map(|column| fold.cell(column, row).len());
        for number in 0..cells.max().unwrap_or(1) {
            out += &line(&|column| {
                fold.cell(column, row)
                    .get(number)
                    .cloned()
                    .unwrap_or_default()
            });
            out.push('\n');
        }
    }
    out
}

/// Returns the sentences below a table that shows `shown` connections.
fn notes(all: &Connections, captures: &[Capture], shown: usize) -> Vec<String> {
    let more = all.distinct() - shown as u64;
    let mut notes = Vec::new();
    let left_out = all.left_out();
    if more > 0 {
        let others = match left_out {
            0 => " (--top 0 shows all)".to_string(),
            _ if left_out == more => String::new(),
            _ => format!(
                " (--top 0 shows all except {})",
                counted(left_out, "connection")
            ),
        };
        let more = counted(more, "more connection");
        notes.push(format!("{more} lost less time{others}."));
    }
    if let [(later, number), others @ ..] = all.same() {
        let others = match others.len() {
            0 => String::new(),
            1 => " 1 more connection is in two captures.".to_string(),
            more => format!(
                " {} more connections are in two captures.",
                grouped(more as u64)
            ),
        };
        notes.push(format!(
            "Connection {later} is the same as connection {number} of another capture: \
             `--flow {number}` merges both captures.{others}"
        ));
    }
    if let [first, others @ ..] = all.apart() {
        notes.push(apart(first));
        match others.len() {
            0 => {}
            1 => notes.push(
                "1 more pair of connections is probably the same connection (--json lists it)."
                    .to_string(),
            ),
            more => notes.push(format!(
                "{} more pairs of connections are probably the same connection (--json lists them).",
                grouped(more as u64)
            )),
        }
    }
    if captures.len() > 1 {
        notes.push("Connections are numbered in the order of the files.".to_string());
    }
    notes.push("`--flow N` prints what limited connection N.".to_string());
    notes
}

/// Returns the sentences that explain the columns of the table.
fn legend(rows: &[Row], columns: &[&Column]) -> Vec<String> {
    let is_doubtful = |row: &Row| limit(row).contains('?');
    let has_lost = columns.iter().any(|column| column.name == LOST);
    let lost = has_lost.then_some(
        "`lost` is time in which the sender had something to send and the path was not full.",
    );
    let doubtful = rows
        .iter()
        .any(is_doubtful)
        .then_some("`?` after a limit marks low confidence.");
    let all = lost.into_iter().chain(doubtful);
    all.map(str::to_string).collect()
}

/// Returns the sentence about two rows that are probably one connection.
pub fn apart(pair: &Apart) -> String {
    let Apart {
        connection,
        earlier,
        reason,
    } = pair;
    match reason {
        ApartBy::LateCapture => format!(
            "Connection {connection} has the addresses and ports of connection {earlier} and is probably the same one; they are not merged because one capture begins after the handshake."
        ),
        ApartBy::AddressTranslation => format!(
            "Connection {connection} has the initial sequence numbers of connection {earlier} and is probably the same one behind NAT; they are not merged because the addresses or ports differ."
        ),
    }
}
