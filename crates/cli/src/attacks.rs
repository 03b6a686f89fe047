//! `fullpipe lab attacks`: the cost of attacks as a table, or as one record for each attack if the
//! terminal is narrow.
//!
//! Rule: an attack's name is never wrapped in the table. `fullpipe-attacks` runs the attacks.

#[cfg(test)]
mod tests;

use fullpipe_attacks::{AttackRow, HEADINGS};
use fullpipe_lab::{
    WIDE,
    grid::{Align, Grid, GridColumn},
    layout::{Layout, Tone, columns},
};

use crate::{
    arguments::LabAttacksArguments,
    failure::Failure,
    output::{Terminal, print},
};

/// Width at which headings are wrapped.
const HEADING: usize = 9;

/// Runs the subcommand.
pub fn run(arguments: &LabAttacksArguments, terminal: &Terminal) -> Result<(), Failure> {
    let rows = fullpipe_attacks::attacks(&arguments.attacks).map_err(Failure::usage)?;
    print(&match arguments.json {
        true => fullpipe_attacks::attacks_json(&rows, fullpipe_lab::JSON_SCHEMA),
        false => text(&rows, terminal.layout),
    })
}

fn text(rows: &[AttackRow], layout: Layout) -> String {
    table(rows, layout).unwrap_or_else(|| records(rows, layout))
}

/// Returns the table and the counters below it; `None` if the table is wider than the terminal.
fn table(rows: &[AttackRow], layout: Layout) -> Option<String> {
    let cells: Vec<_> = rows.iter().map(AttackRow::cells).collect();
    let grid = Grid {
        columns: (0..HEADINGS.len())
            .map(|place| {
                let heading = layout.lines(HEADINGS[place], HEADING);
                let heading: Vec<_> = heading.iter().map(String::as_str).collect();
                let widths = cells.iter().map(|cells| columns(&cells[place]));
                let align = if place == 0 {
                    Align::Left
                } else {
                    Align::Right
                };
                GridColumn::new(&heading, widths.max().unwrap_or(0), align)
            })
            .collect(),
    };
    if layout.width < WIDE || grid.width() > layout.width {
        return None;
    }
    let mut out = grid.head(layout);
    for cells in cells {
        out.push_str(&grid.row(&cells.map(|cell| vec![cell]))?);
    }
    let counted = rows.iter().filter(|row| !row.counters.is_empty());
    for (number, row) in counted.enumerate() {
        if number == 0 {
            out.push('\n');
        }
        let counters = format!("{}: {}", row.attack, row.counters_text());
        layout.paragraph(&mut out, "\u{2022} ", 2, &counters);
    }
    Some(out)
}

fn records(rows: &[AttackRow], layout: Layout) -> String {
    let mut out = String::new();
    for row in rows {
        let [
            attack,
            packets,
            blocks,
            ranges,
            pieces,
            left,
            per_packet,
            worst,
            client,
        ] = row.cells();
        if !out.is_empty() {
            out.push('\n');
        }
        layout.paragraph(&mut out, "", 2, &layout.paint(Tone::Heading, &attack));
        let work = format!("{packets}; nodes per packet {per_packet}, worst packet {worst}");
        layout.field(&mut out, "packets", &work);
        let peaks = format!("blocks {blocks}, ranges {ranges}, pieces {pieces}");
        layout.field(&mut out, "peak", &peaks);
        layout.field(&mut out, "blocks left", &left);
        layout.field(&mut out, "client", &format!("transfer beside it {client}"));
        if !row.counters.is_empty() {
            layout.field(&mut out, "counters", &row.counters_text());
        }
    }
    out
}
