"""Captures and sweeps on Spark: a data frame of tasks becomes a data frame of a table.

Spark moves, repeats and stores the rows; nothing is written here. The tables are those of
`why_many` and `sweep_many`, with one more column, `error`. An error, which those functions write to
the table `errors`, is a row with only `error` and, for a capture, `file`. The error of a sweep
names its part. Spark has no unsigned numbers, so whole numbers are int64.
"""

from __future__ import annotations

import json
from typing import Any, Iterator, List, Optional

import pyarrow

import fullpipe

from .many import PART, checked, parts_of
from .sources import absolute
from .tasks import ERRORS, NOTHING, CaptureTask, Task, WorldsTask, run_task, verdict_schema

TABLES = ("captures", "connections", "accounts", "verdicts")


def why_frame(
    frame: Any,
    *,
    column: str = "path",
    table: str = "connections",
    filter: Optional[str] = None,
    preset: str = "linux",
    rows: int = 10_000,
    explain: int = 1,
) -> Any:
    """Returns a `pyspark.sql.DataFrame` with the table of the captures that `frame` names.

    frame: a DataFrame whose `column` has paths or URIs that every worker can read. table: captures,
    connections, accounts or verdicts. filter, preset and rows are those of `why_many`. explain,
    also as in `why_many`, applies to the table verdicts only.
    """
    if table not in TABLES:
        raise _unknown(table, f"expected one of {', '.join(TABLES)}")
    explained = explain if table == "verdicts" else 0
    options = (("explain", explained), ("filter", filter), ("preset", preset), ("rows", rows))
    if table == "verdicts":
        columns = verdict_schema()
    else:
        columns = CaptureTask.tables_of(fullpipe.why(NOTHING, quick=True), "")[table].schema

    def task(name: str) -> Task:
        return CaptureTask(source_of(name), 0, 0, options)

    return _mapped(frame.select(column), task, table, columns)


def sweep_frame(
    spark: Any, scenario: Any, grid: Any, *, table: str = "rows", settings: Any = None,
    seeds: Optional[int] = None, seed: int = 1, batch: int = PART,
) -> Any:
    """Returns a `pyspark.sql.DataFrame` with the table of a sweep: rows, or verdicts.

    spark: the SparkSession. batch: maximum number of combinations of a task. The other arguments
    are those of `sweep_many`.
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
    """Returns the frame of a table. The only column of `frame` names the tasks that give the
    rows."""
    from pyspark.sql.pandas.types import from_arrow_schema

    integers = pyarrow.types.is_unsigned_integer
    fields = [(each.name, pyarrow.int64() if integers(each.type) else each.type) for each in columns]
    schema = pyarrow.schema([*fields, ("error", pyarrow.string())])

    def analyse(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for name in batch.column(0).to_pylist():
                task = task_of(name)
                tables, error = run_task(task)
                errors = [error] if error is not None else []
                errors += tables[ERRORS]["error"].to_pylist() if ERRORS in tables else []
                yield from _failed(task, errors, schema).to_batches()
                if table in tables:
                    yield from _rows(tables[table], schema).to_batches()

    return frame.mapInArrow(analyse, from_arrow_schema(schema))


def _failed(task: Task, errors: List[str], schema: pyarrow.Schema) -> pyarrow.Table:
    """Returns the rows of the errors of a task."""
    if "file" in schema.names:
        rows = [{"file": task.source, "error": error} for error in errors]
    else:
        rows = [{"error": f"{task.source}: {error}"} for error in errors]
    return pyarrow.Table.from_pylist(rows, schema=schema)


def _rows(table: pyarrow.Table, schema: pyarrow.Schema) -> pyarrow.Table:
    """Returns the rows of a task, in the columns of Spark."""
    nothing = pyarrow.nulls(table.num_rows, pyarrow.string())
    return table.select(schema.names[:-1]).append_column("error", nothing).cast(schema)
