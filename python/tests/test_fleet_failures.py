"""Failures of files, folders and time: each is an error, and a later call does the task again."""

from __future__ import annotations

import gzip
import os
import pathlib
import shutil
from typing import Any

import pyarrow.parquet
import pytest

import fullpipe
from fullpipe import fleet
from fullpipe.fleet import batches
from fullpipe.fleet.dataset import Dataset
from fullpipe.fleet.sources import filesystem_of
from fullpipe.fleet.tasks import CaptureTask, Tables

CAPTURE = (
    pathlib.Path(__file__).resolve().parents[2] / "examples" / "captures" / "send-buffer.pcap.gz"
)


def test_a_part_that_cannot_be_written_is_an_error_and_done_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        shutil.copyfile(CAPTURE, tmp_path / f"{name}.pcap.gz")
    out, store = tmp_path / "out", Dataset.store
    writes = []

    def full(self: Dataset, task: Any, tables: Tables, error: Any) -> None:
        writes.append(task.source)
        if "a.pcap" in task.source:
            raise OSError(28, "No space left on device")
        store(self, task, tables, error)

    monkeypatch.setattr(batches, "WRITE_AGAIN_S", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(Dataset, "store", full)
        first = fleet.why_many(str(tmp_path / "*.gz"), out)
    assert (first.tasks, first.done, first.errors) == (2, 2, 1)
    assert sum("a.pcap" in source for source in writes) == batches.WRITES
    second = fleet.why_many(str(tmp_path / "*.gz"), out)
    assert (second.done, second.kept, second.errors) == (1, 1, 0)
    assert pyarrow.parquet.read_table(out / "connections").num_rows == 2


def test_a_capture_that_could_not_be_opened_is_tried_again(tmp_path: pathlib.Path) -> None:
    missing, out = tmp_path / "late.pcap.gz", tmp_path / "out"
    shutil.copyfile(CAPTURE, missing)
    facts = missing.stat()
    missing.rename(tmp_path / "away")
    assert fleet.why_many(missing, out).errors == 1
    (row,) = pyarrow.parquet.read_table(out / "errors").to_pylist()
    assert row["error"].startswith("ReadError")
    (tmp_path / "away").rename(missing)
    assert missing.stat().st_mtime_ns == facts.st_mtime_ns
    again = fleet.why_many(missing, out)
    assert (again.done, again.errors) == (1, 0)
    assert not list((out / "errors").glob("*.parquet"))


def test_a_capture_whose_reading_fails_is_tried_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The kernel refuses to read the first page of a process.
    with pytest.raises(fullpipe.ReadError, match="Input/output error") as refused:
        fullpipe.why("/proc/self/mem")
    assert isinstance(refused.value, (OSError, fullpipe.CaptureError))
    assert refused.value.file == "/proc/self/mem"
    assert fullpipe.why(CAPTURE, quick=True).read_error is None

    class Cut:
        read_error = f"{CAPTURE}: Input/output error"

    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(fullpipe, "why", lambda *given, **options: Cut())
        assert fleet.why_many(CAPTURE, out).errors == 1
    assert not (out / "connections").exists()
    again = fleet.why_many(CAPTURE, out)
    assert (again.done, again.errors) == (1, 0)


def test_a_refused_combination_loses_no_other(tmp_path: pathlib.Path) -> None:
    # Ephemeral ports must not end before they begin.
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=0.05)
    low, high = "host.stack.ephemeral_low", "host.stack.ephemeral_high"
    grid = {low: [40_000, 50_000], high: [60_000, 45_000, 55_000]}
    outcome = fleet.sweep_many(scenario, grid, tmp_path)
    assert (outcome.tasks, outcome.errors) == (1, 1)
    rows = pyarrow.parquet.read_table(tmp_path / "rows").to_pylist()
    assert [(row[low], row[high]) for row in rows] == [
        ("40000", "60000"),
        ("40000", "45000"),
        ("40000", "55000"),
        ("50000", "60000"),
        ("50000", "55000"),
    ]
    (error,) = pyarrow.parquet.read_table(tmp_path / "errors")["error"].to_pylist()
    assert error.startswith(f'{{"{low}": ["50000"], "{high}": ["45000"]}}: SettingError')
    assert fleet.sweep_many(scenario, grid, tmp_path).kept == 1
    alone = tmp_path / "alone"
    fleet.sweep_many(scenario, {low: [40_000], high: grid[high]}, alone)
    worlds = pyarrow.parquet.read_table(alone / "rows")["world"].to_pylist()
    assert worlds == [row["world"] for row in rows[:3]]


