//! The parts of a report as flat columns: connections, accounts (time by limit), verdicts and
//! levers (settings that could be changed); and the settings of a search for sufficient sizes.
//!
//! Rule: `row_number` counts the rows (scenarios) from 1 in the order of the report, and joins the
//! tables. Nothing is computed here.

use fullpipe_explain::{Advised, Explanation, Predicted};
use fullpipe_scenario::Times;
use fullpipe_tcp::limit::Reason;

use super::{Column, Records, Values};
use crate::{
    report::{Report, RowReport},
    size::{CurvePoint, KnobSize, Size},
};

/// Columns of records, each of which is made from an `item`.
pub(super) struct Table<T> {
    items: Vec<T>,
    columns: Vec<Column>,
}

impl<T> Table<T> {
    pub(super) fn of(items: impl IntoIterator<Item = T>) -> Self {
        Self {
            items: items.into_iter().collect(),
            columns: Vec::new(),
        }
    }

    fn add(mut self, name: &str, values: Values) -> Self {
        self.columns.push(Column {
            name: name.to_string(),
            values,
        });
        self
    }

    pub(super) fn text(self, name: &str, of: impl Fn(&T) -> String) -> Self {
        let values = Values::Text(self.items.iter().map(of).collect());
        self.add(name, values)
    }

    pub(super) fn whole(self, name: &str, of: impl Fn(&T) -> u64) -> Self {
        let values = Values::Whole(self.items.iter().map(|item| Some(of(item))).collect());
        self.add(name, values)
    }

    pub(super) fn decimal(self, name: &str, of: impl Fn(&T) -> Option<f64>) -> Self {
        let values = Values::Decimal(self.items.iter().map(of).collect());
        self.add(name, values)
    }

    pub(super) fn records(self) -> Records {
        Records {
            columns: self.columns,
            count: self.items.len(),
        }
    }
}

/// A row of the report with its number, from 1.
type Numbered<'a> = (u64, &'a RowReport);

fn numbered(report: &Report) -> impl Iterator<Item = Numbered<'_>> {
    (1..).zip(&report.rows)
}

/// One limit of one end of a row: name of the end, name of the limit, seconds, share and bytes.
struct Held {
    end: &'static str,
    limit: &'static str,
    seconds: f64,
    share: f64,
    bytes: u64,
}

fn held<R: Reason>(end: &'static str, times: &Times<R>) -> Vec<Held> {
    let total: f64 = times.times().map(|(_, time)| time.as_secs_f64()).sum();
    let parts = times.parts();
    let parts = parts.filter(|(_, time, bytes)| !time.is_zero() || *bytes > 0);
    let parts = parts.map(|(limit, time, bytes)| Held {
        end,
        limit: limit.name(),
        seconds: time.as_secs_f64(),
        share: match total > 0.0 {
            true => time.as_secs_f64() / total,
            false => 0.0,
        },
        bytes,
    });
    parts.collect()
}

impl Records {
    /// Returns the goodput of each connection of each row.
    pub fn connections(report: &Report) -> Self {
        let items = numbered(report).flat_map(|(number, row)| {
            let measured = &row.measured;
            let mut all: Vec<(String, u64, f64)> = Vec::new();
            for flow in &measured.flows {
                let each = (1..).zip(&flow.connections_mbps);
                all.extend(each.map(|(place, mbps)| (flow.flow.clone(), place, *mbps)));
            }
            if all.is_empty() {
                all.push((String::new(), 1, measured.goodput_mbps));
            }
            all.into_iter().map(move |one| ((number, row), one))
        });
        Table::of(items)
            .whole("row_number", |((number, _), _)| *number)
            .text("row", |((_, row), _)| row.title())
            .text("flow", |(_, (flow, ..))| flow.clone())
            .whole("connection", |(_, (_, place, _))| *place)
            .decimal("goodput_mbps", |(_, (.., mbps))| Some(*mbps))
            .records()
    }

    /// Returns the seconds, the share and the payload of each limit, for both ends of each row.
    pub fn accounts(report: &Report) -> Self {
        let items = numbered(report).flat_map(|(number, row)| {
            let mut all = held("sender", &row.account.sender);
            all.extend(held("receiver", &row.account.receiver));
            all.into_iter().map(move |held| ((number, row), held))
        });
        Table::of(items)
            .whole("row_number", |((number, _), _)| *number)
            .text("row", |((_, row), _)| row.title())
            .text("end", |(_, held)| held.end.to_string())
            .text("limit", |(_, held)| held.limit.to_string())
            .decimal("seconds", |(_, held)| Some(held.seconds))
            .decimal("share", |(_, held)| Some(held.share))
            .whole("payload_bytes", |(_, held)| held.bytes)
            .records()
    }

    /// Returns the explanation of each row that has one.
    pub fn verdicts(report: &Report) -> Self {
        let items = numbered(report).filter_map(|(number, row)| {
            let explanation = row.verdict.as_ref()?;
            Some((number, row.title(), explanation))
        });
        of_explanations(items)
    }

