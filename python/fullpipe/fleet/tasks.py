"""Tasks: functions from a capture, or from a part of a grid, to Arrow tables.

A task is plain data, so that any scheduler can send it to a worker. Its tables depend on nothing
but the task and the file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

import pyarrow

import fullpipe

from .sources import local, place_of, printable, shown

Tables = Dict[str, pyarrow.Table]
Axes = Dict[str, List[str]]
# The table of what failed.
ERRORS = "errors"
Options = Mapping[str, Any]

# Version of the tables. Parts of another version are made again.
VERSION = 6

# A capture without packets.
NOTHING = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1)

# Columns of connections that verdicts have, too.
KNOWN = ["goodput_mbps", "elapsed_s", "payload_bytes", "lost_s"]

# Bytes of a capture that are read in the time that opening it and writing its parts takes.
PARTS_BYTES = 5_000_000


@dataclasses.dataclass(frozen=True)
class CaptureTask:
    """One capture: its name, and its size and time of change when the task was made.

    place: the file system and the path in it, which are the same for every spelling of the name;
    found when they are needed if they are not given.
    limit_s: time after which the work ends with TimeoutError.
    """

    source: str
    size_bytes: int
    modified_ns: int
    options: Tuple[Tuple[str, Any], ...]
    place: Tuple[str, ...] = ()
    limit_s: Optional[float] = None

    @property
    def key(self) -> str:
        """Name of the parts of this task."""
        return _digest(["why", self.place or place_of(self.source)])

    @property
    def stamp(self) -> List[Any]:
        """Facts that must be unchanged for a finished part to remain valid."""
        options = [list(option) for option in self.options]
        return [VERSION, fullpipe.__version__, self.size_bytes, self.modified_ns, options]

    def accepts(self, stamp: List[Any]) -> bool:
        """Returns true if parts with this stamp are valid. They must have verdicts of at least as
        many connections as the task asks for."""
        *facts, given = self.stamp
        *others, options = stamp
        wanted, found = dict(given), dict(options)
        has_enough = found.pop("explain", 0) >= wanted.pop("explain", 0)
        return has_enough and (facts, wanted) == (others, found)

    @property
    def weight(self) -> int:
        """Bytes to read, plus the bytes that could be read in the time that writing the parts
        takes."""
        return self.size_bytes + PARTS_BYTES

    def run(self) -> Tables:
        """Reads the capture and returns its tables."""
        with local(self.source) as path:
            try:
                return self._tables(path)
            except fullpipe.FullpipeError as error:
                # The copy of a file in an object store has a name that means nothing to anybody.
                error.args = (str(error).replace(path, shown(self.source)),)
                raise

    def _tables(self, path: str) -> Tables:
        options = dict(self.options)
        explained = options.pop("explain")
        options["progress"] = _limit(self.limit_s)
        answer = fullpipe.why(path, quick=True, **options)
        if answer.read_error is not None:
            raise fullpipe.ReadError(answer.read_error, file=path, fix=answer.read_error)
        tables = self.tables_of(answer, self.source)
        verdicts, errors = [], []
        known = pyarrow.table(answer.connections).select(KNOWN)
        for place, row in enumerate(answer.connections.to_dicts()[:explained]):
            try:
                full = fullpipe.why(path, flow=row["number"], **options)
            except (KeyboardInterrupt, SystemExit, TimeoutError):
                raise
            except BaseException as error:  # A panic of the native part is no Exception.
                text = str(error).replace(path, shown(self.source))
                errors.append(f"connection {row['number']}: {type(error).__name__}: {text}")
                continue
            if full.verdicts.num_rows:
                verdicts.append(_verdicts(full, known.slice(place, 1), self.source))
        if verdicts:
            tables["verdicts"] = pyarrow.concat_tables(verdicts)
        if errors:
            tables[ERRORS] = error_rows(self, errors)
        return tables

    @staticmethod
    def tables_of(answer: fullpipe.Why, source: str) -> Tables:
        """Returns the tables of an answer that need no verdict."""
        captures = _named(answer.captures, source)
        left_out = pyarrow.array([answer.left_out] * captures.num_rows, pyarrow.uint64())
        return {
            "captures": captures.append_column("left_out", left_out),
            "connections": _named(answer.connections, source),
            "accounts": _named(answer.accounts, source),
        }


@dataclasses.dataclass(frozen=True)
class WorldsTask:
    """One part of a grid: a scenario with a few values of each setting.

    at_once: maximum number of worlds that run at the same time; None for one per processor.
    """

    scenario: str
    grid: Tuple[Tuple[str, Tuple[str, ...]], ...]
    options: Tuple[Tuple[str, Any], ...]
    explain: bool = False
    limit_s: Optional[float] = None
    at_once: Optional[int] = None

    @property
    def source(self) -> str:
        """The part's settings."""
        return json.dumps(self.grid)

    @property
    def key(self) -> str:
        """Name of the parts of this task."""
        return _digest(["sweep", self.scenario, self.grid, self.options])

    @property
    def stamp(self) -> List[Any]:
        """Facts that must be unchanged for a finished part to remain valid."""
        return [VERSION, fullpipe.__version__, self.explain]

    def accepts(self, stamp: List[Any]) -> bool:
        """Returns true if parts with this stamp are valid. They must have verdicts if the task asks
        for verdicts."""
        *versions, is_explained = stamp
        return versions == self.stamp[:-1] and is_explained >= self.explain

    @property
    def weight(self) -> int:
        """Number of combinations of values."""
        count = 1
        for _, values in self.grid:
            count *= len(values)
        return count

    def run(self) -> Tables:
        """Runs the worlds and returns their tables."""
        tables, errors = self._parts({name: list(values) for name, values in self.grid})
        if not tables and len(errors) == 1:
            raise errors[0][1]
        joined = {
            name: pyarrow.concat_tables([each[name] for each in tables])
            for name in (tables[0] if tables else [])
        }
        if errors:
            texts = [
                f"{json.dumps(point)}: {type(error).__name__}: {error}" for point, error in errors
            ]
            joined[ERRORS] = error_rows(self, texts)
        return joined

    def _parts(self, grid: Axes) -> Tuple[List[Tables], List[Tuple[Axes, Exception]]]:
        """Runs a grid. If a combination of values is refused, runs both halves of the grid instead.

        Returns the tables of the parts that ran, in the order of the grid, and each refused
        combination with its error. Values are checked before a world runs, so no world runs twice.
        """
        try:
            return [self._tables(grid)], []
        except (fullpipe.SettingError, fullpipe.ScenarioError) as error:
            name = next((name for name, values in grid.items() if len(values) > 1), None)
            if name is None:
                return [], [(grid, error)]
        middle = len(grid[name]) // 2
        halves = [grid[name][:middle], grid[name][middle:]]
        (first, refused), (second, others) = [
            self._parts({**grid, name: values}) for values in halves
        ]
        return first + second, refused + others

    def _tables(self, grid: Axes) -> Tables:
        options = dict(self.options)
        options["settings"] = dict(options["settings"])
        limit = _limit(self.limit_s)
        results = fullpipe.sweep(
            self.scenario,
            grid,
            explain=self.explain,
            workers=self.at_once,
            progress=limit,
            **options,
        )
        rows = pyarrow.table(results.rows)
        # A swept setting is text as written. The type of its column must not depend on the part.
        names = rows.column_names
        first, last = names.index("row") + 1, names.index("seed")
        points = [_point(number, grid) for number in range(rows.num_rows)]
        labels = rows["row"].to_pylist()
        worlds = [self._world(label, point) for label, point in zip(labels, points)]
        settings = {name: [point[name] for point in points] for name in grid}
        columns = {"world": pyarrow.array(worlds)}
        columns.update({name: rows[name] for name in names[names.index("row_number") + 1 : first]})
        columns.update({name: pyarrow.array(values) for name, values in settings.items()})
        columns.update({name: rows[name] for name in names[last:]})
        tables = {"rows": pyarrow.table(columns)}
        if self.explain:
            verdicts = pyarrow.table(results.verdicts)
            place = verdicts.column_names.index("row_number")
            numbers = verdicts["row_number"].to_pylist()
            joined = pyarrow.array([worlds[number - 1] for number in numbers], pyarrow.string())
            tables["verdicts"] = verdicts.set_column(place, "world", joined)
        return tables

    def _world(self, label: str, point: Mapping[str, str]) -> str:
        """Returns the key of a row: the same in every part, however the grid is divided."""
        return _digest(["world", self.scenario, self.options, label, point])


