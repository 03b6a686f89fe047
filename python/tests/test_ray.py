"""Two nodes of a Ray cluster on this machine: the bytes of one process, whoever dies.

Each node is a raylet with one worker. Nothing but loopback is used.
"""

from __future__ import annotations

import gzip
import importlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, Iterator, List

import pyarrow.parquet
import pytest

import fullpipe
from fullpipe import fleet

pytest.importorskip("ray")

CAPTURE = (
    pathlib.Path(__file__).resolve().parents[2]
    / "examples"
    / "captures"
    / "send-buffer.pcap.gz"
)
COUNT = 300
SEED = 17

NODE: Dict[str, Any] = {
    "num_cpus": 1,
    "object_store_memory": 100_000_000,
    "node_ip_address": "127.0.0.1",
}

DRIVER = """
import sys, ray
from fullpipe import fleet
ray.init(address=sys.argv[1], log_to_driver=False)
if sys.argv[2] == "why":
    print(fleet.why_many(sys.argv[3] + "/*", sys.argv[4], ray=True))
else:
    import fullpipe
    last, duration = (400, 5.0) if sys.argv[2] == "long sweep" else (40, 0.2)
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=duration)
    grid = {"link.delay": f"1ms..{last}ms+1ms", "host.tcp.send_buffer": "4K..128K*2"}
    print(fleet.sweep_many(scenario, grid, sys.argv[4], batch=2, ray=True))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # By name, because the types must hold with and without Ray.
    utilities: Any = importlib.import_module("ray.cluster_utils")
    head = {**NODE, "include_dashboard": False}
    made = utilities.Cluster(initialize_head=True, head_node_args=head)
    try:
        made.add_node(**NODE)
        yield made
    finally:
        made.shutdown()


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Captures of which one is empty, one is no capture and one is cut."""
    folder = tmp_path_factory.mktemp("captures")
    for number in range(COUNT):
        (folder / f"{number:04}.pcap.gz").symlink_to(CAPTURE)
    (folder / "empty.pcap").touch()
    (folder / "text.pcap").write_text("no capture")
    cut = gzip.decompress(CAPTURE.read_bytes())
    (folder / "cut.pcap").write_bytes(cut[: len(cut) // 3])
    return folder


def contents(dataset: pathlib.Path) -> Dict[str, bytes]:
    """Returns the bytes of every file of a dataset by its name. The files that a killed driver left
    unfinished are no part of it."""
    files = {path.relative_to(dataset): path for path in dataset.rglob("*") if path.is_file()}
    return {
        str(name): path.read_bytes()
        for name, path in files.items()
        if name.parts[0] != "unfinished"
    }


def entries(out: pathlib.Path) -> List[pathlib.Path]:
    return list((out / "manifest").glob("*.json"))


def start(
    cluster: Any, kind: str, captures: pathlib.Path, out: pathlib.Path
) -> "subprocess.Popen[bytes]":
    arguments = [cluster.address, kind, str(captures), str(out)]
    return subprocess.Popen([sys.executable, "-c", DRIVER, *arguments])


def wait_for(driver: "subprocess.Popen[bytes]", out: pathlib.Path, count: int) -> None:
    end = time.monotonic() + 120
    while len(entries(out)) < count and driver.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.005)


def workers(cluster: Any) -> List[int]:
    """Returns the processes of this cluster that run a batch."""
    found = []
    raylets = [node.all_processes["raylet"][0].process.pid for node in cluster.list_all_nodes()]
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if command.startswith(b"ray::run_batch") and parent in raylets:
            found.append(int(path.name))
    return found


def kill_worker(cluster: Any, driver: "subprocess.Popen[bytes]") -> bool:
    """Kills a worker that runs a batch. Returns False if the driver ends before there is one."""
    end = time.monotonic() + 120
    while driver.poll() is None:
        assert time.monotonic() < end
        for pid in workers(cluster):
            os.kill(pid, signal.SIGKILL)
            return True
        time.sleep(0.005)
    return False


def run_with_deaths(
    cluster: Any, kind: str, captures: pathlib.Path, out: pathlib.Path, tasks: int
) -> None:
    """Kills a worker, then a node, then the driver, and starts the driver again."""
    dice = random.Random(SEED)
    # A driver that ends before it is killed has proved nothing, so its work is done once more.
    attempts = (killed_driver(cluster, kind, captures, out, tasks, dice) for _ in range(5))
    assert any(attempts), "each driver ended before it was killed"
    done = {path: path.stat().st_mtime_ns for path in entries(out)}
    assert tasks // 2 <= len(done) < tasks
    assert start(cluster, kind, captures, out).wait(timeout=600) == 0
    again = [path for path, at in done.items() if path.stat().st_mtime_ns != at]
    assert not again


def killed_driver(
    cluster: Any,
    kind: str,
    captures: pathlib.Path,
    out: pathlib.Path,
    tasks: int,
    dice: random.Random,
) -> bool:
    """Kills a worker, then a node, then the driver. Returns False if the driver had nothing left
    to do before it was killed."""
    shutil.rmtree(out, ignore_errors=True)
    driver = start(cluster, kind, captures, out)
    wait_for(driver, out, dice.randrange(1, tasks // 4))
    is_worker_dead = kill_worker(cluster, driver)
    wait_for(driver, out, dice.randrange(tasks // 4, tasks // 2))
    node = next(node for node in cluster.list_all_nodes() if not node.is_head())
    # The driver waits meanwhile, so that tasks remain however long this takes.
    driver.send_signal(signal.SIGSTOP)
    cluster.remove_node(node, allow_graceful=False)
    driver.send_signal(signal.SIGCONT)
    wait_for(driver, out, dice.randrange(tasks // 2, 3 * tasks // 4))
    driver.kill()
    code = driver.wait()
    cluster.add_node(**NODE)
    assert code in (0, -signal.SIGKILL), "the driver survives its workers"
    return is_worker_dead and code == -signal.SIGKILL and len(entries(out)) < tasks


def test_two_nodes_write_the_bytes_of_one_process_whoever_dies(
    cluster: Any, captures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    alone, out = tmp_path / "alone", tmp_path / "ray"
    outcome = fleet.why_many(str(captures / "*"), alone)
    assert outcome.errors == 2
    run_with_deaths(cluster, "why", captures, out, outcome.tasks)
    assert contents(alone) == contents(out)
    sources = pyarrow.parquet.read_table(out / "captures")["file"].to_pylist()
    assert len(sources) == len(set(sources)) == COUNT + 1


def test_a_sweep_on_two_nodes_has_the_bytes_of_one_process_whoever_dies(
    cluster: Any, captures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    alone, out = tmp_path / "alone", tmp_path / "ray"
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=0.2)
    grid = {"link.delay": "1ms..40ms+1ms", "host.tcp.send_buffer": "4K..128K*2"}
    outcome = fleet.sweep_many(scenario, grid, alone, batch=2)
    run_with_deaths(cluster, "sweep", captures, out, outcome.tasks)
    assert contents(alone) == contents(out)
    assert pyarrow.parquet.read_table(out / "rows").num_rows == 240


def test_an_interruption_ends_the_batches(
    cluster: Any, captures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    # All of this work would take a minute.
    driver = start(cluster, "long sweep", captures, tmp_path)
    wait_for(driver, tmp_path, 20)
    driver.send_signal(signal.SIGINT)
    assert driver.wait(timeout=60) != 0
    count = len(entries(tmp_path))
    assert 20 <= count < 400 * 6 // 2
    wait_until(lambda: not workers(cluster))
    assert not (tmp_path / "unfinished").exists()
    assert len(entries(tmp_path)) == count


def wait_until(is_met: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_met():
        assert time.monotonic() < end
        time.sleep(0.01)
