//! The rows (scenarios) of an experiment file. A row may have figures with which its result is
//! compared: figures of the document that the experiment repeats, and figures of other stacks
//! (peers). Rows from a matrix come first.
//!
//! Rule: a row is a copy of the experiment with the row's own settings. Mistakes in a row are
//! reported at the row's line.

use super::{
    super::{
        model::Row,
        origins::OUTCOME,
        published::{Peer, Published},
        setup::Setup,
    },
    matrix,
    parts::{apply_set, plain_row, quantity, seeds, text},
};
use crate::{
    document::{KeyValue, Section, hint},
    measured::{Outcome, Quantity},
    mistake::Mistake,
};

/// Reads all rows of the file, at least one. `seeds` is the default number of seeds.
pub(super) fn all(top: &Section<'_>, base: &Setup, seeds: u32) -> Result<Vec<Row>, Mistake> {
    let matrix = top.optional("matrix");
    let mut rows = match &matrix {
        Some(entry) => matrix::rows(&entry.section()?, base, seeds)?,
        None => Vec::new(),
    };
    let written = if matrix.is_none() {
        Some(top.required("rows", "write a [[rows]] for each line of the result table")?)
    } else {
        top.optional("rows")
    };
    if let Some(entry) = written {
        let list = entry.list()?;
        if list.is_empty() {
            return Err(entry.mistake("is empty: add at least one row"));
        }
        for entry in list {
            rows.extend(top.keep(one(&entry, base, seeds, &rows)));
        }
    }
    if let Some(entry) = top.optional("peers") {
        // Read the results of peers only if there are no mistakes: otherwise the label of a refused
        // row would be reported as unknown.
        if top.mistakes() == 0 {
            peers(&entry.section()?, &mut rows)?;
        }
    }
    Ok(rows)
}

/// Keys of a row.
pub const ROW_KEYS: &[&str] = &["label", "set", "seeds", "published", "baseline", "note"];

fn one(entry: &KeyValue<'_>, base: &Setup, given: u32, before: &[Row]) -> Result<Row, Mistake> {
    let section = entry.section()?;
    section.allow_only(ROW_KEYS);
    let label = section.required("label", "give the row a label")?;
    let label_text = text(&label)?;
    if before.iter().any(|row| row.label == label_text) {
        return Err(label.mistake(format!(
            "another row, or cell of the matrix, is called `{label_text}`: rename this row"
        )));
    }
    let mut setup = base.clone();
    let mut own = Vec::new();
    let found = section.mistakes();
    if let Some(set) = section.optional("set") {
        apply_set(&mut setup, &mut own, &set)?;
    }
    // Check the row only if the base setup is valid. Otherwise every row is invalid, too, and the
    // mistake has been reported already.
    if section.mistakes() == found && base.check_contradictions().is_ok() {
        // After a refused setting, check only for contradictions, not for an endless run: the
        // refused setting may be the one that ends the run.
        let valid = match section.mistakes() {
            0 => setup.validate(),
            _ => setup.check_contradictions(),
        };
        section.keep(valid.map_err(|error| label.mistake(format!("row `{label_text}`: {error}"))));
    }
    let seeds = match section.optional("seeds") {
        Some(entry) => seeds(&entry)?,
        None => given,
    };
    let published = match section.optional("published") {
        Some(entry) => published(&entry)?,
        None => Published::default(),
    };
    let baseline = match section.optional("baseline") {
        Some(entry) => {
            let wanted = entry.boolean()?;
            if wanted && before.iter().any(|row| row.baseline) {
                return Err(entry.key_mistake(
                    "only one row can be the baseline, and an earlier row is: \
                     remove one `baseline`",
                ));
            }
            wanted
        }
        None => false,
    };
    let note = section.optional("note").map(|entry| text(&entry));
    Ok(Row {
        own,
        published,
        baseline,
        note: note.transpose()?,
        ..plain_row(label_text, setup, seeds)
    })
}

fn published(entry: &KeyValue<'_>) -> Result<Published, Mistake> {
    let mut published = Published::default();
    for figure in entry.section()?.entries() {
        if figure.key == OUTCOME {
            published.outcome = Some(outcome(&figure)?);
            continue;
        }
        let found = Quantity::ALL
            .iter()
            .find(|quantity| quantity.name == figure.key);
        let Some(found) = found else {
            let names = Quantity::ALL.iter().map(|quantity| quantity.name);
            return Err(figure.unknown("figure", names.chain([OUTCOME])));
        };
        published.figures.push((found.name, figure.number()?));
    }
    Ok(published)
}

fn outcome(entry: &KeyValue<'_>) -> Result<Outcome, Mistake> {
    let name = entry.string()?;
    let names = Outcome::ALL.iter().map(|outcome| outcome.name());
    let found = Outcome::ALL.iter().find(|outcome| outcome.name() == name);
    found
        .copied()
        .ok_or_else(|| entry.mistake(format!("unknown outcome `{name}`; {}", hint(name, names))))
}

/// Reads `[peers.NAME.QUANTITY]`: figures by row label.
fn peers(section: &Section<'_>, rows: &mut [Row]) -> Result<(), Mistake> {
    for peer in section.entries() {
        for measured in peer.section()?.entries() {
            let name = quantity(&measured, measured.key)?;
            for figure in measured.section()?.entries() {
                let Some(row) = rows.iter_mut().find(|row| row.label == figure.key) else {
                    let labels = rows.iter().map(|row| row.label.as_str());
                    let hint = hint(figure.key, labels);
                    return Err(figure.key_mistake(format!("no row has this label; {hint}")));
                };
                let place = row.peers.iter().position(|known| known.name == peer.key);
                let place = place.unwrap_or_else(|| {
                    row.peers.push(Peer {
                        name: peer.key.to_string(),
                        figures: Published::default(),
                    });
                    row.peers.len() - 1
                });
                let figures = &mut row.peers[place].figures.figures;
                figures.push((name, figure.number()?));
            }
        }
    }
    Ok(())
}
