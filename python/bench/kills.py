"""Kills a worker and a node of a Ray cluster on this machine while it analyses captures.

    python python/bench/kills.py CAPTURE COUNT

Two raylets with one worker each analyse COUNT links to the capture, a text file and an empty file.
A worker is killed after 100 tasks and the second raylet after 500. The dataset must equal that of
one process byte for byte.
"""

import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time

import psutil
import ray
from ray.cluster_utils import Cluster

from datasets import contents

from fullpipe import fleet


def is_worker(pid):
    """Returns true if the process runs a task."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::do")
    except OSError:
        return False


def main():
    """Runs the experiment."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    capture, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    folder = pathlib.Path(tempfile.mkdtemp())
    captures = folder / "captures"
    captures.mkdir()
    for number in range(count):
        (captures / f"{number:05}.pcap").symlink_to(capture)
    (captures / "text.pcap").write_text("no capture")
    (captures / "empty.pcap").touch()
    pattern, out = str(captures / "*"), folder / "ray"
    fleet.why_many(pattern, folder / "alone")
    store = {"num_cpus": 1, "object_store_memory": 100_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**store, "include_dashboard": False})
    second = cluster.add_node(**store)
    ray.init(address=cluster.address, log_to_driver=False)

    def wait_for(entries):
        while len(list((out / "manifest").glob("*.json"))) < entries:
            time.sleep(0.02)

    run = threading.Thread(target=lambda: print(fleet.why_many(pattern, out, ray=True)))
    began = time.monotonic()
    run.start()
    wait_for(100)
    children = psutil.Process().children(recursive=True)
    worker = next(child.pid for child in children if is_worker(child.pid))
    os.kill(worker, signal.SIGKILL)
    print("killed a worker")
    wait_for(500)
    cluster.remove_node(second, allow_graceful=False)
    print("killed a raylet")
    run.join()
    print(f"{count + 2} files in {time.monotonic() - began:.1f} s")
    print("equal" if contents(folder / "alone") == contents(out) else "DIFFERENT")
    ray.shutdown()
    cluster.shutdown()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
