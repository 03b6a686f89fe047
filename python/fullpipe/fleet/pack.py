"""Packs a dataset: one part for each table, with the columns that a report reads.

A report reads one small file for each table and capture, which takes far longer than to read their
rows. Packed datasets are read at the speed of their rows, so the parts of a large fleet are packed
where they are, and one report takes all of them.
"""

from __future__ import annotations

import functools
import json
import posixpath
from typing import Iterator, List

import pyarrow
import pyarrow.fs
import pyarrow.parquet

import fullpipe

from .dataset import MANIFEST, at_once
from .parts import COLUMNS, PACKED, PACKED_MARK, damaged, finished, is_packed, paths_of, schema_of
from .sources import Path, absolute, filesystem_of, is_inside, shown

# Rows of a row group.
ROWS = 1_000_000


def pack(dataset: Path, out: Path) -> None:
    """Writes a dataset of captures to another folder or URI, as one file for each table.

    The result is a dataset for `report`, with the tasks that are finished now. `why_many` refuses it,
    and a report has no pages of its connections, because it has no manifest.
    """
    source, target = absolute(dataset), absolute(out)
    keys = finished(source)
    if keys is None or not (paths_of(source, "captures", keys) or paths_of(source, "errors", keys)):
        fix = "this dataset is packed already" if is_packed(source) else "no dataset of captures here; write one with `fullpipe fleet why`"
        raise fullpipe.CaptureError(f"{shown(source)}: {fix}", file=source, fix=fix)
    if is_inside(target, source):
        fix = "the packed dataset needs a folder outside of the dataset"
        raise fullpipe.SettingError(f"{shown(target)}: {fix}", setting="out", fix=fix)
    filesystem, root = filesystem_of(target)
    if filesystem.get_file_info(posixpath.join(root, MANIFEST)).type != pyarrow.fs.FileType.NotFound:
        fix = f"this folder has a {MANIFEST}, so its dataset is not a packed one; give another folder"
        raise fullpipe.SettingError(f"{shown(target)}: {fix}", setting="out", fix=fix)
    # A dataset that was packed here before stays whole until all of the new one is written.
    for name in COLUMNS:
        folder = posixpath.join(root, name)
        filesystem.create_dir(folder, recursive=True)
        with filesystem.open_output_stream(posixpath.join(folder, "new")) as stream:
            schema = schema_of(name)
            with pyarrow.parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
                for table in _tables(source, paths_of(source, name, keys), schema):
                    writer.write_table(table)
    mark = posixpath.join(root, *PACKED_MARK)
    if is_packed(target):
        filesystem.delete_file(mark)
    for name in COLUMNS:
        folder = posixpath.join(root, name)
        filesystem.move(posixpath.join(folder, "new"), posixpath.join(folder, f"{PACKED}.parquet"))
    filesystem.create_dir(posixpath.dirname(mark), recursive=True)
    with filesystem.open_output_stream(mark) as stream:
        stream.write(json.dumps({"tasks": len(keys)}).encode())


def _tables(source: str, paths: List[str], schema: pyarrow.Schema) -> Iterator[pyarrow.Table]:
    """Gives the rows of the parts in tables of about `ROWS` rows."""
    waiting: List[pyarrow.Table] = [schema.empty_table()]
    count = 0
    for part in at_once(functools.partial(_read, source, schema), paths):
        waiting.append(part)
        count += part.num_rows
        if count >= ROWS:
            yield pyarrow.concat_tables(waiting).combine_chunks()
            waiting, count = [schema.empty_table()], 0
    yield pyarrow.concat_tables(waiting).combine_chunks()


def _read(source: str, schema: pyarrow.Schema, path: str) -> pyarrow.Table:
    """Reads a part by few requests, because an object store answers slowly. Raises CaptureError."""
    filesystem, _ = filesystem_of(source)
    try:
        with filesystem.open_input_stream(path) as stream:
            file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(stream.read()))
        known = [name for name in schema.names if name in file.schema_arrow.names]
        found = file.read(columns=known)
        # A part of an older version may lack a column.
        missing = pyarrow.nulls(found.num_rows)
        columns = [found[name] if name in known else missing for name in schema.names]
        return pyarrow.table(columns, names=schema.names).cast(schema)
    except (pyarrow.ArrowException, OSError) as error:
        raise damaged(source, path, error) from error
