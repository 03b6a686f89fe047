"""Names of captures, what a dataset leaves out, and the words of errors."""

from __future__ import annotations

import contextlib
import gzip
import pathlib
import re
import shutil
from typing import Iterator

import pyarrow.parquet
import pytest

import fullpipe
from fullpipe import fleet
from fullpipe.fleet import tasks
from fullpipe.fleet.__main__ import main, progress_line
from fullpipe.fleet.sums import summaries
from fullpipe.fleet.tasks import CaptureTask

CAPTURE = (
    pathlib.Path(__file__).resolve().parents[2]
    / "examples"
    / "captures"
    / "send-buffer.pcap.gz"
)
OPTIONS = (("explain", 0), ("filter", None), ("preset", "linux"), ("rows", 10))


@pytest.fixture
def captures(tmp_path: pathlib.Path) -> pathlib.Path:
    """Three captures of the same bytes."""
    folder = tmp_path / "captures"
    folder.mkdir()
    for number in range(3):
        shutil.copyfile(CAPTURE, folder / f"whole-{number}.pcap.gz")
    return folder


def table(dataset: pathlib.Path, name: str) -> "pyarrow.Table":
    return pyarrow.parquet.read_table(dataset / name)


def test_folders_are_refused_patterns_of_a_list_expand_and_a_file_counts_once(
    captures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(fullpipe.SettingError, match="folder; give its files"):
        fleet.why_many(captures, tmp_path / "out")
    with pytest.raises(fullpipe.SettingError, match="folder; give its files"):
        fleet.why_many([captures / "whole-0.pcap.gz", captures], tmp_path / "out")
    whole = captures / "whole-0.pcap.gz"
    names = [str(captures / "whole-*"), str(whole), whole.as_uri()]
    outcome = fleet.why_many(names, tmp_path / "out")
    assert outcome.tasks == len(list(captures.glob("whole-*")))


def test_left_out_connections_are_counted(tmp_path: pathlib.Path) -> None:
    whole = gzip.decompress(CAPTURE.read_bytes())
    source = tmp_path / "two.pcap"
    # The same packets once more, with 50201 in place of port 50200.
    source.write_bytes(whole + whole[24:].replace(b"\xc4\x18", b"\xc4\x19"))
    for rows in (1, 2):
        out = tmp_path / str(rows)
        fleet.why_many(source, out, rows=rows)
        (capture,) = table(out, "captures").to_pylist()
        assert (capture["left_out"], table(out, "connections").num_rows) == (2 - rows, rows)
        (totals,) = summaries([str(out)])["totals"].to_pylist()
        assert totals["left_out_connections"] == 2 - rows


def test_an_error_names_the_object_and_not_its_temporary_copy(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def copied(_: str) -> Iterator[str]:
        yield str(bad)

    bad = tmp_path / "copy"
    bad.write_bytes(b"no capture")
    monkeypatch.setattr(tasks, "local", copied)
    task = CaptureTask("s3://key:secret@bucket/a.pcap?region=x", 10, 1, OPTIONS)
    _, error = tasks.run_task(task)
    assert error is not None and "s3://bucket/a.pcap" in error
    assert str(bad) not in error and "secret" not in error


def test_the_command_refuses_wrong_numbers_and_writes_the_time_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for wrong in (["report", "x", "--pages", "-1"], ["why", "x", "--out", "y", "--rows", "many"]):
        with pytest.raises(SystemExit) as ended:
            main(wrong)
        assert ended.value.code == 2
        assert "expected a whole number, 0 or more" in capsys.readouterr().err
    with pytest.raises(fullpipe.SettingError, match="pages"):
        fleet.report("x", pages=-1)
    tell = progress_line()
    tell(0.5)
    tell(1.0)
    assert re.search(r"50 %, about \d+ s left.*100 %\n$", capsys.readouterr().err)
