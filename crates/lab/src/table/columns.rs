//! The columns of a result table: their choice, widths and contents.
//!
//! Rule: a width follows from headings, labels and the form of a quantity, never from a result. If
//! a result is longer than its column, its row (scenario) is printed as a record, so that no number
//! is cut.

use std::fmt;

use fullpipe_scenario::{
    document::hint,
    measured::{Form, Measured, Outcome, Quantity},
};

use super::words;

use crate::{
    grid::{Align, Grid, GridColumn},
    layout::{Layout, Tone, columns},
    outline::{Outline, row_label},
    report::RowReport,
};

/// Smallest width of the column with the limits, in characters.
const LEAST_LIMITS: usize = 34;
/// Largest width of the column with the limits, in characters.
const MOST_LIMITS: usize = 72;
/// Name of the column with the limits.
const LIMITS: &str = "limits";
/// Width of a deviation such as `+1234.5 %`.
const DEVIATION: usize = 9;

/// Columns that were chosen with `--columns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<&'static str>);

/// Error for a name that is not the name of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnError(String);

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ColumnError {}

impl std::str::FromStr for Columns {
    type Err = ColumnError;

    /// Parses names separated by commas: `goodput_mbps,srtt_ms,limits`.
    fn from_str(text: &str) -> Result<Self, ColumnError> {
        let names = Quantity::ALL.iter().map(|quantity| quantity.name);
        let known = names.chain([LIMITS]);
        let one = |name: &str| {
            let found = known.clone().find(|known| *known == name);
            found.ok_or_else(|| {
                let hint = hint(name, known.clone());
                ColumnError(format!("no column is called `{name}`; {hint}"))
            })
        };
        let columns = text.split(',').map(str::trim).map(one);
        Ok(Self(columns.collect::<Result<_, _>>()?))
    }
}

/// A part of a row that is shown.
#[derive(Clone, Copy)]
pub(super) enum Shown {
    Quantity(&'static Quantity),
    Limits,
}

/// Returns the chosen parts. Without a choice, returns the report's quantities, the goodput
/// relative to the baseline (the row that other rows are compared with) if there is one, the share
/// of full-sized segments, the packet memory, and the limits.
pub(super) fn shown(outline: &Outline, chosen: Option<&Columns>) -> Vec<Shown> {
    if let Some(Columns(names)) = chosen {
        let part = |name: &&'static str| match *name {
            LIMITS => Shown::Limits,
            name => Shown::Quantity(Quantity::named(name)),
        };
        return names.iter().map(part).collect();
    }
    let mut quantities = outline.quantities();
    let baseline = outline.has_baseline().then_some("goodput_of_baseline");
    let usual = ["full_sized_share", "peak_pool_bytes"];
    for name in baseline.into_iter().chain(usual) {
        if quantities.iter().all(|known| known.name != name) {
            quantities.push(Quantity::named(name));
        }
    }
    let quantities = quantities.into_iter().map(Shown::Quantity);
    quantities.chain([Shown::Limits]).collect()
}

