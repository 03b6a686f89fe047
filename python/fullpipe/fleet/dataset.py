"""A dataset: Parquet parts in a folder for each table, and a manifest of finished tasks.

The entry of a task is written after its parts, so a task without an entry is done again. Parts
have the name of their task, so doing a task twice leaves one part.
"""

from __future__ import annotations

import dataclasses
import json
import os
import posixpath
import uuid
from typing import Any, Dict, Iterable, List, Optional

import pyarrow
import pyarrow.fs
import pyarrow.parquet

from .sources import filesystem_of
from .tasks import Tables, Task

MANIFEST = "manifest"
ERRORS = "errors"


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
    """Writes parts and entries below a path or URI."""

    def __init__(self, out: str) -> None:
        self.out = out
        self._filesystem, self._root = filesystem_of(out)

    def _path(self, *parts: str) -> str:
        return posixpath.join(self._root, *parts)

    def _write(self, path: str, data: bytes) -> None:
        """Writes a whole file or nothing."""
        self._filesystem.create_dir(posixpath.dirname(path), recursive=True)
        is_local = isinstance(self._filesystem, pyarrow.fs.LocalFileSystem)
        # In an object store a file appears when it is complete.
        # Two runs may write the same part at the same time, so each has its own name for it.
        own = f"{path}.{os.getpid()}-{uuid.uuid4().hex[:8]}.unfinished"
        target = own if is_local else path
        with self._filesystem.open_output_stream(target) as stream:
            stream.write(data)
        if is_local:
            self._filesystem.move(target, path)

    def finished(self) -> Dict[str, Dict[str, Any]]:
        """Returns the entries of finished tasks by key."""
        folder = self._path(MANIFEST)
        selector = pyarrow.fs.FileSelector(folder, allow_not_found=True)
        entries = {}
        for info in self._filesystem.get_file_info(selector):
            if info.path.endswith(".json"):
                with self._filesystem.open_input_stream(info.path) as stream:
                    text = stream.read()
                try:
                    entry = json.loads(text)
                except ValueError:
                    continue  # The machine stopped during the write: the task is done again.
                entries[entry["key"]] = entry
        return entries

    def entry(self, key: str) -> Optional[Dict[str, Any]]:
        """Returns the entry of one finished task; None without one."""
        try:
            with self._filesystem.open_input_stream(self._path(MANIFEST, f"{key}.json")) as stream:
                found: Dict[str, Any] = json.loads(stream.read())
        except (OSError, ValueError):
            return None
        return found

    def store(self, task: Task, tables: Tables, error: Optional[str]) -> None:
        """Writes the parts of a task, then its entry."""
        if error is not None:
            row = {"key": [task.key], "source": [task.source], "error": [error]}
            tables = {ERRORS: pyarrow.table(row)}
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
        """Removes parts of an earlier version of the file, such as its error."""
        names = ["captures", "connections", "accounts", "verdicts", "rows", ERRORS]
        paths = [
            self._path(name, f"{task.key}.parquet") for name in names if name not in kept
        ]
        for info in self._filesystem.get_file_info(paths):
            if info.type == pyarrow.fs.FileType.File:
                self._filesystem.delete_file(info.path)

    def open_tasks(self, tasks: List[Task]) -> List[Task]:
        """Returns the tasks without a valid entry, the heaviest first."""
        entries = self.finished()
        is_open = [
            task
            for task in tasks
            if entries.get(task.key, {}).get("stamp") != task.stamp
            or not _is_final(entries[task.key])
        ]
        return sorted(is_open, key=lambda task: (-task.weight, task.key))

    def error_count(self, tasks: List[Task]) -> int:
        """Returns the number of tasks with an error."""
        keys = {task.key for task in tasks}
        entries = self.finished().items()
        return sum(1 for key, entry in entries if key in keys and entry["error"] is not None)


def _is_final(entry: Dict[str, Any]) -> bool:
    """Returns true unless the task may succeed if it is done again, as after a full disk."""
    error = entry["error"]
    return error is None or error.startswith(("CaptureError", "SettingError", "ScenarioError"))
