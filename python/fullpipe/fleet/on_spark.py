"""Captures and sweeps on Spark: a data frame of tasks becomes a data frame of a table.

Spark moves, repeats and stores the rows; nothing is written here. The tables are those of
`why_many` and `sweep_many`, with the column `error`: a task that fails is one row with only its
error, which names the part of a sweep, and for a capture `file`. Spark has no unsigned numbers, so whole numbers are int64.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Iterator, Optional

import pyarrow

import fullpipe

from .many import PART, checked, parts_of
from .sources import absolute
from .tasks import CaptureTask, Task, WorldsTask, run_task

# A capture without packets, from which the columns of a table are known.
EMPTY = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1)
TABLES = ("captures", "connections", "accounts")


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
    if table not in TABLES:
        raise _unknown(table, "expected captures, connections or accounts")
    options = (("explain", 0), ("filter", filter), ("preset", preset), ("rows", rows))
    columns = pyarrow.table(getattr(fullpipe.why(EMPTY, quick=True), table)).schema

    def task(name: str) -> Task:
        return CaptureTask(source_of(name), 0, 0, options)

    return _mapped(frame.select(column), task, table, columns)


def sweep_frame(
    spark: Any, scenario: Any, grid: Any, *, table: str = "rows", settings: Any = None,
    seeds: Optional[int] = None, seed: int = 1, batch: int = PART,
) -> Any:
    """Returns a `pyspark.sql.DataFrame` with the table of a sweep: rows, or verdicts.

    spark: the SparkSession. batch: most combinations of a task. The others: as in `sweep_many`.
    """
    if table not in ("rows", "verdicts"):
        raise _unknown(table, "expected rows or verdicts")
    text, axes, options = checked(scenario, grid, settings, seeds, seed)
    explain = table == "verdicts"

    def task(part: str) -> Task:
        grid = tuple((name, tuple(values)) for name, values in json.loads(part))
        return WorldsTask(text, grid, options, explain, at_once=1)

    parts = [json.dumps(part) for part in parts_of(axes, batch)]
    # The columns are those of the first world.
    first = task(json.dumps([(name, values[:1]) for name, values in axes])).run()
    frame = spark.createDataFrame([(part,) for part in parts], "part string")
    return _mapped(frame.repartition(len(parts)), task, table, first[table].schema)


def source_of(name: str) -> str:
    """Returns the name for pyarrow.fs of a name that Spark may have made, such as `file:/a b`."""
    if name.startswith("file:/") and not name.startswith("file://"):
        return name[len("file:") :]
    return absolute(name.replace("s3a://", "s3://", 1) if name.startswith("s3a://") else name)


def _unknown(table: str, fix: str) -> fullpipe.SettingError:
    return fullpipe.SettingError(f"table={table}: {fix}", setting=f"table={table}", fix=fix)


def _mapped(frame: Any, task_of: Any, table: str, columns: pyarrow.Schema) -> Any:
    """Returns the frame of a table of the tasks that the only column of `frame` names."""
    from pyspark.sql.pandas.types import from_arrow_schema

    integers = pyarrow.types.is_unsigned_integer
    fields = [(each.name, pyarrow.int64() if integers(each.type) else each.type) for each in columns]
    schema = pyarrow.schema([*fields, ("error", pyarrow.string())])

    def analyse(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for name in batch.column(0).to_pylist():
                task = task_of(name)
                tables, error = run_task(task)
                yield from _rows(tables.get(table), task, error, schema).to_batches()

    return frame.mapInArrow(analyse, from_arrow_schema(schema))


def _rows(
    table: Optional[pyarrow.Table], task: Task, error: Optional[str], schema: pyarrow.Schema
) -> pyarrow.Table:
    """Returns the rows of a task, or the row of its error."""
    if table is None:
        named = {"file": task.source, "error": error}
        row = named if "file" in schema.names else {"error": f"{task.source}: {error}"}
        return pyarrow.Table.from_pylist([row], schema=schema)
    nothing = pyarrow.nulls(table.num_rows, pyarrow.string())
    return table.select(schema.names[:-1]).append_column("error", nothing).cast(schema)
