"""Tasks on a Ray cluster.

The cluster is the one that Ray is connected to, or the one of RAY_ADDRESS; without either, Ray
starts one on this machine. A capture is a task of its own, and workers write their own
parts. At most two tasks wait for each processor.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List

from .tasks import Task

# Tasks for each processor that are handed out in advance.
AHEAD = 2


def run_on_ray(tasks: List[Task], out: str, tell: Callable[[Task], None]) -> None:
    """Runs tasks and calls `tell` with each finished one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    from .many import ATTEMPTS, do, store_lost

    if not ray.is_initialized():
        # A cluster of this machine alone needs no network but loopback.
        own = {} if os.environ.get("RAY_ADDRESS") else {"_node_ip_address": "127.0.0.1"}
        ray.init(log_to_driver=False, configure_logging=False, **own)
    # Ray repeats a task whose worker or node dies.
    remote = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(do)
    resources: Callable[[], Dict[str, float]] = ray.cluster_resources
    waiting = list(reversed(tasks))
    flight: Dict[Any, Task] = {}
    while waiting or flight:
        cpus = int(resources().get("CPU", 1))
        while waiting and len(flight) < max(cpus, 1) * AHEAD:
            task = waiting.pop()
            flight[remote.remote(out, task)] = task
        finished, _ = ray.wait(list(flight), num_returns=1)
        for reference in finished:
            task = flight.pop(reference)
            try:
                ray.get(reference)
            except (
                ray.exceptions.WorkerCrashedError,
                ray.exceptions.NodeDiedError,
                ray.exceptions.OutOfMemoryError,
            ):
                store_lost(out, task)
            tell(task)
