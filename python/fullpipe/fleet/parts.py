"""The parts of a dataset of captures, as one table each, from any file system of pyarrow.fs."""

from __future__ import annotations

import contextlib
import posixpath
from typing import Any, Iterator, List, Optional, Set

import pyarrow
import pyarrow.dataset
import pyarrow.fs

import fullpipe

from .dataset import MANIFEST
from .sources import filesystem_of, shown

# The columns of the dataset that the report reads. A part without a column has nulls there.
COLUMNS = {
    "captures": "file:s is_partial:n left_out:n bytes:n began_s:d",
    "connections": "file:s number:n sender:s receiver:s began_s:d elapsed_s:d segments:n payload_bytes:n goodput_mbps:d "
    "base_rtt_ms:d retransmitted_segments:n limit:s confidence:s lost_s:d",
    "accounts": "file:s number:n limit:s seconds:d payload_bytes:n",
    "verdicts": "file:s number:n limit:s knob:s needed:s settings:s changes:s predicted_mbps:d "
    "predicted_low_mbps:d predicted_s:d",
    "errors": "source:s error:s",
}
# Name of the only part of each table of a packed dataset. Folder and name of the file that marks a
# dataset as completely packed.
PACKED = "all"
PACKED_MARK = ("packed", "pack.json")
TYPES = {"s": pyarrow.string(), "n": pyarrow.uint64(), "d": pyarrow.float64()}


def finished(dataset: str) -> Optional[Set[str]]:
    """Returns the keys of finished tasks; None in a folder without a manifest, such as a packed
    dataset. Raises CaptureError for a dataset that was not packed to its end."""
    filesystem, root = filesystem_of(dataset)
    keys = {_key(name) for name in _names(dataset, MANIFEST)}
    if not keys and not is_packed(dataset):
        paths = [posixpath.join(root, name, f"{PACKED}.parquet") for name in COLUMNS]
        if any(info.type == pyarrow.fs.FileType.File for info in filesystem.get_file_info(paths)):
            fix = "the packing of this dataset has not finished; run `fullpipe fleet pack` again"
            raise fullpipe.CaptureError(f"{shown(dataset)}: {fix}", file=dataset, fix=fix)
    return keys or None


def is_packed(dataset: str) -> bool:
    """Returns true for a dataset that `pack` wrote to its end."""
    filesystem, root = filesystem_of(dataset)
    mark = filesystem.get_file_info(posixpath.join(root, *PACKED_MARK))
    return bool(mark.type == pyarrow.fs.FileType.File)


def _names(dataset: str, folder: str) -> List[str]:
    filesystem, root = filesystem_of(dataset)
    selector = pyarrow.fs.FileSelector(posixpath.join(root, folder), allow_not_found=True)
    return [info.path for info in filesystem.get_file_info(selector)]


def _key(path: str) -> str:
    """Returns the key of the task to which a part or an entry belongs."""
    return posixpath.basename(path).partition(".")[0]


def paths_of(dataset: str, name: str, keys: Optional[Set[str]]) -> List[str]:
    """Returns the paths of the parts of a table, in a fixed order."""
    filesystem, root = filesystem_of(dataset)
    folder = posixpath.join(root, name)
    selector = pyarrow.fs.FileSelector(folder, allow_not_found=True, recursive=True)
    found = filesystem.get_file_info(selector)
    parts = (info.path for info in found if info.path.endswith(".parquet"))
    # A part without an entry belongs to a run that has not finished it.
    return sorted(path for path in parts if keys is None or _key(path) in keys)


def schema_of(name: str) -> pyarrow.Schema:
    """Returns the columns of a table that the report reads."""
    pairs = (column.split(":") for column in COLUMNS[name].split())
    return pyarrow.schema([(column, TYPES[kind]) for column, kind in pairs])


def parts_of(dataset: str, name: str, keys: Optional[Set[str]]) -> "pyarrow.dataset.Dataset":
    """Returns the parts of a table of the dataset, which may be none."""
    paths, schema = paths_of(dataset, name, keys), schema_of(name)
    if not paths:
        return pyarrow.dataset.dataset(schema.empty_table())
    filesystem, _ = filesystem_of(dataset)
    return pyarrow.dataset.dataset(paths, schema=schema, filesystem=filesystem, format="parquet")


@contextlib.contextmanager
def reading(
    connection: Any, dataset: str, parts: "pyarrow.dataset.Dataset"
) -> Iterator[None]:
    """Gives DuckDB the table `parts` for this block. Raises CaptureError for a part that cannot be
    read."""
    import duckdb

    connection.register("parts", parts)
    try:
        yield
    except (duckdb.Error, pyarrow.ArrowException, OSError) as error:
        raise _damaged(dataset, parts) or error from error
    finally:
        connection.unregister("parts")


def _damaged(dataset: str, parts: "pyarrow.dataset.Dataset") -> Optional[fullpipe.CaptureError]:
    """Returns the error for the first part that cannot be read."""
    for fragment in parts.get_fragments():
        try:
            fragment.to_table()
        except (pyarrow.ArrowException, OSError) as error:
            return damaged(dataset, fragment.path, error)
    return None


def damaged(dataset: str, path: str, error: Exception) -> fullpipe.CaptureError:
    """Returns the error for a part that cannot be read."""
    key = _key(path)
    fix = f"delete this part and {MANIFEST}/{key}.json, and run `fullpipe fleet why` again"
    if key == PACKED:
        fix = "run `fullpipe fleet pack` again"
    text = f"{shown(dataset)}: the part {path} is damaged ({error}); {fix}"
    return fullpipe.CaptureError(text, file=path, fix=fix)
