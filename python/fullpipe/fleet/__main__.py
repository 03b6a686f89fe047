"""The command `fullpipe-fleet`."""

from __future__ import annotations

import argparse
import sys
from typing import List, Optional

import fullpipe

from . import report, why_many


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command. Returns 0, 1 for captures with errors, 2 for a wrong argument."""
    parser = argparse.ArgumentParser(
        prog="fullpipe-fleet",
        description="Analyse many captures, and sum up what costs most.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    why = commands.add_parser("why", help="analyse captures into a dataset")
    why.add_argument("source", nargs="+", help="captures, or one glob pattern")
    why.add_argument("--out", required=True, help="folder or URI of the dataset")
    why.add_argument("--workers", type=int, default=1, help="processes")
    why.add_argument("--ray", action="store_true", help="use the Ray cluster")
    why.add_argument("--explain", type=int, default=0, help="verdicts of each capture")
    why.add_argument("--filter", help="connections to read, in tcpdump's words")
    show = commands.add_parser("report", help="write the page about a dataset")
    show.add_argument("dataset", help="folder of the dataset")
    show.add_argument("--before", help="an earlier dataset to compare with")
    show.add_argument("--out", required=True, help="folder for the page and its tables")
    given = parser.parse_args(arguments)
    try:
        if given.command == "report":
            report(given.dataset, before=given.before, out=given.out)
            print(f"{given.out}/report.html")
            return 0
        source = given.source[0] if len(given.source) == 1 else given.source
        outcome = why_many(
            source,
            given.out,
            filter=given.filter,
            explain=given.explain,
            workers=given.workers,
            ray=given.ray,
        )
    except fullpipe.FullpipeError as error:
        print(f"fullpipe-fleet: {error}", file=sys.stderr)
        return 2
    print(f"{outcome.tasks} captures: {outcome.done} done, {outcome.kept} kept, {outcome.errors} errors")
    return 1 if outcome.errors else 0


if __name__ == "__main__":
    sys.exit(main())
