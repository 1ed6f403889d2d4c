"""The nodes of a Ray cluster compute blocks; results come back in order, as from `ProcessPool`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, Generic, TypeVar

from callscore.core.errors import UsageError, WorkerLost
from callscore.processes.installation import installation_digest
from callscore.processes.pool import AHEAD
from callscore.processes.ray_cluster import open_cluster
from callscore.processes.ray_node import NodeReport, compute_block, describe_node
from callscore.processes.value_bytes import from_bytes, to_bytes

Work = TypeVar("Work")
Result = TypeVar("Result")
RETRIES = 3
"""How often Ray computes a block again whose process or node was lost."""


class RayPool(Generic[Work, Result]):
    """A cluster, on whose nodes `open_job(context)` makes the function for a block.

    Only bytes cross the boundary. `enclose` makes a block complete in itself, as nodes need not
    have its files.
    """

    def __init__(
        self,
        address: str,
        number: int | None,
        open_job: Callable[[Any], Callable[[Work], Result]],
        context: Any,
        enclose: Callable[[Work], Work],
    ) -> None:
        """`number` is the most blocks that are computed at a time; by default one per core."""
        self._address, self._number = address, number
        self._job = (open_job, context)
        self._enclose = enclose
        self._closing = ExitStack()

    def __enter__(self) -> RayPool[Work, Result]:
        ray = self._ray = self._closing.enter_context(open_cluster(self._address))
        try:
            options = {"num_cpus": 1, "max_retries": RETRIES}
            self._compute = ray.remote(**options)(compute_block)
            # Asked before any data is sent: a cluster without tokens gets none.
            told = self._get(ray.remote(**options)(describe_node).remote(installation_digest()), "")
            self._check(told)
            self._number = self._number or int(ray.cluster_resources().get("CPU", 1))
        except BaseException:
            self._closing.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster, which drops the blocks that it still computes."""
        self._closing.close()

    def results(self, works: Iterable[Work], describe: Callable[[Work], str]) -> Iterator[Result]:
        """The result of every block, in order; an error of a block is raised in its place."""
        assert self._number is not None
        open_job, context = self._job
        opener = f"{open_job.__module__}:{open_job.__qualname__}"
        shared = (opener, installation_digest(), to_bytes(context))
        given: deque[tuple[Any, Work]] = deque()
        left = iter(works)
        while True:
            while len(given) < self._number + AHEAD and (work := next(left, None)) is not None:
                sent = to_bytes(self._enclose(work))
                given.append((self._compute.remote(*shared, sent), work))
            if not given:
                return
            ref, work = given.popleft()
            told = self._get(ref, describe(work))
            self._check(told)
            if told.failed:
                self._raise_here(work, told, describe)
            yield told.result

    def _get(self, ref: Any, what: str) -> NodeReport:
        errors = self._ray.exceptions
        try:
            told = from_bytes(self._ray.get(ref))
        except errors.RayTaskError:
            raise UsageError(
                "a node of the Ray cluster cannot import callscore; expected the same version, "
                "with the same extensions, on every node"
            ) from None
        except errors.RayError as error:
            raise WorkerLost(
                f"{what + ': ' if what else ''}the processes that computed this block were lost "
                f"({type(error).__name__}), {RETRIES + 1} times; if memory is short, use fewer "
                "--workers"
            ) from None
        assert isinstance(told, NodeReport)
        return told

    def _check(self, told: NodeReport) -> None:
        if told.refused:
            raise UsageError(f"Ray node {told.node}: {told.refused}")

    def _raise_here(self, work: Work, told: NodeReport, describe: Callable[[Work], str]) -> None:
        """Compute a block here that failed on a node, to raise its error as `--workers 1` does."""
        open_job, context = self._job
        open_job(context)(work)
        raise UsageError(
            f"{describe(work)}: Ray node {told.node}: {told.failed}; this machine computes the "
            "block without an error, so something is missing on the node"
        )
