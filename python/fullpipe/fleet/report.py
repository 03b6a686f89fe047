"""What costs a fleet most: sums over a dataset of captures, by DuckDB.

Every number of the page is a row of a query below; the same tables are written as Parquet.
"""

from __future__ import annotations

import glob
import html
import os
import pathlib
from typing import Any, Dict, List, Optional, Tuple, Union

import fullpipe

Path = Union[str, "os.PathLike[str]"]

# Name of a table of the report, its title, the tables of the dataset that it needs, and its query.
QUERIES: List[Tuple[str, str, List[str], str]] = [
    (
        "totals",
        "Totals",
        ["connections"],
        """
        select count(*) as connections, count(distinct file) as captures,
            sum(payload_bytes)::double as payload_bytes, sum(elapsed_s) as elapsed_s,
            sum(lost_s) as lost_s, sum(retransmitted_segments)::double as retransmitted_segments
        from connections
        """,
    ),
    (
        "by_limit",
        "Seconds and payload by limit",
        ["accounts"],
        """
        select "limit", sum(seconds) as seconds, sum(payload_bytes)::double as payload_bytes,
            count(*) as connections
        from accounts group by all order by seconds desc, "limit"
        """,
    ),
    (
        "lost_by_limit",
        "Lost time by the main limit of connections",
        ["connections"],
        """
        select "limit", sum(lost_s) as lost_s, count(*) as connections,
            sum((confidence = 'high')::int)::double as sure_connections
        from connections group by all order by lost_s desc, "limit"
        """,
    ),
    (
        "by_hosts",
        "Lost time by pair of hosts",
        ["connections"],
        """
        select regexp_replace(sender, ':[0-9]+$', '') as sender,
            regexp_replace(receiver, ':[0-9]+$', '') as receiver,
            sum(lost_s) as lost_s, count(*) as connections,
            sum(payload_bytes)::double as payload_bytes
        from connections group by all order by lost_s desc, sender, receiver limit 50
        """,
    ),
    (
        "by_port",
        "Lost time by port of the sender or receiver, whichever is smaller",
        ["connections"],
        """
        select least(regexp_extract(sender, '([0-9]+)$')::int,
                regexp_extract(receiver, '([0-9]+)$')::int) as port,
            sum(lost_s) as lost_s, count(*) as connections
        from connections group by all order by lost_s desc, port limit 50
        """,
    ),
    (
        "changes",
        "Changes with the largest predicted gain",
        ["verdicts"],
        """
        select knob, needed, count(*) as connections,
            sum(greatest(elapsed_s - predicted_s, 0)) as saved_s,
            median(predicted_mbps / nullif(goodput_mbps, 0)) as median_times_as_fast,
            min(predicted_low_mbps / nullif(goodput_mbps, 0)) as least_times_as_fast
        from verdicts where knob <> '' group by all order by saved_s desc, knob, needed limit 10
        """,
    ),
    (
        "outliers",
        "Connections with the most lost time",
        ["connections"],
        """
        select file, number, sender, receiver, lost_s, elapsed_s, goodput_mbps, "limit"
        from connections order by lost_s desc, file, number limit 20
        """,
    ),
    (
        "errors",
        "Captures that could not be analysed",
        ["errors"],
        "select source, error from errors order by source",
    ),
]


def report(
    dataset: Path, *, before: Optional[Path] = None, out: Optional[Path] = None
) -> fullpipe.Page:
    """Returns the page about a dataset of captures on this machine.

    before: an earlier dataset, whose sums stand beside. out: folder for page and Parquet tables.
    """
    sums = summaries(dataset)
    earlier = summaries(before) if before is not None else {}
    page = fullpipe.Page(_page(os.fspath(dataset), sums, earlier))
    if out is not None:
        import pyarrow.parquet

        folder = pathlib.Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        page.save(folder / "report.html")
        for name, table in sums.items():
            pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
    return page


def summaries(dataset: Path) -> Dict[str, Any]:
    """Returns the tables of the report, as `pyarrow.Table` by name."""
    import duckdb

    connection = duckdb.connect()
    found = set()
    for name in ["connections", "accounts", "verdicts", "errors"]:
        pattern = os.path.join(os.fspath(dataset), name, "*.parquet")
        if glob.glob(pattern):
            quoted = pattern.replace("'", "''")
            connection.execute(
                f"create view {name} as select * from read_parquet('{quoted}', union_by_name=true)"
            )
            found.add(name)
    if not found:
        raise fullpipe.CaptureError(
            f"{dataset}: no tables of why_many here",
            file=os.fspath(dataset),
            fix="no tables of why_many here",
        )
    sums = {}
    for name, _, needed, query in QUERIES:
        if found.issuperset(needed):
            sums[name] = connection.sql(query).to_arrow_table()
    connection.close()
    return sums


def _page(dataset: str, sums: Dict[str, Any], before: Dict[str, Any]) -> str:
    parts = [
        "<!doctype html>",
        '<html lang="en"><meta charset="utf-8">',
        f"<title>fullpipe fleet report: {html.escape(dataset)}</title>",
        "<style>body{font:15px/1.5 sans-serif;max-width:75em;margin:2em auto;padding:0 1em}"
        "table{border-collapse:collapse}td,th{padding:.2em .7em;border-bottom:1px solid #ccc;"
        "text-align:left}td.n{text-align:right;font-variant-numeric:tabular-nums}</style>",
        f"<h1>{html.escape(dataset)}</h1>",
    ]
    for name, title, _, _ in QUERIES:
        if name in sums:
            parts.append(f"<h2>{html.escape(title)}</h2>")
            parts.append(_table(sums[name]))
            if name in before:
                parts.append("<h3>Before</h3>")
                parts.append(_table(before[name]))
    return "\n".join(parts) + "\n"


def _table(table: Any) -> str:
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in table.column_names)
    lines = [f"<table><tr>{heads}</tr>"]
    for row in table.to_pylist():
        cells = "".join(_cell(value) for value in row.values())
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join(lines) + "</table>"


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, (int, float)):
        return f'<td class="n">{value:,.6g}</td>' if value < 1e15 else f'<td class="n">{value}</td>'
    return f"<td>{html.escape(str(value))}</td>"
