"""The event loop, and the signals that end it."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from callscore.engine.stopping import Stop

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
YOUNG_OBJECTS = 10_000
"""So many new objects, and Python looks for unused cycles among them."""


def run(main: Callable[[Stop], Coroutine[Any, Any, T]]) -> T:
    """Run to the end; an interrupt asks to stop, a second one to stop at once."""
    with _seldom_collected(), asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(_watched(main))


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """A run makes many objects that soon go by themselves, and hardly a cycle to be looked for."""
    before = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: an answer waits less for its turn; None is Python's own loop"""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _watched(main: Callable[[Stop], Coroutine[Any, Any, T]]) -> T:
    stop = Stop()
    loop = asyncio.get_running_loop()
    # Not the main thread, or not a POSIX system: the caller keeps its own way to interrupt.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in SIGNALS:
            loop.add_signal_handler(number, stop.ask)
    try:
        return await main(stop)
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            for number in SIGNALS:
                loop.remove_signal_handler(number)
