"""Stopping in two steps: first nothing new is sent, then nothing is waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callscore.engine.plan import EngineOptions


class Shutdown:
    """Asked once, calls under way are waited for; asked twice, they are dropped."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._at_once = asyncio.Event()
        self._briefly = False

    @property
    def asked(self) -> bool:
        """Whether nothing new is to be sent."""
        return self._asked.is_set()

    def ask(self, *, briefly: bool = False) -> None:
        """Stop; a second time: at once. `briefly`: whoever asks will soon kill the process."""
        if self._asked.is_set():
            self._at_once.set()
        self._briefly = self._briefly or briefly
        self._asked.set()

    def patience_s(self, options: EngineOptions) -> float:
        """How long calls under way are waited for: to their deadline, unless there is a hurry."""
        return options.grace_s if self._briefly else options.attempt_s + options.grace_s

    async def wait(self) -> None:
        """Returns when somebody asked to stop."""
        await self._asked.wait()

    async def grace(self, seconds: float) -> None:
        """Returns when so many seconds are over, or somebody asked to stop at once."""
        try:
            async with asyncio.timeout(seconds):
                await self._at_once.wait()
        except TimeoutError:
            return