/// One column of a result table.
enum Content {
    Label,
    /// Value of a swept setting, by the index of its axis.
    Axis(usize),
    Published(&'static Quantity),
    /// Measured result. The second value is true for the first quantity, whose column may show an
    /// outcome instead.
    Ours(&'static Quantity, bool),
    Deviation(&'static Quantity),
    Peer(String, &'static Quantity),
    Limits,
}

/// A table of results that fits the width of the output.
pub(super) struct ResultTable {
    contents: Vec<Content>,
    /// Lines of the table.
    pub grid: Grid,
}

impl ResultTable {
    /// Creates the table of the `shown` parts; `None` if it is wider than `layout`.
    pub fn fitting(outline: &Outline, shown: &[Shown], layout: Layout) -> Option<Self> {
        let contents = contents(outline, shown);
        let mut columns: Vec<_> = contents.iter().map(|at| at.column(outline)).collect();
        let limits = contents.iter().position(|at| matches!(at, Content::Limits));
        if let Some(place) = limits {
            let others = Grid::width_of(&columns) - columns[place].width;
            let room = layout.width.checked_sub(others)?;
            columns[place].width = room.clamp(LEAST_LIMITS, MOST_LIMITS);
        }
        let grid = Grid { columns };
        (grid.width() <= layout.width).then_some(Self { contents, grid })
    }

    /// Returns the cells of a row, each with one or more lines.
    pub fn cells(&self, row: &RowReport, layout: Layout) -> Vec<Vec<String>> {
        let columns = self.contents.iter().zip(&self.grid.columns);
        columns
            .map(|(content, column)| content.cell(row, column.width, layout))
            .collect()
    }
}

fn contents(outline: &Outline, shown: &[Shown]) -> Vec<Content> {
    let mut contents = vec![Content::Label];
    contents.extend((0..outline.axes().len()).map(Content::Axis));
    let mut is_first = true;
    for part in shown {
        let Shown::Quantity(quantity) = part else {
            contents.push(Content::Limits);
            continue;
        };
        let is_published = outline.is_published(quantity);
        if is_published {
            contents.push(Content::Published(quantity));
        }
        contents.push(Content::Ours(quantity, is_first));
        if outline.is_compared(quantity) {
            contents.push(Content::Deviation(quantity));
        }
        for peer in outline.peers_with(quantity) {
            contents.push(Content::Peer(peer.to_string(), quantity));
        }
        is_first = false;
    }
    contents
}

impl Content {
    fn column(&self, outline: &Outline) -> GridColumn {
        let rows = || outline.rows.iter();
        let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let figure = |quantity: &Quantity, of: &dyn Fn(usize) -> Option<f64>| {
            let texts = (0..outline.rows.len()).filter_map(|place| Some(quantity.text(of(place)?)));
            texts.map(|text| columns(&text)).max().unwrap_or(1)
        };
        match self {
            Self::Label => {
                let labels = &mut rows().map(|row| columns(&row.label));
                GridColumn::new(&["row"], longest(labels), Align::Left)
            }
            Self::Axis(place) => {
                let heading = outline.axes()[*place].replace('.', ".\n");
                let lines: Vec<_> = heading.lines().collect();
                let values = &mut rows().map(|row| columns(&row.point[*place].value));
                GridColumn::new(&lines, longest(values), Align::Right)
            }
            Self::Published(quantity) => {
                let words = &mut rows()
                    .filter_map(|row| row.published.outcome)
                    .map(|outcome| columns(outcome.name()));
                let of = |place: usize| outline.rows[place].published.figure(quantity.name);
                let width = longest(words).max(figure(quantity, &of));
                GridColumn::new(&["published", quantity.heading], width, Align::Right)
            }
            Self::Ours(quantity, is_first) => {
                let outcome = if *is_first { "complete".len() } else { 0 };
                let width = result_width(quantity.form, outline.most_seeds()).max(outcome);
                let is_compared =
                    outline.is_published(quantity) || !outline.peers_with(quantity).is_empty();
                let heading = ["ours", quantity.heading];
                let heading = &heading[usize::from(!is_compared)..];
                GridColumn::new(heading, width, Align::Right)
            }
            Self::Deviation(_) => GridColumn::new(&["", "deviation"], DEVIATION, Align::Right),
            Self::Peer(name, quantity) => {
                let of = |place: usize| {
                    let peers = &outline.rows[place].peers;
                    let peer = peers.iter().find(|peer| peer.name == *name)?;
                    peer.figures.figure(quantity.name)
                };
                let width = figure(quantity, &of);
                GridColumn::new(&[name, quantity.heading], width, Align::Right)
            }
            Self::Limits => GridColumn::new(&[LIMITS], LEAST_LIMITS, Align::Left),
        }
    }

    fn cell(&self, row: &RowReport, width: usize, layout: Layout) -> Vec<String> {
        let one = |text: Option<String>| vec![text.unwrap_or_else(words::dash)];
        match self {
            Self::Label => {
                let label = row_label(&row.label, &row.overridden, &row.fitted);
                vec![layout.paint(Tone::Heading, &label)]
            }
            Self::Axis(place) => one(row.point.get(*place).map(|at| at.value.clone())),
            Self::Published(quantity) => {
                let figure = row.published.figure(quantity.name);
                let text = figure.map(|figure| quantity.text(figure));
                one(text.or_else(|| {
                    let outcome = row.published.outcome;
                    outcome.map(|outcome| outcome.name().to_string())
                }))
            }
            Self::Ours(quantity, is_first) => match row.measured.outcome {
                Outcome::Stalled | Outcome::Dropped if *is_first => {
                    vec![layout.paint(Tone::Bad, row.measured.outcome.name())]
                }
                _ => ours(quantity, &row.measured),
            },
            Self::Deviation(quantity) => one(words::deviation(quantity, row, layout)),
            Self::Peer(name, quantity) => one(row
                .peer_figure(name, quantity)
                .map(|figure| quantity.text(figure))),
            Self::Limits => layout.lines(&words::limits(row), width),
        }
    }
}

/// Returns the value, and below it the quartiles over the seeds.
fn ours(quantity: &Quantity, measured: &Measured) -> Vec<String> {
    let Some(value) = words::value(quantity, measured) else {
        return vec![words::dash()];
    };
    let spread = quantity.spread_text(measured);
    [value].into_iter().chain(spread).collect()
}

/// Width of a result in this printed form, including its quartiles if there are several seeds.
fn result_width(form: Form, seeds: u32) -> usize {
    match (form, seeds > 1) {
        (Form::Whole, false) => "9,999,999,999".len(),
        (Form::Whole, true) => columns("9,999,999 \u{2013} 9,999,999"),
        (Form::Decimal, false) => "0.0999".len(),
        (Form::Decimal, true) => columns("0.0999 \u{2013} 0.0999"),
        (Form::Percent, false) => "0.0999 %".len(),
        (Form::Percent, true) => columns("0.0999 % \u{2013} 0.0999 %"),
    }
}