    /// Returns each change that was run for the explanation of a row, the best first.
    pub fn levers(report: &Report) -> Self {
        let items = numbered(report).flat_map(|(number, row)| {
            let tried = row.verdict.iter().flat_map(|verdict| &verdict.tried);
            tried.map(move |lever| ((number, row), lever))
        });
        Table::of(items)
            .whole("row_number", |((number, _), _)| *number)
            .text("row", |((_, row), _)| row.title())
            .text("lever", |(_, lever)| lever.lever.clone())
            .text("changes", |(_, lever)| {
                let changes = lever.changes.iter();
                let changes = changes.map(ToString::to_string);
                changes.collect::<Vec<_>>().join("; ")
            })
            .decimal("gain_share", |(_, lever)| Some(lever.gain_share))
            .decimal("error_share", |(_, lever)| Some(lever.error_share))
            .records()
    }

    /// Returns the smallest sufficient value of each knob (setting of the host) of a search.
    pub fn sizes(size: &Size) -> Self {
        let smallest =
            |of: fn(&CurvePoint) -> f64| move |knob: &&KnobSize| knob.smallest.as_ref().map(of);
        Table::of(&size.knobs)
            .text("knob", |knob| knob.knob.clone())
            .text("direction", |knob| knob.direction.to_string())
            .text("value", |knob| {
                let point = knob.smallest.as_ref();
                point.map_or_else(String::new, |point| point.value.clone())
            })
            .decimal("bytes", smallest(|point| point.bytes as f64))
            .decimal("goodput_mbps", smallest(|point| point.goodput_mbps))
            .decimal("of_path_share", smallest(|point| point.of_path))
            .decimal("best_mbps", |knob| Some(knob.best_mbps))
            .decimal("enough_mbps", |knob| Some(knob.enough_mbps))
            .records()
    }

    /// Returns every value that a search tried, by knob.
    pub fn size_curves(size: &Size) -> Self {
        let items = size.knobs.iter();
        let items = items.flat_map(|knob| knob.curve.iter().map(move |point| (knob, point)));
        Table::of(items)
            .text("knob", |(knob, _)| knob.knob.clone())
            .text("direction", |(knob, _)| knob.direction.to_string())
            .text("value", |(_, point)| point.value.clone())
            .whole("bytes", |(_, point)| point.bytes)
            .decimal("goodput_mbps", |(_, point)| Some(point.goodput_mbps))
            .decimal("of_path_share", |(_, point)| Some(point.of_path))
            .text("limit", |(_, point)| point.limit.to_string())
            .records()
    }
}

/// Returns the names of the settings that an explanation changes together, each once.
fn names(found: &Explanation) -> String {
    let mut names: Vec<&str> = Vec::new();
    for advised in &found.settings {
        if !names.contains(&advised.setting.name.as_str()) {
            names.push(&advised.setting.name);
        }
    }
    names.join(" + ")
}

/// Returns a setting of an advice as `--set` takes it: with its host, and with its name in the
/// host's system.
fn path_and_value(advised: &Advised) -> String {
    let Advised {
        change,
        setting,
        on,
        ..
    } = advised;
    match change.set.strip_prefix(on.as_str()) {
        Some(rest) if rest.starts_with('.') => format!("{on}.{}={}", setting.name, setting.wanted),
        Some(_) | None => change.to_string(),
    }
}

/// Returns explanations as columns. Each item has the number and the name of a transfer, and the
/// transfer's explanation.
pub fn of_explanations<'a>(
    items: impl IntoIterator<Item = (u64, String, &'a Explanation)>,
) -> Records {
    let predicted = |of: fn(&Predicted) -> f64| {
        move |(.., found): &(u64, String, &Explanation)| found.predicted.as_ref().map(of)
    };
    let text = |of: fn(&Explanation) -> &Option<String>| {
        move |(.., found): &(u64, String, &Explanation)| of(found).clone().unwrap_or_default()
    };
    Table::of(items)
        .whole("row_number", |(number, ..)| *number)
        .text("row", |(_, title, _)| title.clone())
        .text("limit", |(.., found)| found.limit.name.to_string())
        .text("knob", text(|found| &found.knob))
        .text("present", text(|found| &found.present))
        .text("needed", text(|found| &found.needed))
        .text("settings", |(.., found)| names(found))
        .text("changes", |(.., found)| {
            let changes = found.settings.iter().map(path_and_value);
            changes.collect::<Vec<_>>().join("; ")
        })
        .decimal("predicted_mbps", predicted(|at| at.goodput_mbps))
        .decimal("predicted_low_mbps", predicted(|at| at.low_mbps))
        .decimal("predicted_high_mbps", predicted(|at| at.high_mbps))
        .decimal("predicted_s", predicted(|at| at.elapsed_s))
        .text("next_limit", |(.., found)| {
            found
                .next
                .map_or_else(String::new, |next| next.name.to_string())
        })
        .whole("runs", |(.., found)| found.runs as u64)
        .text("verdict", |(.., found)| found.parts.line())
        .records()
}
