"""The race on simulated models, beside the full run: wrong decisions, and what was paid.

One model is best by a gap, all others are equal; 1,000 calls of four tasks. With gates the last
model fabricates facts and the one before it breaks its answers. `python -m bench.race 500` repeats
each case 500 times.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np

from bench.race_simulations import Finished, Gating, race, simulate
from callscore.stats.blocks import About

RUNS = 200
CALLS = 1000
BEST = 0.8
ABOUT: tuple[About, ...] = ("pool", "future")
GATING: tuple[Gating, ...] = ("none", "mixed")
CLEAR = 0.05
"""From this gap on, the others are clearly worse."""


def measure(k: int, gap: float, about: About, gating: Gating, runs: int) -> list[Finished]:
    random = np.random.default_rng(20261116)
    means = [BEST] + [BEST - gap] * (k - 1)
    return [
        race(simulate(random, means, CALLS, gating), about=about, seed=seed) for seed in range(runs)
    ]


def main(runs: int = RUNS) -> None:
    print(f"{runs} runs each of {CALLS} calls; the full run pays 100 %")
    print("| about | gates | models | gap | calls paid | best dropped | decided | tie |")
    print("|---|---|---|---|---|---|---|---|")
    clear: dict[About, list[float]] = {about: [] for about in ABOUT}
    for about, gating, k, gap in product(ABOUT, GATING, (2, 4, 8), (0.15, 0.05, 0.02, 0.0)):
        finished = measure(k, gap, about, gating, runs)
        paid = float(np.mean([found.paid for found in finished]))
        wrong = sum(found.lost_best for found in finished)
        decided = sum(len(found.standing.racing) == 1 for found in finished)
        if gap >= CLEAR:
            clear[about].append(paid)
        row = (about, "yes" if gating == "mixed" else "no", k, f"{gap:g}", f"{paid:.0%}")
        shares = (f"{wrong} of {runs}", f"{decided / runs:.0%}", f"{1 - decided / runs:.0%}")
        print("|", " | ".join(map(str, (*row, *shares))), "|", flush=True)
    for about, shares_paid in clear.items():
        print(f"{about}: {np.mean(shares_paid):.0%} paid in the mean where the gap is clear")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
