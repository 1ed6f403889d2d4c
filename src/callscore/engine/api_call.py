"""Functions of the Python API: they refuse unknown keywords, and can be called in a notebook.

A notebook calls blocking functions while its own event loop is running.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from callscore.core.errors import nearest

if TYPE_CHECKING:
    from concurrent.futures import Future
    from threading import Thread

P = ParamSpec("P")
T = TypeVar("T")
POLL_S = 0.2
"""How often the waiting thread checks for an interrupt."""


def api_function(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: a blocking function that may be called while an event loop is running.

    An unknown keyword raises a TypeError that suggests the nearest one.
    """

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> T:
        code = function.__code__
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        for name in options:
            if name not in known:
                raise TypeError(_unknown_option(function.__name__, name, known))
        return run_off_loop(partial(function, *args, **options))

    return call


def _unknown_option(function: str, name: str, known: tuple[str, ...]) -> str:
    near = nearest(name, known, likeness=0.5)
    hint = f"did you mean {near}?" if near else f"expected one of {', '.join(known)}"
    return f"{function}() has no option {name!r}; {hint}"


def run_off_loop(work: Callable[[], T]) -> T:
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
