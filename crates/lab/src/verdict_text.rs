//! Layout of a verdict: one line for each part, with the part's name in the margin.
//!
//! Rule: the layout depends only on the parts and on a [`Layout`]. The words come from the
//! explanation.

#[cfg(test)]
mod tests;

use fullpipe_diagnose::facts::{ChangeLine, VerdictParts};

use crate::layout::{KEY_COLUMNS, Layout, Tone};

/// Columns before the text of a part.
const INDENT: usize = 2 + KEY_COLUMNS;

/// Returns the verdict. Each part begins on a new line, with its name in the margin and its text
/// wrapped beside it. The last line ends with a line break.
pub fn verdict_text(parts: &VerdictParts, layout: Layout) -> String {
    let VerdictParts {
        limited_by,
        because,
        change,
        gives,
        then,
    } = parts;
    let mut text = String::new();
    // Highlight the name of the limit, because most readers look only for this name.
    let ends = [": ", " (", ". "].map(|end| limited_by.find(end));
    let limit = ends.into_iter().flatten().min();
    let limited_by = match limit.filter(|_| layout.colour) {
        Some(end) => {
            let (limit, rest) = limited_by.split_at(end);
            format!("{}{rest}", layout.paint(Tone::Limit, limit))
        }
        None => limited_by.clone(),
    };
    layout.field(&mut text, "Limited by", &format!("{limited_by}."));
    if !because.is_empty() {
        layout.field(&mut text, "Because", &because.join(" "));
    }
    for (place, line) in change.iter().enumerate() {
        let key = if place == 0 { "Change" } else { "and" };
        setting(&mut text, layout, key, line);
    }
    if let Some(gives) = gives {
        layout.field(&mut text, "Gives", &format!("{gives}."));
    }
    if let Some(then) = then {
        layout.field(&mut text, "Then", &format!("limited by {then}."));
    }
    text
}

/// Appends a setting on its own line, with notes about it below.
fn setting(text: &mut String, layout: Layout, key: &str, line: &ChangeLine) {
    let mut key = key;
    for piece in pasted(&line.paste, layout.width.saturating_sub(INDENT)) {
        layout.field(text, key, &layout.paint(Tone::Good, &piece));
        key = "";
    }
    let on = match line.from.as_str() {
        "true" if !line.paste.contains('=') => {
            format!("On `{}`. The option is on at present.", line.host)
        }
        "false" if !line.paste.contains('=') => {
            format!("On `{}`. The option is off at present.", line.host)
        }
        from => format!("On `{}`. The present value is {from}.", line.host),
    };
    let (risks, notes): (Vec<_>, Vec<_>) = line.notes.iter().partition(|note| is_risk(note));
    let notes: Vec<_> = std::iter::once(&on)
        .chain(notes)
        .map(String::as_str)
        .collect();
    layout.field(text, "", &notes.join(" "));
    for risk in risks {
        layout.field(text, "", &layout.paint(Tone::Doubtful, risk));
    }
}

fn is_risk(note: &str) -> bool {
    note.starts_with("Risky")
}

/// Returns the lines of a setting. A shell command that is too long is continued on further lines,
/// after a backslash. Other text stays one line, which the caller wraps.
fn pasted(paste: &str, width: usize) -> Vec<String> {
    let is_shell = paste.starts_with("sysctl ") || paste.starts_with("ip ");
    if !is_shell || paste.len() <= width {
        return vec![paste.to_string()];
    }
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in paste.split(' ') {
        let has_room = line.len() + 1 + word.len() + " \\".len() <= width;
        if !line.is_empty() && !has_room {
            lines.push(std::mem::take(&mut line) + " \\");
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}
