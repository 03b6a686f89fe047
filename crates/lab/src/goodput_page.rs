//! Writes the page `docs/goodput.md`: the goodput of each row (scenario), and the limits of rows
//! that do not fill their path.
//!
//! Rule: nothing is computed here. Values and verdicts come from the reports.

use std::fmt::Write;

use fullpipe_scenario::measured::Quantity;

use fullpipe_explain::Cause;

use crate::report::{Report, RowReport};

#[cfg(test)]
mod tests;

/// A row fills its path if its busiest link is busy for at least this share of the time.
const FULL: f64 = 0.95;

const HEAD: &str = "\
# Goodput

<!-- Generated; see crates/lab/tests/tables.rs. -->

Goodput in the simulator over paths that lose and reorder segments, with full queues, and with little packet memory. A row
with random loss is run with 20 seeds: it shows the median, and in brackets the quartiles of the runs. A
column with another stack's name has the results of that stack, measured on another day. The list below each table has the
limits of the rows whose link is less than 95 % busy. For each limit it gives the proof for one row. This command prints
the results:

    fullpipe lab run loss memory shallow

`cargo xtask test --only lab` compares this page with a new run.
";

/// Returns the page for `reports`, with a chapter for each report.
pub fn goodput_markdown(reports: &[&Report]) -> String {
    let mut page = HEAD.to_string();
    for report in reports {
        chapter(&mut page, report);
    }
    page
}

fn chapter(page: &mut String, report: &Report) {
    let _ = writeln!(page, "\n## {}\n", report.title);
    let columns = columns(report);
    let headings: Vec<_> = columns.iter().map(PageColumn::heading).collect();
    let _ = writeln!(
        page,
        "| {} | limit |\n|{}",
        headings.join(" | "),
        " --- |".repeat(columns.len() + 1)
    );
    for row in &report.rows {
        let cells: Vec<_> = columns.iter().map(|column| column.cell(row)).collect();
        let _ = writeln!(page, "| {} | {} |", cells.join(" | "), limit(row));
    }
    let not_full: Vec<_> = report.rows.iter().filter(|row| !is_full(row)).collect();
    if not_full.is_empty() {
        let _ = writeln!(page, "\nThe link is at least 95 % busy in every row.");
        return;
    }
    let _ = writeln!(
        page,
        "\nLimits of the rows whose link is less than 95 % busy:\n"
    );
    let mut limits: Vec<&str> = Vec::new();
    for row in &not_full {
        if !limits.contains(&limit(row)) {
            limits.push(limit(row));
        }
    }
    for name in limits {
        let rows: Vec<_> = not_full.iter().filter(|row| limit(row) == name).collect();
        let labels: Vec<_> = rows.iter().map(|row| format!("`{}`", row.label)).collect();
        let parts = rows[0].verdict_parts();
        let proof = format!("{}. {}", parts.limited_by, parts.because.join(" "));
        let of = match rows.len() {
            1 => "Limited by".to_string(),
            _ => format!("For example `{}` is limited by", rows[0].label),
        };
        let _ = writeln!(
            page,
            "- **{name}** \u{2013} {}. {of} {proof}",
            labels.join(", ")
        );
    }
}

/// Returns the cause that the row's verdict names, in words.
fn limit(row: &RowReport) -> &str {
    row.verdict
        .as_ref()
        .map_or(Cause::NOTHING.words, |verdict| verdict.limit_words)
}

fn is_full(row: &RowReport) -> bool {
    row.measured.link_busy_share >= FULL
}

/// A column of a chapter's table.
enum PageColumn<'a> {
    Label,
    Ours(&'static Quantity),
    Published(&'static Quantity),
    Peer(&'a str, &'static Quantity),
}

/// Returns the columns: the label, and for each quantity the measured value, the published value
/// and the value of each other stack.
fn columns(report: &Report) -> Vec<PageColumn<'_>> {
    let mut columns = vec![PageColumn::Label];
    for quantity in report.quantities() {
        columns.push(PageColumn::Ours(quantity));
        if report.is_published(quantity) {
            columns.push(PageColumn::Published(quantity));
        }
        let peers = report.peers_with(quantity);
        columns.extend(
            peers
                .into_iter()
                .map(|peer| PageColumn::Peer(peer, quantity)),
        );
    }
    columns
}

impl PageColumn<'_> {
    fn heading(&self) -> String {
        match self {
            Self::Label => "row".to_string(),
            Self::Ours(quantity) => quantity.heading.to_string(),
            Self::Published(quantity) => format!("published {}", quantity.heading),
            Self::Peer(peer, quantity) => format!("{peer} {}", quantity.heading),
        }
    }

    fn cell(&self, row: &RowReport) -> String {
        let (quantity, value) = match self {
            Self::Label => return format!("`{}`", row.label),
            Self::Ours(quantity) => (quantity, (quantity.of)(&row.measured)),
            Self::Published(quantity) => (quantity, row.published.figure(quantity.name)),
            Self::Peer(peer, quantity) => (quantity, row.peer_figure(peer, quantity)),
        };
        let spread = match self {
            Self::Ours(quantity) => quantity.spread_text(&row.measured),
            Self::Label | Self::Published(_) | Self::Peer(..) => None,
        };
        match (value.map(|value| quantity.text(value)), spread) {
            (None, _) => "\u{2013}".to_string(),
            (Some(value), Some(spread)) => format!("{value} ({spread})"),
            (Some(value), None) => value,
        }
    }
}
