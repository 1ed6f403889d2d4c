"""The event loop, and the signals that end it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import Any, TypeVar

from callscore.core.gc_policy import relaxed_gc
from callscore.engine.shutdown import Shutdown

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
_stops: dict[int, Callable[[], object]] = {}
"""How to stop what runs in a thread: signals reach the main thread only."""


def run(main: Callable[[Shutdown], Coroutine[Any, Any, T]]) -> T:
    """Run to the end; an interrupt asks to stop, a second one to stop at once."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with relaxed_gc(), asyncio.Runner(loop_factory=_factory()) as runner:
            return runner.run(_watched(main))
    finally:
        with suppress(ValueError):  # not the main thread: nothing was changed
            for number, handler in handlers.items():
                signal.signal(number, handler or signal.SIG_DFL)


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: an answer waits less for its turn; None is Python's own loop"""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def interrupt(thread: int) -> bool:
    """Ask what runs in another thread to stop, as a signal would; whether there was anything."""
    ask = _stops.get(thread)
    if ask is None:
        return False
    ask()
    return True


async def _watched(main: Callable[[Shutdown], Coroutine[Any, Any, T]]) -> T:
    stop = Shutdown()
    loop = asyncio.get_running_loop()
    _stops[get_ident()] = partial(loop.call_soon_threadsafe, stop.ask)
    # Not the main thread, or not a POSIX system: the caller keeps its own way to interrupt.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, stop.ask)
        # Whoever sends this one sends SIGKILL next, after some seconds.
        loop.add_signal_handler(signal.SIGTERM, partial(stop.ask, briefly=True))
    try:
        return await main(stop)
    finally:
        _stops.pop(get_ident(), None)
        with suppress(NotImplementedError, RuntimeError, ValueError):
            for number in SIGNALS:
                loop.remove_signal_handler(number)
