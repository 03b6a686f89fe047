"""Datasets: the same bytes however they are made, resumed, with errors as rows."""

from __future__ import annotations

import gzip
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import time
from typing import Callable, Dict

import psutil
import pyarrow.parquet
import pytest

import fullpipe
from fullpipe import fleet
from fullpipe.fleet import many
from fullpipe.fleet.tasks import CaptureTask

CAPTURE = (
    pathlib.Path(__file__).resolve().parents[2]
    / "examples"
    / "captures"
    / "send-buffer.pcap.gz"
)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Six captures, of which one is empty, one is no capture, and one is cut."""
    folder = tmp_path_factory.mktemp("captures")
    plain = gzip.decompress(CAPTURE.read_bytes())
    for number in range(3):
        shutil.copyfile(CAPTURE, folder / f"whole-{number}.pcap.gz")
    (folder / "cut.pcap").write_bytes(plain[: len(plain) // 3])
    (folder / "empty.pcap").touch()
    (folder / "text.pcap").write_text("no capture")
    return folder


def contents(dataset: pathlib.Path) -> Dict[str, bytes]:
    """Returns the bytes of every file of a dataset by its name."""
    files = (path for path in dataset.rglob("*") if path.is_file())
    return {str(path.relative_to(dataset)): path.read_bytes() for path in files}


def table(dataset: pathlib.Path, name: str) -> "pyarrow.Table":
    return pyarrow.parquet.read_table(dataset / name)


def test_processes_write_the_bytes_of_one_process(
    captures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    pattern = str(captures / "*")
    alone = fleet.why_many(pattern, tmp_path / "alone")
    pooled = fleet.why_many(pattern, tmp_path / "pooled", workers=2)
    assert (alone.tasks, alone.done, alone.kept, alone.errors) == (6, 6, 0, 2)
    assert (pooled.done, pooled.errors) == (6, 2)
    assert contents(tmp_path / "alone") == contents(tmp_path / "pooled")
    assert table(tmp_path / "alone", "connections").num_rows == 4
    errors = table(tmp_path / "alone", "errors").to_pylist()
    assert {os.path.basename(row["source"]) for row in errors} == {"empty.pcap", "text.pcap"}
    assert all("CaptureError" in row["error"] for row in errors)


def test_ray_writes_the_bytes_of_one_process(
    captures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    ray = pytest.importorskip("ray")
    pattern = str(captures / "*")
    fleet.why_many(pattern, tmp_path / "alone")
    try:
        outcome = fleet.why_many(pattern, tmp_path / "on-ray", ray=True)
    finally:
        ray.shutdown()
    assert (outcome.done, outcome.errors) == (6, 2)
    assert contents(tmp_path / "alone") == contents(tmp_path / "on-ray")


def test_a_run_is_resumed_and_a_changed_file_done_again(
    captures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "captures"
    shutil.copytree(captures, folder)
    out = tmp_path / "out"
    pattern = str(folder / "*")
    shares: list[float] = []

    def stop(share: float) -> None:
        shares.append(share)
        if len(shares) == 3:
            raise RuntimeError("the driver dies")

    with pytest.raises(RuntimeError):
        fleet.why_many(pattern, out, progress=stop)
    resumed = fleet.why_many(pattern, out)
    assert (resumed.done, resumed.kept) == (3, 3)
    assert fleet.why_many(pattern, out).done == 0
    shutil.copyfile(CAPTURE, folder / "text.pcap")
    again = fleet.why_many(pattern, out)
    assert (again.done, again.errors) == (1, 1)
    assert table(out, "connections").num_rows == 5
    assert table(out, "errors").num_rows == 1
    assert not [name for name in contents(out) if name.endswith(".unfinished")]


def test_other_options_replace_the_rows_of_a_capture(
    captures: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = captures / "whole-0.pcap.gz", tmp_path / "out"
    assert fleet.why_many(source, out).done == 1
    assert fleet.why_many(source, out, explain=1).done == 1
    assert table(out, "connections").num_rows == table(out, "verdicts").num_rows == 1
    # A name means the same file in each folder, and an entry that was cut is made again.
    monkeypatch.chdir(captures)
    assert fleet.why_many("./whole-0.pcap.gz", out, explain=1).kept == 1
    (entry,) = (out / "manifest").glob("*.json")
    entry.write_text("")
    assert fleet.why_many(source, out, explain=1).done == 1


def test_a_pattern_without_files_and_a_script_without_a_guard_are_refused(
    captures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(fullpipe.SettingError, match="no file"):
        fleet.why_many(str(captures / "*.nothing"), tmp_path / "out")
    script = tmp_path / "script.py"
    call = f"fleet.why_many({str(captures / '*')!r}, {str(tmp_path / 'out')!r}, workers=2)"
    script.write_text(f"from fullpipe import fleet\n{call}\n")
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1 and "__main__" in ended.stderr.splitlines()[-1]
    assert not (tmp_path / "out" / "manifest").exists()


def test_a_killed_driver_leaves_no_worker_and_its_run_is_resumed(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    for number in range(400):
        (folder / f"{number:03}.pcap.gz").symlink_to(CAPTURE)
    pattern, out = str(folder / "*"), tmp_path / "out"
    program = f"""