Task = Union[CaptureTask, WorldsTask]


def error_rows(task: Task, errors: List[str]) -> pyarrow.Table:
    """Returns the rows of the errors of a task."""
    count = len(errors)
    return pyarrow.table(
        {"key": [task.key] * count, "source": [printable(task.source)] * count, "error": errors}
    )


def _limit(seconds: Optional[float]) -> Optional[Callable[[float], None]]:
    """Returns a function that raises TimeoutError when it is called after the time."""
    if seconds is None:
        return None
    end = time.monotonic() + seconds

    def look(_: float) -> None:
        if time.monotonic() > end:
            raise TimeoutError(f"not done within the limit of {seconds:g} s")

    return look


def _point(number: int, grid: Mapping[str, List[str]]) -> Dict[str, str]:
    """Returns the values of row `number`; the last setting changes fastest."""
    point: Dict[str, str] = {}
    for name, values in reversed(list(grid.items())):
        number, place = divmod(number, len(values))
        point[name] = values[place]
    return point


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _verdicts(
    answer: fullpipe.Why, known: pyarrow.Table, source: str
) -> pyarrow.Table:
    """Returns the verdict of a connection with the columns of `known`."""
    found = _named(answer.verdicts, source)
    place = found.column_names.index("row_number")
    found = found.set_column(place, "number", found["row_number"])
    for name in known.column_names:
        found = found.append_column(name, known[name])
    return found


def verdict_schema() -> pyarrow.Schema:
    """Returns the columns of the table verdicts of `why_many`."""
    nothing = fullpipe.why(NOTHING, quick=True)
    return _verdicts(nothing, pyarrow.table(nothing.connections).select(KNOWN), "").schema


def _named(table: fullpipe.Table, source: str) -> pyarrow.Table:
    """Returns the table with the task's name of the file, which may be that of an object store."""
    arrow = pyarrow.table(table)
    names = pyarrow.array([source] * arrow.num_rows, pyarrow.string())
    if "file" not in arrow.column_names:
        return arrow.append_column("file", names)
    return arrow.set_column(arrow.column_names.index("file"), "file", names)


def run_task(task: Task) -> Tuple[Tables, Optional[str]]:
    """Runs a task. Returns its tables, and the error of a file that cannot be analysed."""
    try:
        return task.run(), None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # A panic of the native part is no Exception.
        return {}, f"{type(error).__name__}: {error}"


class BatchResult(NamedTuple):
    """Seconds that a batch took, and its errors by the keys of their tasks."""

    seconds: float
    errors: Dict[str, str]
