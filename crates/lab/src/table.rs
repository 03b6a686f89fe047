//! A result as a table for people: published beside ours, limits, verdicts.
//!
//! Rule: nothing is computed here but deviations and roundings. What stands in
//! the table stands in the JSON too. The verdicts of a sweep stand only there:
//! they would bury its table.

use std::fmt::Write;

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table,
    presets::UTF8_FULL_CONDENSED,
};

use crate::{
    layout::Layout,
    measured::{FlowMeasured, Measured, Outcome, Quantity},
    report::{Report, RowReport},
    shares::Shares,
    units::{grouped, three_digits},
    verdict::verdict_text,
};

/// Limits shown for each end; the rest is in the JSON.
const LIMITS_SHOWN: usize = 3;
/// The last columns, which hold words.
const LIMIT_COLUMNS: usize = 2;
/// A smaller share is not worth a place in the table.
const SMALLEST_SHOWN: f64 = 0.005;

/// Connections of a flow that are told one by one.
const EACH_SHOWN: usize = 8;

/// The whole text: title, table, verdicts. The table's cells are folded to fit
/// `width` columns; `None` gives each the width it likes.
pub fn text(report: &Report, width: Option<u16>) -> String {
    let mut out = format!("{} \u{2013} {}\n", report.experiment, report.title);
    if let Some(source) = &report.source {
        let _ = writeln!(out, "published: {source}");
    }
    let seeds = report.rows.iter().map(|row| row.seeds).max().unwrap_or(1);
    if seeds > 1 {
        let _ = writeln!(
            out,
            "rows with two numbers below a figure: its median over {seeds} seeds, and between them \
             the middle half of these"
        );
    }
    let is_as_written = report.overrides.is_empty();
    if !is_as_written {
        let _ = writeln!(out, "changed: {}", report.overrides.join(", "));
    }
    let _ = writeln!(out, "{}", table(report, width));
    if !report.axes().is_empty() {
        return out;
    }
    for row in &report.rows {
        let _ = writeln!(out, "\u{2022} {}", row.label);
        let layout = width.map_or_else(Layout::default, |width| Layout::plain(width.into()));
        out.push_str(&verdict_text(&row.verdict.parts, layout));
        if !row.measured.flows.is_empty() {
            let flows: Vec<_> = row.measured.flows.iter().map(flow).collect();
            let _ = writeln!(out, "  {}", flows.join("; "));
        }
        // What the file says of its rows is not said of rows that were changed.
        if let Some(note) = row.note.as_ref().filter(|_| is_as_written) {
            let _ = writeln!(out, "  {note}");
        }
    }
    if !is_as_written {
        return out;
    }
    let fitted: Vec<_> = report
        .rows
        .iter()
        .filter(|row| !row.fitted.is_empty())
        .collect();
    for (place, row) in fitted.iter().enumerate() {
        let parameters = row.fitted.join(", ");
        let rest = if place + 1 == fitted.len() {
            "; every other row is a prediction"
        } else {
            ""
        };
        let _ = writeln!(out, "fitted on row `{}`: {parameters}{rest}", row.label);
    }
    out
}

