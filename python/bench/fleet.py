"""Compares a pool of two processes with two Ray workers on many captures of the same content.

    python python/bench/fleet.py CAPTURE COUNT

Makes COUNT links to the capture. Both schedulers analyse them five times, in turn, after a first run
that starts Ray's workers; the pool starts its processes in each run. Prints medians of the time that
a capture takes, the median of the ratios of the pairs, and the largest memory of a Ray worker. The
datasets must be equal byte for byte.
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
from fullpipe import fleet

ROUNDS = 5


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


def main():
    """Runs the comparison."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    capture, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    folder = tempfile.mkdtemp()
    names = [os.path.join(folder, f"{number:05}.pcap") for number in range(count)]
    for name in names:
        os.symlink(capture, name)
    options = {"include_dashboard": False, "log_to_driver": False}
    ray.init(num_cpus=2, _node_ip_address="127.0.0.1", **options)
    kinds = [("pool", {"workers": 2}), ("Ray", {"ray": True})]
    times = {"pool": [], "Ray": []}
    datasets = []
    fleet.why_many(names[:8], os.path.join(folder, "first"), ray=True)
    for number in range(ROUNDS):
        for name, how in kinds if number % 2 else reversed(kinds):
            out = os.path.join(folder, f"{name}-{number}")
            began = time.monotonic()
            fleet.why_many(names, out, **how)
            times[name].append((time.monotonic() - began) / count)
            datasets.append(contents(out))
    size = os.path.getsize(capture) / 1e6
    for name, each in times.items():
        median = statistics.median(each)
        print(f"{name}: {median * 1e3:.1f} ms a capture of {size:.1f} MB, {size / median:.0f} MB/s")
    ratios = [one / other for one, other in zip(times["Ray"], times["pool"])]
    print(f"Ray / pool: {statistics.median(ratios):.3f}")
    peak = max(peak_mb(path) for path in pathlib.Path("/proc").glob("[0-9]*"))
    print(f"largest memory of a Ray worker: {peak:.0f} MB")
    print("equal" if all(one == datasets[0] for one in datasets) else "DIFFERENT")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
