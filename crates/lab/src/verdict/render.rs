//! Layout of a verdict: one part a line, its name in the margin.
//!
//! Rule: layout is a function of the parts, a width and colour, and nothing else. No
//! line is longer than the width unless a single word is.

use fullpipe_diagnose::facts::VerdictParts;

/// Column in which the parts' text begins.
const MARGIN: usize = 12;
/// Columns that are left for text at least.
const LEAST: usize = 20;
const BOLD: &str = "\u{1b}[1m";
const YELLOW: &str = "\u{1b}[33m";
const PLAIN: &str = "\u{1b}[0m";

/// Layout of a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Columns of a line; no line is wrapped without.
    pub width: Option<usize>,
    /// Spaces before each line.
    pub indent: usize,
    /// Whether names of parts are bold and cautions coloured.
    pub colour: bool,
}

/// The verdict in five parts, each on a line of its own; each line ends with a newline.
pub fn verdict_text(parts: &VerdictParts, layout: Layout) -> String {
    let VerdictParts {
        limited_by,
        because,
        change,
        gives,
        then,
    } = parts;
    let mut page = Page {
        layout,
        text: String::new(),
    };
    page.part("Limited by", &format!("{limited_by}."));
    if !because.is_empty() {
        page.part("Because", &because.join(" "));
    }
    let mut name = "Change";
    for line in change {
        page.paste(name, &line.paste);
        name = "";
        let on = format!("On `{}`, instead of {}.", line.host, line.from);
        let (risks, notes): (Vec<_>, Vec<_>) = line
            .notes
            .iter()
            .partition(|note| note.starts_with("Risky"));
        let notes: Vec<_> = std::iter::once(&on)
            .chain(notes)
            .map(String::as_str)
            .collect();
        page.part("", &notes.join(" "));
        for risk in risks {
            page.coloured(risk);
        }
    }
    if let Some(gives) = gives {
        page.part("Gives", &format!("{gives}."));
    }
    if let Some(then) = then {
        page.part("Then", &format!("limited by {then}."));
    }
    page.text
}

/// Breaks `text` into lines of at most `width` characters, at spaces.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let length = line.chars().count();
        if length > 0 && length + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        } else if length > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

struct Page {
    layout: Layout,
    text: String,
}

impl Page {
    /// A part with its name in the margin.
    fn part(&mut self, name: &str, text: &str) {
        let lines = self.folded(text, MARGIN);
        self.lines(name, &lines, "");
    }

    /// A line below a part, in the colour of a warning.
    fn coloured(&mut self, text: &str) {
        let lines = self.folded(text, MARGIN);
        self.lines("", &lines, YELLOW);
    }

    /// A setting to paste. One that is too long for the column is broken where a shell
    /// or a compiler would accept it.
    fn paste(&mut self, name: &str, text: &str) {
        let mut lines = self.folded(text, MARGIN);
        if lines.len() > 1 {
            // Two columns are left for a backslash.
            lines = self.folded(text, MARGIN + 2);
        }
        let last = lines.len().saturating_sub(1);
        let is_shell = text.starts_with("sysctl") || text.starts_with("ip ");
        let lines: Vec<_> = lines
            .into_iter()
            .enumerate()
            .map(|(place, line)| match is_shell && place < last {
                true => format!("{line} \\"),
                false => line,
            })
            .collect();
        self.lines(name, &lines, "");
    }

    fn folded(&self, text: &str, margin: usize) -> Vec<String> {
        match self.layout.width {
            Some(width) => {
                let taken = self.layout.indent + margin;
                wrapped(text, width.saturating_sub(taken).max(LEAST))
            }
            None => vec![text.to_string()],
        }
    }

    fn lines(&mut self, name: &str, lines: &[String], colour: &str) {
        let Layout {
            indent,
            colour: is_coloured,
            ..
        } = self.layout;
        let mut name = name;
        for line in lines {
            self.text.push_str(&" ".repeat(indent));
            let gap = " ".repeat(MARGIN - name.len());
            match is_coloured && !name.is_empty() {
                true => self.text.push_str(&format!("{BOLD}{name}{PLAIN}{gap}")),
                false => self.text.push_str(&format!("{name}{gap}")),
            }
            match is_coloured && !colour.is_empty() {
                true => self.text.push_str(&format!("{colour}{line}{PLAIN}")),
                false => self.text.push_str(line),
            }
            self.text.push('\n');
            name = "";
        }
    }
}
