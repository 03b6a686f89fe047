//! The knobs (settings of the stack) of a preset (default settings of a system), as text for a
//! terminal: a table, or one record for each knob if the terminal is narrow.
//!
//! Rule: the first column of the table has the names in the preset's own system, because its users
//! search for these names. Names, ranges, units and descriptions come from each knob's
//! declaration.

use std::fmt::Write;

use fullpipe::{
    config::Config,
    presets::{Preset, alias},
};
use fullpipe_pool::knobs::KnobInfo;
use fullpipe_scenario::{document::hint, experiment::other_names};

use crate::{
    grid::{Align, Grid, GridColumn},
    layout::{Layout, Tone, columns},
    table::WIDE,
};

/// Smallest number of columns of a knob's description in a table.
const LEAST_DOC: usize = 40;
/// Largest number of columns of a knob's description in a table.
const MOST_DOC: usize = 80;

/// A knob of a preset with the texts that are printed for it.
struct Listed {
    /// Names of the knob in the preset's own system.
    own: Vec<&'static str>,
    value: String,
    info: KnobInfo,
}

impl Listed {
    fn is_changed(&self) -> bool {
        self.value != self.info.default
    }

    /// The value, with a mark if it differs from the default.
    fn marked(&self) -> String {
        let mark = if self.is_changed() { " *" } else { "" };
        format!("{}{mark}", self.value)
    }

    /// Returns true if `filter` occurs in the knob's name, or in one of its names in the preset's
    /// system.
    fn matches(&self, filter: &str) -> bool {
        let filter = filter.to_ascii_lowercase();
        let mut names = self.own.iter().copied().chain([self.info.name.as_str()]);
        names.any(|name| name.to_ascii_lowercase().contains(&filter))
    }
}

/// Returns the knobs of `preset`, or only those whose name contains `filter`, as text.
///
/// # Errors
/// Returns one line with the nearest name, if no knob's name contains `filter`.
pub fn knobs_table(
    preset: &Preset,
    filter: Option<&str>,
    layout: Layout,
) -> Result<String, String> {
    let knobs = listed(preset, filter)?;
    let mut text = match table(&knobs, preset, layout) {
        Some(table) => table,
        None => records(&knobs, layout),
    };
    if filter.is_none() {
        text.push('\n');
        let starred = match preset.rows {
            [] => "",
            [..] => " * differs from the default.",
        };
        let about = format!("{}{starred}", preset.doc);
        let first = format!("preset {}: ", preset.name);
        layout.paragraph(&mut text, &first, 2, &about);
    }
    for other in other_names(preset.name) {
        let is_meant = filter.is_none_or(|filter| {
            let name = other.name.to_ascii_lowercase();
            name.contains(&filter.to_ascii_lowercase())
        });
        if is_meant {
            let line = format!("`{}` in an experiment: {}", other.path, other.doc);
            layout.paragraph(&mut text, &format!("{}: ", other.name), 2, &line);
        }
    }
    Ok(text)
}

/// Returns the names of the knobs of `preset`. With a `filter`, returns only the names of knobs
/// whose own name, or name in the preset's system, contains it.
///
/// # Errors
/// Returns one line with the nearest name, if no name contains `filter`.
pub(super) fn names(preset: &Preset, filter: Option<&str>) -> Result<Vec<String>, String> {
    let knobs = listed(preset, filter)?;
    Ok(knobs.into_iter().map(|knob| knob.info.name).collect())
}

