"""Intervals: Clopper–Pearson of a proportion."""

from __future__ import annotations

from typing import NamedTuple

from callscore.stats.beta import beta_quantile

LEVEL = 0.95


class Interval(NamedTuple):
    """The limits of an interval."""

    low: float
    high: float


def clopper_pearson(successes: int, trials: int, level: float = LEVEL) -> Interval | None:
    """Beta quantiles at (1 ± level) / 2        Clopper & Pearson 1934; None without trials

    No or all successes have a quantile in closed form. `stats/rates.py` has the same interval for
    counts that are fractions.
    """
    if not trials:
        return None
    tail, failures = (1 - level) / 2, trials - successes
    if not successes:
        return Interval(0.0, 1 - tail ** (1 / trials))
    if not failures:
        return Interval(tail ** (1 / trials), 1.0)
    return Interval(
        beta_quantile(tail, successes, failures + 1),
        beta_quantile(1 - tail, successes + 1, failures),
    )
