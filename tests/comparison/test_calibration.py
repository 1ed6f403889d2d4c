"""Whether paired intervals and tests keep what they promise, on calls whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from callscore.comparison.row_differences import RowLabel, pair_models, row_differences
from callscore.core.measure import Measure
from callscore.stats.contributions import (
    EVALUATED,
    Charge,
    MetricShape,
    ModelShape,
    TaskContributions,
    TaskShape,
    call_key,
)
from callscore.stats.weighted_scores import ScoreKey

TASKS = ("a", "b", "c", "d")
SHAPE = ModelShape(
    tasks={
        task: TaskShape([MetricShape(f"{task}.mean", "mean")], [("", 1.0, [(f"{task}.mean", 1.0)])])
        for task in TASKS
    },
    final={},
    zeroed=dict.fromkeys(TASKS, 0.25),
)
FINAL: dict[ScoreKey, RowLabel] = {
    ("zeroed",): RowLabel("final", "final", "Final Score", "fraction", 1.0)
}


def model(
    scores: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> dict[str, TaskContributions]:
    """Contributions of one model: a line a task, a column a call."""
    found = {}
    for task, values in zip(TASKS, scores, strict=True):
        kept = found[task] = TaskContributions()
        charges = [Charge(call_key(f"call-{n}", ""), 0.0, 1) for n in range(len(values))]
        kept.add_cases(charges, [EVALUATED] * len(values))
        kept.add_column(f"{task}.mean", [Measure(float(value)) for value in values])
    return found


def compared(seed: int, gap: float, calls: int = 60) -> tuple[float, tuple[float, float], float]:
    """Skewed scores of four tasks that move together within a call; the truth is `gap`."""
    random = np.random.default_rng(seed)
    of_call = random.beta(6, 2, calls)
    noise = [random.beta(8, 2, (4, calls)) for _ in range(2)]
    first, second = (0.5 * of_call + 0.5 * of_model for of_model in noise)
    pair = pair_models(model(first), model(second + gap), SHAPE)
    (row,) = row_differences([pair], FINAL, resamples=1_000)
    assert row.difference is not None
    assert row.ci95 is not None
    assert row.p is not None
    return row.difference, row.ci95, row.p


def test_a_known_difference_is_within_its_interval() -> None:
    difference, (low, high), p = compared(seed=3, gap=0.1)
    assert low < 0.1 < high
    assert low < difference < high
    assert p < 0.001


@pytest.mark.slow
def test_intervals_cover_the_truth_and_the_null_is_rejected_in_five_of_a_hundred() -> None:
    found = [compared(seed, gap=0.0) for seed in range(1_000)]
    covered = np.mean([low <= 0 <= high for _, (low, high), _ in found])
    rejected = np.mean([p <= 0.05 for _, _, p in found])
    assert 0.93 <= covered <= 0.97
    assert rejected <= 0.05 + 3 * (0.05 * 0.95 / 1_000) ** 0.5
