//! The origins of a file's values: `stated`, `[[fitted]]`, `[[chosen]]`, `[[implied]]`.
//!
//! Rule: an origin must name a setting that the file makes, and rows (scenarios) with published
//! figures. Therefore removing the setting or the row makes the origin a mistake.

use super::{
    super::{
        model::Row,
        origins::{Chosen, Fitted, Implied, Origins, OwnSetting, RowFigure},
        setup,
    },
    flows::FLOWS,
    parts::text,
};
use crate::{
    document::{KeyValue, Section, hint},
    mistake::Mistake,
};

/// Keys of a fitted parameter.
pub const FITTED_KEYS: &[&str] = &[
    "setting",
    "tried",
    "rows",
    "quantities",
    "reason",
    "elsewhere",
];
/// Keys of chosen settings.
pub const CHOSEN_KEYS: &[&str] = &["settings", "reason", "elsewhere"];
/// Keys of implied figures.
pub const IMPLIED_KEYS: &[&str] = &["rows", "quantities", "reason"];

/// Reads the origins, and adds to each of `rows` the parameters that were fitted to it.
pub(super) fn read(top: &Section<'_>, rows: &mut [Row]) -> Result<Origins, Mistake> {
    // Do not read origins after a mistake: a refused row would be reported as unknown.
    if top.mistakes() > 0 {
        return Ok(Origins::default());
    }
    let file = File {
        base: base(top)?,
        rows,
    };
    let mut origins = Origins {
        fitted: tables(top, "fitted", |section| file.fitted(section))?,
        chosen: tables(top, "chosen", |section| file.chosen(section))?,
        ..Origins::default()
    };
    if let Some(entry) = top.optional("stated") {
        origins.stated = file.settings(&entry)?;
    }
    origins.implied = tables(top, "implied", |section| file.implied(section, &origins))?;
    origins.unexplained = file.unexplained(&origins);
    for row in rows {
        row.fitted = origins.fitted_to(&row.label);
    }
    Ok(origins)
}

/// Calls `one` for each table of the list called `key`, and returns the results.
fn tables<T>(
    top: &Section<'_>,
    key: &str,
    one: impl Fn(&Section<'_>) -> Result<T, Mistake>,
) -> Result<Vec<T>, Mistake> {
    let Some(entry) = top.optional(key) else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for entry in entry.list()? {
        let read = entry.section().and_then(|section| one(&section));
        all.extend(top.keep(read));
    }
    Ok(all)
}

/// Returns the settings of hosts, links and flows: paths and values as `--set` takes them.
fn base(top: &Section<'_>) -> Result<Vec<(String, String)>, Mistake> {
    let mut all = Vec::new();
    for part in ["hosts", "links", FLOWS, setup::WORKLOAD] {
        let Some(entry) = top.optional(part) else {
            continue;
        };
        for leaf in entry.section()?.leaves() {
            let name = leaf.path.rsplit('.').next().unwrap_or_default();
            if ["between", "preset", "from", "to"].contains(&name) {
                continue;
            }
            let path = match part {
                setup::WORKLOAD => format!("{part}.{}", leaf.path),
                _ => leaf.path.replacen(".set.", ".", 1),
            };
            all.push((path, leaf.scalar()?));
        }
    }
    Ok(all)
}

/// The settings that the file makes for every row, and the file's rows.
struct File<'a> {
    base: Vec<(String, String)>,
    rows: &'a [Row],
}

