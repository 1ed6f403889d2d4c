"""Subgradient search for the shares with the smallest bound."""

from __future__ import annotations

from typing import NamedTuple

from callscore.metrics.graphs.assignment import Assignment, Matrix
from callscore.metrics.graphs.bounds import TunedShares
from callscore.metrics.graphs.problem import Problem

# Measured on 16-node pairs: a fast decay suits edited plans, a slow one unrelated plans.
FIRST_PACE = 0.6
MOMENTUM = 0.4
PATIENCE = 4
SLOWER = 0.7
FORGOTTEN = 0.05


class TuningResult(NamedTuple):
    """The best shares found, their bound, the best gain found on the way, and the rounds."""

    shares: TunedShares
    bound: int
    best: int
    rounds: int


def pad_rows(gains: Matrix, columns: int) -> Matrix:
    """The gains with a row of 0 for every node of the large graph that must be inserted."""
    return gains + [[0] * columns] * (columns - len(gains))


def tune(problem: Problem, best: int, rounds: int) -> TuningResult:
    """Move weight of each edge pair that only one end keeps towards the other end.

    Every assignment on the way is a map, so tuning also finds good maps. Steps are Polyak's, with a
    little momentum, slowed down when the bound no longer falls.
    """
    shares = TunedShares.even(problem)
    bound = Assignment(pad_rows(shares.gains(), len(problem.large.after)))
    bound.settle(0)
    tuned = TuningResult(shares.copy(), bound.total, best, 0)
    velocity: dict[tuple[int, int], float] = {}
    pace, stale = FIRST_PACE, 0
    for spent in range(rounds):
        image = bound.column_of[: len(problem.own)]
        best = max(best, problem.gain(image))
        stale += 1
        if bound.total < tuned.bound:
            stale = stale if tuned.bound - bound.total < problem.unit // 100 else 0
            tuned = TuningResult(shares.copy(), bound.total, best, spent)
        if stale >= PATIENCE:
            pace, stale = pace * SLOWER, 0
        tails, heads = shares.kept_pairs(image)
        if tails == heads or tuned.bound < best + problem.step:
            break
        velocity = _push(velocity, tails, heads)
        _move(shares, bound, velocity, pace * (bound.total - best))
    return tuned._replace(best=best, rounds=spent + 1)


def _push(
    velocity: dict[tuple[int, int], float], tails: set[tuple[int, int]], heads: set[tuple[int, int]]
) -> dict[tuple[int, int], float]:
    """The velocity with a push: less at the end that keeps the pair, more at the other."""
    pushed = {pair: MOMENTUM * speed for pair, speed in velocity.items()}
    for pair in sorted(tails ^ heads):
        pushed[pair] = pushed.get(pair, 0.0) + (1 if pair in heads else -1)
    return {pair: speed for pair, speed in pushed.items() if abs(speed) > FORGOTTEN}


def _move(
    shares: TunedShares, bound: Assignment, velocity: dict[tuple[int, int], float], size: float
) -> None:
    small, large = shares.problem.small.edges, shares.problem.large.edges
    length = size / sum([speed * speed for speed in velocity.values()])
    touched: dict[int, set[int]] = {}
    for (e, f), speed in velocity.items():
        moved = int(length * speed)
        shares.tail[e][f] += moved
        shares.head[e][f] -= moved
        for row, column in zip(small[e], large[f], strict=True):
            touched.setdefault(row, set()).add(column)
    for row, columns in touched.items():
        gains = bound.gains[row][:]
        for column in columns:
            gains[column] = shares.gain(row, column)
        bound.change(row, gains)
    bound.settle(0)
