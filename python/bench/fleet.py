"""Compares one process, a pool and Ray on many captures of the same content.

    python python/bench/fleet.py CAPTURE COUNT

Makes COUNT links to the capture and prints the time a capture takes with each scheduler, after a
first run that starts the workers. The datasets must be equal byte for byte.
"""

import os
import shutil
import sys
import tempfile
import time

from datasets import contents

from fullpipe import fleet


def main():
    """Runs the comparison."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    capture, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    folder = tempfile.mkdtemp()
    names = [os.path.join(folder, f"{number:05}.pcap") for number in range(count)]
    for name in names:
        os.symlink(capture, name)
    size = os.path.getsize(capture) / 1e6
    kinds = [("one process", {}), ("pool of 2", {"workers": 2})]
    try:
        import ray
    except ImportError:
        print("without Ray, which is not installed")
    else:
        options = {"include_dashboard": False, "log_to_driver": False}
        ray.init(num_cpus=2, _node_ip_address="127.0.0.1", **options)
        kinds.append(("Ray, 2 workers", {"ray": True}))
    datasets = []
    for name, options in kinds:
        fleet.why_many(names[:4], os.path.join(folder, "first", name), **options)
        out = os.path.join(folder, name)
        began = time.monotonic()
        fleet.why_many(names, out, **options)
        each = (time.monotonic() - began) / count
        print(f"{name}: {each * 1e3:.1f} ms a capture of {size:.1f} MB, {size / each:.0f} MB/s")
        datasets.append(contents(out))
    print("equal" if all(one == datasets[0] for one in datasets) else "DIFFERENT")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
