"""How often a sample of the planned size shows what the plan promised        STATS §3

A pilot is drawn from a population with a known truth, planned from, and followed by a sample of the
planned size, which is evaluated by the rule that a scorecard applies. `python -m bench plan` prints
the table of docs/statistics.md; `python -m bench.plan docs/statistics.md` writes it there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.coverage import Population, claim_limits, matrix_of, replace_table
from callscore.stats.differences import (
    PairOfValues,
    ResampledDifference,
    are_significant,
    difference_interval,
    resample_models,
)
from callscore.stats.matrix import CallMatrix, ResamplingUnits
from callscore.stats.power import (
    Spread,
    alpha_per_pair,
    calls_for_difference,
    calls_for_limit,
    calls_for_width,
    pilot_rate,
    spread_of,
)
from callscore.stats.resampling import ModelValues, bca_interval, make_replicates

Floats = NDArray[np.float64]
Dice = np.random.Generator
Draw = Callable[[Dice, int, int], Floats]
"""Scores of calls × models; all models but the first are equally good."""
PILOTS = (40, 200)
GATE_PILOTS = (100, 400)
SAMPLES = 400
RESAMPLES = 1_000
MOST_CALLS = 4_000
"""The largest sample that is drawn, also if more calls were planned."""
MEAN = ("mean",)
HEADER = "| line, population | pilot | planned calls | reached | no number |"


class Reached(NamedTuple):
    """How often samples of the planned size showed what was planned for."""

    share: float
    calls: float
    """The median of the planned calls."""
    without: float
    """The share of pilots from which no number follows."""


def smooth(dice: Dice, calls: int, models: int) -> Floats:
    """Calls are easy or hard for all models; the first model is better by 0.03."""
    ease = dice.normal(0, 0.1, (calls, 1))
    scores = 0.75 + ease + dice.normal(0, 0.08, (calls, models))
    scores[:, 0] += 0.03
    return scores


def items(dice: Dice, calls: int, models: int) -> Floats:
    """Shares of six items right, 93 % and 88 %, with calls that are easy or hard."""
    skill = np.clip(dice.beta(8, 1, (calls, 1)), 0, 1)
    right = np.full((calls, models), 0.95)
    right[:, 0] = 1.0
    shares: Floats = dice.binomial(6, skill * right).astype(np.float64) / 6
    return shares


def lost(dice: Dice, calls: int, models: int) -> Floats:
    """Nearly perfect scores, with 5 % of calls lost by each model, and 1 % by the first."""
    near = np.where(dice.random((calls, models)) < 0.8, 1.0, 0.9)
    share = np.full(models, 0.05)
    share[0] = 0.01
    return np.where(dice.random((calls, models)) < share, 0.0, near)


DIFFERENCES: dict[str, tuple[Draw, float]] = {
    "normal scores": (smooth, 0.03),
    "shares of items": (items, 0.05 * 8 / 9),
    "lost calls, 1 and 5 %": (lost, 0.98 * 0.04),
}
WIDTHS = {"normal scores": 0.03, "shares of items": 0.05, "lost calls, 1 and 5 %": 0.05}


def errors_of(rate: float, most: int, icc: float = 0.0) -> Callable[[Dice, int], Sequence[Floats]]:
    """Events and items of calls: one item each, or up to `most` that go together."""

    def draw(dice: Dice, calls: int) -> Sequence[Floats]:
        counts = dice.integers(1, most + 1, calls)
        rates: Floats | float = rate
        if icc and rate:
            strength = (1 - icc) / icc
            rates = dice.beta(rate * strength, (1 - rate) * strength, calls)
        return dice.binomial(counts, rates).astype(np.float64), counts.astype(np.float64)

    return draw


LIMIT = 0.03
GATES = {
    "one item per call, no error": errors_of(0.0, 1),
    "one item per call, errors 0.5 %": errors_of(0.005, 1),
    "one item per call, errors 1 %": errors_of(0.01, 1),
    "1 to 10 items, errors 0.5 %, icc 0.3": errors_of(0.005, 10, 0.3),
}


def differences(draw: Draw, difference: float, pilot: int, models: int, samples: int) -> Reached:
    """Plan for the true difference of the first two models, and see whether bands separate them."""
    dice = np.random.default_rng([pilot, models])

    def plan() -> int | None:
        scores = draw(dice, pilot, 2)
        spread = _spread(scores[:, 1] - scores[:, 0])
        return calls_for_difference(difference, spread, alpha=alpha_per_pair(models))

    def is_shown(calls: int) -> bool:
        found = _differences(draw(dice, calls, models))
        interval = difference_interval(found[0].replicates, calls)
        excludes = interval is not None and (interval.low > 0 or interval.high < 0)
        return excludes and are_significant(found, [None] * len(found))[0]

    return _count(plan, is_shown, samples)


def widths(draw: Draw, width: float, pilot: int, samples: int) -> Reached:
    """Plan for the width of an interval, and see how often it is at most so wide."""
    dice = np.random.default_rng([pilot, 0])

    def plan() -> int | None:
        return calls_for_width(_spread(draw(dice, pilot, 2)[:, 1]), width)

    def is_narrow(calls: int) -> bool:
        matrix = _matrix(draw(dice, calls, 2)[:, 1])
        (found,) = make_replicates([matrix], _means, resamples=RESAMPLES)
        interval = bca_interval(found[MEAN], calls)
        return interval is not None and interval.high - interval.low <= width

    return _count(plan, is_narrow, samples)


def gates(draw: Callable[[Dice, int], Sequence[Floats]], pilot: int, samples: int) -> Reached:
    """Plan for the demonstration of a gate, and see whether the claim limit keeps it."""
    dice = np.random.default_rng([pilot, 1])
    population = Population("errors", 0.0, draw, is_rate=True)

    def plan() -> int | None:
        events, counts = draw(dice, pilot)
        return calls_for_limit(LIMIT, pilot_rate(events, counts, pilot))

    def is_shown(calls: int) -> bool:
        return claim_limits(*matrix_of(population, draw(dice, calls), dice))[1] <= LIMIT

    return _count(plan, is_shown, samples)


def _count(plan: Callable[[], int | None], shows: Callable[[int], bool], samples: int) -> Reached:
    planned = [plan() for _ in range(samples)]
    numbers = [calls for calls in planned if calls is not None]
    shown = [shows(min(calls, MOST_CALLS)) for calls in numbers]
    without = 1 - len(numbers) / samples
    if not numbers:
        return Reached(float("nan"), float("nan"), without)
    return Reached(float(np.mean(shown)), float(np.median(numbers)), without)


def _spread(values: Floats) -> Spread:
    calls = len(values)
    return spread_of((values.sum() - values) / (calls - 1), calls)


def _matrix(values: Floats) -> CallMatrix:
    calls = len(values)
    units = ResamplingUnits(np.arange(calls, dtype=np.uint64), calls)
    return CallMatrix(units, {}, np.array([values, np.ones(calls)]))


def _means(sums: Sequence[Floats]) -> Sequence[ModelValues]:
    return [{MEAN: own[0] / own[1]} for own in sums]


def _differences(scores: Floats) -> Sequence[ResampledDifference]:
    pairs = [PairOfValues(MEAN, *pair) for pair in combinations(range(scores.shape[1]), 2)]
    matrices = [_matrix(values) for values in scores.T]
    return resample_models(matrices, _means, pairs, RESAMPLES).differences


def measure(samples: int = SAMPLES) -> dict[tuple[str, int], Reached]:
    """Every line of the table, by its name and the calls of the pilot."""
    found = {}
    for pilot in PILOTS:
        for name, (draw, difference) in DIFFERENCES.items():
            for models in (2, 5):
                key = f"difference, {models} models, {name}", pilot
                found[key] = differences(draw, difference, pilot, models, samples)
        for name, width in WIDTHS.items():
            key = f"width, {name}", pilot
            found[key] = widths(DIFFERENCES[name][0], width, pilot, samples)
    for pilot in GATE_PILOTS:
        for name, of_items in GATES.items():
            found[f"gate at 3 %, {name}", pilot] = gates(of_items, pilot, samples)
    return found


def table(measured: dict[tuple[str, int], Reached]) -> str:
    """The Markdown table of docs/statistics.md."""
    lines = [HEADER, "|---|---|---|---|---|"]
    for (name, pilot), found in measured.items():
        cells = [name, str(pilot), "—", "—", f"{100 * found.without:.0f} %"]
        if found.without < 1:
            cells[2:4] = f"{found.calls:,.0f}", f"{100 * found.share:.0f} %"
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    found = table(measure())
    if len(sys.argv) > 1:
        replace_table(Path(sys.argv[1]), HEADER, found)
    print(found)


if __name__ == "__main__":
    main()
