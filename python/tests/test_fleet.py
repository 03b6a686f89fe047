"""Datasets: the same bytes however they are made, resumed, with errors as rows."""

from __future__ import annotations

import gzip
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from typing import Callable, Dict, List, Optional

import pyarrow.parquet
import pytest

import fullpipe
from fullpipe import fleet
from fullpipe.fleet import batches, pool
from fullpipe.fleet.dataset import Dataset
from fullpipe.fleet.tasks import BatchResult, CaptureTask, Task

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
    # A call with fewer verdicts keeps those that are there.
    assert (fleet.why_many(source, out).kept, table(out, "verdicts").num_rows) == (1, 1)
    assert fleet.why_many(source, out, filter="tcp").done == 1
    assert not (out / "verdicts").exists() or not list((out / "verdicts").iterdir())
    assert fleet.why_many(source, out, explain=1).done == 1
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


def descendants(pid: int) -> List[int]:
    """Returns the processes that `pid` started, and those that they started (Linux)."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if parent == pid:
            child = int(path.parent.name)
            found += [child, *descendants(child)]
    return found


def links(folder: pathlib.Path, count: int) -> pathlib.Path:
    """Makes a folder with `count` links to the capture."""
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:03}.pcap.gz").symlink_to(CAPTURE)
    return folder


def driver(folder: pathlib.Path, out: pathlib.Path, workers: int) -> str:
    """Returns a program that analyses the captures of a folder."""
    return f"""
from fullpipe import fleet
if __name__ == "__main__":
    fleet.why_many({str(folder / "*")!r}, {str(out)!r}, workers={workers})
"""


@pytest.mark.skipif(not pathlib.Path("/proc").is_dir(), reason="needs /proc")
def test_a_killed_driver_leaves_no_worker_and_its_run_is_resumed(tmp_path: pathlib.Path) -> None:
    folder = links(tmp_path / "captures", 400)
    pattern, out = str(folder / "*"), tmp_path / "out"
    script = tmp_path / "driver.py"
    script.write_text(driver(folder, out, 2))
    run = subprocess.Popen([sys.executable, str(script)])
    entries = out / "manifest"
    wait_until(lambda: len(list(entries.glob("*.json"))) >= 10)
    workers = descendants(run.pid)
    run.kill()
    run.wait()
    wait_until(lambda: not any(is_running(pid) for pid in workers))
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


def is_running(pid: int) -> bool:
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def die(out: str, run: str, batch: List[Task]) -> BatchResult:
    """Kills its worker if one of the captures is the one called deadly."""
    if any("deadly" in task.source for task in batch):
        os._exit(9)
    return batches.run_batch(out, run, batch)


def test_a_task_that_kills_its_worker_is_an_error_and_the_others_are_done(
    captures: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = (("explain", 0), ("filter", None), ("preset", "linux"), ("rows", 10))
    sources = [str(captures / f"whole-{number}.pcap.gz") for number in range(3)]
    sources.append(str(tmp_path / "deadly.pcap"))
    tasks: List[Task] = [CaptureTask(source, 1, 1, options) for source in sources]
    done: Dict[str, Optional[str]] = {}
    monkeypatch.setattr(pool, "run_batch", die)
    dataset = Dataset(str(tmp_path / "out"))
    batches.drive(
        pool.Pool(2, dataset),
        tasks,
        dataset,
        lambda task, error: done.update({task.source: error}),
    )
    assert sorted(done) == sorted(sources)
    (error,) = table(tmp_path / "out", "errors").to_pylist()
    assert error["source"] == sources[3] and "the worker of this task died" in error["error"]
    assert error["error"] == done[sources[3]]
    assert table(tmp_path / "out", "connections").num_rows == 3


def test_batches_grow_with_the_speed_seen_and_shrink_towards_the_end() -> None:
    options = (("explain", 0), ("filter", None), ("preset", "linux"), ("rows", 10))
    tasks: List[Task] = [CaptureTask(str(number), 5_000_000, 1, options) for number in range(1_000)]
    waiting = batches.Batches(tasks)
    assert len(waiting.take(2)) == 1
    waiting.measured(tasks[:1], 0.01)
    sizes = []
    while waiting:
        sizes.append(len(waiting.take(2)))
    assert sum(sizes) == 999 and sizes == sorted(sizes, reverse=True)
    assert 90 <= sizes[0] <= 100 and sizes[-1] == 1


def test_wrong_options_are_refused_before_the_first_task(
    captures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    out = tmp_path / "out"
    for wrong in ({"filter": "port nonsense"}, {"preset": "nonsense"}):
        with pytest.raises(fullpipe.SettingError, match="nonsense"):
            fleet.why_many(str(captures / "*"), out, **wrong)  # type: ignore[arg-type]
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=0.5)
    wrong_grids: List[Dict[str, List[str]]] = [
        {"link.delay": ["5ms", "6ms"], "link.nonsense": ["1"]},
        {"link.delay": ["5ms", "nonsense"]},
    ]
    for grid in wrong_grids:
        with pytest.raises(fullpipe.SettingError, match="nonsense"):
            fleet.sweep_many(scenario, grid, out)
    assert not out.exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_run_leaves_no_worker_and_no_unfinished_file(
    tmp_path: pathlib.Path, workers: int
) -> None:
    folder = links(tmp_path / "captures", 300)
    out = tmp_path / "out"
    script = tmp_path / "driver.py"
    script.write_text(driver(folder, out, workers))
    with subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE) as run:
        wait_until(lambda: len(list((out / "manifest").glob("*.json"))) >= 5)
        started = descendants(run.pid)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=120)
    assert b"KeyboardInterrupt" in errors and run.returncode != 0
    # The process that cleans up after `multiprocessing` ends a moment after the driver.
    wait_until(lambda: not any(is_running(pid) for pid in started))
    assert not (out / "unfinished").exists()
    assert 5 <= len(list((out / "manifest").glob("*.json"))) < 300


def test_a_sweep_in_parts_has_the_rows_of_a_whole_sweep(tmp_path: pathlib.Path) -> None:
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=0.5)
    grid = {"link.delay": ["2ms", "5ms", "9ms"], "host.tcp.send_buffer": "8K..64K*2"}
    (_, delays), (_, buffers) = fullpipe.grid_values(grid)
    goodput = fullpipe.sweep(scenario, grid).rows.column("goodput_mbps")
    expected = dict(zip(itertools.product(delays, buffers), goodput))
    for batch in (2, 5):
        out = tmp_path / str(batch)
        outcome = fleet.sweep_many(scenario, grid, out, batch=batch)
        # The parts of a second call are those of the first, whatever batch it asks for.
        assert fleet.sweep_many(scenario, grid, out, batch=7 - batch).done == 0
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