fn table(report: &Report, width: Option<u16>) -> Table {
    let quantities = report.quantities();
    let baseline = report
        .rows
        .iter()
        .any(|row| row.measured.goodput_of_baseline.is_some());
    let mut headings = vec!["row".to_string()];
    headings.extend(report.axes().iter().map(|path| path.replace('.', ".\n")));
    for quantity in &quantities {
        let published = report.is_published(quantity);
        if published {
            headings.push(format!("published\n{}", quantity.heading));
        }
        headings.push(format!("ours\n{}", quantity.heading));
        if published {
            headings.push("devi-\nation".to_string());
        }
        for peer in report.peers_with(quantity) {
            headings.push(format!("{peer}\n{}", quantity.heading));
        }
    }
    if baseline {
        headings.push("of\nbaseline".to_string());
    }
    headings.extend(
        [
            "full-\nsized",
            "peak pool\nbytes",
            "sender\nlimits",
            "receiver\nlimits",
        ]
        .map(String::from),
    );
    let mut table = Table::new();
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    table.load_style(UTF8_FULL_CONDENSED).set_header(headings);
    let numbers = 1..table.column_count() - LIMIT_COLUMNS;
    for column in table
        .column_iter_mut()
        .skip(numbers.start)
        .take(numbers.len())
    {
        // A number broken in two would be read as two.
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    for row in &report.rows {
        table.add_row(cells(report, row, &quantities, baseline));
    }
    table
}

fn cells(report: &Report, row: &RowReport, quantities: &[&Quantity], baseline: bool) -> Row {
    let RowReport {
        label,
        point,
        published,
        measured,
        limits,
        fitted,
        ..
    } = row;
    let mark = if fitted.is_empty() { "" } else { " (fitted)" };
    let mut cells = vec![Cell::new(format!("{label}{mark}"))];
    cells.extend(point.iter().map(|at| right(at.value.clone())));
    for (place, quantity) in quantities.iter().enumerate() {
        let figure = published.figure(quantity.name);
        let ours = (quantity.of)(measured);
        let is_published = report.is_published(quantity);
        if is_published {
            cells.push(right(match (figure, &published.outcome) {
                (Some(figure), _) => quantity.text(figure),
                (None, Some(outcome)) if place == 0 => outcome.clone(),
                (None, Some(_) | None) => dash(),
            }));
        }
        cells.push(right(match (measured.outcome, ours) {
            (Outcome::Stalled | Outcome::Dropped, _) if place == 0 => {
                measured.outcome.name().to_string()
            }
            (_, Some(ours)) => with_spread(quantity, measured, ours),
            (_, None) => dash(),
        }));
        if is_published {
            cells.push(right(match (figure, ours) {
                (Some(figure), Some(ours)) if figure != 0.0 => {
                    format!("{:+.1} %", (ours / figure - 1.0) * 100.0)
                }
                (Some(_), _) | (None, _) => dash(),
            }));
        }
        for peer in report.peers_with(quantity) {
            let figure = row.peer_figure(peer, quantity);
            cells.push(right(
                figure.map_or_else(dash, |figure| quantity.text(figure)),
            ));
        }
    }
    if baseline {
        let share = measured
            .goodput_of_baseline
            .map(|share| format!("{share:.3}"));
        cells.push(right(share.unwrap_or_else(dash)));
    }
    cells.push(right(full_sized(measured)));
    cells.push(right(grouped(measured.peak_pool_bytes)));
    cells.push(Cell::new(largest(&limits.sender)));
    cells.push(Cell::new(largest(&limits.receiver)));
    Row::from(cells)
}

fn full_sized(measured: &Measured) -> String {
    if measured.data_segments == 0 {
        return dash();
    }
    format!("{:.1} %", measured.full_sized_share * 100.0)
}

/// The value, and the middle half of the seeds below it.
fn with_spread(quantity: &Quantity, measured: &Measured, value: f64) -> String {
    let value = quantity.text(value);
    match quantity.spread_text(measured) {
        Some(spread) => format!("{value}\n{spread}"),
        None => value,
    }
}

/// A flow's share, in words.
fn flow(flow: &FlowMeasured) -> String {
    let mut each = flow.connections_mbps.clone();
    let connections = if each.len() <= EACH_SHOWN {
        let words: Vec<_> = each.iter().map(|goodput| three_digits(*goodput)).collect();
        words.join(", ")
    } else {
        each.sort_by(f64::total_cmp);
        let ends = [each[0], each[each.len() - 1], each[each.len() / 2]];
        let [least, most, median] = ends.map(three_digits);
        format!(
            "{} connections, each in its own time {least} to {most}, the median {median}",
            each.len()
        )
    };
    format!(
        "{} {} Mbit/s, {} % of all ({connections})",
        flow.flow,
        three_digits(flow.goodput_mbps),
        three_digits(flow.share * 100.0),
    )
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn dash() -> String {
    "\u{2013}".to_string()
}

fn largest(shares: &Shares) -> String {
    let mut largest = shares.largest_first();
    largest.retain(|(_, share)| *share >= SMALLEST_SHOWN);
    let lines = largest.iter().take(LIMITS_SHOWN);
    lines
        .map(|(name, share)| format!("{name} {:.0} %", share * 100.0))
        .collect::<Vec<_>>()
        .join("\n")
}
