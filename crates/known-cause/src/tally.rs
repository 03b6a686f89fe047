//! Counts over many judged worlds: the confusion matrix, and the gain of the advice.
//!
//! Rule: only counts; the callers set thresholds.

use std::fmt;

use comfy_table::{Cell, CellAlignment, Table, presets::UTF8_FULL_CONDENSED};
use fullpipe_lab::Cause;

use super::Judged;

/// Counts over many worlds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Built-in cause, named cause, and the number of worlds with both.
    pub confusion: Vec<(Cause, Cause, u32)>,
    /// Number of worlds.
    pub worlds: u32,
    /// Worlds whose verdict named the built-in cause.
    pub right: u32,
    /// Worlds whose verdict named the built-in cause and a setting, so that the advice was
    /// followed.
    pub treated: u32,
    /// Worlds that the advice helped.
    pub helped: u32,
    /// Median relative error of the predictions.
    pub median_error: Option<f64>,
    /// Median relative error of the predictions for the worlds with losses.
    pub loss_error: Option<f64>,
}

/// Counts `judged`.
pub fn tally(judged: &[Judged]) -> Tally {
    let mut tally = Tally::default();
    let mut errors = Vec::new();
    let mut of_loss = Vec::new();
    for world in judged {
        let Judged { built, named, .. } = *world;
        tally.worlds += 1;
        let cell = tally.confusion.iter_mut();
        match cell
            .into_iter()
            .find(|cell| (cell.0, cell.1) == (built, named))
        {
            Some(cell) => cell.2 += 1,
            None => tally.confusion.push((built, named, 1)),
        }
        tally.right += u32::from(built == named);
        let Some(treated) = world.treated.as_ref().filter(|_| built == named) else {
            continue;
        };
        tally.treated += 1;
        tally.helped += u32::from(treated.helped);
        errors.extend(treated.error());
        of_loss.extend(treated.error().filter(|_| built == Cause::Loss));
    }
    tally.median_error = middle(errors);
    tally.loss_error = middle(of_loss);
    tally
}

fn middle(mut errors: Vec<f64>) -> Option<f64> {
    errors.sort_by(f64::total_cmp);
    errors.get(errors.len() / 2).copied()
}

impl Tally {
    /// The share of worlds whose verdict named the built-in cause.
    pub fn right_share(&self) -> f64 {
        share(self.right, self.worlds)
    }

    /// The share of advice that helped.
    pub fn helped_share(&self) -> f64 {
        share(self.helped, self.treated)
    }

    fn count(&self, built: Cause, named: Cause) -> u32 {
        let mut cells = self.confusion.iter();
        let found = cells.find(|cell| (cell.0, cell.1) == (built, named));
        found.map_or(0, |cell| cell.2)
    }
}

fn share(part: u32, whole: u32) -> f64 {
    if whole > 0 {
        f64::from(part) / f64::from(whole)
    } else {
        1.0
    }
}

impl fmt::Display for Tally {
    /// The confusion matrix (a line for each built-in cause, a column for each named
    /// one), and the three results.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = |cause: &&Cause| {
            let mut cells = self.confusion.iter();
            cells.any(|(built, named, _)| built == *cause || named == *cause)
        };
        let causes: Vec<Cause> = Cause::ALL.iter().filter(seen).copied().collect();
        let mut table = Table::new();
        let heads = causes.iter().map(|cause| cause.name().replace('_', "_\n"));
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(std::iter::once("built \\ named".to_string()).chain(heads));
        for built in causes
            .iter()
            .filter(|built| self.confusion.iter().any(|cell| cell.0 == **built))
        {
            let mut row = vec![Cell::new(built.name())];
            row.extend(causes.iter().map(|named| {
                let text = match self.count(*built, *named) {
                    0 => String::new(),
                    count => count.to_string(),
                };
                Cell::new(text).set_alignment(CellAlignment::Right)
            }));
            table.add_row(row);
        }
        writeln!(f, "{table}")?;
        writeln!(
            f,
            "{} of {} named rightly ({:.1} %)",
            self.right,
            self.worlds,
            self.right_share() * 100.0
        )?;
        write!(
            f,
            "advice helped in {} of {} worlds where a knob was the cause ({:.1} %)",
            self.helped,
            self.treated,
            self.helped_share() * 100.0
        )?;
        match self.median_error {
            Some(error) => write!(
                f,
                "\npredictions missed by {:.1} % at the median",
                error * 100.0
            )?,
            None => return Ok(()),
        }
        match self.loss_error {
            Some(error) => write!(f, ", where losses bind by {:.1} %", error * 100.0),
            None => Ok(()),
        }
    }
}