def test_a_task_ends_at_its_limit(tmp_path: pathlib.Path) -> None:
    # Progress is reported while a file is read, so the file has to be longer than one read.
    long = tmp_path / "long.pcap"
    plain = gzip.decompress(CAPTURE.read_bytes())
    with long.open("wb") as file:
        file.write(plain)
        for _ in range(64_000_000 // len(plain)):
            file.write(plain[24:])
    limited = fleet.why_many(long, tmp_path / "out", limit_s=1e-9)
    assert limited.errors == 1
    (row,) = pyarrow.parquet.read_table(tmp_path / "out" / "errors").to_pylist()
    assert row["error"] == "TimeoutError: not done within the limit of 1e-09 s"
    assert fleet.why_many(long, tmp_path / "out").errors == 0


def test_a_verdict_that_fails_loses_no_other_table(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why, out = fullpipe.why, tmp_path / "out"

    def failing(*given: Any, **options: Any) -> Any:
        if options.get("flow") is not None:
            raise fullpipe.SimulationError("the simulation ended")
        return why(*given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(fullpipe, "why", failing)
        assert fleet.why_many(CAPTURE, out, explain=1).errors == 1
    assert pyarrow.parquet.read_table(out / "connections").num_rows == 1
    (row,) = pyarrow.parquet.read_table(out / "errors").to_pylist()
    number = pyarrow.parquet.read_table(out / "connections")["number"][0].as_py()
    assert row["error"] == f"connection {number}: SimulationError: the simulation ended"


def test_every_value_of_a_setting_is_checked(tmp_path: pathlib.Path) -> None:
    values = [f"{number}ms" for number in range(1, 150)] + ["soon"]
    with pytest.raises(fullpipe.SettingError, match="soon"):
        fleet.sweep_many("nuttx", {"link.delay": values}, tmp_path)
    assert not list(tmp_path.iterdir())


def test_two_spellings_of_a_name_in_two_calls_are_one_capture(tmp_path: pathlib.Path) -> None:
    capture = tmp_path / "a.pcap.gz"
    shutil.copyfile(CAPTURE, capture)
    out = tmp_path / "out"
    assert fleet.why_many(capture, out).done == 1
    assert fleet.why_many(f"file://{capture}", out).kept == 1
    given = CaptureTask(os.fspath(capture), 0, 0, ()).key
    assert given == CaptureTask(f"file://{capture}", 0, 0, ()).key


def test_a_sweep_with_verdicts_replaces_one_without_and_not_the_reverse(
    tmp_path: pathlib.Path,
) -> None:
    grid = {"link.delay": ["5ms", "10ms"]}

    def sweep(settings: Any, explain: bool) -> Any:
        return fleet.sweep_many(
            "nuttx", grid, tmp_path, settings=settings, explain=explain
        )

    assert sweep({"device.tcp.send_buffer": 4_096}, False).done == 1
    assert sweep({"device.tcp.send_buffer": "4096"}, False).kept == 1
    worlds = pyarrow.parquet.read_table(tmp_path / "rows")["world"].to_pylist()
    assert sweep({"device.tcp.send_buffer": 4_096}, True).done == 1
    assert pyarrow.parquet.read_table(tmp_path / "verdicts").num_rows == len(worlds)
    assert sweep({"device.tcp.send_buffer": 4_096}, False).kept == 1
    assert pyarrow.parquet.read_table(tmp_path / "rows")["world"].to_pylist() == worlds


def test_errors_about_uris_hide_their_credentials() -> None:
    with pytest.raises(fullpipe.SettingError) as refused:
        filesystem_of("nothing://key:secret@bucket/a.pcap?token=hidden")
    assert "secret" not in str(refused.value) and "hidden" not in str(refused.value)
    with pytest.raises(fullpipe.SettingError) as refused:
        fleet.why_many("s3://key:secret@buck*/a.pcap", "out")
    assert "secret" not in str(refused.value)
