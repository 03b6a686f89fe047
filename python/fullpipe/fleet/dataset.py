"""A dataset: Parquet parts in a folder for each table, and a manifest of finished tasks.

The entry of a task is written after its parts, so a task without an entry is done again. Parts
have the name of their task, so doing a task twice leaves one part.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import posixpath
import shutil
import time
import uuid
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, TypeVar

import pyarrow
import pyarrow.fs
import pyarrow.parquet

import fullpipe

from .sources import filesystem_of, shown
from .tasks import ERRORS, Tables, Task, error_rows

MANIFEST = "manifest"
PLANS = "plans"
UNFINISHED = "unfinished"
# Keys that an entry must have.
FACTS = {"stamp", "rows", "error"}
# A folder that only datasets of captures have, and one that only datasets of sweeps have.
OF_CAPTURES = "captures"
OF_SWEEPS = PLANS

# Number of files that are read at the same time: an object store answers each read slowly.
READERS = 32
SLICE = 10_000
# Age at which an unfinished file of another run is deleted, in seconds.
OLD_S = 86_400.0

Entry = Dict[str, Any]
_In = TypeVar("_In")
_Out = TypeVar("_Out")


def at_once(work: Callable[[_In], _Out], items: Sequence[_In]) -> Iterator[_Out]:
    """Calls `work` with each item, many at a time, and gives the results in the order of the items.

    Only a slice of the items is handed out at a time, because a waiting call needs more memory than
    an item.
    """
    with concurrent.futures.ThreadPoolExecutor(READERS) as pool:
        for begin in range(0, len(items), SLICE):
            yield from pool.map(work, items[begin : begin + SLICE])


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Result of a run.

    out: the dataset. tasks: number of tasks. done: tasks that this run did. kept: tasks that an
    earlier run had done. errors: tasks with a row in the table `errors`.
    """

    out: str
    tasks: int
    done: int
    kept: int
    errors: int


