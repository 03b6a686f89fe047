"""Runs tasks: in this process, in a pool of processes, or on Ray.

Workers write their own parts, so no table passes through the driver. A worker that dies is
replaced and its task is done again; a task whose worker dies three times is a row in `errors`.
"""

from __future__ import annotations

import concurrent.futures
import concurrent.futures.process
import multiprocessing
import os
import threading
from typing import Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import pyarrow.fs

import fullpipe
from fullpipe.progress import Progress, reporter

from .dataset import Dataset, Outcome
from .sources import absolute, expand, filesystem_of
from .tasks import CaptureTask, Task, WorldsTask, run_task

# Times that a task may lose its worker.
ATTEMPTS = 3
# Tasks for each worker that are handed out in advance.
AHEAD = 2

Settings = Mapping[str, Union[str, int, float, bool]]
Grid = Mapping[str, Union[str, Sequence[Union[str, int, float, bool]]]]


def do(out: str, task: Task) -> None:
    """Does one task and stores its result."""
    tables, error = run_task(task)
    Dataset(out).store(task, tables, error)


def why_many(
    sources: Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]],
    out: Union[str, "os.PathLike[str]"],
    *,
    filter: Optional[str] = None,
    preset: str = "linux",
    rows: int = 10_000,
    explain: int = 0,
    workers: int = 1,
    ray: bool = False,
    progress: Progress = None,
) -> Outcome:
    """Analyses captures and writes the tables captures, connections, accounts, verdicts, errors.

    sources: a pattern of paths or URIs of pyarrow.fs, or a list of paths and URIs. out: folder or URI of the dataset.
    rows: most connections of a capture. explain: number of connections of each capture, those
    with the most lost time, that get a verdict. workers: processes; 1 uses this one. ray: use the
    Ray cluster in place of processes. progress: True for a tqdm bar, or a function of the share.
    """
    options = (("explain", explain), ("filter", filter), ("preset", preset), ("rows", rows))
    tasks: List[Task] = []
    for source in expand(sources):
        filesystem, path = filesystem_of(source)
        info = filesystem.get_file_info(path)
        is_file = info.type == pyarrow.fs.FileType.File
        size = info.size if is_file and info.size is not None else 0
        modified = info.mtime_ns if is_file and info.mtime_ns is not None else 0
        tasks.append(CaptureTask(source, size, modified, options))
    return _run(tasks, absolute(out), workers, ray, progress)


def sweep_many(
    scenario: Union[fullpipe.Scenario, str, "os.PathLike[str]"],
    grid: Grid,
    out: Union[str, "os.PathLike[str]"],
    *,
    settings: Optional[Settings] = None,
    seeds: Optional[int] = None,
    seed: int = 1,
    explain: bool = False,
    batch: int = 64,
    workers: int = 1,
    ray: bool = False,
    progress: Progress = None,
) -> Outcome:
    """Runs every combination of the values of a grid and writes the tables rows, verdicts, errors.

    The arguments are those of `fullpipe.sweep`. In `rows`, a swept setting is text as written.
    batch: most combinations of one task. workers, ray, progress: as in `why_many`.
    """
    if not isinstance(scenario, fullpipe.Scenario):
        scenario = fullpipe.Scenario.from_toml(scenario)
    options = (
        ("explain", explain),
        ("seed", seed),
        ("seeds", seeds),
        # The order matters: `link.delay` sets every link, and a later setting one of them.
        ("settings", tuple((settings or {}).items())),
    )
    axes = fullpipe.grid_values(grid)
    text = scenario.to_toml()
    tasks: List[Task] = [WorldsTask(text, part, options) for part in _parts(axes, batch)]
    return _run(tasks, absolute(out), workers, ray, progress)


Part = Tuple[Tuple[str, Tuple[str, ...]], ...]


def _parts(axes: List[Tuple[str, List[str]]], batch: int) -> List[Part]:
    """Divides a grid into grids of at most `batch` combinations, in the order of the whole."""
    parts: List[Part] = [()]
    room = max(batch, 1)
    for name, values in reversed(axes):
        step = max(room, 1)
        chunks = [tuple(values[at : at + step]) for at in range(0, len(values), step)]
        parts = [((name, chunk), *part) for chunk in chunks for part in parts]
        room = room // len(values)
    return parts


def _run(
    tasks: List[Task], out: str, workers: int, ray: bool, progress: Progress
) -> Outcome:
    dataset = Dataset(out)
    is_open = dataset.open_tasks(tasks)
    report = reporter(progress) or (lambda share: None)
    weight = sum(task.weight + 1 for task in is_open)
    done = 0

    def tell(task: Task) -> None:
        nonlocal done
        done += task.weight + 1
        report(done / weight)

    if ray:
        from .on_ray import run_on_ray

        run_on_ray(is_open, out, tell)
    elif workers <= 1:
        for task in is_open:
            do(out, task)
            tell(task)
    else:
        _run_in_pool(is_open, out, workers, tell)
    if not is_open:
        report(1.0)
    return Outcome(
        out=out,
        tasks=len(tasks),
        done=len(is_open),
        kept=len(tasks) - len(is_open),
        errors=dataset.error_count(tasks),
    )


def _run_in_pool(
    tasks: List[Task], out: str, workers: int, tell: Callable[[Task], None]
) -> None:
    waiting = list(reversed(tasks))
    attempts: Dict[str, int] = {}
    while waiting:
        broken = _run_until_broken(waiting, out, workers, tell)
        # The tasks in flight are suspects: run each alone, so that a bad one harms no other.
        for task in broken:
            attempts[task.key] = attempts.get(task.key, 0) + 1
            while _run_until_broken([task], out, 1, tell):
                attempts[task.key] += 1
                if attempts[task.key] >= ATTEMPTS:
                    store_lost(out, task)
                    tell(task)
                    break


def _end_with_driver() -> None:
    """Ends this worker when the driver dies, because the pool's queue does not tell it."""
    driver = multiprocessing.parent_process()

    def watch() -> None:
        if driver is not None:
            driver.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def store_lost(out: str, task: Task) -> None:
    """Stores the error of a task whose workers died."""
    Dataset(out).store(task, {}, f"WorkerDied: its worker died {ATTEMPTS} times")


def _run_until_broken(
    waiting: List[Task], out: str, workers: int, tell: Callable[[Task], None]
) -> List[Task]:
    """Runs tasks until none waits or a worker dies. Returns the tasks that were in flight then."""
    # Not fork: the native part has threads.
    context = multiprocessing.get_context("spawn")
    flight: Dict["concurrent.futures.Future[None]", Task] = {}
    with concurrent.futures.ProcessPoolExecutor(
        workers, mp_context=context, initializer=_end_with_driver
    ) as pool:
        try:
            pool.submit(int).result()
        except concurrent.futures.process.BrokenProcessPool as error:
            fix = 'no worker can start; in a script, call this below `if __name__ == "__main__":`'
            raise fullpipe.SettingError(f"workers: {fix}", setting="workers", fix=fix) from error
        try:
            while waiting or flight:
                while waiting and len(flight) < workers * AHEAD:
                    task = waiting[-1]
                    flight[pool.submit(do, out, task)] = task
                    waiting.pop()
                first = concurrent.futures.FIRST_COMPLETED
                finished, _ = concurrent.futures.wait(flight, return_when=first)
                for future in finished:
                    future.result()
                    tell(flight.pop(future))
        except concurrent.futures.process.BrokenProcessPool:
            return list(flight.values())
    return []