from fullpipe import fleet
if __name__ == "__main__":
    fleet.why_many({pattern!r}, {str(out)!r}, workers=2)
"""
    script = tmp_path / "driver.py"
    script.write_text(program)
    driver = subprocess.Popen([sys.executable, str(script)])
    entries = out / "manifest"
    wait_until(lambda: len(list(entries.glob("*.json"))) >= 10)
    workers = psutil.Process(driver.pid).children(recursive=True)
    driver.kill()
    driver.wait()
    wait_until(lambda: not any(worker.is_running() for worker in workers))
    kept = {path: path.stat().st_mtime_ns for path in entries.glob("*.json")}
    outcome = fleet.why_many(pattern, out)
    assert workers and 10 <= outcome.kept == len(kept) and outcome.done == 400 - outcome.kept
    assert all(path.stat().st_mtime_ns == at for path, at in kept.items())
    assert table(out, "connections").num_rows == 400


def wait_until(is_met: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not is_met():
        assert time.monotonic() < end
        time.sleep(0.01)


def die(out: str, task: CaptureTask) -> None:
    """Kills its worker if the capture is the one called deadly."""
    if "deadly" in task.source:
        os._exit(9)
    many.do(out, task)


def test_a_task_that_kills_its_worker_is_an_error_and_the_others_are_done(
    captures: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = (("explain", 0), ("filter", None), ("preset", "linux"), ("rows", 10))
    sources = [str(captures / f"whole-{number}.pcap.gz") for number in range(3)]
    sources.append(str(tmp_path / "deadly.pcap"))
    tasks = [CaptureTask(source, 1, 1, options) for source in sources]
    done: list[str] = []
    monkeypatch.setattr(many, "do", die)
    many._run_in_pool(list(tasks), str(tmp_path / "out"), 2, lambda task: done.append(task.source))
    assert sorted(done) == sorted(sources)
    (error,) = table(tmp_path / "out", "errors").to_pylist()
    assert error["source"] == sources[3] and "worker died" in error["error"]
    assert table(tmp_path / "out", "connections").num_rows == 3


def test_a_sweep_in_parts_has_the_rows_of_a_whole_sweep(tmp_path: pathlib.Path) -> None:
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=0.5)
    grid = {"link.delay": ["2ms", "5ms", "9ms"], "host.tcp.send_buffer": "8K..64K*2"}
    (_, delays), (_, buffers) = fullpipe.grid_values(grid)
    goodput = fullpipe.sweep(scenario, grid).rows.column("goodput_mbps")
    expected = dict(zip(itertools.product(delays, buffers), goodput))
    for batch in (2, 5):
        out = tmp_path / str(batch)
        outcome = fleet.sweep_many(scenario, grid, out, batch=batch)
        assert outcome.errors == 0
        rows = table(out, "rows").to_pylist()
        measured = {
            (row["link.delay"], row["host.tcp.send_buffer"]): row["goodput_mbps"]
            for row in rows
        }
        assert len(measured) == len(rows) == len(expected)
        assert measured == expected
        assert fleet.sweep_many(scenario, grid, out, batch=batch).done == 0


def test_world_joins_rows_and_verdicts_of_a_sweep(tmp_path: pathlib.Path) -> None:
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=0.3)
    grid = {"host.tcp.send_buffer": ["8K", "16K", "32K"]}
    worlds = []
    for batch in (1, 3):
        out = tmp_path / str(batch)
        assert fleet.sweep_many(scenario, grid, out, batch=batch, explain=True).errors == 0
        rows = {row["world"]: row for row in table(out, "rows").to_pylist()}
        verdicts = {row["world"]: row for row in table(out, "verdicts").to_pylist()}
        assert len(rows) == 3 and rows.keys() == verdicts.keys()
        for world, row in rows.items():
            assert row["host.tcp.send_buffer"] in verdicts[world]["row"]
        worlds.append(rows.keys())
    assert worlds[0] == worlds[1]
