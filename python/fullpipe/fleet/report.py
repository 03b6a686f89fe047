"""The report about a dataset: what costs a fleet most, as a page, its tables and pages of outliers."""

from __future__ import annotations

import os
import posixpath
from typing import Dict, Iterable, Optional

import pyarrow
import pyarrow.fs
import pyarrow.parquet

import fullpipe

from . import outliers
from .report_page import page_text
from .sources import Path, absolute, filesystem_of, place_of, shown
from .sums import SUMS, compared, summaries

# Name of the page in its folder.
PAGE = "report.html"


def report(
    dataset: Path,
    *,
    before: Optional[Path] = None,
    out: Optional[Path] = None,
    pages: int = 20,
) -> fullpipe.Page:
    """Returns the page about a dataset of captures; dataset, before and out are folders or URIs.

    before: an earlier dataset, whose sums stand beside. out: folder for the page `report.html`, its
    tables as Parquet, and the pages of outliers. pages: most pages of outliers; their captures are
    read again. Without `out` there are none.
    """
    if pages < 0:
        fix = "expected a number from 0 on"
        raise fullpipe.SettingError(f"pages={pages}: {fix}", setting="pages", fix=fix)
    name, title = absolute(dataset), shown(os.fspath(dataset))
    sums = summaries(name)
    if before is not None:
        earlier = summaries(absolute(before))
        for one in SUMS:
            if one.measure:
                both = compared(sums[one.name], earlier[one.name], one)
                sums[f"{one.name}_compared"] = both
        sums["totals_before"] = earlier["totals"]
    if out is None:
        return fullpipe.Page(page_text(title, sums))
    if place_of(absolute(out)) in {place_of(name), place_of(absolute(before or dataset))}:
        fix = "the report needs a folder of its own"
        raise fullpipe.SettingError(f"{shown(os.fspath(out))}: {fix}", setting="out", fix=fix)
    folder = _Folder(absolute(out))
    sums = outliers.link(name, sums, pages, folder.write)
    page = fullpipe.Page(page_text(title, sums))
    folder.write(PAGE, page.html.encode())
    folder.write_tables(sums)
    # An earlier report in this folder may have compared two datasets.
    names = [*(f"{one.name}_compared" for one in SUMS if one.measure), "totals_before"]
    folder.remove(f"{name}.parquet" for name in names if name not in sums)
    return page


class _Folder:
    """A folder of any file system of pyarrow.fs."""

    def __init__(self, name: str) -> None:
        self._filesystem, self._root = filesystem_of(name)

    def write(self, path: str, data: bytes) -> None:
        target = posixpath.join(self._root, path)
        self._filesystem.create_dir(posixpath.dirname(target), recursive=True)
        with self._filesystem.open_output_stream(target) as stream:
            stream.write(data)

    def remove(self, paths: Iterable[str]) -> None:
        targets = [posixpath.join(self._root, path) for path in paths]
        for info in self._filesystem.get_file_info(targets):
            if info.type == pyarrow.fs.FileType.File:
                self._filesystem.delete_file(info.path)

    def write_tables(self, tables: Dict[str, pyarrow.Table]) -> None:
        for name, table in tables.items():
            sink = pyarrow.BufferOutputStream()
            pyarrow.parquet.write_table(table, sink)
            self.write(f"{name}.parquet", sink.getvalue().to_pybytes())
