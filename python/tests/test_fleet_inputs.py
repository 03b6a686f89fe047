"""Odd inputs of the fleet: names, files that are none, folders of another kind, counts of errors."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import time
from typing import Any, List

import pyarrow.parquet
import pytest

import fullpipe
from fullpipe import fleet
from fullpipe.fleet import batches, pool
from fullpipe.fleet.__main__ import main
from fullpipe.fleet.dataset import Dataset
from fullpipe.fleet.sums import summaries
from fullpipe.fleet.tasks import BatchResult, CaptureTask, Task

CAPTURE = (
    pathlib.Path(__file__).resolve().parents[2] / "examples" / "captures" / "send-buffer.pcap.gz"
)
OPTIONS = (("explain", 0), ("filter", None), ("preset", "linux"), ("rows", 10))


def errors_of(out: pathlib.Path) -> List[str]:
    rows = pyarrow.parquet.read_table(out / "errors").to_pylist()
    return sorted(f"{os.path.basename(row['source'])}: {row['error']}" for row in rows)


def test_a_name_that_is_not_utf_8_and_a_pipe_are_errors_and_the_others_are_done(
    tmp_path: pathlib.Path,
) -> None:
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    for raw in (b"\xff.pcap.gz", "ü 😀 %41?#.pcap.gz".encode()):
        shutil.copyfile(CAPTURE, os.path.join(os.fsencode(folder), raw))
    # Opening a pipe waits for a writer, which may never come.
    os.mkfifo(folder / "pipe.pcap")
    outcome = fleet.why_many([str(folder / "*"), folder / ("long" * 100)], out)
    assert (outcome.tasks, outcome.errors) == (4, 3)
    name, long, pipe = errors_of(out)
    assert name.startswith("\\xff.pcap.gz: ReadError") and "not UTF-8" in name
    assert long.startswith("longlong") and "ReadError" in long
    assert pipe.startswith("pipe.pcap: ReadError") and "not a regular file" in pipe
    (source,) = pyarrow.parquet.read_table(out / "connections")["file"].to_pylist()
    assert source == str(folder / "ü 😀 %41?#.pcap.gz")
    os.rename(os.fsencode(folder) + b"/\xff.pcap.gz", folder / "renamed.pcap.gz")
    assert fleet.why_many(str(folder / "renamed*"), out).errors == 0


def test_captures_and_sweeps_have_their_own_datasets(tmp_path: pathlib.Path) -> None:
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=0.05)
    grid = {"link.delay": ["5ms"]}
    captures, worlds = tmp_path / "captures", tmp_path / "worlds"
    fleet.why_many(CAPTURE, captures)
    fleet.sweep_many(scenario, grid, worlds)
    with pytest.raises(fullpipe.SettingError, match="of captures"):
        fleet.sweep_many(scenario, grid, captures)
    with pytest.raises(fullpipe.SettingError, match="of sweeps"):
        fleet.why_many(CAPTURE, worlds)
    assert not (worlds / "captures").exists() and not (captures / "plans").exists()


def test_an_entry_without_its_facts_is_done_again(tmp_path: pathlib.Path) -> None:
    fleet.why_many(CAPTURE, tmp_path)
    (entry,) = (tmp_path / "manifest").iterdir()
    for text in ("[]", "{}", json.dumps({"stamp": []}), "", '{"key"'):
        entry.write_text(text)
        outcome = fleet.why_many(CAPTURE, tmp_path)
        assert (outcome.done, outcome.kept, outcome.errors) == (1, 0, 0), text


def test_a_failed_verdict_counts_and_its_capture_is_no_error_of_the_report(
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
    again = fleet.why_many(CAPTURE, out, explain=1)
    assert (again.kept, again.errors) == (1, 1)
    (totals,) = summaries([str(out)])["totals"].to_pylist()
    assert (totals["errors"], totals["failed_verdicts"]) == (0, 1)
    text = fleet.report(out).html
    assert "Not analysed" not in text
    assert "Without a verdict, because the simulation failed: 1 connection." in text
    empty = tmp_path / "empty.pcap"
    empty.touch()
    assert fleet.why_many(empty, out).errors == 1
    (totals,) = summaries([str(out)])["totals"].to_pylist()
    assert (totals["errors"], totals["failed_verdicts"]) == (1, 1)


def test_a_report_leaves_no_table_of_an_earlier_comparison_and_no_dataset_is_its_folder(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset, out = tmp_path / "dataset", tmp_path / "report"
    fleet.why_many(CAPTURE, dataset)
    fleet.report(dataset, before=dataset, out=out, pages=0)
    assert (out / "by_limit_compared.parquet").exists() and (out / "totals_before.parquet").exists()
    fleet.report(dataset, out=out, pages=0)
    assert not list(out.glob("*_compared.parquet")) and not (out / "totals_before.parquet").exists()
    before = {path.name for path in dataset.iterdir()}
    assert main(["report", str(dataset), "--out", f"{dataset}/../dataset"]) == 2
    assert "outside of the datasets" in capsys.readouterr().err
    assert {path.name for path in dataset.iterdir()} == before


def test_numbers_out_of_range_are_refused_before_the_first_task(tmp_path: pathlib.Path) -> None:
    scenario, out = fullpipe.Scenario.transfer("20mbit", "10ms", duration=0.05), tmp_path / "out"
    for captures in ({"workers": 0}, {"explain": -1}, {"rows": 0}):
        with pytest.raises(fullpipe.SettingError, match="expected"):
            fleet.why_many(CAPTURE, out, **captures)  # type: ignore[arg-type]
    for worlds in ({"workers": 0}, {"batch": 0}, {"seeds": 0}):
        with pytest.raises(fullpipe.SettingError, match="expected"):
            fleet.sweep_many(scenario, {"link.delay": ["5ms"]}, out, **worlds)  # type: ignore[arg-type]
    assert not out.exists()


def test_a_value_that_is_given_twice_runs_once(tmp_path: pathlib.Path) -> None:
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=0.05)
    for batch in (1, 64):
        out = tmp_path / str(batch)
        fleet.sweep_many(scenario, {"link.delay": ["5ms", "6ms", "5ms"]}, out, batch=batch)
        assert pyarrow.parquet.read_table(out / "rows").num_rows == 2


def test_a_place_that_cannot_be_written_is_refused_before_the_first_task(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    monkeypatch.setattr(CaptureTask, "run", lambda task: pytest.fail("a task ran"))
    for out in (file, file / "dataset"):
        with pytest.raises(fullpipe.SettingError, match="cannot be written") as refused:
            fleet.why_many(CAPTURE, out)
        assert refused.value.setting == "out" and str(file) in str(refused.value)
        with pytest.raises(fullpipe.SettingError, match="cannot be written"):
            fleet.sweep_many("nuttx", {"link.delay": ["5ms"]}, out)


def wait_for_signal(out: str, run: str, batch: List[Task]) -> BatchResult:
    """Is a batch that never ends, in the file `began` from its beginning on."""
    pathlib.Path(out, "began").touch()
    while True:
        signal.pause()


def test_an_interruption_ends_a_batch_that_was_just_handed_out(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = pool.Pool.submit

    def interrupted(self: pool.Pool, batch: List[Task]) -> Any:
        submit(self, batch)
        end = time.monotonic() + 60
        while not (tmp_path / "began").exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "run_batch", wait_for_signal)
    monkeypatch.setattr(pool.Pool, "submit", interrupted)
    dataset = Dataset(str(tmp_path))
    tasks: List[Task] = [CaptureTask(str(CAPTURE), 1, 1, OPTIONS)]
    # Without the end of the workers, this waits for the batch until the time limit of the test.
    with pytest.raises(KeyboardInterrupt):
        batches.drive(pool.Pool(2, dataset), tasks, dataset, lambda task, error: None)
