"""Limits that models and judges of a run share: the budget, and the pauses of their accounts."""

from __future__ import annotations

from typing import NamedTuple

from callscore.core.run import ModelSpec
from callscore.engine.budget import Budget
from callscore.engine.limits import Pause
from callscore.engine.workload import EngineOptions


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
