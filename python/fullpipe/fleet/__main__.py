"""The command `fullpipe fleet`, which runs `python3 -m fullpipe.fleet`."""

from __future__ import annotations

import argparse
import posixpath
import sys
import time
from typing import Callable, List, Optional

import fullpipe

from . import pack, report, why_many
from .report import PAGE
from .sources import shown

EXAMPLES = """examples:
  fullpipe fleet why 'captures/*.pcap.gz' --out dataset --workers 8 --explain 1
  fullpipe fleet report dataset
  fullpipe fleet report dataset --before dataset-of-last-week --out report
  fullpipe fleet pack rack-1 --out packed/rack-1
  fullpipe fleet report packed/rack-1 packed/rack-2 --out report
  fullpipe fleet report 's3://bucket/dataset?region=eu-west-1' --pages 0

A dataset is a folder or a URI of pyarrow.fs. `fullpipe fleet COMMAND --help` lists the flags."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fullpipe fleet",
        description="Analyse many captures, and report what costs most.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    why = commands.add_parser(
        "why",
        help="analyse captures and write the results as a dataset",
        epilog="example: fullpipe fleet why 's3://bucket/captures/**/*.pcap.gz' --out dataset --explain 1",
    )
    why.add_argument("source", nargs="+", help="captures: paths, URIs of pyarrow.fs, and patterns of both")
    why.add_argument("--out", required=True, help="folder or URI of the dataset to write")
    why.add_argument("--workers", type=_whole, default=1, help="number of worker processes (default: 1)")
    why.add_argument("--ray", action="store_true", help="use the workers of the Ray cluster instead of processes")
    why.add_argument(
        "--explain",
        type=_whole,
        default=0,
        metavar="N",
        help="number of connections of each capture that get a verdict, those with the most lost time (default: 0)",
    )
    why.add_argument(
        "--rows",
        type=_whole,
        default=10_000,
        metavar="N",
        help="maximum number of connections of each capture in the tables, those with the most lost time (default: 10000)",
    )
    why.add_argument("--filter", help="read only the connections that match this filter, in tcpdump's words")
    why.add_argument(
        "--preset",
        default="linux",
        help="operating system of the hosts; the advice names its settings (default: linux)",
    )
    why.add_argument(
        "--limit",
        type=_whole,
        default=3_600,
        metavar="SECONDS",
        help="longest time for one capture; a capture that takes longer becomes an error (default: 3600)",
    )
    show = commands.add_parser(
        "report",
        help="write a report of datasets: a page, its tables, and pages about single connections",
        epilog="example: fullpipe fleet report dataset --before dataset-of-last-week --out report",
    )
    show.add_argument("dataset", nargs="+", help="folder or URI of a dataset; several are summed up together")
    show.add_argument("--before", action="append", metavar="DATASET", help="an earlier dataset to compare with; may be given several times")
    show.add_argument(
        "--out",
        default="report",
        help="folder or URI for the page and its tables (default: report)",
    )
    show.add_argument(
        "--pages",
        type=_whole,
        default=20,
        metavar="N",
        help="maximum number of pages about single connections (outliers, and those with the most lost time); each page reads its capture again (default: 20)",
    )
    packed = commands.add_parser(
        "pack",
        help="copy a dataset into one file for each table, so that reports on many datasets are fast",
        epilog="example: fullpipe fleet pack rack-1 --out packed/rack-1",
    )
    packed.add_argument("dataset", help="folder or URI of the dataset")
    packed.add_argument("--out", required=True, help="folder or URI of the packed dataset to write")
    return parser


def _whole(text: str) -> int:
    """Returns a whole number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, 0 or more")
    return int(text)


def progress_line() -> Callable[[float], None]:
    """Returns a function that writes the finished share, and the time left, on one line."""
    began = time.monotonic()

    def tell(share: float) -> None:
        left = (time.monotonic() - began) * (1 - share) / max(share, 1e-9)
        end = "\n" if share >= 1 else ""
        text = f"{share * 100:.0f} %" + ("" if end else f", about {left:,.0f} s left")
        print(f"\r\033[K{text}", end=end, file=sys.stderr, flush=True)

    return tell


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command. Returns 0, 1 for captures with errors, 2 for a wrong argument."""
    given = _parser().parse_args(arguments)
    try:
        if given.command == "pack":
            pack(given.dataset, given.out)
            return 0
        if given.command == "report":
            report(given.dataset, before=given.before, out=given.out, pages=given.pages)
            print(posixpath.join(shown(given.out), PAGE))
            return 0
        source = given.source[0] if len(given.source) == 1 else given.source
        progress = progress_line() if sys.stderr.isatty() else None
        outcome = why_many(
            source,
            given.out,
            filter=given.filter,
            preset=given.preset,
            limit_s=given.limit,
            rows=given.rows,
            explain=given.explain,
            workers=given.workers,
            ray=given.ray,
            progress=progress,
        )
    except (fullpipe.FullpipeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{outcome.tasks} captures: {outcome.done} analysed now, {outcome.kept} in an earlier run, {outcome.errors} with errors")
    return 1 if outcome.errors else 0


if __name__ == "__main__":
    sys.exit(main())
