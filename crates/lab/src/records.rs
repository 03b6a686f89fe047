//! A report as flat columns, for further computation.
//!
//! Rule: there is one record for each row (scenario) of the experiment. Every format has the same
//! columns, each with one type and with its unit in its name. A swept setting is a column of
//! numbers if all its values are numbers with one unit, otherwise a column of text. Nothing is
//! computed here.

mod observed;
mod tables;

#[cfg(test)]
mod tests;

pub use tables::of_explanations;

use fullpipe_explain::Explanation;
use fullpipe_scenario::{
    Shares,
    measured::{Form, Quantity},
    units::{Amount, Unit},
};
use fullpipe_tcp::{Limit, ReceiveLimit, limit::Reason};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    kernel_row::{KernelAccount, KernelMeasured, KernelRow, MainLimit},
    report::{Report, RowReport, pretty},
};

/// The values of a column, one for each record.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Text.
    Text(Vec<String>),
    /// Whole numbers; `None` if a record has no value.
    Whole(Vec<Option<u64>>),
    /// Numbers with decimals; `None` if a record has no value.
    Decimal(Vec<Option<f64>>),
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Values of the column.
    pub values: Values,
}

/// One experiment's rows as columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// The columns, in the order of the file.
    pub columns: Vec<Column>,
    /// Number of records.
    pub count: usize,
}

/// One record with its index, for JSON.
struct JsonRecord<'a>(&'a [Column], usize);

impl Records {
    /// Returns the rows of `report` as columns: settings, results, limits.
    pub fn of(report: &Report) -> Self {
        let rows = &report.rows;
        let words = |name: &str, of: &dyn Fn(&RowReport) -> String| Column {
            name: name.to_string(),
            values: Values::Text(rows.iter().map(of).collect()),
        };
        let mut columns = vec![
            words("experiment", &|_| report.experiment.clone()),
            words("row", &|row| row.label.clone()),
        ];
        let axes = report.axes();
        columns.extend(axes.iter().enumerate().map(|(place, path)| {
            let values = rows.iter().map(|row| row.point[place].value.as_str());
            axis(path, &values.collect::<Vec<_>>())
        }));
        columns.push(whole(rows, "seed", &|_| Some(report.seed)));
        columns.push(whole(rows, "seeds", &|row| Some(row.seeds.into())));
        columns.push(words("outcome", &|row| {
            row.measured.outcome.name().to_string()
        }));
        columns.extend(Quantity::ALL.iter().map(|quantity| figures(rows, quantity)));
        for quantity in Quantity::ALL
            .iter()
            .filter(|known| report.is_published(known))
        {
            columns.push(decimal(
                rows,
                &format!("published_{}", quantity.name),
                &|row| row.published.figure(quantity.name),
            ));
        }
        let of = |of: fn(&Explanation) -> Option<String>| {
            move |row: &RowReport| row.verdict.as_ref().and_then(of).unwrap_or_default()
        };
        columns.push(words("limit", &of(|at| Some(at.limit.name.to_string()))));
        columns.push(words("knob", &of(|at| at.knob.clone())));
        columns.push(words("needed", &of(|at| at.needed.clone())));
        columns.push(words("sender_limit", &|row| largest(&row.limits.sender)));
        columns.push(words("receiver_limit", &|row| {
            largest(&row.limits.receiver)
        }));
        for limit in Limit::ALL {
            columns.push(share(rows, "sender", *limit, &|row| &row.limits.sender));
        }
        for limit in ReceiveLimit::ALL {
            columns.push(share(rows, "receiver", *limit, &|row| &row.limits.receiver));
        }
        columns.push(words("verdict", &|row| row.verdict_parts().line()));
        if rows.iter().any(|row| row.kernel.is_some()) {
            columns.extend(of_kernels(rows));
        }
        Self {
            columns,
            count: rows.len(),
        }
    }

    /// Returns a line of names, followed by one line for each record (RFC 4180). A missing value
    /// is an empty field.
    pub fn csv(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|at| quoted(&at.name)).collect();
        let mut text = names.join(",") + "\n";
        for record in 0..self.count {
            let fields: Vec<_> = self.columns.iter().map(|at| at.field(record)).collect();
            text += &fields.join(",");
            text.push('\n');
        }
        text
    }

    /// Returns a JSON array with an object for each record. A missing value is omitted.
    pub fn json(&self) -> String {
        let records: Vec<_> = (0..self.count)
            .map(|record| JsonRecord(&self.columns, record))
            .collect();
        pretty(&records)
    }
}

impl Column {
    fn field(&self, record: usize) -> String {
        match &self.values {
            Values::Text(values) => quoted(&values[record]),
            Values::Whole(values) => values[record].map_or_else(String::new, |at| at.to_string()),
            Values::Decimal(values) => values[record].map_or_else(String::new, |at| at.to_string()),
        }
    }
}

impl Serialize for JsonRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for Column { name, values } in self.0 {
            match values {
                Values::Text(values) => map.serialize_entry(name, &values[self.1])?,
                Values::Whole(values) => {
                    if let Some(value) = values[self.1] {
                        map.serialize_entry(name, &value)?;
                    }
                }
                Values::Decimal(values) => {
                    if let Some(value) = values[self.1] {
                        map.serialize_entry(name, &value)?;
                    }
                }
            }
        }
        map.end()
    }
}

