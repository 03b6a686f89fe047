"""Batches in processes of this machine.

A worker that dies breaks the whole pool, so the pool is made again, and the tasks that were in
flight run one by one.
"""

from __future__ import annotations

import concurrent.futures
import concurrent.futures.process
import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from typing import Any, Iterable, List

import fullpipe

from .batches import WorkerDied, Workers, run_batch
from .dataset import Dataset
from .tasks import BatchResult, Task


class Pool(Workers):
    """A pool of `count` processes that write into `dataset`."""

    isolates = False

    def __init__(self, count: int, dataset: Dataset) -> None:
        self._count = count
        self._dataset = dataset
        # Not fork: the native part has threads.
        self._context = multiprocessing.get_context("spawn")
        self._alive, self._driver = self._context.Pipe(duplex=False)
        self._pool = self._started()
        self._is_broken = False
        try:
            self._pool.submit(int).result()
        except concurrent.futures.process.BrokenProcessPool as error:
            fix = 'no worker can start; in a script, call this below `if __name__ == "__main__":`'
            raise fullpipe.SettingError(f"workers: {fix}", setting="workers", fix=fix) from error

    def _started(self) -> concurrent.futures.ProcessPoolExecutor:
        return concurrent.futures.ProcessPoolExecutor(
            self._count,
            mp_context=self._context,
            initializer=_end_with_driver,
            initargs=(self._alive,),
        )

    def count(self) -> int:
        return self._count

    def submit(self, batch: List[Task]) -> Any:
        if self._is_broken:
            self._pool.shutdown()
            self._pool = self._started()
            self._is_broken = False
        try:
            return self._pool.submit(run_batch, self._dataset.out, self._dataset.run, batch)
        except concurrent.futures.process.BrokenProcessPool as error:
            failed: "concurrent.futures.Future[BatchResult]" = concurrent.futures.Future()
            failed.set_exception(error)
            return failed

    def wait(self, handles: List[Any]) -> Iterable[Any]:
        first = concurrent.futures.FIRST_COMPLETED
        return concurrent.futures.wait(handles, return_when=first).done

    def result(self, handle: Any) -> BatchResult:
        try:
            result: BatchResult = handle.result()
        except concurrent.futures.process.BrokenProcessPool as error:
            self._is_broken = True
            raise WorkerDied from error
        return result

    def interrupt(self, handles: List[Any]) -> None:
        # The workers end now, even if they are in the middle of a file.
        self._driver.close()
        self.close()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._driver.close()
        self._alive.close()


def _end_with_driver(alive: Connection) -> None:
    """Ends this worker when the driver closes the pipe or dies."""
    # Ctrl-C in a terminal reaches every process; the driver decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        try:
            alive.recv()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
