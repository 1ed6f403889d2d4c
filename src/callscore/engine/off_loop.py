"""Blocking work for a caller who may already run an event loop, as notebooks do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future
    from threading import Thread

T = TypeVar("T")
LOOK_S = 0.2
"""How long a wait is at most before an interrupt can be noticed."""


def off_loop(work: Callable[[], T]) -> T:
    """Do the work here, or in a thread of its own where this one runs an event loop already.

    An interrupt of the waiting thread is passed on, and ends with what the work makes of it.
    """
    return _in_a_thread(work) if _a_loop_runs() else work()


def _a_loop_runs() -> bool:
    asyncio = sys.modules.get("asyncio")  # where nobody has imported it, no loop can run
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_a_thread(work: Callable[[], T]) -> T:
    from concurrent.futures import Future
    from contextvars import copy_context
    from threading import Thread

    done: Future[T] = Future()
    context = copy_context()
    thread = Thread(target=_settle, args=(done, lambda: context.run(work)), daemon=True)
    thread.start()
    while True:
        try:
            while thread.is_alive():
                thread.join(LOOK_S)
            return done.result()
        except KeyboardInterrupt:
            if done.done():
                raise
            _interrupt(thread)


def _settle(done: Future[T], work: Callable[[], T]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:  # whoever waits is told, whatever it is
        done.set_exception(error)


def _interrupt(thread: Thread) -> None:
    """Ask the loop of that thread to stop; where it has none, interrupt what it does."""
    import ctypes

    from callscore.engine.loop import interrupt

    ident = thread.ident
    if ident is not None and not interrupt(ident):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt)
        )
