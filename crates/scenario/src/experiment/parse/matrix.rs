//! A matrix: one row (scenario) for every combination of its axes' values. An axis is a setting
//! with several values.
//!
//! Rule: the first axis of the file changes slowest. A row's label consists of the names of its
//! values.

use super::{
    super::{model::Row, setup::Setup},
    parts::{apply, apply_set, plain_row, seeds, text},
};
use crate::{
    document::{KeyValue, Section, hint},
    mistake::Mistake,
};

/// Key of the template for the rows' labels. The key is in the same table as the axes.
const LABEL: &str = "label";

/// One value of an axis.
#[derive(Clone)]
struct AxisValue<'a> {
    name: String,
    seeds: Option<u32>,
    settings: Settings<'a>,
}

/// Settings that one value of an axis makes.
#[derive(Clone)]
enum Settings<'a> {
    /// The settings in the value's table `set`.
    Table(Option<KeyValue<'a>>),
    /// The same value at each of these paths.
    Each {
        paths: Vec<String>,
        value: KeyValue<'a>,
    },
}

struct MatrixAxis<'a> {
    name: &'a str,
    values: Vec<AxisValue<'a>>,
}

/// Returns the rows of the matrix. `seeds` is the default number of seeds.
pub(super) fn rows(section: &Section<'_>, base: &Setup, seeds: u32) -> Result<Vec<Row>, Mistake> {
    let label = section.required(
        LABEL,
        "write the rows' label with the name of each axis in braces, such as \"{size}\" for an \
         axis `size`",
    )?;
    let template = text(&label)?;
    let entries = section.entries();
    let axes = entries
        .iter()
        .filter(|entry| entry.key != LABEL)
        .map(axis)
        .collect::<Result<Vec<_>, _>>()?;
    if axes.is_empty() {
        return Err(section.mistake("has no axis: add a table, such as [matrix.size]"));
    }
    check_template(&label, &template, &axes)?;
    let mut cells: Vec<Vec<&AxisValue<'_>>> = vec![Vec::new()];
    for axis in &axes {
        let longer = cells.iter().flat_map(|cell| {
            let with = |value| cell.iter().copied().chain([value]).collect();
            axis.values.iter().map(with)
        });
        cells = longer.collect();
    }
    if cells.len() > 10_000 {
        return Err(section.mistake(format!(
            "{} rows are too many: at most 10000 are allowed",
            cells.len()
        )));
    }
    let row = |cell: &Vec<_>| section.keep(row(&label, &template, &axes, cell, base, seeds));
    Ok(cells.iter().filter_map(row).collect())
}

fn axis<'a>(entry: &KeyValue<'a>) -> Result<MatrixAxis<'a>, Mistake> {
    let section = entry.section()?;
    let values: Vec<AxisValue<'a>> = match section.optional("values") {
        Some(list) => listed(&section, &list)?,
        None => section
            .entries()
            .iter()
            .map(tabled)
            .collect::<Result<_, _>>()?,
    };
    if values.is_empty() {
        return Err(entry.mistake("has no values: give the axis at least one"));
    }
    Ok(MatrixAxis {
        name: entry.key,
        values,
    })
}

/// Reads an axis with a list of values, each of which is set at one path or at several paths.
fn listed<'a>(section: &Section<'a>, list: &KeyValue<'a>) -> Result<Vec<AxisValue<'a>>, Mistake> {
    section.allow_only(&["set", "values"]);
    let set = section.required(
        "set",
        "name the setting that takes the values, or a list of settings",
    )?;
    let paths = match set.string() {
        Ok(path) => vec![path.to_string()],
        Err(_) => set
            .list()?
            .iter()
            .map(|path| path.string().map(str::to_string))
            .collect::<Result<_, _>>()?,
    };
    let value = |value: KeyValue<'a>| {
        Ok(AxisValue {
            name: value.scalar()?,
            seeds: None,
            settings: Settings::Each {
                paths: paths.clone(),
                value,
            },
        })
    };
    list.list()?.into_iter().map(value).collect()
}

/// Reads a value that has a table of settings.
fn tabled<'a>(entry: &KeyValue<'a>) -> Result<AxisValue<'a>, Mistake> {
    let section = entry.section()?;
    section.allow_only(&["set", "seeds"]);
    let seeds = section.optional("seeds").map(|entry| seeds(&entry));
    Ok(AxisValue {
        name: entry.key.to_string(),
        seeds: seeds.transpose()?,
        settings: Settings::Table(section.optional("set")),
    })
}

fn row(
    label: &KeyValue<'_>,
    template: &str,
    axes: &[MatrixAxis<'_>],
    cell: &[&AxisValue<'_>],
    base: &Setup,
    seeds: u32,
) -> Result<Row, Mistake> {
    let mut setup = base.clone();
    let mut made = Vec::new();
    let mut name = template.to_string();
    for (axis, value) in axes.iter().zip(cell) {
        name = name.replace(&format!("{{{}}}", axis.name), &value.name);
        match &value.settings {
            Settings::Table(Some(set)) => apply_set(&mut setup, &mut made, set)?,
            Settings::Table(None) => {}
            Settings::Each { paths, value } => {
                for path in paths {
                    apply(value, |text| {
                        made.push((path.clone(), text.to_string()));
                        setup.set(path, text)
                    })?;
                }
            }
        }
    }
    // Check the row only if the base setup is valid. Otherwise every row is invalid, too, and the
    // mistake has been reported already.
    if base.check_contradictions().is_ok() {
        let valid = match label.mistakes() {
            0 => setup.validate(),
            _ => setup.check_contradictions(),
        };
        valid.map_err(|error| label.mistake(format!("row `{name}`: {error}")))?;
    }
    let own = cell.iter().filter_map(|value| value.seeds).max();
    Ok(Row {
        own: made,
        ..plain_row(name, setup, own.unwrap_or(seeds))
    })
}

/// Refuses a template that omits an axis, because several rows would then have the same label. Also
/// refuses a template in which other names are in braces.
fn check_template(
    label: &KeyValue<'_>,
    template: &str,
    axes: &[MatrixAxis<'_>],
) -> Result<(), Mistake> {
    for axis in axes {
        if !template.contains(&format!("{{{}}}", axis.name)) {
            return Err(label.mistake(format!(
                "`{{{}}}` is missing: the label must name every axis, so that each row has its own label",
                axis.name
            )));
        }
    }
    for piece in template.split('{').skip(1) {
        let name = piece.split('}').next().unwrap_or(piece);
        let known = axes.iter().map(|axis| axis.name);
        if !known.clone().any(|axis| axis == name) {
            let hint = hint(name, known);
            return Err(label.mistake(format!("unknown axis `{{{name}}}`; {hint}")));
        }
    }
    Ok(())
}
