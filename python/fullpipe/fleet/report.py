"""The report about a dataset: what costs a fleet most, as a page, its tables and pages of outliers."""

from __future__ import annotations

import os
import posixpath
from typing import Dict, Iterable, List, Optional, Union

import pyarrow
import pyarrow.fs
import pyarrow.parquet

import fullpipe

from . import outliers
from .report_page import page_text
from .sources import Path, absolute, filesystem_of, is_inside, shown
from .sums import SUMS, compared, summaries

# Name of the page in its folder.
PAGE = "report.html"


def report(
    dataset: Union[Path, Iterable[Path]],
    *,
    before: Union[None, Path, Iterable[Path]] = None,
    out: Optional[Path] = None,
    pages: int = 20,
) -> fullpipe.Page:
    """Returns the page about a dataset of captures, or about several together.

    dataset, before and out are folders or URIs. before: an earlier dataset, or several; the page
    compares its sums with those of `dataset`. out: folder for the page `report.html`, its tables as
    Parquet, and pages about single connections. pages: the maximum number of pages about single
    connections (outliers, and those with the most lost time); each page reads its capture again.
    Without `out` there are no such pages.
    """
    if pages < 0:
        fix = "expected a number, 0 or more"
        raise fullpipe.SettingError(f"pages={pages}: {fix}", setting="pages", fix=fix)
    names = _names("dataset", dataset)
    earlier = [] if before is None else _names("before", before)
    title = shown(names[0]) if len(names) == 1 else f"{len(names)} datasets"
    sums = _sums(names, earlier)
    if out is None:
        return fullpipe.Page(page_text(title, sums))
    if any(is_inside(absolute(out), absolute(name)) for name in [*names, *earlier]):
        fix = "the report needs a folder outside of the datasets"
        raise fullpipe.SettingError(f"{shown(os.fspath(out))}: {fix}", setting="out", fix=fix)
    folder = _Folder(absolute(out))
    sums = outliers.link(sums, pages, folder.write)
    page = fullpipe.Page(page_text(title, sums))
    folder.write(PAGE, page.html.encode())
    folder.write_tables(sums)
    # An earlier report in this folder may have compared two datasets. Its tables of the comparison
    # are removed.
    compared_names = [*(f"{one.name}_compared" for one in SUMS if one.measure), "totals_before"]
    folder.remove(f"{name}.parquet" for name in compared_names if name not in sums)
    return page


def _names(argument: str, datasets: Union[Path, Iterable[Path]]) -> List[str]:
    """Returns the names of datasets as given. Raises SettingError if there is none."""
    if isinstance(datasets, (str, os.PathLike)):
        datasets = [datasets]
    names = [os.fspath(name) for name in datasets]
    if not names:
        fix = "give at least one dataset"
        raise fullpipe.SettingError(f"{argument}: {fix}", setting=argument, fix=fix)
    return names


def _sums(names: List[str], earlier: List[str]) -> Dict[str, pyarrow.Table]:
    """Returns the tables of the report, with those that compare if there are earlier datasets."""
    sums = summaries([absolute(name) for name in names])
    if earlier:
        before = summaries([absolute(name) for name in earlier])
        for one in SUMS:
            if one.measure:
                sums[f"{one.name}_compared"] = compared(sums[one.name], before[one.name], one)
        sums["totals_before"] = before["totals"]
    return sums


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
