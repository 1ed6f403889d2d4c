"""Depth-first branch and bound over maps of the small graph into the large one."""

from __future__ import annotations

from typing import NamedTuple

from callscore.metrics.graphs.assignment import Assignment
from callscore.metrics.graphs.problem import Problem
from callscore.metrics.graphs.shares import EvenShares, Shares
from callscore.metrics.graphs.tuning import padded, tune

# Measured on 16-node pairs: most are proven before, and tuning costs what these nodes cost.
BEFORE_TUNING = 400
TUNING_ROUNDS = 150


class Outcome(NamedTuple):
    """The largest gain found, the gain no map exceeds, and the work done."""

    gain: float
    limit: float
    expansions: int


class State(NamedTuple):
    """A search node: gain of the map so far, open rows, the bound on the rest (and the map)."""

    gained: int
    rows: list[int]
    bound: Assignment
    shares: Shares


class Search:
    """Cheap bounds first; if many nodes are not enough, tuned ones."""

    def __init__(self, problem: Problem, budget: int) -> None:
        self._problem = problem
        self._budget = budget
        self._allowed = 0
        self._expansions = 0
        self._best = -problem.step
        self._unproven = -problem.step

    def run(self) -> Outcome:
        """The best map within the budget, and what the unopened part might still hold."""
        limit = self._explore(EvenShares.of(self._problem), min(self._budget, BEFORE_TUNING))
        if limit > self._best and self._expansions < self._budget:
            rounds = min(TUNING_ROUNDS, self._budget - self._expansions)
            tuned = tune(self._problem, self._best, rounds)
            self._best = tuned.best
            self._expansions += tuned.rounds
            limit = min(limit, tuned.bound)
            if limit >= self._best + self._problem.step:
                limit = min(limit, self._explore(tuned.shares, self._budget))
            else:
                limit = self._best
        unit = self._problem.unit
        return Outcome(self._best / unit, limit / unit, self._expansions)

    def _explore(self, shares: Shares, allowed: int) -> int:
        self._allowed, self._unproven = allowed, -self._problem.step
        bound = Assignment(padded(shares.gains(), len(self._problem.large.after)))
        bound.settle(0)
        self._visit(State(0, list(range(len(self._problem.own))), bound, shares))
        return max(self._best, self._unproven)

    def _visit(self, state: State) -> None:
        limit = state.gained + state.bound.total
        image = state.bound.column_of[: len(self._problem.own)]
        self._best = max(self._best, self._problem.gain(image))
        if limit < self._best + self._problem.step:
            return
        if self._expansions >= self._allowed:
            self._unproven = max(self._unproven, limit)
            return
        self._expansions += 1
        row, candidates = self._branch(state, limit)
        for promise, column in candidates:
            if promise < self._best + self._problem.step:
                return
            child = self._child(state, row, column)
            if child:
                self._visit(child)

    def _branch(self, state: State, limit: int) -> tuple[int, list[tuple[int, int]]]:
        """The row with the fewest columns that may still beat the best, most promising first."""
        bound, target = state.bound, self._best + self._problem.step
        price, fewest, chosen = bound.column_price, len(bound.columns) + 1, -1
        for row in state.rows:
            gains, need = bound.gains[row], target - limit + bound.row_price[row]
            alive = [1 for column in bound.columns if gains[column] - price[column] >= need]
            if len(alive) < fewest:
                fewest, chosen = len(alive), row
        gains, rest = bound.gains[chosen], limit - bound.row_price[chosen]
        promises = [(rest + gains[column] - price[column], column) for column in bound.columns]
        promises.sort(key=lambda promise: -promise[0])
        return chosen, promises[:fewest]

    def _child(self, state: State, row: int, column: int) -> State | None:
        """The state after row -> column, or None where its bound cannot beat the best."""
        small, large, own, unit, step = self._problem
        image, rows = state.bound.column_of, state.rows[:]
        rows.remove(row)
        open_rows = set(rows)
        kept = [1 for w in small.after[row] - open_rows if image[w] in large.after[column]]
        kept += [1 for w in small.before[row] - open_rows if image[w] in large.before[column]]
        gained = state.gained + own[row][column] + 2 * unit * len(kept)
        bound = state.bound.copy()
        bound.close(row, column)
        shares = state.shares.mapped((row, column), rows, bound)
        if not bound.settle(self._best + step - gained):
            return None
        return State(gained, rows, bound, shares)
