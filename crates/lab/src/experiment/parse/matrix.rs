//! A matrix: every value of each axis with every value of the others, one row
//! each.
//!
//! Rule: the first axis of the file changes slowest, so rows stand as a person
//! would have written them. A label is made from the values' names.

use super::{
    super::{Row, setup::Setup},
    apply, rows, text,
};
use crate::{
    document::{Entry, Section, hint},
    mistake::Mistake,
};

/// The template of the labels stands under this, beside the axes.
const LABEL: &str = "label";

/// One value of an axis.
#[derive(Clone)]
struct Value<'a> {
    name: String,
    seeds: Option<u32>,
    settings: Settings<'a>,
}

/// What a value sets.
#[derive(Clone)]
enum Settings<'a> {
    /// What its table `set` says.
    Table(Option<Entry<'a>>),
    /// The same text under each of these paths.
    Each {
        paths: Vec<String>,
        value: Entry<'a>,
    },
}

struct Axis<'a> {
    name: &'a str,
    values: Vec<Value<'a>>,
}

/// The rows of the matrix. `seeds` is how many a row has that does not say.
pub(super) fn rows(section: &Section<'_>, base: &Setup, seeds: u32) -> Result<Vec<Row>, Mistake> {
    let label = section.required(LABEL, "say how rows are called, such as \"{size} {path}\"")?;
    let template = text(&label)?;
    let entries = section.entries();
    let axes = entries
        .iter()
        .filter(|entry| entry.key != LABEL)
        .map(axis)
        .collect::<Result<Vec<_>, _>>()?;
    if axes.is_empty() {
        return Err(section.mistake("has no axis: nothing would run"));
    }
    check_template(&label, &template, &axes)?;
    let mut cells: Vec<Vec<&Value<'_>>> = vec![Vec::new()];
    for axis in &axes {
        let longer = cells.iter().flat_map(|cell| {
            let with = |value| cell.iter().copied().chain([value]).collect();
            axis.values.iter().map(with)
        });
        cells = longer.collect();
    }
    if cells.len() > 10_000 {
        return Err(section.mistake(format!("{} rows are too many", cells.len())));
    }
    let row = |cell: &Vec<_>| section.keep(row(&label, &template, &axes, cell, base, seeds));
    Ok(cells.iter().filter_map(row).collect())
}

fn axis<'a>(entry: &Entry<'a>) -> Result<Axis<'a>, Mistake> {
    let section = entry.section()?;
    let values: Vec<Value<'a>> = match section.optional("values") {
        Some(list) => listed(&section, &list)?,
        None => section
            .entries()
            .iter()
            .map(tabled)
            .collect::<Result<_, _>>()?,
    };
    if values.is_empty() {
        return Err(entry.mistake("has no values: nothing would run"));
    }
    Ok(Axis {
        name: entry.key,
        values,
    })
}

/// An axis that gives one setting, or several alike, each of a list of values.
fn listed<'a>(section: &Section<'a>, list: &Entry<'a>) -> Result<Vec<Value<'a>>, Mistake> {
    section.allow_only(&["set", "values"]);
    let set = section.required("set", "name the setting that takes the values, or several")?;
    let paths = match set.string() {
        Ok(path) => vec![path.to_string()],
        Err(_) => set
            .list()?
            .iter()
            .map(|path| path.string().map(str::to_string))
            .collect::<Result<_, _>>()?,
    };
    let value = |value: Entry<'a>| {
        Ok(Value {
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

/// A value with a table of its own.
fn tabled<'a>(entry: &Entry<'a>) -> Result<Value<'a>, Mistake> {
    let section = entry.section()?;
    section.allow_only(&["set", "seeds"]);
    let seeds = section.optional("seeds").map(|entry| rows::seeds(&entry));
    Ok(Value {
        name: entry.key.to_string(),
        seeds: seeds.transpose()?,
        settings: Settings::Table(section.optional("set")),
    })
}

fn row(
    label: &Entry<'_>,
    template: &str,
    axes: &[Axis<'_>],
    cell: &[&Value<'_>],
    base: &Setup,
    seeds: u32,
) -> Result<Row, Mistake> {
    let mut setup = base.clone();
    let mut name = template.to_string();
    for (axis, value) in axes.iter().zip(cell) {
        name = name.replace(&format!("{{{}}}", axis.name), &value.name);
        match &value.settings {
            Settings::Table(Some(set)) => rows::apply(&mut setup, set)?,
            Settings::Table(None) => {}
            Settings::Each { paths, value } => {
                for path in paths {
                    apply(value, |text| setup.set(path, text))?;
                }
            }
        }
    }
    // What is wrong with all rows has been found before.
    if base.validate().is_ok() {
        setup
            .validate()
            .map_err(|error| label.mistake(format!("row `{name}`: {error}")))?;
    }
    let own = cell.iter().filter_map(|value| value.seeds).max();
    Ok(rows::plain(name, setup, own.unwrap_or(seeds)))
}

/// A template must name every axis, or rows would be called the same, and
/// nothing else in braces.
fn check_template(label: &Entry<'_>, template: &str, axes: &[Axis<'_>]) -> Result<(), Mistake> {
    for axis in axes {
        if !template.contains(&format!("{{{}}}", axis.name)) {
            return Err(label.mistake(format!(
                "`{{{}}}` is missing: rows would be called the same",
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
