"""Pages of single connections, beside the report that links to them.

The capture is read again with the options of the dataset, so it must still be in its place. A
connection without a page has the reason in its row.
"""

from __future__ import annotations

import hashlib
import posixpath
from typing import Any, Callable, Dict, List, Tuple

import pyarrow

import fullpipe

from .dataset import Dataset
from .parts import is_packed
from .sources import filesystem_of, local
from .tasks import CaptureTask

# Folder of the pages, beside the report.
FOLDER = "connections"
# The tables of the report that list connections. Their pages are made in this order.
TABLES = ("outliers", "most_lost")

Write = Callable[[str, bytes], None]
# Dataset, capture and number of a connection.
Which = Tuple[str, str, int]


def link(
    sums: Dict[str, pyarrow.Table], count: int, write: Write
) -> Dict[str, pyarrow.Table]:
    """Writes the pages of the first `count` connections and returns the tables with links to them.

    The column `page` has the relative link and `no_page` the reason if there is none.
    """
    wanted = list(dict.fromkeys(one for name in TABLES for one in _connections(sums[name])))
    found: Dict[Which, Tuple[str, str]] = {}
    for which in wanted[:count]:
        path = _name(which)
        try:
            write(path, _page(*which).html.encode())
            found[which] = (path, "")
        except (fullpipe.FullpipeError, OSError) as error:
            found[which] = ("", str(error))
    linked = dict(sums)
    for name in TABLES:
        rows = _connections(sums[name])
        pairs = [found.get(which, ("", f"only {count} pages were made")) for which in rows]
        text = pyarrow.string()
        linked[name] = (
            sums[name]
            .append_column("page", pyarrow.array([page for page, _ in pairs], text))
            .append_column("no_page", pyarrow.array([reason for _, reason in pairs], text))
        )
    return linked


def _connections(table: pyarrow.Table) -> List[Which]:
    columns = [table[name].to_pylist() for name in ("dataset", "file", "number")]
    return list(zip(*columns))


def _name(which: Which) -> str:
    """Returns the relative path of a page, which depends on nothing but the connection."""
    dataset, source, number = which
    digest = hashlib.sha256(f"{dataset}\n{source}".encode()).hexdigest()[:10]
    stem = posixpath.basename(source.partition("?")[0]).partition(".")[0]
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in stem)[:40]
    return posixpath.join(FOLDER, f"{plain}-{digest}-{number}.html")


def _page(dataset: str, source: str, number: int) -> fullpipe.Page:
    """Returns the page of a connection; with its verdict if its dataset has verdicts."""
    entry = Dataset(dataset).entry(CaptureTask(source, 0, 0, ()).key)
    if entry is None:
        fix = "the dataset has no entry for this capture; run `fullpipe fleet why` again"
        if is_packed(dataset):
            fix = "the dataset is packed, so it has no pages of connections; make a report of the dataset from which it was packed"
        raise fullpipe.CaptureError(fix, file=source, fix=fix)
    options: Dict[str, Any] = dict(entry["stamp"][-1])
    explained = options.pop("explain")
    filesystem, path = filesystem_of(source)
    info = filesystem.get_file_info(path)
    if [info.size or 0, info.mtime_ns or 0] != entry["stamp"][2:4]:
        fix = "the capture was changed or removed after its analysis; run `fullpipe fleet why` again"
        raise fullpipe.CaptureError(fix, file=source, fix=fix)
    with local(source) as path:
        answer = fullpipe.why(path, flow=number, quick=not explained, **options)
    return answer.page()
