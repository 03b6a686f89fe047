//! Texts that occur both in tables and in records of single rows (scenarios).
//!
//! Rule: a text is made for one row or for the whole report, independently of the width; the
//! layout wraps it.

use fullpipe_scenario::{
    measured::{FlowMeasured, Measured, Quantity},
    units::three_digits,
};
use fullpipe_tcp::{ReceiveLimit, limit::Reason};

use crate::{
    layout::{Layout, Tone},
    outline::Outline,
    reference::Reference,
    report::RowReport,
    verdict_text::verdict_text,
};

/// Number of limits shown for each end; the JSON contains all of them.
const LIMITS_SHOWN: usize = 3;
/// Smallest share of the time that is shown.
const SMALLEST_SHOWN: f64 = 0.005;
/// If a flow has more connections than this number, only the range and the median of their goodputs
/// are printed.
const EACH_SHOWN: usize = 8;
/// A deviation of at most this share counts as agreement.
const CLOSE: f64 = 0.1;
/// A deviation above this share counts as a contradiction.
const FAR: f64 = 0.25;

/// Returns the lines above the rows.
pub(super) fn head(outline: &Outline, layout: Layout) -> String {
    let mut out = String::new();
    let name = layout.paint(Tone::Heading, &outline.experiment);
    let title = format!("{name} \u{2013} {}", outline.title);
    layout.paragraph(&mut out, "", 2, &title);
    if let Some(source) = &outline.source {
        layout.paragraph(&mut out, "published: ", 2, source);
    }
    if let Some(labels) = &outline.labels {
        layout.paragraph(&mut out, "rows: ", 2, labels);
    }
    if outline.rows.iter().any(|row| !row.fitted.is_empty()) {
        let text = "(fitted): a setting was chosen so that the simulated result agrees with a published \
                    result of this row";
        layout.paragraph(&mut out, "", 2, text);
    }
    let seeds = outline.most_seeds();
    if seeds > 1 {
        let text = format!(
            "Rows with several seeds ({seeds} at most) show medians. The quartiles of the \
             runs are in brackets."
        );
        layout.paragraph(&mut out, "", 2, &text);
    }
    if !outline.overrides.is_empty() {
        let changed = outline.overrides.join(", ");
        layout.paragraph(&mut out, "changed: ", 2, &changed);
    }
    out
}

/// Appends the counts of published figures, the parameters behind the results, and the deviations
/// of the predictions.
pub(super) fn reference(out: &mut String, outline: &Outline, rows: &[RowReport], layout: Layout) {
    // Print nothing after changes by `--set`: the file says which figures are fitted, implied or
    // predicted, but only for the experiment without changes.
    if !outline.overrides.is_empty() {
        return;
    }
    let Some(reference) =
        Reference::of(&outline.origins, rows.iter().map(RowReport::published_row))
    else {
        return;
    };
    out.push('\n');
    layout.paragraph(out, "", 2, &reference.summary());
    for (first, lines) in [
        ("fitted: ", reference.fitted_lines()),
        ("chosen: ", reference.chosen_lines()),
        ("implied: ", reference.implied_lines()),
    ] {
        for line in lines {
            layout.paragraph(out, first, 2, &line);
        }
    }
}

/// Appends the verdict below its row; nothing if no explanation was requested.
pub(super) fn verdict(out: &mut String, row: &RowReport, layout: Layout) {
    if let Some(verdict) = &row.verdict {
        out.push_str(&verdict_text(&verdict.parts, layout));
    }
}

/// Appends the flows' shares, if there are several connections.
pub(super) fn flows(out: &mut String, row: &RowReport, layout: Layout) {
    let mut key = "Flows";
    for each in &row.measured.flows {
        layout.field(out, key, &flow(each));
        key = "";
    }
}

/// Returns a flow's goodput, its share, and its connections.
fn flow(flow: &FlowMeasured) -> String {
    let mut each = flow.connections_mbps.clone();
    let connections = if each.len() <= EACH_SHOWN {
        let words: Vec<_> = each.iter().map(|goodput| three_digits(*goodput)).collect();
        match words.as_slice() {
            [_] => String::new(),
            words => format!("; connections {} Mbit/s", words.join(", ")),
        }
    } else {
        each.sort_by(f64::total_cmp);
        let ends = [each[0], each[each.len() - 1], each[each.len() / 2]];
        let [least, most, median] = ends.map(three_digits);
        format!(
            "; {} connections of {least} to {most} Mbit/s, median {median} Mbit/s",
            each.len()
        )
    };
    let sending = match flow.connections_mbps.len() {
        1 => "while it sent",
        _ => "while its connections sent",
    };
    format!(
        "flow `{}`: {} Mbit/s {sending}, {} % of all payload{connections}",
        flow.flow,
        three_digits(flow.goodput_mbps),
        three_digits(flow.payload_share * 100.0),
    )
}

/// Returns [`limits`] with the word "sender" before the limits of the sender.
pub(super) fn limits_of_ends(row: &RowReport) -> String {
    format!("sender: {}", limits(row))
}

/// Returns the largest limits of both ends, the sender's first: `memory 88 %, pacing 12 %`. Time in
/// which nothing limits the receiver is not listed.
pub(super) fn limits(row: &RowReport) -> String {
    let sender = largest(row.limits.sender.largest_first());
    let mut receiver = row.limits.receiver.largest_first();
    receiver.retain(|(limit, _)| *limit != ReceiveLimit::None);
    match largest(receiver) {
        none if none.is_empty() => sender,
        receiver => format!("{sender}; receiver: {receiver}"),
    }
}

fn largest<R: Reason>(mut largest: Vec<(R, f64)>) -> String {
    largest.retain(|(_, share)| *share >= SMALLEST_SHOWN);
    let shown = largest.iter().take(LIMITS_SHOWN);
    let words: Vec<_> = shown
        .map(|(limit, share)| format!("{} {:.0} %", limit.name(), share * 100.0))
        .collect();
    words.join(", ")
}

/// Returns the result divided by the published figure, minus one; `None` if there is no such figure
/// or `--set` changed the row.
pub(super) fn deviation(quantity: &Quantity, row: &RowReport, layout: Layout) -> Option<String> {
    if row.changed_by_set {
        return None;
    }
    let published = row.published.figure(quantity.name);
    let published = published.filter(|figure| *figure != 0.0)?;
    let deviation = (quantity.of)(&row.measured)? / published - 1.0;
    let tone = match deviation.abs() {
        size if size <= CLOSE => Tone::Good,
        size if size <= FAR => Tone::Doubtful,
        _ => Tone::Bad,
    };
    let text = format!("{:+.1} %", deviation * 100.0);
    Some(layout.paint(tone, &text))
}

/// Returns the result in its printed form; `None` if there is none.
pub(super) fn value(quantity: &Quantity, measured: &Measured) -> Option<String> {
    // Omit the share of full-sized segments if there were no segments.
    if quantity.name == "full_sized_share" && measured.data_segments == 0 {
        return None;
    }
    (quantity.of)(measured).map(|value| quantity.text(value))
}

pub(super) fn dash() -> String {
    "\u{2013}".to_string()
}
