//! Writes the page `docs/references.md`: published figures, the parameters behind the results, and
//! the predictions.
//!
//! Rule: nothing is computed here. Counts and deviations come from [`Reference`].

use std::fmt::Write;

use crate::{
    reference::{FigureKind, Reference, median},
    report::Report,
};

const HEAD: &str = "\
# Published results and predictions

<!-- Generated; see crates/lab/tests/references.rs. -->

Each of these experiments repeats a published document. A document states some settings and some results, and leaves other
settings open. An open setting was either *fitted*, so that a published result comes out, or *chosen* for the reason
given. A published result counts as *fitted* if a parameter was fitted to it, and as *implied* if a setting or another
published result determines it. Every other published result is *predicted*: the simulation could have given another
value. Only predictions show that the simulation behaves like the published system.

`fullpipe lab run NAME` prints the same sentences below its results, and `--json` has them as `reference`. The test that
compares this page with a run also checks that each setting of these files is stated, fitted or chosen.

## All experiments

| experiment | published | fitted | with parameters | implied | predicted | median deviation | largest deviation | settings chosen |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

/// Returns the page for those of `reports` that have published figures.
pub fn reference_markdown(reports: &[&Report]) -> String {
    let mut page = HEAD.to_string();
    let with_figures: Vec<_> = reports
        .iter()
        .filter_map(|report| Some((*report, report.reference.as_ref()?)))
        .collect();
    for (report, reference) in &with_figures {
        line(&mut page, report, reference);
    }
    let references: Vec<_> = with_figures
        .iter()
        .map(|(_, reference)| *reference)
        .collect();
    sum(&mut page, &references);
    for (report, reference) in &with_figures {
        chapter(&mut page, report, reference);
    }
    page
}

/// Appends an experiment's line of the first table.
fn line(page: &mut String, report: &Report, reference: &Reference) {
    let dash = || "\u{2013}".to_string();
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let worst = reference.worst.as_ref();
    let _ = writeln!(
        page,
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        report.experiment,
        reference.published,
        reference.fitted,
        reference.fitted_parameters.len(),
        reference.implied,
        reference.predicted,
        reference.median_deviation.map_or_else(dash, percent),
        worst.map_or_else(dash, |worst| {
            format!("{}: {}", worst.deviation_text(), worst.named())
        }),
        reference.chosen(),
    );
}

/// Appends the last line of the first table: the sums, and the median over all predictions.
fn sum(page: &mut String, references: &[&Reference]) {
    let total = |of: fn(&Reference) -> usize| -> usize {
        references.iter().map(|reference| of(reference)).sum()
    };
    let results = references.iter().flat_map(|reference| &reference.results);
    let predicted = results.filter(|result| result.kind == FigureKind::Predicted);
    let sizes = predicted.filter_map(|result| result.deviation.map(f64::abs));
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let _ = writeln!(
        page,
        "| all | {} | {} | {} | {} | {} | {} | | {} |",
        total(|reference| reference.published),
        total(|reference| reference.fitted),
        total(|reference| reference.fitted_parameters.len()),
        total(|reference| reference.implied),
        total(|reference| reference.predicted),
        median(sizes.collect()).map_or_else(String::new, percent),
        total(Reference::chosen),
    );
}

fn chapter(page: &mut String, report: &Report, reference: &Reference) {
    let _ = writeln!(page, "\n## {}\n", report.experiment);
    if let Some(source) = &report.source {
        let _ = writeln!(page, "{}. Published: {source}.\n", report.title);
    }
    if let Some(labels) = &report.labels {
        let _ = writeln!(page, "Rows: {labels}\n");
    }
    let _ = writeln!(page, "{}\n", reference.summary());
    let _ = writeln!(
        page,
        "| row | quantity | published | fullpipe | deviation | kind |\n| --- | --- | --- | --- | --- | --- |"
    );
    for figure in &reference.results {
        let kind = match figure.kind {
            FigureKind::Predicted => format!("**{}**", figure.kind.name()),
            FigureKind::Fitted | FigureKind::Implied => figure.kind.name().to_string(),
        };
        let _ = writeln!(
            page,
            "| `{}` | `{}` | {} | {} | {} | {kind} |",
            figure.figure.row,
            figure.figure.quantity,
            figure.published,
            figure.measured.as_deref().unwrap_or("\u{2013}"),
            figure.deviation_text(),
        );
    }
    list(page, "Fitted", &reference.fitted_lines());
    list(page, "Chosen", &reference.chosen_lines());
    list(page, "Implied", &reference.implied_lines());
    let notes = report.rows.iter().filter_map(|row| {
        let note = row.note.as_ref()?;
        let is_published = !row.published.names().is_empty();
        is_published.then(|| format!("`{}`: {note}.", row.label))
    });
    list(page, "Notes", &notes.collect::<Vec<_>>());
}

fn list(page: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n{heading}:\n");
    for line in lines {
        let _ = writeln!(page, "- {line}");
    }
}
