"""Packs a dataset: one part for each table, with the columns that a report reads.

A report reads one small file for each table and capture, which costs far more than their rows. Packed
datasets are read at the speed of their rows, so the parts of a large fleet are packed where they
are, and one report takes all of them.
"""

from __future__ import annotations

import posixpath
from typing import Iterator, List

import pyarrow
import pyarrow.dataset
import pyarrow.parquet

import fullpipe

from .dataset import MANIFEST
from .parts import COLUMNS, PACKED, damaged, finished, parts_of
from .sources import Path, absolute, filesystem_of, shown

# Rows of a row group.
ROWS = 1_000_000


def pack(dataset: Path, out: Path) -> None:
    """Writes a dataset of captures to another folder or URI, as one file for each table.

    The result is a dataset for `report`, of the tasks that are finished now. It has no manifest, so
    `why_many` does not go on with it, and pages of a report on it have no verdict.
    """
    source, target = absolute(dataset), absolute(out)
    keys = finished(source)
    if keys is None:
        fix = "no tables of why_many here"
        raise fullpipe.CaptureError(f"{shown(source)}: {fix}", file=source, fix=fix)
    filesystem, root = filesystem_of(target)
    if finished(target) is not None:
        fix = f"this folder has a {MANIFEST}, so it is a dataset of why_many; give another folder"
        raise fullpipe.SettingError(f"{shown(target)}: {fix}", setting="out", fix=fix)
    for name in COLUMNS:
        parts = parts_of(source, name, keys)
        folder = posixpath.join(root, name)
        filesystem.create_dir(folder, recursive=True)
        path = posixpath.join(folder, f"{PACKED}.parquet")
        with filesystem.open_output_stream(path) as stream:
            with pyarrow.parquet.ParquetWriter(stream, parts.schema, compression="zstd") as writer:
                try:
                    for table in _tables(parts):
                        writer.write_table(table)
                except (pyarrow.ArrowException, OSError) as error:
                    raise damaged(source, parts) or error from error


def _tables(parts: pyarrow.dataset.Dataset) -> Iterator[pyarrow.Table]:
    """Gives the rows of the parts in tables of about `ROWS` rows."""
    waiting: List[pyarrow.RecordBatch] = []
    count = 0
    for batch in parts.to_batches():
        waiting.append(batch)
        count += batch.num_rows
        if count >= ROWS:
            yield pyarrow.Table.from_batches(waiting).combine_chunks()
            waiting, count = [], 0
    yield pyarrow.Table.from_batches(waiting, parts.schema).combine_chunks()
