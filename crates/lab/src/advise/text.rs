//! The advice as text: one line for each step, with the predicted result beside the measured one.
//!
//! Rule: only rounding is computed here. A risky setting is marked as risky. At the end, the
//! settings of all steps are listed once more, ready to paste.

use std::fmt::Write;

use fullpipe_explain::Advised;
use fullpipe_scenario::{
    Times,
    units::{grouped, rate_text, seconds_text},
};
use fullpipe_tcp::limit::Reason;

use super::{Advice, AdviceEnd, AdviceStep};
use crate::{
    layout::{Layout, Tone, columns},
    verdict_text::verdict_text,
};

/// Columns of a measured or a predicted result.
const RESULT: usize = 11;
/// Columns for the number of the step, which precedes the settings.
const NUMBER: usize = 6;
/// Smallest and largest number of columns of the settings.
const SETTINGS: (usize, usize) = (16, 48);
/// Columns reserved for the name of the limit.
const LIMIT: usize = 24;
/// Smallest width of a table. On a narrower terminal, each step is a few lines.
const NARROWEST_TABLE: usize = NUMBER + SETTINGS.0 + 2 * (2 + RESULT) + 2 + LIMIT;

/// Returns the advice for each row (scenario), with one line for each step. `verbose` adds each
/// step's verdict, and the limits of both ends in seconds and bytes.
pub fn advice_text(advice: &[Advice], layout: Layout, verbose: bool) -> String {
    let mut text = String::new();
    for (place, advice) in advice.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        row(&mut text, advice, layout, verbose);
    }
    text
}

fn row(text: &mut String, advice: &Advice, layout: Layout, verbose: bool) {
    let title = format!("{}, {}", advice.experiment, advice.row);
    layout.paragraph(text, "", 2, &layout.paint(Tone::Heading, &title));
    if let Some(labels) = &advice.labels {
        layout.paragraph(text, "  rows: ", 4, labels);
    }
    let wide = settings_columns(advice, layout);
    let is_table = layout.width >= NARROWEST_TABLE;
    if is_table {
        let _ = writeln!(
            text,
            "{:NUMBER$}{:wide$}  {:>RESULT$}  {:>RESULT$}  limited by",
            "", "", "measured", "predicted"
        );
    }
    for (number, step) in advice.steps.iter().enumerate() {
        match is_table {
            true => line(text, advice, number, wide, layout),
            false => record(text, advice, number, layout),
        }
        if verbose {
            text.push_str(&verdict_text(&step.verdict.parts, layout));
            layout.field(text, "Sender", &account(&step.account.sender));
            layout.field(text, "Receiver", &account(&step.account.receiver));
        }
    }
    if let Some(flow) = &advice.predicted_flow {
        let of = format!("measured: all flows together; predicted: flow `{flow}` alone");
        layout.paragraph(text, "  ", 2, &of);
    }
    layout.paragraph(text, "  ", 2, &format!("{}.", advice.ends_with));
    let settings = settings(advice);
    if settings.is_empty() {
        return;
    }
    text.push_str("  Settings:\n");
    for (change, _) in &settings {
        layout.paragraph(
            text,
            &format!("  {}: ", change.on),
            4,
            &change.setting.paste,
        );
    }
    for (change, step) in &settings {
        for note in change
            .setting
            .cautions
            .iter()
            .filter(|note| is_warning(note))
        {
            let note = note.replacen("Risky", &format!("Step {step} is risky"), 1);
            layout.paragraph(text, "  ", 4, &layout.paint(Tone::Doubtful, &note));
        }
    }
}

/// Appends one step, with a line for each of its settings.
fn line(text: &mut String, advice: &Advice, number: usize, wide: usize, layout: Layout) {
    let step = &advice.steps[number];
    let settings = described(step, number);
    let last = settings.len() - 1;
    for (place, setting) in settings.iter().enumerate() {
        let first = match place {
            0 => format!("{number:>3}.  "),
            _ => " ".repeat(NUMBER),
        };
        if place < last || columns(setting) > wide {
            layout.paragraph(text, &first, NUMBER, setting);
        }
        if place < last {
            continue;
        }
        let start = if columns(setting) > wide {
            format!("{:NUMBER$}{:wide$}", "", "")
        } else {
            format!("{first}{setting:wide$}")
        };
        let predicted = step.predicted.map_or_else(String::new, |predicted| {
            result(advice, predicted.goodput_mbps, predicted.elapsed_s)
        });
        let start = format!(
            "{start}  {:>RESULT$}  {predicted:>RESULT$}  ",
            measured(advice, step)
        );
        let limit = layout.paint(Tone::Limit, step.verdict.limit_words);
        layout.paragraph(text, &start, columns(&start), &limit);
    }
}

