"""How often intervals and claim limits hold the truth, in populations that are hard for them.

Rare failures, near-perfect models and correlated items: samples of calls are drawn from populations
with a known truth, and scored as a card scores them. `python -m bench coverage` prints the table of
docs/statistics.md; `python -m bench.coverage docs/statistics.md` writes it there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from callscore.stats.claim_limits import ClaimInput, claim_scores
from callscore.stats.contributions import MetricShape, ModelShape, TaskShape
from callscore.stats.matrix import CallMatrix, ResamplingUnits
from callscore.stats.rates import count_rate, rate_interval, rule_of_three_interval
from callscore.stats.resampling import IntervalEstimate, ModelValues, bca_interval, make_replicates
from callscore.stats.weighted_scores import scores

Floats = NDArray[np.float64]
Dice = np.random.Generator
CALLS = (20, 50, 200)
SAMPLES = 2_000
RESAMPLES = 2_000
HEADER = "| population, true value | limits | 20 calls | 50 calls | 200 calls |"
ITEMS = 6
ICC = 0.3


class Population(NamedTuple):
    """Calls with a known mean: of a value from 0 to 1, or of a rate pooled over items."""

    name: str
    truth: float
    draw: Callable[[Dice, int], Sequence[Floats]]
    """Values and ones; or events and items."""
    is_rate: bool = False


def _means(values: Floats) -> Sequence[Floats]:
    return values, np.ones(len(values))


def _poor(dice: Dice, calls: int) -> Sequence[Floats]:
    """Detected entities: mostly all of them, in one call of twenty hardly any."""
    found = dice.binomial(8, 0.97, calls) / 8
    return _means(np.where(dice.random(calls) < 0.05, 0.4 * dice.random(calls), found))


def _lost(share: float) -> Callable[[Dice, int], Sequence[Floats]]:
    def draw(dice: Dice, calls: int) -> Sequence[Floats]:
        near = np.where(dice.random(calls) < 0.8, 1.0, 0.9 + 0.1 * dice.random(calls))
        return _means(np.where(dice.random(calls) < share, 0.0, near))

    return draw


def _steps(dice: Dice, calls: int) -> Sequence[Floats]:
    chance = dice.random(calls)
    return _means(np.where(chance < 0.01, 0.0, np.where(chance < 0.06, 0.9, 1.0)))


def _correlated(dice: Dice, calls: int) -> Sequence[Floats]:
    """Errors of 2 %: the rate of a call varies, so that its items go together (icc 0.3)."""
    items = 1 + dice.poisson(ITEMS - 1, calls)
    strength = (1 - ICC) / ICC
    rates = dice.beta(0.02 * strength, 0.98 * strength, calls)
    return dice.binomial(items, rates).astype(np.float64), items.astype(np.float64)


POPULATIONS = (
    Population("entities, 5 % poor calls, 0.932", 0.95 * 0.97 + 0.05 * 0.2, _poor),
    Population("near-perfect, 1 % lost, 0.980", 0.99 * (0.8 + 0.2 * 0.95), _lost(0.01)),
    Population("near-perfect, 2 % lost, 0.970", 0.98 * (0.8 + 0.2 * 0.95), _lost(0.02)),
    Population("1.0, 5 % at 0.9, 1 % at 0, 0.985", 0.94 + 0.05 * 0.9, _steps),
    Population("errors of items, icc 0.3, 2.0 %", 0.02, _correlated, is_rate=True),
)


class Coverage(NamedTuple):
    """Shares of samples that hold the truth."""

    interval: float
    """The displayed interval, two-sided."""
    bound: float
    """The claim limit, one-sided: the lower one of a value, the upper one of an error rate."""


def coverage(
    population: Population, calls: int, samples: int, resamples: int = RESAMPLES
) -> Coverage:
    """Draw samples, and count the limits that hold the truth."""
    dice = np.random.default_rng([calls, len(population.name)])
    held = np.zeros(2)
    for _ in range(samples):
        matrix, shape = matrix_of(population, population.draw(dice, calls), dice)
        interval = _interval(population, matrix, shape, resamples)
        low, high = claim_limits(matrix, shape)
        held += (
            interval.low <= population.truth <= interval.high,
            population.truth <= high if population.is_rate else low <= population.truth,
        )
    return Coverage(*(held / samples))


def matrix_of(
    population: Population, drawn: Sequence[Floats], dice: Dice
) -> tuple[CallMatrix, ModelShape]:
    """The calls as scoring would leave them: one task with one row."""
    numerators, denominators = drawn
    calls = len(numerators)
    kind = "pooled" if population.is_rate else "mean"
    rows = [MetricShape("t.row", kind)]
    shape = ModelShape({"t": TaskShape(rows, [("", 1.0, [("t.row", 1.0)])])}, {"t": 1.0})
    ones, zeros = np.ones(calls), np.zeros(calls)
    lines = {"cases": ones, "blocked": zeros, "breached": zeros}
    row = {"total": numerators / denominators, "n": ones}
    if population.is_rate:
        row |= {"numerator": numerators, "denominator": denominators}
    place = [("t", "", name) for name in lines] + [("t", "t.row", name) for name in row]
    keys = np.sort(dice.integers(0, 2**63, calls).astype(np.uint64))
    sums = np.array([*lines.values(), *row.values()])
    return CallMatrix(
        ResamplingUnits(keys, calls), {name: at for at, name in enumerate(place)}, sums
    ), shape


def _interval(
    population: Population, matrix: CallMatrix, shape: ModelShape, resamples: int
) -> IntervalEstimate:
    """The interval as a card displays it."""

    def statistic(sums: Sequence[Floats]) -> Sequence[ModelValues]:
        return [scores(shape, matrix.place, sums[0])]

    calls = matrix.sums.shape[1]
    (found,) = make_replicates([matrix], statistic, resamples=resamples)
    bounds = bca_interval(found["row", "t.row"], calls)
    if population.is_rate:
        at = [matrix.place["t", "t.row", name] for name in ("numerator", "denominator")]
        counts = count_rate(*matrix.sums[at])
        assert counts is not None
        return rate_interval(counts, bounds)
    assert bounds is not None
    if bounds.method == "all_equal":
        return rule_of_three_interval(bounds.low, calls, (0.0, 1.0))
    return bounds


def claim_limits(matrix: CallMatrix, shape: ModelShape) -> tuple[float, float]:
    """The claim limits of the row, each one-sided at 95 %."""
    (found,) = claim_scores([ClaimInput(shape, matrix, matrix.sums.max(axis=1))])
    return found.limits["row", "t.row"]


def table(measured: Mapping[Population, Sequence[Coverage]]) -> str:
    """The Markdown table of docs/statistics.md."""
    lines = [HEADER, "|---|---|---|---|---|"]
    for population, found in measured.items():
        kinds = {
            "95 % interval": [of.interval for of in found],
            "claim limit, one-sided 95 %": [of.bound for of in found],
        }
        name = population.name
        for kind, shares in kinds.items():
            cells = " | ".join(f"{100 * share:.1f} %" for share in shares)
            lines.append(f"| {name} | {kind} | {cells} |")
            name = ""
    return "\n".join(lines) + "\n"


def replace_table(page: Path, header: str, found: str) -> None:
    """Replace the table with this header in a page by a new one."""
    before, _, rest = page.read_text(encoding="utf-8").partition(header)
    after = rest[rest.index("\n\n") + 1 :]
    page.write_text(before + found + after, encoding="utf-8")


def main() -> None:
    measured = {
        population: [coverage(population, calls, SAMPLES) for calls in CALLS]
        for population in POPULATIONS
    }
    if len(sys.argv) > 1:
        replace_table(Path(sys.argv[1]), HEADER, table(measured))
    print(table(measured))


if __name__ == "__main__":
    main()