impl File<'_> {
    fn fitted(&self, section: &Section<'_>) -> Result<Fitted, Mistake> {
        section.allow_only(FITTED_KEYS);
        let setting = section.required("setting", "name the parameter that was fitted")?;
        let tried = section.required("tried", "say which values were tried")?;
        let figures = self.figures(section, None)?;
        let rows = || self.rows.iter();
        let its_rows: Vec<_> = rows()
            .filter(|row| figures.iter().any(|at| at.row == row.label))
            .collect();
        Ok(Fitted {
            parameter: self.setting(&setting, &its_rows)?,
            tried: text(&tried)?,
            figures,
            reason: optional_text(section, "reason")?,
            elsewhere: optional_text(section, "elsewhere")?,
        })
    }

    fn chosen(&self, section: &Section<'_>) -> Result<Chosen, Mistake> {
        section.allow_only(CHOSEN_KEYS);
        let settings = section.required("settings", "list the settings that were chosen")?;
        let reason = section.required("reason", "say why these values were chosen")?;
        Ok(Chosen {
            settings: self.settings(&settings)?,
            reason: text(&reason)?,
            elsewhere: optional_text(section, "elsewhere")?,
        })
    }

    fn implied(&self, section: &Section<'_>, origins: &Origins) -> Result<Implied, Mistake> {
        section.allow_only(IMPLIED_KEYS);
        let reason = section.required(
            "reason",
            "say which setting or result implies the published results",
        )?;
        Ok(Implied {
            figures: self.figures(section, Some(origins))?,
            reason: text(&reason)?,
        })
    }

    /// Returns the published figures that `rows` and `quantities` of `section` name. Without
    /// `quantities`, returns every published figure of these rows. With `origins`, refuses a figure
    /// to which a parameter was fitted.
    fn figures(
        &self,
        section: &Section<'_>,
        origins: Option<&Origins>,
    ) -> Result<Vec<RowFigure>, Mistake> {
        let rows = section.required(
            "rows",
            "list the labels of the rows with the published results",
        )?;
        let wanted = section.optional("quantities");
        let wanted = wanted.map(|entry| entry.list()).transpose()?;
        let mut all = Vec::new();
        for label in rows.list()? {
            let name = text(&label)?;
            let Some(row) = self.rows.iter().find(|row| row.label == name) else {
                let labels = self.rows.iter().map(|row| row.label.as_str());
                let hint = hint(&name, labels);
                return Err(label.mistake(format!("no row has this label; {hint}")));
            };
            let published = row.published.names();
            if published.is_empty() {
                return Err(
                    label.mistake("this row has no published result: name a row with `published`")
                );
            }
            let named = match &wanted {
                Some(wanted) => named(wanted, &name, &published)?,
                None => published,
            };
            let fitted = origins.is_some_and(|origins| {
                let mut figures = named.iter();
                figures.any(|figure| origins.is_fitted(&name, figure))
            });
            if fitted {
                return Err(label.mistake(
                    "a parameter was fitted to a published result of this row: name only other \
                     results in `quantities`; if there are none, remove the row, or this [[implied]] \
                     if it has no other row",
                ));
            }
            all.extend(named.into_iter().map(|quantity| RowFigure {
                row: name.clone(),
                quantity,
            }));
        }
        match all.is_empty() {
            true => Err(rows.mistake("is empty: name at least one row")),
            false => Ok(all),
        }
    }

    fn settings(&self, entry: &KeyValue<'_>) -> Result<Vec<OwnSetting>, Mistake> {
        let list = entry.list()?;
        if list.is_empty() {
            return Err(entry.mistake("is empty: name at least one setting"));
        }
        let all: Vec<_> = self.rows.iter().collect();
        let one = |name| self.setting(name, &all);
        list.iter().map(one).collect()
    }

    /// Returns the setting that `entry` names, with its value in `rows`.
    fn setting(&self, entry: &KeyValue<'_>, rows: &[&Row]) -> Result<OwnSetting, Mistake> {
        let setting = text(entry)?;
        let mut values: Vec<&str> = Vec::new();
        for row in rows {
            let own = row.own.iter().any(|(path, _)| covers(&setting, path));
            let made = if own { &row.own } else { &self.base };
            for (path, value) in made {
                if covers(&setting, path) && !values.contains(&value.as_str()) {
                    values.push(value);
                }
            }
        }
        if values.is_empty() {
            let own = self.rows.iter().flat_map(|row| &row.own);
            let paths: Vec<_> = self.base.iter().chain(own).map(|(path, _)| path).collect();
            let hint = hint(&setting, paths.iter().map(|path| path.as_str()));
            return Err(entry.mistake(format!("no line of the file makes this setting; {hint}")));
        }
        Ok(OwnSetting {
            setting,
            value: values.join(", "),
        })
    }

    /// Returns the settings without an origin, each once.
    fn unexplained(&self, origins: &Origins) -> Vec<String> {
        let chosen = origins.chosen.iter().flat_map(|chosen| &chosen.settings);
        let fitted = origins.fitted.iter().map(|fitted| &fitted.parameter);
        let known: Vec<_> = origins.stated.iter().chain(chosen).chain(fitted).collect();
        let rows = self.rows.iter();
        let own = rows
            .filter(|row| !row.published.names().is_empty())
            .flat_map(|row| &row.own);
        let mut missing: Vec<String> = Vec::new();
        for (path, _) in self.base.iter().chain(own) {
            let is_known = known.iter().any(|known| covers(&known.setting, path));
            if !is_known && !missing.contains(path) {
                missing.push(path.clone());
            }
        }
        missing
    }
}

/// Returns true if `setting` is `path` or one of the tables that contain it.
fn covers(setting: &str, path: &str) -> bool {
    path.strip_prefix(setting)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns those figures of `published`, the published values of `row`, that `wanted` names.
fn named(
    wanted: &[KeyValue<'_>],
    row: &str,
    published: &[&'static str],
) -> Result<Vec<&'static str>, Mistake> {
    let one = |entry: &KeyValue<'_>| {
        let name = entry.string()?;
        let found = published.iter().find(|known| **known == name);
        found.copied().ok_or_else(|| {
            let hint = hint(name, published.iter().copied());
            entry.mistake(format!(
                "row `{row}` has no published value of this quantity; {hint}"
            ))
        })
    };
    wanted.iter().map(one).collect()
}

fn optional_text(section: &Section<'_>, key: &str) -> Result<Option<String>, Mistake> {
    let entry = section.optional(key);
    entry.map(|entry| text(&entry)).transpose()
}
