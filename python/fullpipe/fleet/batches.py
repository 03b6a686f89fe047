"""Waiting tasks, handed out in batches, and the loop that gives them to workers.

The rule: a batch only groups tasks that are sent to a worker together. Each task keeps its own key and its
own parts, so no byte of the dataset depends on the batches, which depend on measured times.
"""

from __future__ import annotations

import collections
import time
from typing import Any, Callable, Deque, Dict, Iterable, List, Optional

from .dataset import Dataset, error_of, partial_error
from .tasks import ERRORS, BatchResult, Tables, Task, run_task

# Number of lost workers after which a task is an error.
ATTEMPTS = 3
# Number of attempts to write the parts of a task, and the seconds between two attempts.
WRITES = 3
WRITE_AGAIN_S = 0.5
# Batches for each worker that are handed out in advance.
AHEAD = 2
# Batches that the driver hands out in a second, at most, when all workers are busy.
RATE = 100
# Least time that a batch should take, in seconds.
LEAST_S = 1.0


# Receives a finished task, and its error or None.
Tell = Callable[[Task, Optional[str]], None]


class WorkerDied(Exception):
    """The worker of a batch died before it answered."""


class Workers:
    """Processes that do batches: a pool on this machine, or a cluster."""

    # True if the death of a worker harms only the batch that it had.
    isolates = True

    def count(self) -> int:
        """Returns the number of workers, at least 1."""
        raise NotImplementedError

    def submit(self, batch: List[Task]) -> Any:
        """Hands out a batch and returns a handle of it."""
        raise NotImplementedError

    def wait(self, handles: List[Any]) -> Iterable[Any]:
        """Waits for a batch to end. Returns every batch that has ended."""
        raise NotImplementedError

    def result(self, handle: Any) -> BatchResult:
        """Returns the result of a batch that has ended. Raises WorkerDied."""
        raise NotImplementedError

    def interrupt(self, handles: List[Any]) -> None:
        """Ends the work on batches after an exception, and waits for it to end.

        A batch that was handed out just before the exception may be missing in `handles`.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Ends the workers. No worker has a batch when this is called."""


class Batches:
    """Tasks that nobody has done yet."""

    def __init__(self, tasks: List[Task]) -> None:
        self._waiting: Deque[Task] = collections.deque(tasks)
        # Tasks that lost a worker. Each is a batch of its own, so that a bad one harms no other.
        self.suspects: Deque[Task] = collections.deque()
        self._attempts: Dict[str, int] = {}
        self._weight = sum(task.weight for task in tasks)
        self._done_weight = 0
        self._done_s = 0.0

    def __bool__(self) -> bool:
        return bool(self._waiting or self.suspects)

    def take(self, workers: int) -> List[Task]:
        """Returns the next batch for one of `workers` workers."""
        if self.suspects:
            return [self.suspects.popleft()]
        room = self._largest(workers)
        batch: List[Task] = []
        while self._waiting and (not batch or self._waiting[0].weight <= room):
            task = self._waiting.popleft()
            room -= task.weight
            self._weight -= task.weight
            batch.append(task)
        return batch

    def _largest(self, workers: int) -> float:
        """Returns the largest weight of a batch. Until the speed of the workers is known, it is 0,
        and a batch has one task. Towards the end the weight falls, so that no worker waits long for
        the last batch."""
        if self._done_s == 0.0:
            return 0.0
        seconds = max(LEAST_S, workers / RATE)
        by_time = seconds * self._done_weight / self._done_s
        return min(by_time, self._weight / (workers * AHEAD))

    def measured(self, batch: List[Task], seconds: float) -> None:
        """Learns the speed of workers from a finished batch."""
        self._done_weight += sum(task.weight for task in batch)
        self._done_s += max(seconds, 1e-6)

    def worker_died(self, task: Task) -> bool:
        """Puts a task back. Returns false if the task has lost too many workers."""
        attempts = self._attempts.get(task.key, 0) + 1
        self._attempts[task.key] = attempts
        if attempts < ATTEMPTS:
            self.suspects.append(task)
        return attempts < ATTEMPTS


def drive(workers: Workers, tasks: List[Task], dataset: Dataset, tell: Tell) -> None:
    """Gives tasks to workers until all are done. Calls `tell` with each task and its error."""
    batches = Batches(tasks)
    flight: Dict[Any, List[Task]] = {}
    try:
        while batches or flight:
            count = workers.count()
            most = 1 if batches.suspects and not workers.isolates else count * AHEAD
            while batches and len(flight) < most:
                batch = batches.take(count)
                flight[workers.submit(batch)] = batch
            for handle in workers.wait(list(flight)):
                batch = flight.pop(handle)
                try:
                    seconds, errors = workers.result(handle)
                except WorkerDied:
                    _repeat(batches, batch, dataset, tell)
                    continue
                batches.measured(batch, seconds)
                for task in batch:
                    tell(task, errors.get(task.key))
    except BaseException:
        # After an exception, such as KeyboardInterrupt, no worker may go on writing.
        workers.interrupt(list(flight))
        raise
    workers.close()


def _repeat(batches: Batches, batch: List[Task], dataset: Dataset, tell: Tell) -> None:
    """Puts the tasks back that a dead worker did not finish; a task that lost too many workers
    becomes an error."""
    for task in batch:
        entry = dataset.valid_entry(task)
        if entry is not None:
            tell(task, error_of(entry))
        elif not batches.worker_died(task):
            error = f"WorkerDied: the worker of this task died {ATTEMPTS} times"
            tell(task, _stored(dataset, task, {}, error))


def run_batch(out: str, run: str, batch: List[Task]) -> BatchResult:
    """Does tasks in a worker."""
    return do_tasks(Dataset(out, run), batch)


def do_tasks(dataset: Dataset, tasks: List[Task]) -> BatchResult:
    """Does tasks one after another and stores their results."""
    began = time.monotonic()
    errors: Dict[str, str] = {}
    for task in tasks:
        tables, error = run_task(task)
        error = _stored(dataset, task, tables, error)
        if error is None and ERRORS in tables:
            error = partial_error(tables[ERRORS].num_rows)
        if error is not None:
            errors[task.key] = error
    return BatchResult(time.monotonic() - began, errors)


def _stored(
    dataset: Dataset, task: Task, tables: Tables, error: Optional[str]
) -> Optional[str]:
    """Stores the result of a task. Returns its error: the given one, or that of the last write.

    A task that cannot be stored has no entry, so the next call does it again.
    """
    for attempt in range(WRITES):
        try:
            dataset.store(task, tables, error)
            return error
        except OSError as failed:
            unwritten = f"{type(failed).__name__}: the result was not written: {failed}"
            if attempt + 1 < WRITES:
                time.sleep(WRITE_AGAIN_S)
    return unwritten
