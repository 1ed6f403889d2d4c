"""Shutdown in two steps: first nothing new is sent, then requests in flight are dropped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callscore.engine.workload import EngineOptions


class Shutdown:
    """After the first request, requests in flight are awaited; after the second, they are
    dropped.
    """

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._at_once = asyncio.Event()
        self._briefly = False

    @property
    def requested(self) -> bool:
        """Whether nothing new may be sent."""
        return self._asked.is_set()

    def request(self, *, briefly: bool = False) -> None:
        """Request a shutdown; the second time, an immediate one. `briefly`: SIGKILL will follow
        soon.
        """
        if self._asked.is_set():
            self._at_once.set()
        self._briefly = self._briefly or briefly
        self._asked.set()

    def patience_s(self, options: EngineOptions) -> float:
        """How long requests in flight are awaited: to their deadline, or only briefly."""
        return options.grace_s if self._briefly else options.attempt_s + options.grace_s

    async def wait(self) -> None:
        """Wait for a shutdown request."""
        await self._asked.wait()

    async def grace(self, seconds: float) -> None:
        """Wait for the seconds to pass, or for an immediate shutdown."""
        try:
            async with asyncio.timeout(seconds):
                await self._at_once.wait()
        except TimeoutError:
            return