/// Returns the column of a swept setting. If all values have the same unit, the column contains
/// numbers and has the unit in its name; otherwise it contains the values as they were written.
fn axis(path: &str, values: &[&str]) -> Column {
    let amounts: Option<Vec<_>> = values
        .iter()
        .map(|text| Amount::of_setting(path, text))
        .collect();
    let unit = |amounts: &[Amount]| {
        let first = amounts.first()?.unit;
        let same = amounts.iter().all(|amount| amount.unit == first);
        // Keep a number followed only by `m` as text, because `m` means minutes in one setting and
        // 2²⁰ in another.
        let clear = values.iter().all(|text| !text.trim_end().ends_with('m'));
        (same && clear).then_some(first)
    };
    let Some((amounts, unit)) = amounts.and_then(|amounts| unit(&amounts).map(|at| (amounts, at)))
    else {
        return Column {
            name: path.to_string(),
            values: Values::Text(values.iter().map(ToString::to_string).collect()),
        };
    };
    let numbers = amounts.iter().map(|amount| amount.number);
    let whole = |numbers: &mut dyn Iterator<Item = f64>| {
        Values::Whole(numbers.map(|number| Some(number as u64)).collect())
    };
    let (ending, values) = match unit {
        Unit::Count => ("", whole(&mut numbers.into_iter())),
        Unit::Rate => ("_bps", whole(&mut numbers.into_iter())),
        Unit::Time => (
            "_us",
            Values::Decimal(numbers.map(|at| Some(at / 1e3)).collect()),
        ),
        Unit::Percent => (
            "",
            Values::Decimal(numbers.map(|at| Some(at / 1e2)).collect()),
        ),
        Unit::Plain => ("", Values::Decimal(numbers.map(Some).collect())),
    };
    Column {
        name: format!("{path}{ending}"),
        values,
    }
}

fn figures(rows: &[RowReport], quantity: &Quantity) -> Column {
    let of = |row: &RowReport| (quantity.of)(&row.measured);
    match quantity.form {
        Form::Whole => whole(rows, quantity.name, &|row| of(row).map(|at| at as u64)),
        Form::Decimal | Form::Percent => decimal(rows, quantity.name, &of),
    }
}

fn share<R: Reason>(
    rows: &[RowReport],
    end: &str,
    limit: R,
    of: &dyn Fn(&RowReport) -> &Shares<R>,
) -> Column {
    let name = format!("{end}_{}_share", limit.name());
    decimal(rows, &name, &|row| Some(of(row).share(limit)))
}

/// Returns the columns of rows on kernel hosts.
fn of_kernels(rows: &[RowReport]) -> Vec<Column> {
    let ran = |row: &RowReport| Some(row.kernel.as_ref()?.measured()?.clone());
    let number = |name: &str, of: fn(&KernelMeasured) -> Option<f64>| {
        decimal(rows, &format!("kernel_{name}"), &|row| of(&ran(row)?))
    };
    let count = |name: &str, of: fn(&KernelMeasured) -> u64| {
        whole(rows, &format!("kernel_{name}"), &|row| Some(of(&ran(row)?)))
    };
    let words = |name: &str, of: &dyn Fn(&KernelRow) -> Option<String>| {
        let text = |row: &RowReport| row.kernel.as_ref().and_then(of).unwrap_or_default();
        Column {
            name: format!("kernel_{name}"),
            values: Values::Text(rows.iter().map(text).collect()),
        }
    };
    let limit = |of: fn(&KernelMeasured) -> &KernelAccount| {
        move |row: &KernelRow| {
            let main = of(row.measured()?).main?;
            Some(main.limit.name().to_string())
        }
    };
    let share = |main: Option<MainLimit>| main.map(|main| main.share);
    let outcome = |row: &KernelRow| {
        let outcome = row.measured().map(|ran| ran.outcome.name());
        Some(outcome.unwrap_or("skipped").to_string())
    };
    let left_out = |row: &KernelRow| {
        Some(match row {
            KernelRow::Skipped { skipped } => skipped.clone(),
            KernelRow::Ran(ran) => ran.not_applied.join("; "),
        })
    };
    vec![
        words("outcome", &outcome),
        number("goodput_mbps", |ran| Some(ran.goodput_mbps)),
        number("elapsed_s", |ran| Some(ran.elapsed_s)),
        number("transfer_s", |ran| ran.transfer_s),
        count("delivered_bytes", |ran| ran.delivered_bytes),
        count("retransmitted_segments", |ran| ran.retransmitted_segments),
        number("srtt_ms", |ran| Some(ran.srtt_ms)),
        count("largest_flight_bytes", |ran| ran.largest_flight_bytes),
        words("limit_by_socket", &limit(|ran| &ran.by_socket)),
        decimal(rows, "kernel_limit_by_socket_share", &|row| {
            share(ran(row)?.by_socket.main)
        }),
        words("limit_by_capture", &limit(|ran| &ran.by_capture)),
        decimal(rows, "kernel_limit_by_capture_share", &|row| {
            share(ran(row)?.by_capture.main)
        }),
        words("not_applied", &left_out),
    ]
}

fn whole(rows: &[RowReport], name: &str, of: &dyn Fn(&RowReport) -> Option<u64>) -> Column {
    Column {
        name: name.to_string(),
        values: Values::Whole(rows.iter().map(of).collect()),
    }
}

/// Returns a column of numbers, rounded to six decimals.
fn decimal(rows: &[RowReport], name: &str, of: &dyn Fn(&RowReport) -> Option<f64>) -> Column {
    let rounded = |row| of(row).map(|value| (value * 1e6).round() / 1e6);
    Column {
        name: name.to_string(),
        values: Values::Decimal(rows.iter().map(rounded).collect()),
    }
}

fn largest<R: Reason>(shares: &Shares<R>) -> String {
    let largest = shares.largest_first();
    largest
        .first()
        .map_or("", |(limit, _)| limit.name())
        .to_string()
}

/// Quotes a field that contains a comma, a quotation mark or a line break.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_string()
}
