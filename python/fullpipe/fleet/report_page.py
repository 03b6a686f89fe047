"""The report as one self-contained HTML page.

The end of a column's name is its unit, which becomes a part of the heading or of the value.
"""

from __future__ import annotations

import html
import math
from typing import Any, Dict, List, Optional

import pyarrow

from .sums import SUMS, Sum

# Rows that the page shows of a table. The Parquet table has all.
SHOWN = 20

STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --soft: #5b6470; --paper: #fff; --panel: #f4f6f8;
  --grid: #dfe3e8; --accent: #0b62a8; --bar: #cfe3f5; }
@media (prefers-color-scheme: dark) { :root { --text: #e8eaed; --soft: #9aa4b0; --paper: #14171b;
  --panel: #1d2227; --grid: #2d343b; --accent: #7cc0ff; --bar: #24435f; } }
body { margin: 0 auto; max-width: 82rem; padding: 1rem 1.25rem 4rem; background: var(--paper);
  color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.35rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .3rem; }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; } p { max-width: 48rem; margin: .4rem 0; }
.soft { color: var(--soft); } a { color: var(--accent); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; }
.figures div { background: var(--panel); border-radius: 6px; padding: .5rem .8rem; }
.figures b { display: block; font-size: 1.35rem; font-weight: 600; }
.wide { overflow-x: auto; } .wide:focus-visible { outline: 2px solid var(--accent); }
table { border-collapse: collapse; min-width: 50%; }
th, td { text-align: left; vertical-align: top; padding: .3rem 1rem .3rem 0;
  border-bottom: 1px solid var(--grid); }
td.n:not(:last-child), th.n:not(:last-child) { padding-right: 1.4rem; }
th { min-width: 4.5rem; color: var(--soft); font-weight: normal; font-size: .87rem; vertical-align: bottom; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; }
td { white-space: nowrap; }
td.bar { min-width: 6.5rem; padding-left: .4rem;
  background: linear-gradient(var(--bar), var(--bar)) left / var(--part) 100% no-repeat; }
td.file { min-width: 14rem; max-width: 26rem; white-space: normal; overflow-wrap: anywhere; }
"""

NOTES = """
<h2>Terms</h2>
<p><b>Lost time</b>: the time in which a sender had something to send and the path was not full.
Connections run at the same time, so the sum may exceed the time of the capture.
<b>Lost payload</b>: the payload that a connection would carry in its lost time, at
the goodput of the rest of its lifetime.</p>
<p><b>Path</b>: the networks of sender and receiver, /24 of IPv4 and /48 of IPv6.
<b>Port</b>: the smaller of the two port numbers of a connection.
<b>Setting</b>: the setting that the verdict of a connection changes. Settings that one verdict changes
together are one row, with + between their names.</p>
<p><b>Saved</b>: the lifetime of the connections less the lifetime that the simulation predicts after the
change. <b>Saved at least</b> uses the lowest predicted goodput of the seeds (repeated simulations). A connection is
<b>sure</b> if its limit was found with high confidence and the change saves time even with that
lowest goodput.</p>
<p><b>Outlier</b>: a connection with a goodput below a quarter of the median of its path and port, and
a payload of at least a quarter of their median payload. The path and port have at least five connections.</p>
"""

# Headings that differ from the name of the column without its unit.
HEADINGS = {
    "number": "connection",
    "sender_network": "from network",
    "receiver_network": "to network",
    "sender_host": "from host",
    "receiver_host": "to host",
    "lost_s": "lost time",
    "before_lost_s": "lost time before",
    "before_seconds": "time before",
    "before_connections": "connections before",
    "seconds": "time",
    "elapsed_s": "lifetime",
    "saved_s": "saved",
    "saved_least_s": "saved at least",
    "median_times_as_fast": "times as fast, median",
    "least_times_as_fast": "times as fast, least",
    "needed": "needed value that saves the most time",
    "needed_values": "different needed values",
    "lost_share": "lost share of time",
    "lost_bytes": "lost payload",
    "peers": "connections of path and port",
    "peers_median_mbps": "their median goodput, Mbit/s",
    "goodput_mbps": "goodput, Mbit/s",
    "median_base_rtt_ms": "median base RTT, ms",
}

# Columns with a bar: the ones that their table is sorted by.
BARS = {"lost_s", "seconds", "saved_s"}


def page_text(title: str, sums: Dict[str, pyarrow.Table]) -> str:
    """Returns the page about the tables of a report."""
    name = html.escape(title)
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}: what costs most</title><style>{STYLE}</style></head><body>",
        f"<h1>What costs most: {name}</h1>",
        _summary(sums),
    ]
    for one in SUMS:
        if one.name != "totals":
            parts += _section(one, sums)
    return "\n".join([*parts, NOTES, "</body></html>", ""])


def _summary(sums: Dict[str, pyarrow.Table]) -> str:
    (totals,) = sums["totals"].to_pylist()
    before = sums["totals_before"].to_pylist()[0] if "totals_before" in sums else {}
    figures = []
    for name in ("connections", "captures", "payload_bytes", "lost_s", "lost_share"):
        earlier = f"before: {value_text(name, before[name])}" if before else ""
        figures.append(
            f"<div>{heading(name)}<b>{value_text(name, totals[name])}</b>"
            f'<span class="soft">{earlier}</span></div>'
        )
    lines = []
    changes = sums["changes"].to_pylist()
    if changes:
        best = changes[0]
        lines.append(
            f"The change with the largest predicted gain is <b>{html.escape(best['setting'])}</b>: "
            f"it saves {value_text('saved_s', best['saved_s'])} on {_count(best['connections'], 'connection')}."
        )
    lines.append(
        f"{totals['explained_connections']:,} of {_count(totals['connections'], 'connection')} have a "
        f"verdict; these have {value_text('lost_s', totals['explained_lost_s'] or 0.0)} of the lost time."
    )
    for name, text in (
        ("partial_captures", "Cut or damaged, so counted only in part"),
        ("errors", "Not analysed, so not counted"),
    ):
        if totals[name]:
            lines.append(f"{text}: {_count(totals[name], 'capture')}.")
    for name, text in (
        ("failed_verdicts", "Without a verdict, because the simulation failed"),
        ("left_out_connections", "Not counted, because their capture has more connections than `why --rows` allows"),
        ("repeated_connections", "Counted once, although a second capture shows them"),
    ):
        if totals[name]:
            lines.append(f"{text}: {_count(totals[name], 'connection')}.")
    return f'<div class="figures">{"".join(figures)}</div><p>{" ".join(lines)}</p>'


def _count(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _section(one: Sum, sums: Dict[str, pyarrow.Table]) -> List[str]:
    table = sums[one.name]
    both = sums.get(f"{one.name}_compared")
    parts = [f'<h2 id="{one.name}">{html.escape(one.title)}</h2>']
    if table.num_rows == 0 and not both:
        return [*parts, '<p class="soft">None.</p>']
    parts.append(_table(one.title, table))
    if both is not None:
        parts += ["<h3>Before and after</h3>", _table(f"{one.title}, before and after", both)]
    return parts


def _table(label: str, table: pyarrow.Table) -> str:
    hidden = {"page", "no_page"}
    if "dataset" in table.column_names and len(set(table["dataset"].to_pylist())) < 2:
        hidden.add("dataset")
    names = [name for name in table.column_names if name not in hidden]
    rows = table.slice(0, SHOWN).to_pylist()
    numbers = {name for name in names if not pyarrow.types.is_string(table.schema.field(name).type)}
    heads = "".join(
        f'<th scope="col"{_class(name in numbers)}>{html.escape(heading(name))}</th>' for name in names
    )
    most = {name: max((row[name] or 0 for row in rows), default=0) for name in BARS & set(names)}
    lines = [
        f'<div class="wide" tabindex="0" role="region" aria-label="{html.escape(label)}">',
        f"<table><thead><tr>{heads}</tr></thead><tbody>",
    ]
    for row in rows:
        cells = (_cell(name, row, name in numbers, most.get(name)) for name in names)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    lines.append("</tbody></table></div>")
    if table.num_rows > SHOWN:
        lines.append(f'<p class="soft">{SHOWN} of {table.num_rows:,} rows; the Parquet table has all.</p>')
    return "\n".join(lines)


def _class(is_number: bool) -> str:
    return ' class="n"' if is_number else ""


def _cell(name: str, row: Dict[str, Any], is_number: bool, most: Optional[float]) -> str:
    text = html.escape(value_text(name, row[name]))
    if name == "number" and "page" in row:
        if row["page"]:
            text = f'<a href="{html.escape(row["page"])}">{text}</a>'
        else:
            text = f'<span title="no page: {html.escape(row["no_page"])}">{text}</span>'
    if most:
        part = 100 * (row[name] or 0) / most
        return f'<td class="n bar" style="--part:{part:.1f}%">{text}</td>'
    if name in ("dataset", "file", "source", "error"):
        return f'<td class="file">{text}</td>'
    return f"<td{_class(is_number)}>{text}</td>"


def heading(name: str) -> str:
    """Returns the heading of a column."""
    if name in HEADINGS:
        return HEADINGS[name]
    for unit in ("_s", "_bytes"):
        name = name[: -len(unit)] if name.endswith(unit) else name
    return name.replace("_", " ")


def value_text(name: str, value: Any) -> str:
    """Returns a value with the unit that the name of its column ends in."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if name.endswith("_share") or name == "share":
        return f"{100 * value:.1f} %"
    if name.endswith("_bytes"):
        return _scaled(value, 1000, ["B", "kB", "MB", "GB", "TB", "PB"])
    if name.endswith("_s") or name.endswith("seconds"):
        return f"{_rounded(value)} s"
    if name in ("port", "number"):
        return str(value)
    return _rounded(value)


def _scaled(value: float, step: int, units: List[str]) -> str:
    place = 0
    while abs(value) >= step and place + 1 < len(units):
        value, place = value / step, place + 1
    return f"{_rounded(value)} {units[place]}"


def _rounded(value: float) -> str:
    """Returns a number with three digits that matter; whole numbers and large ones in full."""
    if isinstance(value, int) or abs(value) >= 100 or abs(value) < 0.0005:
        return f"{value:,.0f}".replace("-0", "0")
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 4)}f}"
