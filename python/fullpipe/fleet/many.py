"""Analyses many captures, runs many worlds: in this process, in a pool of processes, or on Ray.

Workers write their own parts, so no table passes through the driver. A worker that dies is
replaced and its tasks are done again; a task whose worker dies three times is a row in `errors`.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import pyarrow.fs

import fullpipe
from fullpipe.progress import Progress, reporter

from .batches import Tell, do_tasks, drive
from .dataset import OF_CAPTURES, OF_SWEEPS, Dataset, Outcome, at_once
from .parts import is_packed
from .sources import absolute, expand, facts_of, place_of, shown
from .tasks import NOTHING, CaptureTask, Options, Task, WorldsTask

# Combinations of values in a part of a sweep. A sweep that would have more than PARTS parts has
# larger parts instead.
PART = 64
PARTS = 10_000
# Values of a swept setting that are checked in one call.
CHECKED = 100
# Time that a task may take, in seconds.
LIMIT_S = 3_600.0

Settings = Mapping[str, Union[str, int, float, bool]]
Axes = List[Tuple[str, List[str]]]
Grid = Mapping[str, Union[str, Sequence[Union[str, int, float, bool]]]]


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
    limit_s: Optional[float] = LIMIT_S,
    progress: Progress = None,
) -> Outcome:
    """Analyses captures and writes the tables captures, connections, accounts, verdicts, errors.

    sources: a pattern of paths or URIs of pyarrow.fs, or a list of paths, URIs and patterns. out: folder or URI of the dataset.
    rows: maximum number of connections of a capture. explain: number of connections of each
    capture, those with the most lost time, that get a verdict; a capture that has more verdicts in
    the dataset keeps them. workers: processes; 1 uses this one. ray: use the Ray cluster in place
    of processes. limit_s: time that a capture may take before it becomes an error; None for no
    limit. progress: True for a tqdm bar, or a function of the share.
    """
    _refuse_below(1, workers=workers)
    _refuse_below(0, explain=explain)
    _refuse_no_time(limit_s)
    options = (("explain", explain), ("filter", filter), ("preset", preset), ("rows", rows))
    # Check the filter and the preset now: a wrong one would be an error of each capture.
    fullpipe.why(NOTHING, filter=filter, preset=preset, rows=rows, quick=True)

    def task(source: str) -> Tuple[Tuple[str, ...], Task]:
        kind, size, modified = facts_of(source)
        if kind == pyarrow.fs.FileType.Directory:
            fix = f"this is a folder; give its files, such as '{shown(source).rstrip('/')}/*'"
            raise fullpipe.SettingError(f"{shown(source)}: {fix}", setting="sources", fix=fix)
        place = place_of(source)
        return place, CaptureTask(source, size, modified, options, place, limit_s)

    dataset = Dataset(absolute(out))
    dataset.refuse(OF_SWEEPS, "sweeps")
    if is_packed(dataset.out):
        fix = "this folder has a packed dataset; give another folder"
        raise fullpipe.SettingError(f"{shown(dataset.out)}: {fix}", setting="out", fix=fix)
    # Two names of one file, such as two spellings of a URI, are one capture.
    names = expand(sources)
    if not names:
        fix = "give at least one capture"
        raise fullpipe.SettingError(f"sources: {fix}", setting="sources", fix=fix)
    named = dict(reversed(list(at_once(task, names))))
    tasks = list(reversed(list(named.values())))
    return _run(tasks, dataset, workers, ray, progress)


def sweep_many(
    scenario: Union[fullpipe.Scenario, str, "os.PathLike[str]"],
    grid: Grid,
    out: Union[str, "os.PathLike[str]"],
    *,
    settings: Optional[Settings] = None,
    seeds: Optional[int] = None,
    seed: int = 1,
    explain: bool = False,
    batch: Optional[int] = None,
    workers: int = 1,
    ray: bool = False,
    limit_s: Optional[float] = LIMIT_S,
    progress: Progress = None,
) -> Outcome:
    """Runs every combination of the values of a grid and writes the tables rows, verdicts, errors.

    The arguments are those of `fullpipe.sweep`. In `rows`, a swept setting is text as written.
    batch: maximum number of combinations of a part; default: 64, and more in a sweep of more than 640,000.
    A dataset keeps the batch of the first call. limit_s: time that a part may take. workers:
    processes, each with one simulation at a time; 1 uses this process, with a simulation on each processor. ray,
    progress: as in `why_many`.
    """
    _refuse_below(1, workers=workers, batch=1 if batch is None else batch)
    _refuse_no_time(limit_s)
    text, axes, options = checked(scenario, grid, settings, seeds, seed)
    dataset = Dataset(absolute(out))
    dataset.refuse(OF_CAPTURES, "captures")
    dataset.prepare()
    whole = json.dumps([text, axes, options])
    sweep = hashlib.sha256(whole.encode()).hexdigest()[:20]
    batch = dataset.planned_batch(sweep, batch or max(PART, -(-_count(axes) // PARTS)))
    # Several workers share the processors already.
    at_once = 1 if ray or workers > 1 else None
    tasks: List[Task] = [
        WorldsTask(text, part, options, explain, limit_s, at_once)
        for part in parts_of(axes, batch)
    ]
    return _run(tasks, dataset, workers, ray, progress)


def _refuse_below(least: int, **numbers: int) -> None:
    """Raises SettingError for a number below `least`."""
    for name, number in numbers.items():
        if number < least:
            fix = f"expected a number, {least} or more"
            raise fullpipe.SettingError(f"{name}={number}: {fix}", setting=f"{name}={number}", fix=fix)


def _refuse_no_time(limit_s: Optional[float]) -> None:
    if limit_s is not None and not limit_s > 0:
        fix = "expected seconds above 0"
        raise fullpipe.SettingError(f"limit_s={limit_s}: {fix}", setting=f"limit_s={limit_s}", fix=fix)


def checked(
    scenario: Union[fullpipe.Scenario, str, "os.PathLike[str]"],
    grid: Grid,
    settings: Optional[Settings],
    seeds: Optional[int],
    seed: int,
) -> Tuple[str, Axes, Tuple[Tuple[str, Any], ...]]:
    """Returns the scenario, the grid and the options of a sweep as a task has them. Raises
    SettingError for a wrong one."""
    if not isinstance(scenario, fullpipe.Scenario):
        scenario = fullpipe.Scenario.from_toml(scenario)
    options = (
        ("seed", seed),
        ("seeds", seeds),
        # The order matters: `link.delay` sets every link, and a later setting may change one of
        # them.
        ("settings", tuple((name, _text(name, value)) for name, value in (settings or {}).items())),
    )
    # A value that is given twice makes no world twice.
    axes = [(name, list(dict.fromkeys(values))) for name, values in fullpipe.grid_values(grid)]
    _check(scenario, axes, dict(options))
    return scenario.to_toml(), axes, options


def _count(axes: Axes) -> int:
    """Returns the number of combinations of a grid."""
    count = 1
    for _, values in axes:
        count *= len(values)
    return count


def _text(name: str, value: Union[str, int, float, bool]) -> str:
    """Returns a value as it is written, so that 1 and "1" make the same worlds."""
    if isinstance(value, str):
        return value
    [(_, [text])] = fullpipe.grid_values({name: [value]})
    return text


class _Accepted(Exception):
    """The settings of a sweep are valid, and its first world has begun."""


def _check(scenario: fullpipe.Scenario, axes: Axes, options: Options) -> None:
    """Raises SettingError for a wrong setting or value, which would be an error of each part."""

    def begun(_: float) -> None:
        raise _Accepted

    settings = dict(options["settings"])
    first = {name: values[:1] for name, values in axes}
    for name, values in axes:
        for at in range(0, len(values), CHECKED):
            try:
                grid = {**first, name: values[at : at + CHECKED]}
                fullpipe.sweep(
                    scenario, grid, settings, options["seeds"], seed=options["seed"], progress=begun
                )
            except (_Accepted, fullpipe.SimulationError):
                pass


Part = Tuple[Tuple[str, Tuple[str, ...]], ...]


def parts_of(axes: Axes, batch: int) -> List[Part]:
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
    tasks: List[Task], dataset: Dataset, workers: int, ray: bool, progress: Progress
) -> Outcome:
    kept = dataset.kept(tasks)
    is_open = [task for task in tasks if task.key not in kept]
    # The heaviest first, so that no worker has a heavy one at the end.
    is_open.sort(key=lambda task: (-task.weight, task.key))
    report = reporter(progress) or (lambda share: None)
    weight = sum(task.weight for task in is_open)
    errors = sum(error is not None for error in kept.values())
    done = 0

    def tell(task: Task, error: Optional[str]) -> None:
        nonlocal done, errors
        done += task.weight
        errors += error is not None
        report(done / weight)

    if is_open:
        dataset.prepare()
    try:
        _do(is_open, dataset, workers, ray, tell)
    finally:
        dataset.remove_unfinished()
    if not is_open:
        report(1.0)
    return Outcome(
        out=dataset.out,
        tasks=len(tasks),
        done=len(is_open),
        kept=len(tasks) - len(is_open),
        errors=errors,
    )


def _do(tasks: List[Task], dataset: Dataset, workers: int, ray: bool, tell: Tell) -> None:
    if not tasks:
        return
    if ray:
        from .on_ray import Ray

        drive(Ray(dataset), tasks, dataset, tell)
    elif workers > 1:
        from .pool import Pool

        drive(Pool(workers, dataset), tasks, dataset, tell)
    else:
        for task in tasks:
            errors = do_tasks(dataset, [task]).errors
            tell(task, errors.get(task.key))
