"""Blocking calls for callers that may already run an event loop, such as notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future
    from threading import Thread

T = TypeVar("T")
POLL_S = 0.2
"""How often the waiting thread checks for an interrupt."""


def off_loop(work: Callable[[], T]) -> T:
    """Run the work here, or in a new thread if this one already runs an event loop.

    An interrupt of the waiting thread is passed on to the work.
    """
    return _run_in_thread(work) if _is_loop_running() else work()


def _is_loop_running() -> bool:
    asyncio = sys.modules.get("asyncio")  # without asyncio imported, no loop can be running
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_in_thread(work: Callable[[], T]) -> T:
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
                thread.join(POLL_S)
            return done.result()
        except KeyboardInterrupt:
            if done.done():
                raise
            _interrupt(thread)


def _settle(done: Future[T], work: Callable[[], T]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:  # re-raised in the waiting thread
        done.set_exception(error)


def _interrupt(thread: Thread) -> None:
    """Request the shutdown of that thread's loop; without a loop, interrupt the thread itself."""
    import ctypes

    from callscore.engine.loop import interrupt

    ident = thread.ident
    if ident is not None and not interrupt(ident):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt)
        )