fn listed(preset: &Preset, filter: Option<&str>) -> Result<Vec<Listed>, String> {
    let config = preset.config();
    let all: Vec<_> = Config::rows()
        .into_iter()
        .map(|info| Listed {
            own: alias::of_knob(preset.name, &info.name),
            value: config.get(&info.name).unwrap_or_default(),
            info,
        })
        .collect();
    let Some(filter) = filter else {
        return Ok(all);
    };
    let others = other_names(preset.name).map(|other| other.name);
    let names: Vec<String> = all
        .iter()
        .flat_map(|knob| {
            let own = knob.own.iter().map(ToString::to_string);
            let field = knob.info.name.rsplit('.').next().map(str::to_string);
            own.chain(field).chain([knob.info.name.clone()])
        })
        .collect();
    let found: Vec<_> = all.into_iter().filter(|at| at.matches(filter)).collect();
    let mut others = others.filter(|name| {
        let name = name.to_ascii_lowercase();
        name.contains(&filter.to_ascii_lowercase())
    });
    if found.is_empty() && others.next().is_none() {
        let near = hint(filter, names.iter().map(String::as_str));
        let near = match near.starts_with("did you mean") {
            true => near,
            false => "`fullpipe knobs` lists all knobs".to_string(),
        };
        return Err(format!("no knob's name contains `{filter}`; {near}"));
    }
    Ok(found)
}

/// Returns the table; `None` if it is wider than the terminal.
fn table(knobs: &[Listed], preset: &Preset, layout: Layout) -> Option<String> {
    let widest = |of: &dyn Fn(&Listed) -> usize| knobs.iter().map(of).max().unwrap_or(0);
    let has_own = knobs.iter().any(|knob| !knob.own.is_empty());
    let own = |knob: &Listed| knob.own.iter().map(|name| columns(name)).max().unwrap_or(0);
    let mut grid = Vec::new();
    if has_own {
        let heading = format!("name in {}", preset.name);
        grid.push(GridColumn::new(&[&heading], widest(&own), Align::Left));
    }
    let value = |knob: &Listed| columns(&knob.marked());
    let legal = |knob: &Listed| columns(&range(&knob.info.legal));
    grid.extend([
        GridColumn::new(&["knob"], widest(&|at| columns(&at.info.name)), Align::Left),
        GridColumn::new(&["value"], widest(&value), Align::Left),
        GridColumn::new(&["legal"], widest(&legal), Align::Left),
        GridColumn::new(&["unit"], widest(&|at| columns(at.info.unit)), Align::Left),
        GridColumn::new(&["what it bounds"], LEAST_DOC, Align::Left),
    ]);
    let others = Grid::width_of(&grid) - LEAST_DOC;
    let room = layout.width.checked_sub(others)?;
    if layout.width < WIDE || room < LEAST_DOC {
        return None;
    }
    let doc = room.min(MOST_DOC);
    grid.last_mut()?.width = doc;
    let grid = Grid { columns: grid };
    let mut out = grid.head(layout);
    for knob in knobs {
        let mut cells = Vec::new();
        if has_own {
            cells.push(knob.own.iter().map(ToString::to_string).collect());
        }
        let tone = if knob.is_changed() {
            Tone::Doubtful
        } else {
            Tone::Key
        };
        cells.extend([
            vec![layout.paint(Tone::Heading, &knob.info.name)],
            vec![layout.paint(tone, &knob.marked())],
            vec![range(&knob.info.legal)],
            vec![knob.info.unit.to_string()],
            layout.lines(&knob.info.doc, doc),
        ]);
        out.push_str(&grid.row(&cells)?);
    }
    Some(out)
}

fn records(knobs: &[Listed], layout: Layout) -> String {
    let mut out = String::new();
    for knob in knobs {
        let KnobInfo {
            name,
            unit,
            default,
            legal,
            doc,
            ..
        } = &knob.info;
        let mut title = layout.paint(Tone::Heading, name);
        if !knob.own.is_empty() {
            let _ = write!(title, " ({})", knob.own.join(", "));
        }
        layout.paragraph(&mut out, "", 2, &title);
        let default = match knob.is_changed() {
            true => format!(" (default {default})"),
            false => String::new(),
        };
        let value = format!("{} {unit}{default}; {} allowed", knob.value, range(legal));
        layout.field(&mut out, "Value", &value);
        layout.field(&mut out, "Bounds", doc);
        out.push('\n');
    }
    out.pop();
    out
}

/// Returns `low to high`, or one value if both are equal.
pub(super) fn range((low, high): &(String, String)) -> String {
    if low == high {
        low.clone()
    } else {
        format!("{low} to {high}")
    }
}
