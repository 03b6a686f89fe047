//! A table of a report's rows (scenarios). Each row has the results of fullpipe's stack and of this
//! machine's kernel.
//!
//! Rule: below the table are the reason for each row that the kernel did not run, and every
//! setting that was not applied.

use fullpipe_scenario::units::three_digits;

use crate::{
    grid::{Align, Grid, GridColumn},
    kernel_row::{KernelMeasured, KernelRow, MainLimit},
    layout::{Layout, Tone, columns},
    report::{Report, RowReport},
};

/// Returns the table, the settings that were not applied, and the notes. Returns an empty text if
/// no row was requested on the kernel.
pub fn kernel_text(report: &Report, layout: Layout) -> String {
    let rows: Vec<_> = report
        .rows
        .iter()
        .filter_map(|row| Some((row, row.kernel.as_ref()?)))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut out = head(&rows, layout);
    let cells: Vec<_> = rows
        .iter()
        .map(|(row, kernel)| cells(row, kernel))
        .collect();
    let grid = grid(&cells);
    let is_table = grid.width() <= layout.width;
    if is_table {
        out.push_str(&grid.head(layout));
        for row in &cells {
            let lines: Vec<_> = row.iter().map(|cell| vec![cell.clone()]).collect();
            out.push_str(&grid.row(&lines).expect("the columns fit their cells"));
        }
    }
    for ((row, kernel), cells) in rows.into_iter().zip(&cells) {
        let own = if is_table { Vec::new() } else { record(cells) };
        below(&mut out, row, kernel, own, layout);
    }
    out
}

/// Text of a cell without a value.
const NONE: &str = "-";

/// Headings: each quantity has a column of fullpipe's values and one of the kernel's.
const HEADINGS: [(&[&str], Align); 8] = [
    (&["row"], Align::Left),
    (&["Mbit/s", "fullpipe"], Align::Right),
    (&["Mbit/s", "Linux"], Align::Right),
    (&["seconds", "fullpipe"], Align::Right),
    (&["seconds", "Linux"], Align::Right),
    (&["limited by", "fullpipe: sender"], Align::Left),
    (&["limited by", "Linux: its sockets"], Align::Left),
    (&["limited by", "Linux: a capture"], Align::Left),
];

fn head(rows: &[(&RowReport, &KernelRow)], layout: Layout) -> String {
    let mut out = "\n".to_string();
    let mut ran = rows.iter().filter_map(|(_, kernel)| kernel.measured());
    let text = match ran.next() {
        Some(first) => format!(
            "The same rows on fullpipe in virtual time, and on Linux {} in real time over the \
             same link",
            first.kernel
        ),
        None => "No row can run on kernel hosts".to_string(),
    };
    layout.paragraph(&mut out, "", 2, &layout.paint(Tone::Heading, &text));
    out
}

fn grid(cells: &[Vec<String>]) -> Grid {
    let column = |(place, (heading, align)): (usize, &(&[&str], Align))| {
        let widths = cells.iter().map(|row| columns(&row[place]));
        GridColumn::new(heading, widths.max().unwrap_or(0), *align)
    };
    Grid {
        columns: HEADINGS.iter().enumerate().map(column).collect(),
    }
}

fn cells(row: &RowReport, kernel: &KernelRow) -> Vec<String> {
    let own = &row.measured;
    let ran = kernel.measured();
    let number = |of: fn(&KernelMeasured) -> f64| {
        ran.map_or_else(|| NONE.to_string(), |ran| three_digits(of(ran)))
    };
    let limit = |main: Option<MainLimit>| main.map_or_else(|| NONE.to_string(), limit_text);
    vec![
        row.title(),
        three_digits(own.goodput_mbps),
        number(|ran| ran.goodput_mbps),
        three_digits(own.elapsed_s),
        number(|ran| ran.elapsed_s),
        limit(MainLimit::of(row.account.sender.times())),
        limit(ran.and_then(|ran| ran.by_socket.main)),
        limit(ran.and_then(|ran| ran.by_capture.main)),
    ]
}

fn limit_text(main: MainLimit) -> String {
    let name = main.limit.name().replace('_', " ");
    format!("{name} {:.0} %", main.share * 100.0)
}

/// Returns the cells of a row as lines, for a terminal that is too narrow for the table.
fn record(cells: &[String]) -> Vec<(&'static str, String)> {
    let [
        _,
        own_rate,
        rate,
        own_time,
        time,
        own,
        by_socket,
        by_capture,
    ] = cells
    else {
        return Vec::new();
    };
    let mut lines = vec![(
        "fullpipe",
        format!("{own_rate} Mbit/s in {own_time} s, limited by: {own}"),
    )];
    if rate != NONE {
        lines.push((
            "Linux",
            format!(
                "{rate} Mbit/s in {time} s, limited by: {by_socket} (from its sockets), \
                 {by_capture} (from a capture)"
            ),
        ));
    }
    lines
}

/// Appends the lines about a row that follow the table: first `lines`, then the reason that the
/// kernel did not run the row, or the settings that were not applied and the notes.
fn below(
    out: &mut String,
    row: &RowReport,
    kernel: &KernelRow,
    mut lines: Vec<(&str, String)>,
    layout: Layout,
) {
    match kernel {
        KernelRow::Skipped { skipped } => lines.push(("skipped", skipped.clone())),
        KernelRow::Ran(ran) => {
            if !ran.not_applied.is_empty() {
                lines.push(("not applied", ran.not_applied.join("; ")));
            }
            lines.extend(ran.notes.iter().map(|note| ("note", note.clone())));
        }
    }
    if lines.is_empty() {
        return;
    }
    out.push('\n');
    layout.paragraph(out, "", 2, &layout.paint(Tone::Heading, &row.title()));
    for (key, text) in lines {
        layout.field(out, key, &text);
    }
}

#[cfg(test)]
mod tests;
