"""The other end of the pool: what runs in each process."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from callscore.core.gc_policy import relaxed_gc
from callscore.processes.value_bytes import from_bytes, to_bytes


class BlockError(NamedTuple):
    """The error of a block: one of Python, or one of ours as bytes."""

    error: Exception | bytes

    def unpack(self) -> Exception:
        """The error, to be raised in the other process."""
        found = from_bytes(self.error) if isinstance(self.error, bytes) else self.error
        assert isinstance(found, Exception)
        return found


def serve(
    pipe: Connection,
    others: Sequence[Connection],
    open_job: Callable[[Any], Callable[[Any], Any]],
    context: Any,
) -> None:
    """Compute one block after another, until the other process closes the pipe or ends.

    An interrupt at the terminal reaches every process; only the parent handles it. `others` are the
    ends of pipes that a fork has inherited: while they are open, no process sees that they closed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    for other in others:
        other.close()
    with relaxed_gc():
        job: Callable[[Any], Any] | None = None
        while True:
            try:
                work = pipe.recv()
            except (EOFError, OSError):
                return
            try:
                job = job or open_job(context)
                found = job(work)
            except Exception as error:
                found = _pack(error)
            try:
                pipe.send(found)
            except OSError:
                return


def _pack(error: Exception) -> BlockError:
    """An error for the other process; that of a bug with its lines, which only exist here."""
    shown = "in a worker process:\n" + "".join(traceback.format_exception(error))
    if type(error).__module__ == "builtins":
        error.add_note(shown)
        return BlockError(error)
    try:
        return BlockError(to_bytes(error))
    except TypeError:  # an error of an extension
        return BlockError(RuntimeError(shown))
