"""Stopping in two steps: first nothing new is sent, then nothing is waited for."""

from __future__ import annotations

import asyncio


class Stop:
    """Asked once, calls under way may still end within a grace; asked twice, not even that."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._at_once = asyncio.Event()

    @property
    def asked(self) -> bool:
        """Whether nothing new is to be sent."""
        return self._asked.is_set()

    def ask(self) -> None:
        """Stop; a second time: at once."""
        if self._asked.is_set():
            self._at_once.set()
        self._asked.set()

    async def wait(self) -> None:
        """Returns when somebody asked to stop."""
        await self._asked.wait()

    async def grace(self, seconds: float) -> None:
        """Returns when the grace is over, or somebody asked to stop at once."""
        try:
            async with asyncio.timeout(seconds):
                await self._at_once.wait()
        except TimeoutError:
            return
