"""Captures on Spark: a data frame of names becomes a data frame of a table.

Spark moves, repeats and stores the rows; nothing is written here. The tables are those of
`why_many`, with the column `error`: a capture that cannot be analysed is one row with only `file`
and `error`. Spark has no unsigned numbers, so whole numbers are int64.
"""

from __future__ import annotations

import struct
from typing import Any, Iterator, Optional

import pyarrow

import fullpipe

from .sources import absolute
from .tasks import CaptureTask, run_task

# A capture without packets, from which the columns of a table are known.
EMPTY = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1)


def why_frame(
    frame: Any,
    *,
    column: str = "path",
    table: str = "connections",
    filter: Optional[str] = None,
    preset: str = "linux",
    rows: int = 10_000,
) -> Any:
    """Returns a `pyspark.sql.DataFrame` with the table of the captures that `frame` names.

    frame: a DataFrame whose `column` has paths or URIs that every worker can read. table: captures,
    connections or accounts. filter, preset and rows are those of `why_many`.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    if table not in ("captures", "connections", "accounts"):
        fix = "expected captures, connections or accounts"
        raise fullpipe.SettingError(f"table={table}: {fix}", setting=f"table={table}", fix=fix)
    options = (("explain", 0), ("filter", filter), ("preset", preset), ("rows", rows))
    schema = _schema(table)

    def analyse(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for name in batch.column(0).to_pylist():
                source = source_of(name)
                tables, error = run_task(CaptureTask(source, 0, 0, options))
                yield from _rows(tables.get(table), source, error, schema).to_batches()

    return frame.select(column).mapInArrow(analyse, from_arrow_schema(schema))


def source_of(name: str) -> str:
    """Returns the name for pyarrow.fs of a name that Spark may have made, such as `file:/a b`."""
    if name.startswith("file:/") and not name.startswith("file://"):
        return name[len("file:") :]
    return absolute(name.replace("s3a://", "s3://", 1) if name.startswith("s3a://") else name)


def _schema(table: str) -> pyarrow.Schema:
    """Returns the columns of a table on Spark."""
    columns = pyarrow.table(getattr(fullpipe.why(EMPTY, quick=True), table)).schema
    fields = []
    for field in columns:
        is_whole = pyarrow.types.is_unsigned_integer(field.type)
        fields.append(pyarrow.field(field.name, pyarrow.int64() if is_whole else field.type))
    return pyarrow.schema([*fields, pyarrow.field("error", pyarrow.string())])


def _rows(
    table: Optional[pyarrow.Table], source: str, error: Optional[str], schema: pyarrow.Schema
) -> pyarrow.Table:
    """Returns the rows of a capture, or the row of its error."""
    if table is None:
        return pyarrow.Table.from_pylist([{"file": source, "error": error}], schema=schema)
    nothing = pyarrow.nulls(table.num_rows, pyarrow.string())
    known = table.select(schema.names[:-1])
    return known.append_column("error", nothing).cast(schema)
