//! A row (scenario) as a record: the figures and the limits below the label.
//!
//! Rule: if at least two results are compared with other figures, each of these results has its
//! own line; the remaining results share a line.

use fullpipe_scenario::measured::{Outcome, Quantity};

use super::{columns::Shown, words};

use crate::{
    layout::{Layout, Tone},
    outline::Outline,
    report::RowReport,
};

/// Appends the results and the limits of `row`.
pub(super) fn figures(
    out: &mut String,
    outline: &Outline,
    shown: &[Shown],
    row: &RowReport,
    layout: Layout,
) {
    let mut compared = Vec::new();
    let mut plain = Vec::new();
    let mut is_first = true;
    for part in shown {
        let Shown::Quantity(quantity) = part else {
            continue;
        };
        let (text, is_compared) = figure(outline, quantity, row, is_first, layout);
        is_first = false;
        match (text, is_compared) {
            (Some(text), true) => compared.push(text),
            (Some(text), false) => plain.push(text),
            (None, _) => {}
        }
    }
    if compared.len() < 2 {
        compared.append(&mut plain);
        layout.field(out, "Measured", &compared.join(", "));
    } else {
        compared.extend((!plain.is_empty()).then(|| plain.join(", ")));
        let mut key = "Measured";
        for line in compared {
            layout.field(out, key, &line);
            key = "";
        }
    }
    if shown.iter().any(|part| matches!(part, Shown::Limits)) {
        layout.field(out, "Limits", &words::limits_of_ends(row));
    }
}

/// Returns a quantity in words: `4.98 Mbit/s (published figure 5.35, difference -6.8 %)`. The
/// second value is true if the words compare the quantity with another figure or give its
/// quartiles.
fn figure(
    outline: &Outline,
    quantity: &Quantity,
    row: &RowReport,
    is_first: bool,
    layout: Layout,
) -> (Option<String>, bool) {
    let measured = &row.measured;
    let phrased = |value: &str| quantity.phrased(value, &row.subject, outline.baseline());
    let mut beside = Vec::new();
    if let Some(spread) = quantity.spread_text(measured) {
        beside.push(format!("quartiles of the runs: {spread}"));
    }
    if let Some(published) = row.published.figure(quantity.name) {
        let deviation = words::deviation(quantity, row, layout);
        let deviation = deviation.map_or_else(String::new, |at| format!(", difference {at}"));
        beside.push(format!(
            "published figure {}{deviation}",
            quantity.text(published)
        ));
    } else if let Some(outcome) = row.published.outcome.filter(|_| is_first) {
        beside.push(format!("published outcome: {}", outcome.name()));
    }
    for peer in outline.peers_with(quantity) {
        if let Some(figure) = row.peer_figure(peer, quantity) {
            beside.push(format!("{peer} {}", quantity.text(figure)));
        }
    }
    let ours = match measured.outcome {
        Outcome::Stalled | Outcome::Dropped if is_first => {
            Some(layout.paint(Tone::Bad, measured.outcome.name()))
        }
        _ => words::value(quantity, measured).map(|value| phrased(&value)),
    };
    let is_compared = !beside.is_empty();
    let ours = ours.or_else(|| is_compared.then(|| phrased(&words::dash())));
    let text = ours.map(|ours| match is_compared {
        true => format!("{ours} ({})", beside.join("; ")),
        false => ours,
    });
    (text, is_compared)
}
