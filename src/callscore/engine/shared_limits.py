"""Limits that models and judges of a run share: the budget, and the pauses of their accounts."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from callscore.core.run import ModelSpec
from callscore.engine.limits import Pause
from callscore.engine.workload import EngineOptions


class Budget:
    """Never reserves more than the limit, counting requests in flight at their maximum cost."""

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self._limit = limit_usd
        self._spent = spent_usd
        self._reserved = 0.0
        self._under_way = 0
        self._waiters: list[asyncio.Future[None]] = []

    async def reserve(self, most_usd: float) -> bool:
        """Reserve the amount; wait while requests in flight may turn out cheaper.

        Returns False if nothing is in flight and the amount still does not fit: the budget is
        spent.
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
        """End a reservation with the actual cost."""
        if self._limit is None:
            return
        self._under_way -= 1
        # Floating-point sums leave a residue; with nothing in flight, nothing is reserved.
        self._reserved = self._reserved - most_usd if self._under_way else 0.0
        self._spent += spent_usd
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class SharedLimits(NamedTuple):
    """One budget, and one pause for each key on each host."""

    budget: Budget
    pauses: dict[tuple[str, str, str], Pause]

    @classmethod
    def of(cls, options: EngineOptions) -> SharedLimits:
        """The budget of the options, and no pauses."""
        return cls(Budget(options.budget_usd, options.already_spent_usd), {})

    def pause(self, spec: ModelSpec) -> Pause:
        """The pause of a model's account."""
        return self.pauses.setdefault(spec.account, Pause())

    def without_budget(self) -> SharedLimits:
        """The same pauses without the budget, for requests that cost nothing."""
        return self._replace(budget=Budget(None))
