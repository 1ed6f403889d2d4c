"""Calls drawn from a known population: clusters of four tasks, repeats, items, blocked calls.

What a call is like (easy or hard) shifts all its tasks, runs and items together; the truth is
what a million such calls give.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from callscore.core.measure import Measure
from callscore.stats.contributions import (
    CALL_BLOCKED,
    EVALUATED,
    Charge,
    Contributions,
    MetricShape,
    ModelShape,
    TaskContributions,
    TaskShape,
)
from callscore.stats.matrix import call_matrix, make_units
from callscore.stats.rates import count_task, rate_interval
from callscore.stats.resampling import IntervalEstimate, bca_interval, make_replicates
from callscore.stats.weighted_scores import ScoreKey, Scores, scores

Floats = npt.NDArray[np.float64]

TASKS = ("qa", "entity", "text", "translation")
EASE = {"qa": 1.2, "entity": 0.8, "text": 2.0, "translation": 1.5}
RATE = "rate"
POPULATION = 400_000
SHAPE = ModelShape(
    tasks={
        task: TaskShape(
            rows=[MetricShape(f"{task}.share", "mean"), MetricShape(f"{task}.{RATE}", "pooled")],
            parts=[("", 1.0, [(f"{task}.share", 0.7), (f"{task}.{RATE}", 0.3)])],
        )
        for task in TASKS
    },
    final={"qa": 0.35, "entity": 0.30, "text": 0.20, "translation": 0.15},
)
KEYS: tuple[ScoreKey, ...] = (
    ("row", "qa.share"),
    ("row", "text.share"),
    ("row", f"qa.{RATE}"),
    ("row", f"entity.{RATE}"),
    ("task", "qa"),
    ("task", "translation"),
    ("final",),
    ("cost",),
)


def _logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)), np.float64)


def drawn(calls: int, dice: np.random.Generator, repeats: int = 2) -> dict[str, list[Floats]]:
    """By task: shares of items right (mean of the runs), events, items, blocked, dollars."""
    ease = dice.normal(size=calls)
    found = {}
    for task in TASKS:
        skill = _logistic(EASE[task] + 0.8 * ease + 0.5 * dice.normal(size=calls))
        asked = dice.integers(4, 13, calls)
        runs = [dice.binomial(asked, skill) / asked for _ in range(repeats)]
        items = dice.poisson(6, calls).astype(np.float64)
        care = _logistic(2.5 + 0.7 * ease + 0.5 * dice.normal(size=calls))
        events = dice.binomial(items.astype(np.int64), care).astype(np.float64)
        blocked = dice.random(calls) < 0.05 * _logistic(-ease) * 2
        spend = np.exp(0.5 * dice.normal(size=calls) - 0.2 * ease) / 1000
        found[task] = [np.mean(runs, axis=0), events, items, blocked.astype(np.float64), spend]
    return found


def contributions(calls: dict[str, list[Floats]]) -> Contributions:
    """The same calls as a pass over their files would leave them."""
    kept = {}
    for task, (share, events, items, blocked, spend) in calls.items():
        one = kept[task] = TaskContributions()
        one.add_cases(
            [Charge(key, dollars, 1) for key, dollars in enumerate(spend)],
            [EVALUATED | (CALL_BLOCKED if block else 0) for block in blocked],
        )
        one.add_column(f"{task}.share", [Measure(value) for value in share])
        rates = [
            Measure(e / i, e, i) if i else Measure(1.0, vacuous=True)
            for e, i in zip(events, items, strict=True)
        ]
        one.add_column(f"{task}.{RATE}", rates, pooled=True)
    return kept


@cache
def truth() -> dict[ScoreKey, float]:
    """What the whole population gives."""
    calls = contributions(drawn(POPULATION, np.random.default_rng(0)))
    matrix = call_matrix(calls, SHAPE, make_units([calls], 10))
    whole = scores(SHAPE, matrix.place, matrix.sums.sum(axis=1, keepdims=True))
    return {key: float(whole[key][0]) for key in KEYS}


def intervals(
    calls: Contributions, most_units: int, resamples: int
) -> dict[ScoreKey, IntervalEstimate | None]:
    """The interval of every number, as a card has it."""
    matrix = call_matrix(calls, SHAPE, make_units([calls], most_units))

    def statistic(sums: object) -> list[Scores]:
        return [scores(SHAPE, matrix.place, own) for own in sums]  # type: ignore[attr-defined]

    (found,) = make_replicates([matrix], statistic, resamples=resamples)
    limits: dict[ScoreKey, IntervalEstimate | None] = {}
    for key in KEYS:
        limits[key] = bca_interval(found[key], len(calls["qa"]))
        if key[-1].endswith(RATE):
            task = key[-1].partition(".")[0]
            found_rates = count_task(calls[task], SHAPE.tasks[task], matrix.units).rates
            counts = found_rates[key[-1]].counts()
            assert counts is not None
            limits[key] = rate_interval(counts, limits[key])
    return limits


def coverage(
    calls: int, samples: int, *, most_units: int = 2_000, resamples: int = 2_000, repeats: int = 2
) -> dict[ScoreKey, float]:
    """The share of samples whose interval holds the truth."""
    dice = np.random.default_rng(calls)
    hits = dict.fromkeys(KEYS, 0)
    for _ in range(samples):
        sample = contributions(drawn(calls, dice, repeats))
        for key, limits in intervals(sample, most_units, resamples).items():
            assert limits is not None
            hits[key] += limits.low <= truth()[key] <= limits.high
    return {key: count / samples for key, count in hits.items()}
