//! Converts a report to facts for the report page and other graphs.
//!
//! Rule: nothing is computed here. Every value has the same number and name as in the report, so
//! that a page and a table cannot disagree. Observations may be large, so they are moved instead
//! of copied.

use fullpipe_diagnose::facts::{Coordinate, Figure, Peer, Row, Run, ShownBy};
use fullpipe_scenario::{measured::Quantity, units::Amount};

use crate::report::{Report, RowReport};

/// Returns the facts of `report`, and moves the observations out of `report`. Only rows (scenarios)
/// that were observed ([`RunOptions::observe`](crate::RunOptions)) have series.
pub fn facts(report: &mut Report) -> Run {
    Run {
        experiment: report.experiment.clone(),
        title: report.title.clone(),
        source: report.source.clone(),
        seed: Some(report.seed),
        overrides: report.overrides.clone(),
        rows: report.rows.iter_mut().map(row).collect(),
    }
}

fn row(row: &mut RowReport) -> Row {
    let figures = |of: &dyn Fn(&Quantity) -> Option<f64>| {
        let figure = |quantity: &Quantity| {
            of(quantity).map(|value| Figure {
                name: quantity.name,
                heading: quantity.heading,
                value,
            })
        };
        Quantity::ALL.iter().filter_map(figure).collect()
    };
    Row {
        label: row.title(),
        name: row.label.clone(),
        point: row
            .point
            .iter()
            .map(|at| Coordinate {
                path: at.path.clone(),
                value: at.value.clone(),
                number: Amount::of_setting(&at.path, &at.value).map(|amount| amount.number),
            })
            .collect(),
        published: figures(&|quantity| row.published.figure(quantity.name)),
        published_outcome: row
            .published
            .outcome
            .map(|outcome| outcome.name().to_string()),
        is_compared: !row.changed_by_set,
        peers: row
            .peers
            .iter()
            .map(|peer| Peer {
                name: peer.name.clone(),
                figures: figures(&|quantity| peer.figures.figure(quantity.name)),
            })
            .collect(),
        measured: figures(&|quantity| (quantity.of)(&row.measured)),
        outcome: row.measured.outcome.name().to_string(),
        verdict: row.verdict_parts(),
        shown_by: (row.verdict.as_ref())
            .map_or_else(ShownBy::default, |verdict| verdict.shown_by.clone()),
        path: row.path.take(),
        fitted: row.fitted.clone(),
        note: row.note.clone(),
        seeds: row.seeds,
        observed: row.observed.take().unwrap_or_default(),
    }
}
