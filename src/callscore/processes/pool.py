"""Processes that each compute one block of work at a time; results come back in order.

The order of results, and the error that is raised if several blocks fail, do not depend on the
number of processes. A process that is killed has its block computed once more.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Generic, NamedTuple, TypeVar

from callscore.core.errors import WorkerLost
from callscore.processes.child import BlockError, serve

Work = TypeVar("Work")
Result = TypeVar("Result")
AHEAD = 2
"""Blocks beyond one per process that may be computed before an earlier one is done."""
PATIENCE_S = 5.0
"""How long a process may take to end before it is killed."""
IGNORED = (signal.SIGINT, signal.SIGTERM)


def start_method() -> str:
    """`fork` on Linux while there is one thread, as it is faster; else `spawn`."""
    is_safe = sys.platform == "linux" and threading.active_count() == 1
    return "fork" if is_safe else "spawn"


class _Worker(NamedTuple):
    process: BaseProcess
    pipe: Connection


class _Task(NamedTuple, Generic[Work]):
    number: int
    work: Work
    attempts: int = 1


class ProcessPool(Generic[Work, Result]):
    """A number of processes, in each of which `open_job(context)` makes the function for a block.

    With `spawn`, both are pickled: `open_job` is a function of a module.
    """

    def __init__(
        self,
        number: int,
        open_job: Callable[[Any], Callable[[Work], Result]],
        context: Any,
        method: str | None = None,
    ) -> None:
        self._job = (open_job, context)
        self._method = method
        self._number = number
        self._workers: list[_Worker] = []

    def __enter__(self) -> ProcessPool[Work, Result]:
        try:
            for _ in range(self._number):
                self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes: they end when their pipe is closed, busy ones are terminated."""
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(PATIENCE_S)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()

    def _start(self) -> _Worker:
        context = get_context(self._method or start_method())
        own, theirs = context.Pipe()
        others = [own, *(worker.pipe for worker in self._workers)]
        process = context.Process(  # type: ignore[attr-defined]
            target=serve,
            args=(theirs, others if context.get_start_method() == "fork" else (), *self._job),
            daemon=True,
        )
        # Until it ignores them, the new process must not handle signals as this one does.
        with _blocked_signals():
            process.start()
        theirs.close()
        worker = _Worker(process, own)
        self._workers.append(worker)
        return worker

    def results(self, works: Iterable[Work], describe: Callable[[Work], str]) -> Iterator[Result]:
        """The result of every block, in order; an error of a block is raised in its place.

        `describe` names a block in the message about a process that was killed twice.
        """
        tasks = (_Task(number, work) for number, work in enumerate(works))
        idle = list(self._workers)
        busy: dict[Connection, tuple[_Worker, _Task[Work]]] = {}
        done: dict[int, Any] = {}
        due = given = 0
        while True:
            while idle and given - due < self._number + AHEAD:
                task = next(tasks, None)
                if task is None:
                    break
                given += 1
                self._give(idle.pop(), task, busy)
            if due in done:
                yield _unwrap(done.pop(due))
                due += 1
                continue
            if not busy:
                return
            for pipe in connection.wait(list(busy)):
                assert isinstance(pipe, Connection)
                worker, task = busy.pop(pipe)
                try:
                    done[task.number] = pipe.recv()
                except (EOFError, OSError):
                    self._give(self._replace(worker, task, describe), _again(task), busy)
                    continue
                idle.append(worker)

    def _give(
        self,
        worker: _Worker,
        task: _Task[Work],
        busy: dict[Connection, tuple[_Worker, _Task[Work]]],
    ) -> None:
        busy[worker.pipe] = (worker, task)
        with suppress(OSError):  # it has ended; reading from the pipe reports that
            worker.pipe.send(task.work)

    def _replace(
        self, worker: _Worker, task: _Task[Work], describe: Callable[[Work], str]
    ) -> _Worker:
        """A new process in place of one that has ended."""
        self._workers.remove(worker)
        worker.pipe.close()
        worker.process.join(PATIENCE_S)
        if task.attempts > 1:
            code = worker.process.exitcode
            how = f"was killed by signal {-code}" if code and code < 0 else f"ended with {code}"
            raise WorkerLost(
                f"{describe(task.work)}: the process that computed this block {how}, twice; "
                "if memory is short, use fewer --workers"
            )
        return self._start()


def _again(task: _Task[Work]) -> _Task[Work]:
    return task._replace(attempts=task.attempts + 1)


def _unwrap(found: Any) -> Any:
    if isinstance(found, BlockError):
        raise found.unpack()
    return found


class _blocked_signals:
    """Within this block, signals wait; Windows has no such thing, and no `fork`."""

    def __enter__(self) -> None:
        self._before: Sequence[int] | set[int] = ()
        if hasattr(signal, "pthread_sigmask"):
            self._before = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED)

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)
