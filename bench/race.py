"""The race on simulated models, compared with the full run: wrong decisions, and what was paid.

One model is best by a gap, all others are equal; four tasks per call. With gates the last model
fabricates facts and the one before it breaks its answers. A named winner is wrong if the full run
disqualifies it or has a better model. `python -m bench.race 500` repeats each case 500 times.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product

import numpy as np

from bench.measuring import sized
from bench.race_simulations import Finished, Gating, permuted, race, simulate
from callscore.stats.race_schedule import Population

RUNS = sized(100, 1)
CALLS = (100, 400, 1000)[: sized(3, 1)]
MODELS = (2, 4, 8)[: sized(3, 1)]
GAPS = (0.15, 0.05, 0.02, 0.0)
NULL_CALLS = sized(300, 40)
BEST = 0.8
ABOUT: tuple[Population, ...] = ("pool", "future")
COLUMNS: tuple[tuple[Population, Gating], ...] = tuple(product(ABOUT, ("none", "mixed")))
HARD: tuple[Gating, ...] = ("late", "uneven")


def measure(
    means: Sequence[float], calls: int, about: Population, gating: Gating, runs: int
) -> list[Finished]:
    random = np.random.default_rng(20261116)
    return [
        race(simulate(random, means, calls, gating), about=about, seed=seed) for seed in range(runs)
    ]


def null(runs: int) -> None:
    """No model is better: one that is dropped for being worse is dropped wrongly (future)"""
    print(f"{runs} runs each of {NULL_CALLS} calls whose answers are given to models by lot")
    line("about", "models", "best of the data dropped", "any equal model dropped")
    line(*["---"] * 4)
    for about, k in product(ABOUT, (2, 4)):
        random = np.random.default_rng(11)
        means = list(np.linspace(BEST, 0.6, k))
        finished = [
            race(permuted(simulate(random, means, NULL_CALLS), random), about=about, seed=seed)
            for seed in range(runs)
        ]
        lost = np.mean([found.lost_best for found in finished])
        dropped = np.mean([found.dropped_any for found in finished])
        line(about, k, f"{lost:.1%}", f"{dropped:.1%}")


def paid(runs: int) -> None:
    """The share of all calls that was paid, the winner's remaining calls included"""
    print(f"{runs} runs each; the full run pays 100 %")
    names = [f"{about}{', gates' if gating != 'none' else ''}" for about, gating in COLUMNS]
    line("calls", "models", "gap", *names, "tie", "wrong")
    line(*["---"] * (5 + len(names)))
    wrong = races = 0
    for calls, k, gap in product(CALLS, MODELS, GAPS):
        means = [BEST] + [BEST - gap] * (k - 1)
        finished = [measure(means, calls, about, gating, runs) for about, gating in COLUMNS]
        shares = [f"{np.mean([found.paid for found in column]):.0%}" for column in finished]
        every = [found for column in finished for found in column]
        # what future calls would say is not what these say, so only the pool can be wrong
        decided = [found for column in finished[:2] for found in column]
        tie = np.mean([found.state.winner is None for found in every])
        wrong += sum(found.wrong for found in decided)
        races += len(decided)
        line(f"{calls:,}", k, f"{gap:g}", *shares, f"{tie:.0%}", sum(f.wrong for f in decided))
    print(f"wrong winners in {races:,} races about the pool: {wrong}")


def hard(runs: int) -> None:
    """Winners that break an answer late, and calls with very different numbers of facts"""
    line("races", "about", "models", "gap", "paid", "disqualified winners", "wrong winners")
    line(*["---"] * 7)
    for gating, about, k, gap in product(HARD, ABOUT, (2, 4), (0.1, 0.02)):
        means = [BEST] + [BEST - gap] * (k - 1)
        finished = measure(means, NULL_CALLS, about, gating, runs)
        share = f"{np.mean([found.paid for found in finished]):.0%}"
        disqualified = sum(found.disqualified for found in finished)
        wrong = sum(found.wrong for found in finished) if about == "pool" else "–"
        line(gating, about, k, f"{gap:g}", share, f"{disqualified} of {runs}", wrong)


def line(*cells: object) -> None:
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def main(runs: int = RUNS) -> None:
    null(sized(10, 1) * runs)
    paid(runs)
    hard(runs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
