"""Lines of the rankings and of the decision: what a scorecard concludes from its models."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.interval import Interval


class RankingLine(msgspec.Struct, frozen=True):
    """One line of the ranking; if `rank` is null, `reason` says why."""

    model: str
    rank: int | None
    efficiency: float | None
    final_score: float | None
    cost_per_1000_calls: float | None
    normalised_cost: float | None
    cost_status: str
    quality_rank: int | None
    pareto: bool
    estimate: bool
    reason: str | None
    efficiency_ci95: Interval | None = None
    rank_ci95: tuple[int, int] | None = None
    """The ranks in at least 95 % of resamples; see `contrasts` for how models compare."""
    quality_rank_ci95: tuple[int, int] | None = None
    few_calls: bool = False
    rank_band: tuple[int, int] | None = None
    """The best and the worst rank that the data allow; models with equal bands tie (STATS §3)."""
    quality_band: tuple[int, int] | None = None


class DecisionLine(msgspec.Struct, frozen=True):
    """One statement of the decision (C-138): its word, the models it names, and why."""

    word: str
    models: Sequence[str]
    why: str


class ZeroedRankingLine(msgspec.Struct, frozen=True):
    """One line of the ranking with blocked calls counted as 0; never official (C-129)."""

    model: str
    rank: int | None
    zeroed_final: float | None
    cost_per_1000_calls: float | None
    tasks: Sequence[str]
    """The tasks in the score."""
    estimate: bool
    obstacles: Sequence[str]
    """Why the model has no official score."""
    ci95: Interval | None = None
    band: tuple[int, int] | None = None