class Dataset:
    """Writes parts and entries below a path or URI.

    run: name of the run, which all its processes share.
    """

    def __init__(self, out: str, run: Optional[str] = None) -> None:
        self.out = out
        self.run = run or uuid.uuid4().hex[:12]
        self._filesystem, self._root = filesystem_of(out)
        self._is_local = isinstance(self._filesystem, pyarrow.fs.LocalFileSystem)
        self._folders: Dict[str, bool] = {}

    def _path(self, *parts: str) -> str:
        return posixpath.join(self._root, *parts)

    def _write(self, path: str, data: bytes) -> None:
        """Writes a whole file or nothing."""
        self._make_folder(posixpath.dirname(path))
        # In an object store a file appears when it is complete.
        target = path
        if self._is_local:
            # Two runs may write the same part at the same time, so each writes to an unfinished
            # file of its own.
            folder = self._path(UNFINISHED, self.run)
            self._make_folder(folder)
            target = posixpath.join(folder, uuid.uuid4().hex)
        with self._filesystem.open_output_stream(target) as stream:
            stream.write(data)
        if self._is_local:
            self._filesystem.move(target, path)

    def _make_folder(self, folder: str) -> None:
        if folder not in self._folders:
            self._filesystem.create_dir(folder, recursive=True)
            self._folders[folder] = True

    def remove_unfinished(self) -> None:
        """Removes what dead workers of this run left, and what runs before yesterday left."""
        if not self._is_local:
            return
        folder = self._path(UNFINISHED)
        shutil.rmtree(posixpath.join(folder, self.run), ignore_errors=True)
        for info in self._listed(UNFINISHED):
            if info.mtime_ns is not None and time.time() - info.mtime_ns / 1e9 > OLD_S:
                shutil.rmtree(info.path, ignore_errors=True)
        try:
            os.rmdir(folder)
        except OSError:
            pass  # Another run uses it, or nothing was written.

    def _listed(self, folder: str) -> List[pyarrow.fs.FileInfo]:
        selector = pyarrow.fs.FileSelector(self._path(folder), allow_not_found=True)
        found: List[pyarrow.fs.FileInfo] = self._filesystem.get_file_info(selector)
        return found

    def _read(self, path: str) -> Optional[Entry]:
        """Returns the object in a file; None if the file is missing or was cut."""
        try:
            with self._filesystem.open_input_stream(path) as stream:
                entry: Entry = json.loads(stream.read())
        except (FileNotFoundError, ValueError):
            return None  # The machine stopped during the write: the task is done again.
        return entry if isinstance(entry, dict) else None

    def kept(self, tasks: List[Task]) -> Dict[str, Optional[str]]:
        """Returns the tasks that need not be done again: their keys, with the error or None.

        The rest of an entry is not kept, because there may be millions of entries.
        """
        names = {posixpath.basename(info.path) for info in self._listed(MANIFEST)}
        found = [task for task in tasks if f"{task.key}.json" in names]
        errors = at_once(self._error, found)
        return {task.key: error for task, (is_kept, error) in zip(found, errors) if is_kept}

    def _error(self, task: Task) -> Tuple[bool, Optional[str]]:
        """Returns whether a task need not be done again, and its error."""
        entry = self.valid_entry(task)
        return (False, None) if entry is None else (True, error_of(entry))

    def valid_entry(self, task: Task) -> Optional[Entry]:
        """Returns the entry of a task that need not be done again."""
        entry = self.entry(task.key)
        return entry if entry is not None and _is_valid(entry, task) else None

    def prepare(self) -> None:
        """Raises SettingError if nothing can be written. Each task would fail with this error
        otherwise."""
        try:
            folder = self._path(UNFINISHED, self.run) if self._is_local else self._path(MANIFEST)
            self._make_folder(folder)
        except OSError as error:
            fix = f"the dataset cannot be written: {error}"
            raise fullpipe.SettingError(f"{shown(self.out)}: {fix}", setting="out", fix=fix) from error

    def refuse(self, folder: str, kind: str) -> None:
        """Raises SettingError if the dataset has a folder that only datasets of `kind` have."""
        if self._listed(folder):
            fix = f"this folder has a dataset of {kind}; give another folder"
            name = shown(self.out)
            raise fullpipe.SettingError(f"{name}: {fix}", setting="out", fix=fix)

    def planned_batch(self, sweep: str, batch: int) -> int:
        """Returns the size of the parts of a sweep: `batch`, or that of an earlier call, because
        other parts would hold the same rows a second time."""
        path = self._path(PLANS, f"{sweep}.json")
        plan = self._read(path)
        if plan is None:
            plan = {"batch": batch}
            self._write(path, (json.dumps(plan) + "\n").encode())
        return int(plan["batch"])

    def entry(self, key: str) -> Optional[Entry]:
        """Returns the entry of one finished task; None without one."""
        entry = self._read(self._path(MANIFEST, f"{key}.json"))
        return entry if entry is not None and FACTS <= entry.keys() else None

    def store(self, task: Task, tables: Tables, error: Optional[str]) -> None:
        """Writes the parts of a task, then its entry."""
        if error is not None:
            tables = {ERRORS: error_rows(task, [error])}
        rows = {}
        for name, table in sorted(tables.items()):
            sink = pyarrow.BufferOutputStream()
            pyarrow.parquet.write_table(table, sink, compression="zstd")
            self._write(self._path(name, f"{task.key}.parquet"), sink.getvalue().to_pybytes())
            rows[name] = table.num_rows
        self._remove_others(task, rows)
        entry = {
            "key": task.key,
            "source": task.source,
            "stamp": task.stamp,
            "rows": rows,
            "error": error,
        }
        text = json.dumps(entry, indent=1, sort_keys=True) + "\n"
        self._write(self._path(MANIFEST, f"{task.key}.json"), text.encode())

    def _remove_others(self, task: Task, kept: Iterable[str]) -> None:
        """Removes parts that belong to an earlier version of the capture, such as its error."""
        names = ["captures", "connections", "accounts", "verdicts", "rows", ERRORS]
        paths = [
            self._path(name, f"{task.key}.parquet") for name in names if name not in kept
        ]
        for info in self._filesystem.get_file_info(paths):
            if info.type == pyarrow.fs.FileType.File:
                self._filesystem.delete_file(info.path)


def error_of(entry: Entry) -> Optional[str]:
    """Returns the error of a finished task, or a text if a part of it failed; None without either."""
    error: Optional[str] = entry["error"]
    return error or partial_error(entry["rows"].get(ERRORS, 0))


def partial_error(count: int) -> Optional[str]:
    """Returns the error of a task in which `count` verdicts or combinations of values failed."""
    return f"{count} verdicts or combinations of values failed" if count else None


def _is_valid(entry: Entry, task: Task) -> bool:
    """Returns false if the file or the options changed, or if the task failed for a reason that may
    have gone, such as a full disk."""
    error = entry["error"]
    is_final = error is None or error.startswith(("CaptureError", "SettingError", "ScenarioError"))
    return bool(is_final and task.accepts(entry["stamp"]))
