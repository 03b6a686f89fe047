"""Prints the constants of "On paper" in docs/fleet.md.

    python python/bench/paper.py FOLDER COUNT

FOLDER has captures. Prints the time of a capture, of a verdict, of packing and of the report. Prints the time that the
driver of a second call needs for a capture that the first call has analysed, and its memory for each of COUNT captures
(at most 60,000). Prints the memory of the process that did all of this. Times are processor time, of all threads and of
child processes, because other work on the machine changes it least.
"""

import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import duckdb

from fullpipe import fleet
from fullpipe.fleet.parts import PACKED_MARK

# Captures that get a verdict, and the largest of them, in bytes.
EXPLAINED = 40
LARGEST = 100_000_000
# Packed datasets of the largest report, and how often each has every capture.
COPIES = 10
REPEATS = 200
# Prints the largest memory of a process, in KiB. `ru_maxrss` would include the parent's memory.
PEAK = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"


def timed(call):
    """Returns the seconds of processor time that a call takes, and its result."""
    began = processor_s()
    result = call()
    return processor_s() - began, result


def processor_s():
    """Returns the processor time of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def report_of(datasets, out):
    """Returns the processor time of a report, and prints its memory."""
    code = ("import sys\nfrom fullpipe import fleet\n"
            "fleet.report(sys.argv[2:], out=sys.argv[1], pages=0)\n" + PEAK)
    command = [sys.executable, "-c", code, out / "report", *datasets]
    seconds, answer = timed(lambda: subprocess.run(command, check=True, capture_output=True, text=True))
    memory = int(answer.stdout.split()[-1]) / 1024
    print(f"report of {datasets[0].name} and {len(datasets) - 1} more: {memory:.0f} MB of memory")
    return seconds


def repeated(packed, out, number):
    """Returns a packed dataset with every row `REPEATS` times, as rows of different captures.

    The connections begin at different times of one year, and ten of them have the same sender.
    """
    shutil.copytree(packed / PACKED_MARK[0], out / PACKED_MARK[0])
    for part in packed.rglob("*.parquet"):
        target = out / part.relative_to(packed)
        target.parent.mkdir(parents=True)
        file = "source" if part.parent.name == "errors" else "file"
        source = f"select *, row_number() over () + {number} * 1e7::bigint as id from '{part}', range({REPEATS}) r(n)"
        changed = [f"{file} || '-' || id as {file}"]
        if part.parent.name == "connections":
            address = "format('10.{}.{}.{}:', id // 655360 % 256, id // 2560 % 256, id // 10 % 256)"
            changed += [f"{address} || regexp_extract(sender, '[0-9]+$') as sender", "1.7e9 + id * 7.0 % 3e7 as began_s"]
        duckdb.sql(f"copy (select * exclude (id, n) replace ({', '.join(changed)}) from ({source})) to '{target}'")
    return out


def driver_memory(capture, count, out):
    """Returns the memory that the driver of a second call needs for each of `count` captures, which
    are the beginning of `capture` under different names."""
    folder = out / "small"
    folder.mkdir()
    first = folder / "0.pcapng"
    first.write_bytes(capture.read_bytes()[:20_000])
    for number in range(1, count):
        os.link(first, folder / f"{number}.pcapng")
    peaks = []
    for files in (folder / "*[02468].pcapng", folder / "*.pcapng"):
        fleet.why_many(files, out / "small-dataset")
        code = ("import sys\nfrom fullpipe import fleet\nfleet.why_many(sys.argv[1], sys.argv[2])\n" + PEAK)
        command = [sys.executable, "-c", code, files, out / "small-dataset"]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True).stdout) * 1024)
    return (peaks[1] - peaks[0]) / (count / 2)


def main():
    """Prints the constants."""
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    files = sorted(path for path in folder.iterdir() if path.is_file())
    out = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
    first, outcome = timed(lambda: fleet.why_many(files, out / "all"))
    again, kept = timed(lambda: fleet.why_many(files, out / "all"))
    assert kept.kept == outcome.tasks
    print(f"{outcome.tasks} captures: {first / outcome.tasks * 1e3:.2f} ms each in one process; "
          f"{again / outcome.tasks * 1e3:.3f} ms each in a second call")
    objects = [path for path in (out / "all").rglob("*") if path.is_file()]
    print(f"{len(objects) / outcome.tasks:.2f} objects and {sum(p.stat().st_size for p in objects) / outcome.tasks / 1e3:.1f} KB "
          "a capture in the dataset")
    parts = {}
    for share in (4, 1):
        dataset, packed = out / f"part-{share}", out / f"packed-{share}"
        fleet.why_many(files[::share], dataset)
        of_pack, _ = timed(lambda: fleet.pack(dataset, packed))
        parts[share] = [len(files[::share]), of_pack, report_of([dataset], out), report_of([packed], out)]
    more = parts[1][0] - parts[4][0]
    for place, name in enumerate(["pack", "report", "report of the packed dataset"], start=1):
        each = (parts[1][place] - parts[4][place]) / more
        print(f"{name}: {parts[1][place]:.1f} s, {each * 1e3:.3f} ms for each further capture")
    size = sum(path.stat().st_size for path in (out / "packed-1").rglob("*.parquet"))
    print(f"the packed dataset: {size / parts[1][0]:.0f} bytes a capture")
    many = [repeated(out / "packed-1", out / f"many-{n}", n) for n in range(COPIES)]
    print(f"{COPIES} packed datasets of {parts[1][0] * REPEATS} captures: report in {report_of(many, out):.0f} s")
    small = [path for path in files if 0 < path.stat().st_size < LARGEST]
    chosen = small[:: max(1, len(small) // EXPLAINED)][:EXPLAINED]
    verdicts = []
    for number, path in enumerate(chosen):
        each = [timed(lambda: fleet.why_many(path, out / f"{number}-{n}", explain=n))[0] for n in (0, 1)]
        verdicts.append(each[1] - each[0])
    print(f"a verdict: median {statistics.median(verdicts):.2f} s, mean "
          f"{statistics.mean(verdicts):.2f} s, most {max(verdicts):.2f} s of {len(verdicts)}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest memory of this process after these captures: {peak:.0f} MB")
    print(f"memory of the driver: {driver_memory(small[0], count, out):.0f} bytes a capture in a second call")
    shutil.rmtree(out)


if __name__ == "__main__":
    main()
