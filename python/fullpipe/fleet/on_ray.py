"""Batches on a Ray cluster.

The cluster is the one that Ray is connected to, or the one of RAY_ADDRESS; without either, Ray
starts one on this machine. Ray repeats nothing: the driver repeats the tasks that a dead worker
or node did not finish, one by one.
"""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, Iterable, List

from .batches import WorkerDied, Workers, run_batch
from .dataset import Dataset
from .tasks import BatchResult, Task

# Time between two questions for the size of the cluster, in seconds.
LOOK_S = 2.0
# Seconds that batches have to end after an interruption. Batches that have not ended are cancelled,
# and have this time again.
END_S = 10.0


class Ray(Workers):
    """The processors of a cluster; each does one batch at a time."""

    def __init__(self, dataset: Dataset) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        if not ray.is_initialized():
            # A cluster of this machine alone needs no network but loopback.
            own: Any = {} if os.environ.get("RAY_ADDRESS") else {"_node_ip_address": "127.0.0.1"}
            ray.init(log_to_driver=False, configure_logging=False, **own)
        self._ray: Any = ray
        self._dataset = dataset
        self._remote: Any = ray.remote(num_cpus=1, max_retries=0)(run_batch)
        self._count = 1
        self._looked = 0.0

    def count(self) -> int:
        if not self._looked or time.monotonic() - self._looked > LOOK_S:
            resources: Callable[[], Dict[str, float]] = self._ray.cluster_resources
            self._count = max(int(resources().get("CPU", 1)), 1)
            self._looked = time.monotonic()
        return self._count

    def submit(self, batch: List[Task]) -> Any:
        return self._remote.remote(self._dataset.out, self._dataset.run, batch)

    def wait(self, handles: List[Any]) -> Iterable[Any]:
        self._ray.wait(handles, num_returns=1)
        ended, _ = self._ray.wait(handles, num_returns=len(handles), timeout=0)
        done: List[Any] = ended
        return done

    def result(self, handle: Any) -> BatchResult:
        errors = self._ray.exceptions
        try:
            result: BatchResult = self._ray.get(handle)
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.LocalRayletDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as error:
            raise WorkerDied from error
        return result

    def interrupt(self, handles: List[Any]) -> None:
        # Ray may abort the driver if a batch ends while it is cancelled, so batches get some time
        # to end first.
        if handles:
            _, late = self._ray.wait(handles, num_returns=len(handles), timeout=END_S)
            for handle in late:
                self._ray.cancel(handle, force=True)
            if late:
                self._ray.wait(late, num_returns=len(late), timeout=END_S)
