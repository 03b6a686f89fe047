"""Kills a worker, a raylet and the driver of a Ray cluster on this machine, at random times.

    python python/bench/kills.py FOLDER WORLDS ROUNDS SEED

Two raylets with one worker each analyse the captures of FOLDER, then sweep WORLDS worlds (0 for
none). In each round a worker is killed in the first third of the tasks, a raylet in the second, and
the driver in the last; then the run is started again. The dataset must equal that of one process
byte for byte, and no task that had an entry when the driver died may be done again.
"""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ray.cluster_utils import Cluster

import fullpipe
from fullpipe import fleet

NODE = {"num_cpus": 1, "object_store_memory": 100_000_000, "node_ip_address": "127.0.0.1"}


def do(kind, given, out, ray):
    """Analyses the captures of a folder, or sweeps a number of worlds."""
    if kind == "why":
        return fleet.why_many(f"{given}/*", out, ray=ray)
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=0.05)
    buffers = [1_024 * count for count in range(8, 108)]
    grid = {"link.delay": f"1ms..{int(given) // 100}ms+1ms", "host.tcp.send_buffer": buffers}
    return fleet.sweep_many(scenario, grid, out, ray=ray)


def contents(dataset):
    """Returns the bytes of every file by its name, without what a killed driver left unfinished."""
    files = [path for path in pathlib.Path(dataset).rglob("*") if path.is_file()]
    named = {str(path.relative_to(dataset)): path for path in files}
    return {name: path.read_bytes() for name, path in named.items() if "unfinished/" not in name}


def entries(out):
    """Returns the entries of finished tasks with the times at which they were written."""
    return {path: path.stat().st_mtime_ns for path in (out / "manifest").glob("*.json")}


def worker(cluster):
    """Returns a process of this cluster that runs a batch, as soon as there is one."""
    raylets = [node.all_processes["raylet"][0].process.pid for node in cluster.list_all_nodes()]
    while True:
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (path / "cmdline").read_bytes()
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if command.startswith(b"ray::run_batch") and parent in raylets:
                return int(path.name)


def killed(cluster, kind, given, out, tasks, dice):
    """Runs with three deaths and returns the tasks that were done twice."""
    command = [sys.executable, __file__, "--driver", cluster.address, kind, given, str(out)]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def wait_for(share):
        while driver.poll() is None and len(entries(out)) < share * tasks:
            time.sleep(0.02)
        if driver.poll() is not None:
            sys.exit(f"{kind}: the driver ended before {share:.0%} of the tasks; give more captures or worlds")

    shares = [dice.uniform(place / 3, (place + 0.9) / 3) for place in range(3)]
    wait_for(shares[0])
    os.kill(worker(cluster), signal.SIGKILL)
    wait_for(shares[1])
    node = next(node for node in cluster.list_all_nodes() if not node.is_head())
    cluster.remove_node(node, allow_graceful=False)
    cluster.add_node(**NODE)
    wait_for(shares[2])
    driver.kill()
    driver.wait()
    before = entries(out)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = entries(out)
    print(f"  deaths at {', '.join(f'{share:.0%}' for share in shares)}; "
          f"{len(before)} of {tasks} tasks were done when the driver died")
    return [path for path, written in before.items() if after.get(path) != written]


def main():
    """Runs the rounds."""
    captures, worlds, rounds, seed = sys.argv[1:]
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(captures))))
    dice = random.Random(int(seed))
    head = {**NODE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(**NODE)
    is_right = True
    for kind, given in [("why", captures), ("sweep", worlds)]:
        if given == "0":
            continue
        began = time.monotonic()
        outcome = do(kind, given, folder / f"{kind}-alone", False)
        print(f"{kind}: one process: {outcome.tasks} tasks, {outcome.errors} errors, "
              f"{time.monotonic() - began:.0f} s", flush=True)
        expected = contents(folder / f"{kind}-alone")
        for number in range(int(rounds)):
            out, began = folder / f"{kind}-{number}", time.monotonic()
            twice = killed(cluster, kind, given, out, outcome.tasks, dice)
            is_equal = contents(out) == expected
            is_right = is_right and is_equal and not twice
            print(f"  round {number + 1}: {'equal' if is_equal else 'DIFFERENT'}, {len(twice)} "
                  f"done twice, {time.monotonic() - began:.0f} s", flush=True)
            shutil.rmtree(out)
    cluster.shutdown()
    shutil.rmtree(folder)
    print("no task was lost, and none was done twice" if is_right else "WRONG")
    return 0 if is_right else 1


if __name__ == "__main__":
    if sys.argv[1] == "--driver":
        import ray

        ray.init(address=sys.argv[2], log_to_driver=False)
        do(*sys.argv[3:], True)
    else:
        sys.exit(main())
