"""Compares two processes of a pool with two Ray workers on many captures of the same content.

    python python/bench/fleet.py CAPTURE COUNT

Makes COUNT links to the capture. Both schedulers analyse them nine times, in turn. The processes of
both are started before the clock starts, so the times show what each scheduler costs for a capture.
Prints medians of the time that a capture takes, the median and the quartiles of the ratios of the
pairs, and the largest memory of a Ray worker. The datasets must be equal byte for byte.
"""

import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

import ray

from datasets import contents
from fullpipe.fleet import batches
from fullpipe.fleet.dataset import Dataset
from fullpipe.fleet.on_ray import Ray
from fullpipe.fleet.pool import Pool
from fullpipe.fleet.tasks import CaptureTask

ROUNDS = 9
OPTIONS = (("explain", 0), ("filter", None), ("preset", "linux"), ("rows", 10_000))


def peak_mb(folder):
    """Returns the largest memory that the process has used, in MB; 0 unless it is a Ray worker."""
    try:
        name = (folder / "cmdline").read_bytes()
        status = (folder / "status").read_text()
    except OSError:
        return 0
    if not name.startswith((b"ray::run_batch", b"ray::IDLE")):
        return 0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def started(workers):
    """Returns the workers after each has done an empty batch."""
    for _ in range(3):
        handles = [workers.submit([]) for _ in range(20)]
        while handles:
            ended = set(workers.wait(handles))
            handles = [handle for handle in handles if handle not in ended]
        time.sleep(0.3)
    return workers


def timed(kind, tasks, out):
    """Returns the seconds in which started workers do all tasks."""
    dataset = Dataset(out)
    workers = started(Pool(2, dataset) if kind == "pool" else Ray(dataset))
    ended = []
    began = time.monotonic()
    batches.drive(workers, list(tasks), dataset, lambda task, error: ended.append(time.monotonic()))
    assert len(ended) == len(tasks)
    return ended[-1] - began


def main():
    """Runs the comparison."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    capture, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    folder = tempfile.mkdtemp()
    size = os.path.getsize(capture)
    names = [os.path.join(folder, f"{number:05}.pcap") for number in range(count)]
    for name in names:
        os.symlink(capture, name)
    tasks = [CaptureTask(name, size, 0, OPTIONS) for name in names]
    options = {"include_dashboard": False, "log_to_driver": False}
    ray.init(num_cpus=2, _node_ip_address="127.0.0.1", **options)
    kinds = ["pool", "Ray"]
    times = {kind: [] for kind in kinds}
    datasets = []
    for number in range(ROUNDS):
        for kind in kinds if number % 2 else reversed(kinds):
            out = os.path.join(folder, f"{kind}-{number}")
            times[kind].append(timed(kind, tasks, out) / count)
            datasets.append(contents(out))
    for kind, each in times.items():
        median = statistics.median(each)
        print(f"{kind}: {median * 1e3:.2f} ms a capture of {size / 1e6:.1f} MB, {size / 1e6 / median:.0f} MB/s")
    ratios = [one / other for one, other in zip(times["Ray"], times["pool"])]
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"Ray / pool: {middle:.3f} (quartiles {low:.3f} and {high:.3f})")
    peak = max(peak_mb(path) for path in pathlib.Path("/proc").glob("[0-9]*"))
    print(f"largest memory of a Ray worker: {peak:.0f} MB")
    print("equal" if all(one == datasets[0] for one in datasets) else "DIFFERENT")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
