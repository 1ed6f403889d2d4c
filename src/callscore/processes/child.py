"""The other end of the pool: what runs in each process."""

from __future__ import annotations

import pickle
import signal
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from callscore.core.errors import CallscoreError
from callscore.core.gc_policy import relaxed_gc


class BlockError(NamedTuple):
    """The error of a block."""

    error: Exception


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
                found = pickle.dumps(job(work), pickle.HIGHEST_PROTOCOL)
            except Exception as error:
                found = _pack(error)
            try:
                pipe.send_bytes(found)
            except OSError:
                return


def _pack(error: Exception) -> bytes:
    """An error for the other process; that of a bug with its lines, which only exist here."""
    if not isinstance(error, CallscoreError):
        error.add_note("in a worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        packed = pickle.dumps(BlockError(error))
        pickle.loads(packed)
    except (pickle.PickleError, TypeError, AttributeError):  # an error of an extension
        shown = "".join(traceback.format_exception(error))
        return pickle.dumps(BlockError(RuntimeError(f"in a worker process:\n{shown}")))
    return packed
