"""The race on simulated models, beside the full run: wrong decisions, and what was paid.

One model is best by a gap, all others are equal (and then: all are equal, but for the last); 1,000
calls of four tasks. With gates the last model fabricates facts and the one before it breaks its
answers. `python -m bench.race 500` repeats
each case 500 times.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product

import numpy as np

from bench.race_simulations import Finished, Gating, permuted, race, simulate
from callscore.stats.blocks import Population

RUNS = 100
CALLS = 1000
NULL_CALLS = 300
BEST = 0.8
ABOUT: tuple[Population, ...] = ("pool", "future")
GATING: tuple[Gating, ...] = ("none", "mixed")
CLEAR = 0.05
"""From this gap on, the others are clearly worse."""
WORST = 0.15
"""By so much the last model is worse where all others are equal."""


def measure(
    means: Sequence[float], about: Population, gating: Gating, runs: int = RUNS
) -> list[Finished]:
    random = np.random.default_rng(20261116)
    return [
        race(simulate(random, means, CALLS, gating), about=about, seed=seed) for seed in range(runs)
    ]


def null(runs: int) -> None:
    """Nobody is better: whoever is dropped for being worse is dropped wrongly (future)"""
    print(f"{runs} runs each of {NULL_CALLS} calls whose answers are given to models by lot")
    print("| about | models | best of the data dropped | any equal model dropped |")
    print("|---|---|---|---|")
    for about, k in product(ABOUT, (2, 4)):
        random = np.random.default_rng(11)
        means = list(np.linspace(BEST, 0.6, k))
        finished = [
            race(permuted(simulate(random, means, NULL_CALLS), random), about=about, seed=seed)
            for seed in range(runs)
        ]
        lost = np.mean([found.lost_best for found in finished])
        dropped = np.mean([found.dropped_any for found in finished])
        print(f"| {about} | {k} | {lost:.1%} | {dropped:.1%} |", flush=True)


def main(runs: int = RUNS) -> None:
    null(10 * runs)
    print(f"{runs} runs each of {CALLS} calls; the full run pays 100 %")
    print("| about | gates | models | gap | calls paid | best dropped | decided | tie |")
    print("|---|---|---|---|---|---|---|---|")
    clear: dict[Population, list[float]] = {about: [] for about in ABOUT}
    for about, gating, k, gap in product(ABOUT, GATING, (2, 4, 8), (0.15, 0.05, 0.02, 0.0)):
        finished = measure([BEST] + [BEST - gap] * (k - 1), about, gating, runs)
        paid = row(finished, (about, "yes" if gating == "mixed" else "no", k, f"{gap:g}"))
        if gap >= CLEAR:
            clear[about].append(paid)
    for about, shares_paid in clear.items():
        print(f"{about}: {np.mean(shares_paid):.0%} paid in the mean where all others are behind")
    for about, k in product(ABOUT, (2, 4, 8)):
        finished = measure([BEST] * (k - 1) + [BEST - WORST], about, "none", runs)
        row(finished, (about, "no", k, "last only"))


def row(finished: Sequence[Finished], case: Sequence[object]) -> float:
    """Print one line; the share of calls that was paid."""
    runs, paid = len(finished), float(np.mean([found.paid for found in finished]))
    wrong = sum(found.lost_best for found in finished)
    decided = sum(len(found.state.racing) == 1 for found in finished) / runs
    shares = (f"{paid:.0%}", f"{wrong} of {runs}", f"{decided:.0%}", f"{1 - decided:.0%}")
    print("|", " | ".join(map(str, (*case, *shares))), "|", flush=True)
    return paid


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
