"""The event loop and its signal handlers."""

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
_shutdowns: dict[int, Callable[[], object]] = {}
"""How to stop the loop of a thread: signals reach only the main thread."""


def run(main: Callable[[Shutdown], Coroutine[Any, Any, T]]) -> T:
    """Run to the end; an interrupt requests a shutdown, a second one an immediate shutdown."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with relaxed_gc(), asyncio.Runner(loop_factory=_factory()) as runner:
            return runner.run(_with_signals(main))
    finally:
        with suppress(ValueError):  # not the main thread: nothing was changed
            for number, handler in handlers.items():
                signal.signal(number, handler or signal.SIG_DFL)


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop if it is installed, for lower latency; None is asyncio's own loop"""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def interrupt(thread: int) -> bool:
    """Request the shutdown of the loop in another thread, as a signal would; False if there is
    none.
    """
    request = _shutdowns.get(thread)
    if request is None:
        return False
    request()
    return True


async def _with_signals(main: Callable[[Shutdown], Coroutine[Any, Any, T]]) -> T:
    stop = Shutdown()
    loop = asyncio.get_running_loop()
    _shutdowns[get_ident()] = partial(loop.call_soon_threadsafe, stop.request)
    # Not the main thread, or not POSIX: the caller's own handling of interrupts stays.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, stop.request)
        # SIGTERM is usually followed by SIGKILL after some seconds.
        loop.add_signal_handler(signal.SIGTERM, partial(stop.request, briefly=True))
    try:
        return await main(stop)
    finally:
        _shutdowns.pop(get_ident(), None)
        with suppress(NotImplementedError, RuntimeError, ValueError):
            for number in SIGNALS:
                loop.remove_signal_handler(number)
