"""What the race promises, measured on thousands of evaluations with a known truth (STATS §4)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench.race_simulations import (
    CALL_GATE,
    GATE,
    Evaluation,
    Finished,
    permuted,
    race,
    simulate,
)

from callscore.stats.race import RaceRules
from callscore.stats.race_schedule import Population

ALPHA = 0.05
RUNS = 1000

pytestmark = pytest.mark.slow


def allowed(runs: int = RUNS) -> float:
    """α + 3 standard errors"""
    return ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / runs)


def share(finished: list[Finished], field: str) -> float:
    return float(np.mean([getattr(found, field) for found in finished]))


@pytest.mark.parametrize("about", ["pool", "future"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("gating", ["none", "clean"])
def test_where_labels_are_permuted_the_best_is_kept(about: Population, k: int, gating: str) -> None:
    """Blocks of four tasks, clusters, gates and ranking together"""
    random = np.random.default_rng(11)
    means = list(np.linspace(0.8, 0.6, k))
    finished = [
        race(
            permuted(simulate(random, means, 150, gating), random),  # type: ignore[arg-type]
            about=about,
            seed=run,
        )
        for run in range(RUNS)
    ]
    assert share(finished, "lost_best") <= allowed()
    if about == "future" and k == 2 and gating == "none":
        assert share(finished, "dropped_any") <= allowed()


@pytest.mark.parametrize("k", [2, 4])
def test_in_a_pool_without_any_difference_no_model_is_dropped(k: int) -> None:
    """All Finals are exactly equal, though no call is: whoever is dropped is dropped wrongly"""
    random = np.random.default_rng(12)
    dropped = []
    for run in range(RUNS):
        half = simulate(random, [0.75] * k, 75)
        turned = [np.roll(half.scores, shift, axis=0) for shift in range(k)]
        scores = np.concatenate(turned, axis=1)
        empty = np.zeros(scores.shape[:2])
        exact = Evaluation(scores, empty, empty, empty.astype(bool), 0.02)
        assert np.ptp(exact.finals) < 1e-12
        dropped.append(race(exact, seed=run).dropped_any)
    assert float(np.mean(dropped)) <= allowed()


@pytest.mark.parametrize("about", ["pool", "future"])
@pytest.mark.parametrize("k", [3, 7])
def test_on_resampled_matrices_the_best_of_the_data_is_kept(about: Population, k: int) -> None:
    """Calls of one matrix drawn with replacement: the truth is that of the matrix or the pool"""
    random = np.random.default_rng(13)
    means = 0.8 - 0.02 * np.arange(k)
    matrix = simulate(random, list(means), 470, "clean")
    best = int(np.argmax(matrix.finals))
    lost = []
    for run in range(RUNS):
        drawn = random.integers(0, 470, 300)
        found = Evaluation(
            matrix.scores[:, drawn],
            matrix.events[:, drawn],
            matrix.items[:, drawn],
            matrix.breached[:, drawn],
            tolerance=0.02,
        )
        finished = race(found, about=about, seed=run)
        lost.append(
            finished.lost_best if about == "pool" else f"m{best}" in finished.state.eliminated
        )
    assert float(np.mean(lost)) <= allowed()


@pytest.mark.parametrize("about", ["pool", "future"])
def test_a_model_at_its_limit_is_not_called_invalid(about: Population) -> None:
    """Exactly 3 % of the facts of a pool are fabricated, in few calls and many at once"""
    random = np.random.default_rng(14)
    wrong = []
    for run in range(RUNS):
        found = simulate(random, [0.8, 0.8], 200)
        items = np.full((2, 200), 10.0)
        events = np.zeros((2, 200))
        for model in range(2):
            events[model, random.choice(200, 12, replace=False)] = 5.0
        if about == "future":
            events = np.where(random.random((2, 200)) < 0.06, 5.0, 0.0)
        found = found._replace(items=items, events=events)
        dropped = race(found, about=about, seed=run).state.eliminated
        wrong.append(any(how.gate == GATE.slug and how.blocks < 200 for how in dropped.values()))
    assert float(np.mean(wrong)) <= 0.02 + 3 * math.sqrt(0.02 * 0.98 / RUNS)


@pytest.mark.parametrize("about", ["pool", "future"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("gap", [0.1, 0.02])
def test_stats47_no_named_winner_is_disqualified_by_its_late_breaches(
    about: Population, k: int, gap: float
) -> None:
    """The best model has a broken answer in two of three pools, mostly after it was ahead"""
    random = np.random.default_rng(15)
    means = [0.8] + [0.8 - gap] * (k - 1)
    finished = [
        race(simulate(random, means, 200, "late"), about=about, seed=run) for run in range(RUNS)
    ]
    assert share(finished, "disqualified") == 0
    assert share(finished, "lost_best") <= allowed()
    if about == "pool":
        assert share(finished, "wrong") <= allowed()
    assert any("call_gate" in {out.why for out in f.state.eliminated.values()} for f in finished)


@pytest.mark.parametrize("about", ["pool", "future"])
@pytest.mark.parametrize("gap", [0.1, 0.02])
def test_stats47_uneven_items_mislead_no_rate_gate(about: Population, gap: float) -> None:
    """Calls with few facts fabricate twice as often as all facts together may"""
    random = np.random.default_rng(16)
    finished = [
        race(simulate(random, [0.8, 0.8 - gap, 0.8 - gap], 300, "uneven"), about=about, seed=run)
        for run in range(RUNS)
    ]
    assert share(finished, "disqualified") == 0
    assert share(finished, "lost_best") <= allowed()
    if about == "pool":
        assert share(finished, "wrong") <= allowed()


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("gap", [0.02, 0.05])
def test_stats47_a_model_within_the_margin_is_not_called_clearly_worse(k: int, gap: float) -> None:
    """All others are worse by at most `clear_margin`, in the pool that was drawn"""
    random = np.random.default_rng(17)
    wrong = []
    for run in range(RUNS):
        found = simulate(random, [0.8] + [0.8 - gap] * (k - 1), 200)
        rules = RaceRules(call_gates={CALL_GATE: "text"}, clear_margin=gap, tolerance=0.02)
        state = race(found, seed=run, rules=rules).state
        behind = {
            name: found.finals[0] - found.finals[int(name[1:])] for name in state.clearly_worse
        }
        wrong.append(state.winner == "m0" and any(gap >= by for by in behind.values()))
    assert float(np.mean(wrong)) <= allowed()