/// Appends one step for a narrow terminal: a line for each of its settings, then its results.
fn record(text: &mut String, advice: &Advice, number: usize, layout: Layout) {
    let step = &advice.steps[number];
    let mut first = format!("{number:>3}.  ");
    for setting in described(step, number) {
        layout.paragraph(text, &first, NUMBER, &setting);
        first = " ".repeat(NUMBER);
    }
    let mut results = format!("measured {}", measured(advice, step));
    if let Some(predicted) = step.predicted {
        let predicted = result(advice, predicted.goodput_mbps, predicted.elapsed_s);
        results += &format!(", predicted {predicted}");
    }
    let limit = layout.paint(Tone::Limit, step.verdict.limit_words);
    let results = format!("{results}; limited by {limit}");
    layout.paragraph(text, &first, NUMBER, &results);
}

/// Returns the settings of a step, each with its new value.
fn described(step: &AdviceStep, number: usize) -> Vec<String> {
    if number == 0 {
        return vec!["unchanged".to_string()];
    }
    step.changes.iter().map(ToString::to_string).collect()
}

/// Columns of the settings: the length of the longest setting, but at most the columns that remain
/// beside the name of the limit.
fn settings_columns(advice: &Advice, layout: Layout) -> usize {
    let steps = advice.steps.iter().enumerate();
    let all = steps.flat_map(|(number, step)| described(step, number));
    let longest = all.map(|setting| columns(&setting)).max().unwrap_or(0);
    let taken = NUMBER + 2 * (RESULT + 2) + 2 + LIMIT;
    let (least, most) = SETTINGS;
    let room = layout.width.saturating_sub(taken).min(most).max(least);
    longest.clamp(least, room)
}

fn measured(advice: &Advice, step: &AdviceStep) -> String {
    if step.outcome != "complete" {
        return step.outcome.to_string();
    }
    let result = result(advice, step.goodput_mbps, step.elapsed_s);
    match step.is_cut_off {
        true => format!("> {result}"),
        false => result,
    }
}

/// Returns the duration of a transfer that ends after an amount of data, otherwise the goodput.
fn result(advice: &Advice, goodput_mbps: f64, elapsed_s: f64) -> String {
    if advice.has_end {
        seconds_text(elapsed_s)
    } else {
        // A rate has at most 11 characters, the width of the column.
        rate_text(goodput_mbps * 1e6)
    }
}

/// Returns the last value of each setting, ready to paste, with the number of the step that sets
/// it. Omits the last step if the advice ended because that step gained nothing.
fn settings(advice: &Advice) -> Vec<(&Advised, usize)> {
    let worth = match advice.end {
        AdviceEnd::NoGain => advice.steps.len() - 1,
        AdviceEnd::Path
        | AdviceEnd::Application
        | AdviceEnd::NoKnob
        | AdviceEnd::MemorySpent
        | AdviceEnd::Refused
        | AdviceEnd::StepsSpent => advice.steps.len(),
    };
    let mut last: Vec<(&Advised, usize)> = Vec::new();
    let taken = advice.steps.iter().take(worth.saturating_sub(1));
    for (number, before) in taken.enumerate() {
        let new = &before.verdict.settings;
        last.retain(|(known, _)| !new.iter().any(|new| new.replaces(known)));
        last.extend(new.iter().map(|new| (new, number + 1)));
    }
    last
}

/// Returns true for a note that the user must read before making the setting.
fn is_warning(note: &str) -> bool {
    note.starts_with("Risky")
}

/// Returns every limit with its time and its bytes.
fn account<R: Reason>(times: &Times<R>) -> String {
    let parts = times
        .parts()
        .filter(|(_, time, bytes)| !time.is_zero() || *bytes > 0);
    let words: Vec<_> = parts
        .map(|(limit, time, bytes)| {
            let seconds = seconds_text(time.as_secs_f64());
            format!("{} {seconds} {} bytes", limit.name(), grouped(bytes))
        })
        .collect();
    format!("{}.", words.join(", "))
}
