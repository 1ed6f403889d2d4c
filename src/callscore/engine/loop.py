"""The event loop of a run, and its shutdown in two steps, requested by signals."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

from callscore.core.gc_policy import relaxed_gc

if TYPE_CHECKING:
    from callscore.engine.workload import EngineOptions

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
_shutdowns: dict[int, Callable[[], object]] = {}
"""How to stop the loop of a thread: signals reach only the main thread."""


class Shutdown:
    """After the first request, requests in flight are awaited; after the second, they are
    dropped.
    """

    def __init__(self) -> None:
        self._requested = asyncio.Event()
        self._at_once = asyncio.Event()
        self._briefly = False
        self._parts: list[Shutdown] = []

    def part(self) -> Shutdown:
        """A shutdown of a part of the work; it is requested with this one, or on its own."""
        part = Shutdown()
        self._parts.append(part)
        if self.requested:
            part.request(briefly=self._briefly)
        return part

    @property
    def requested(self) -> bool:
        """Whether nothing new may be sent."""
        return self._requested.is_set()

    def request(self, *, briefly: bool = False) -> None:
        """Request a shutdown; the second time, an immediate one. `briefly`: SIGKILL will follow
        soon.
        """
        if self._requested.is_set():
            self._at_once.set()
        self._briefly = self._briefly or briefly
        self._requested.set()
        for part in self._parts:
            part.request(briefly=briefly)

    def patience_s(self, options: EngineOptions) -> float:
        """How long requests in flight are awaited: until their deadline, or only briefly."""
        return options.grace_s if self._briefly else options.attempt_s + options.grace_s

    async def wait(self) -> None:
        """Wait for a shutdown request."""
        await self._requested.wait()

    async def grace(self, seconds: float) -> None:
        """Wait for the seconds to pass, or for an immediate shutdown."""
        try:
            async with asyncio.timeout(seconds):
                await self._at_once.wait()
        except TimeoutError:
            return


def run(main: Callable[[Shutdown], Coroutine[Any, Any, T]]) -> T:
    """Run to the end; an interrupt requests a shutdown, a second one an immediate shutdown."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        with relaxed_gc(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_with_signals(main))
    finally:
        with suppress(ValueError):  # not the main thread: nothing was changed
            for number, handler in handlers.items():
                signal.signal(number, handler or signal.SIG_DFL)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
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
