"""Compares the time of `fullpipe.why` with that of the command on one capture.

    python python/bench/throughput.py CAPTURE PATH-OF-FULLPIPE

Both read the capture seven times in turn. Prints the medians of both, and the median and the
quartiles of the ratio of the two times of a turn. Other work on the machine changes this ratio less
than the times.
"""

import os
import resource
import statistics
import subprocess
import sys
import time

import fullpipe


def measured(call, who):
    """Returns seconds of real time and of processor time of `call`."""
    before, began = resource.getrusage(who), time.monotonic()
    call()
    real, after = time.monotonic() - began, resource.getrusage(who)
    return real, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


capture, program = sys.argv[1:]
command = [program, "why", capture, "--quick", "--csv"]
of_command, of_python = [], []
for _ in range(7):
    run = lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    of_command.append(measured(run, resource.RUSAGE_CHILDREN))
    why = lambda: fullpipe.why(capture, quick=True)
    of_python.append(measured(why, resource.RUSAGE_SELF))
megabytes = os.path.getsize(capture) / 1e6
for name, times in [("command", of_command), ("Python", of_python)]:
    real, processor = (statistics.median(column) for column in zip(*times))
    print(f"{name}: {megabytes / real:.0f} MB/s, {processor:.2f} s of processor time")
for name, column in [("time", 0), ("processor time", 1)]:
    ratios = [one[column] / other[column] for one, other in zip(of_command, of_python)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{name}, command / Python: {middle:.3f} (quartiles {low:.3f} and {high:.3f})")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"largest memory of Python: {peak:.0f} MB")
