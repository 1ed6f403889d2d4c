"""Work on the nodes of a Ray cluster that goes on until it ends: one actor per node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from callscore.processes.installation import installation_digest
from callscore.processes.ray_cluster import open_cluster
from callscore.processes.ray_node import NodeReport, NodeWorker
from callscore.processes.value_bytes import from_bytes, to_bytes

LOOK_S = 0.5
"""How often it is looked whether a node has ended."""
ACTOR = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1, "max_concurrency": 2}
"""A killed process is started again; `work` and `stop` run at once; vendors, not cores, limit how
much can be sent."""


class NodeWorkers:
    """The actors of a cluster. What `open_job` makes of the context is called once on every node,
    and has a method `stop` that ends the call soon.
    """

    def __init__(self, ray: Any, open_job: Callable[[Any], Callable[[], Any]]) -> None:
        self._ray = ray
        self._opener = f"{open_job.__module__}:{open_job.__qualname__}"
        self._working: dict[Any, Any] = {}
        """The actors by the reference to what they will say."""

    def start(self, context: Any) -> None:
        """Start on every node that is alive."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        shared = (self._opener, installation_digest(), to_bytes(context))
        remote = self._ray.remote(**ACTOR)(NodeWorker)
        for node in self._ray.nodes():
            if node["Alive"]:
                there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                actor = remote.options(scheduling_strategy=there).remote()
                self._working[actor.work.remote(*shared)] = actor

    def reports(self) -> Iterator[NodeReport | None]:
        """What nodes say when they end; None while all that are left still work."""
        while self._working:
            yield from self._ended()

    def _ended(self) -> Iterator[NodeReport | None]:
        done, _ = self._ray.wait([*self._working], timeout=LOOK_S)
        if not done:
            yield None
        for ref in done:
            del self._working[ref]
            try:
                report = from_bytes(self._ray.get(ref))
            except self._ray.exceptions.RayTaskError:
                report = NodeReport("", refused="a node cannot import callscore")
            except self._ray.exceptions.RayError as error:
                report = NodeReport("", failed=f"a node was lost ({type(error).__name__})")
            yield report

    def ask_to_stop(self) -> None:
        """Ask all nodes to end soon; one that has not begun yet may not hear it."""
        for actor in list(self._working.values()):
            actor.stop.remote()


@contextmanager
def node_workers(
    address: str, open_job: Callable[[Any], Callable[[], Any]]
) -> Iterator[NodeWorkers]:
    """The workers of a cluster, which are killed at the end; raises UsageError, MissingExtra."""
    with open_cluster(address) as ray:
        yield NodeWorkers(ray, open_job)
