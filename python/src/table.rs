//! Columns as an Arrow table.
//!
//! Rule: the columns are built once, and consumers share them by the Arrow PyCapsule interface.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
    cast::AsArray,
    ffi_stream::FFI_ArrowArrayStream,
    types::{Float64Type, UInt64Type},
};
use arrow_schema::{Field, Schema, ffi::FFI_ArrowSchema};
use fullpipe_lab::{Column, Records, Values};
use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyCapsule, PyDict, PyList},
};

/// Number of rows that a notebook shows.
const SHOWN: usize = 20;

/// A table of named columns, each with one Arrow type: utf8, uint64 or float64.
///
/// Anything that takes Arrow data takes a table without a copy: `polars.DataFrame(table)`,
/// `pyarrow.table(table)`, or DuckDB by the name of the variable. If a column has a unit, its name
/// ends in the unit.
#[pyclass(frozen, module = "fullpipe")]
pub struct Table {
    batch: RecordBatch,
}

fn failed(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

impl Table {
    /// Converts the records that `make` returns, without the GIL.
    pub fn made(py: Python<'_>, make: impl FnOnce() -> Records + Send) -> PyResult<Self> {
        py.detach(|| Self::of(make()))
    }

    /// Converts `records`.
    fn of(records: Records) -> PyResult<Self> {
        let mut fields = Vec::with_capacity(records.columns.len());
        let mut arrays = Vec::with_capacity(records.columns.len());
        for column in records.columns {
            let is_text = matches!(column.values, Values::Text(_));
            let array = array(column.values);
            fields.push(Field::new(column.name, array.data_type().clone(), !is_text));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema, arrays).map_err(failed)?;
        Ok(Self { batch })
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        row: usize,
        column: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = self.batch.column(column);
        if array.is_null(row) {
            return Ok(py.None().into_bound(py));
        }
        if let Some(words) = array.as_string_opt::<i32>() {
            return Ok(words.value(row).into_pyobject(py)?.into_any());
        }
        if let Some(numbers) = array.as_primitive_opt::<UInt64Type>() {
            return Ok(numbers.value(row).into_pyobject(py)?.into_any());
        }
        let numbers = array.as_primitive::<Float64Type>();
        Ok(numbers.value(row).into_pyobject(py)?.into_any())
    }
}

fn array(values: Values) -> ArrayRef {
    match values {
        Values::Text(values) => Arc::new(StringArray::from(values)),
        Values::Whole(values) => match values.iter().copied().collect::<Option<Vec<_>>>() {
            Some(all) => Arc::new(UInt64Array::from(all)),
            None => Arc::new(UInt64Array::from(values)),
        },
        Values::Decimal(values) => match values.iter().copied().collect::<Option<Vec<_>>>() {
            Some(all) => Arc::new(Float64Array::from(all)),
            None => Arc::new(Float64Array::from(values)),
        },
    }
}

/// A column of a table that pickle stores: its name, the name of its Arrow type, and its values.
type PickledColumn<'py> = (String, String, Vec<Bound<'py, PyAny>>);

/// Returns a table that pickle stored.
#[pyfunction]
#[pyo3(name = "_table")]
pub fn unpickled(columns: Vec<PickledColumn<'_>>) -> PyResult<Table> {
    let count = columns.first().map_or(0, |(_, _, values)| values.len());
    let columns = columns.into_iter().map(|(name, kind, values)| {
        let values = values.iter();
        let values = match kind.as_str() {
            "Utf8" => Values::Text(
                values
                    .map(|value| value.extract())
                    .collect::<PyResult<_>>()?,
            ),
            "UInt64" => Values::Whole(
                values
                    .map(|value| value.extract())
                    .collect::<PyResult<_>>()?,
            ),
            "Float64" => Values::Decimal(
                values
                    .map(|value| value.extract())
                    .collect::<PyResult<_>>()?,
            ),
            other => {
                return Err(failed(format!(
                    "{name}: expected a column of Utf8, UInt64 or Float64, not of {other}"
                )));
            }
        };
        Ok(Column { name, values })
    });
    let columns = columns.collect::<PyResult<Vec<_>>>()?;
    Table::of(Records { columns, count })
}

#[pymethods]
impl Table {
    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        let fields = schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let names = self.column_names().join(", ");
        format!(
            "<fullpipe.Table of {} rows: {names}>",
            self.batch.num_rows()
        )
    }

    /// Returns the arguments of `_table`, for pickle.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Vec<PickledColumn<'py>>,))> {
        let columns = self.column_names().into_iter().enumerate();
        let columns = columns.map(|(place, name)| {
            let kind = self.batch.column(place).data_type().to_string();
            let count = self.batch.num_rows();
            let values = (0..count).map(|row| self.value(py, row, place));
            Ok((name, kind, values.collect::<PyResult<Vec<_>>>()?))
        });
        let made = py.import("fullpipe._native")?.getattr("_table")?;
        Ok((made, (columns.collect::<PyResult<Vec<_>>>()?,)))
    }

    /// Returns the Arrow schema as a PyCapsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Returns the columns as an Arrow stream in a PyCapsule, without a copy.
    ///
    /// Another schema cannot be requested: the argument is ignored, as the interface permits.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = [Ok(self.batch.clone())];
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Returns the rows as dictionaries of plain Python values; a missing value is None.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names = self.column_names();
        let rows = PyList::empty(py);
        for row in 0..self.batch.num_rows() {
            let dict = PyDict::new(py);
            for (column, name) in names.iter().enumerate() {
                dict.set_item(name, self.value(py, row, column)?)?;
            }
            rows.append(dict)?;
        }
        Ok(rows)
    }

    /// Returns the values of one column as a list of plain Python values; a missing value is None.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let schema = self.batch.schema();
        let column = schema.index_of(name).map_err(|_| {
            let names = self.column_names().join(", ");
            pyo3::exceptions::PyKeyError::new_err(format!("no column `{name}`; there are {names}"))
        })?;
        let values = PyList::empty(py);
        for row in 0..self.batch.num_rows() {
            values.append(self.value(py, row, column)?)?;
        }
        Ok(values)
    }

    /// Returns the table as a `pyarrow.Table`, without a copy.
    fn to_arrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        py.import("pyarrow")?.call_method1("table", (slf,))
    }

    /// Returns the table as a `polars.DataFrame`.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        py.import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// Returns the table as a `pandas.DataFrame`; needs pyarrow.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_arrow(slf)?.call_method0("to_pandas")
    }

    /// Returns the first 20 rows as HTML, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        self.to_html(py)
    }
}

impl Table {
    /// Returns the first 20 rows as HTML, for notebooks.
    pub fn to_html(&self, py: Python<'_>) -> PyResult<String> {
        let names = self.column_names();
        let cells = |tag: &str, texts: &[String]| {
            let cells = texts
                .iter()
                .map(|text| format!("<{tag}>{}</{tag}>", escaped(text)));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let mut html = format!("<table>{}", cells("th", &names));
        let count = self.batch.num_rows();
        for row in 0..count.min(SHOWN) {
            let texts = (0..names.len()).map(|column| {
                let value = self.value(py, row, column)?;
                match value.is_none() {
                    true => Ok(String::new()),
                    false => Ok(value.str()?.to_string()),
                }
            });
            html += &cells("td", &texts.collect::<PyResult<Vec<_>>>()?);
        }
        html += "</table>";
        if count > SHOWN {
            html += &format!("<p>{SHOWN} of {count} rows</p>");
        }
        Ok(html)
    }
}

/// Returns text with the characters replaced that HTML interprets.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}
