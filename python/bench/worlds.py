"""Prints the time that a simulated world takes in `sweep_many`.

    python python/bench/worlds.py

Runs 1,000 worlds: 1 s of a transfer at 20 Mbit/s each, with ten delays and a hundred send buffers.
"""

import tempfile
import time

import fullpipe
from fullpipe import fleet

if __name__ == "__main__":
    scenario = fullpipe.Scenario.transfer("20mbit", "10ms", duration=1.0)
    grid = {
        "link.delay": "2ms..20ms+2ms",
        "host.tcp.send_buffer": [1_024 * count for count in range(8, 108)],
    }
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        outcome = fleet.sweep_many(scenario, grid, folder, batch=100)
        each = (time.monotonic() - began) / 1_000
    print(f"{outcome.tasks} tasks; {each * 1e3:.2f} ms a world on all processors")
