"""Money: the most a call may cost is set aside before it is sent."""

from __future__ import annotations

import asyncio


class Budget:
    """Never promises more than the limit, counting what is under way at its declared maximum."""

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self._limit = limit_usd
        self._spent = spent_usd
        self._reserved = 0.0
        self._under_way = 0
        self._waiters: list[asyncio.Future[None]] = []

    async def reserve(self, most_usd: float) -> bool:
        """Sets the amount aside; waits while calls under way may turn out cheaper.

        False where nothing is under way and the amount still does not fit: the budget is spent.
        """
        if self._limit is None:
            return True
        while self._spent + self._reserved + most_usd > self._limit:
            if not self._under_way:
                return False
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        self._under_way += 1
        self._reserved += most_usd
        return True

    def settle(self, most_usd: float, spent_usd: float) -> None:
        """The call is over and cost this much."""
        if self._limit is None:
            return
        self._under_way -= 1
        # Sums of floats leave dust; nothing under way means nothing set aside.
        self._reserved = self._reserved - most_usd if self._under_way else 0.0
        self._spent += spent_usd
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
