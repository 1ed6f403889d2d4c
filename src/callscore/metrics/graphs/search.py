"""Depth-first branch and bound over maps of the small graph into the large one, and swaps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from callscore.metrics.graphs.assignment import Assignment
from callscore.metrics.graphs.bounds import EvenShares, Shares
from callscore.metrics.graphs.problem import Problem, Twins
from callscore.metrics.graphs.tuning import pad_rows, tune

# The work of opening a search node is counted, not its time: one of a plan with 16 nodes and 20
# edges counts once, one of a larger or denser graph as often as it takes longer (measured: with
# the cube of the nodes, and with tuned shares with the pairs of open edges). Beyond 64 nodes there
# is one assignment and its bound; beyond this many edge pairs no tuning.
TYPICAL_NODES = 16
TYPICAL_EDGE_PAIRS = 200
MOST_NODES = 64
MOST_EDGE_PAIRS = 20_000
# Visiting an edge takes 0.1 microseconds: enough to finish on plans of 16 nodes, and no more than
# half a second on any other.
MOST_EDGES_SEEN = 5_000_000


class Effort(NamedTuple):
    """How much work is done in all, before swaps, and before tuning (for 16 nodes).

    Measured on 16-node pairs: swaps take 1 ms and halve the search after few edits; 40 nodes prove
    most edited plans in 5 ms; tuning takes 1 ms per round, counted like a node, and after 100
    rounds the bound is within 1 of the linear program's.
    """

    budget: int
    before_swaps: int = 5
    before_tuning: int = 40
    tuning_rounds: int = 100


class SearchResult(NamedTuple):
    """The largest gain found, the gain no map exceeds (in units), and the work done."""

    gain: int
    limit: int
    work: int


class SearchNode(NamedTuple):
    """A partial map: its gain, the open rows, the bound on the rest (and the map itself)."""

    gained: int
    rows: list[int]
    bound: Assignment
    shares: Shares


class Search:
    """Searches with cheap bounds first; after many nodes, with tuned ones."""

    def __init__(self, problem: Problem, effort: Effort) -> None:
        self._problem = problem
        self._effort = effort
        nodes = max(1, len(problem.large.after))
        self._budget = effort.budget if nodes <= MOST_NODES else 0
        self._node_work = max(1, nodes**3 // TYPICAL_NODES**3)
        # Small graphs are searched through before tuning would pay.
        small = int(effort.before_tuning * TYPICAL_NODES**4 / nodes**4)
        self._before_tuning = min(self._budget, small)
        self._allowed = 0
        self._expansions = 0
        self._work = 0
        self._best = self._unproven = -problem.step
        self._image: list[int] = []

    @cached_property
    def _twins(self) -> Twins:
        return Twins(self._problem)

    def run(self) -> SearchResult:
        """The best map within the budget, and the limit of the maps that were not tried."""
        problem = self._problem
        tunable = len(problem.small.edges) * len(problem.large.edges) <= MOST_EDGE_PAIRS
        allowed = self._before_tuning if tunable else self._budget
        limit = self._explore(EvenShares.initial(problem), allowed)
        if limit > self._best and self._work < self._budget:
            limit = min(limit, self._tune_and_explore() if tunable else limit)
        # Gains lie whole steps apart, so what lies between two of them cannot occur.
        limit -= (limit - self._best) % problem.step
        return SearchResult(self._best, limit, self._work)

    def _tune_and_explore(self) -> int:
        pairs = len(self._problem.small.edges) * len(self._problem.large.edges)
        each = max(self._node_work, pairs // TYPICAL_EDGE_PAIRS)
        rounds = min(self._effort.tuning_rounds, (self._budget - self._work) // each)
        if not rounds:
            return self._explore(EvenShares.initial(self._problem), self._budget)
        tuned = tune(self._problem, self._best, rounds)
        self._best = tuned.best
        self._work += tuned.rounds * each
        if tuned.bound < self._best + self._problem.step:
            return self._best
        return min(tuned.bound, self._explore(tuned.shares, self._budget))

    def _explore(self, shares: Shares, allowed: int) -> int:
        self._allowed, self._unproven = allowed, -self._problem.step
        bound = Assignment(pad_rows(shares.gains(), len(self._problem.large.after)))
        bound.settle(0)
        self._visit(SearchNode(0, list(range(len(self._problem.own))), bound, shares))
        return max(self._best, self._unproven)

    def _visit(self, node: SearchNode) -> None:
        limit = node.gained + node.bound.total
        image = node.bound.column_of[: len(self._problem.own)]
        self._offer(image)
        if limit < self._best + self._problem.step:
            return
        work = max(self._node_work, node.shares.open_pairs() // TYPICAL_EDGE_PAIRS)
        if self._work + work > self._allowed:
            self._unproven = max(self._unproven, limit)
            return
        self._work += work
        self._expansions += 1
        if self._expansions == self._effort.before_swaps:
            self._offer(improve_by_swaps(self._problem, self._image))
        row, columns = self._branch(node, limit)
        for column in self._twins.columns_to_try(row, columns, node.rows, image):
            child = self._child(node, row, column)
            if child:
                self._visit(child)

    def _offer(self, image: list[int]) -> None:
        gain = self._problem.gain(image)
        if gain > self._best:
            self._best, self._image = gain, image

    def _branch(self, node: SearchNode, limit: int) -> tuple[int, list[int]]:
        """The row with the fewest columns that may still beat the best, most promising first."""
        bound, target = node.bound, self._best + self._problem.step
        price, chosen, alive = bound.column_price, -1, bound.columns
        for row in node.rows:
            gains, need = bound.gains[row], target - limit + bound.row_price[row]
            here = [column for column in bound.columns if gains[column] - price[column] >= need]
            if chosen < 0 or len(here) < len(alive):
                chosen, alive = row, here
        gains = bound.gains[chosen]
        return chosen, sorted(alive, key=lambda column: price[column] - gains[column])

    def _child(self, node: SearchNode, row: int, column: int) -> SearchNode | None:
        """The node after row -> column, or None if its bound cannot beat the best."""
        small, large, own, unit, step = self._problem
        image, rows = node.bound.column_of, node.rows[:]
        rows.remove(row)
        open_rows = set(rows)
        kept = [1 for w in small.after[row] - open_rows if image[w] in large.after[column]]
        kept += [1 for w in small.before[row] - open_rows if image[w] in large.before[column]]
        gained = node.gained + own[row][column] + 2 * unit * len(kept)
        bound = node.bound.copy()
        bound.close(row, column)
        shares = node.shares.map_pair((row, column), rows, bound)
        if not bound.settle(self._best + step - gained):
            return None
        return SearchNode(gained, rows, bound, shares)


def improve_by_swaps(problem: Problem, image: Sequence[int]) -> list[int]:
    """The map after all swaps of two images, or of one and an unused node, that raise the gain."""
    swaps = MOST_EDGES_SEEN // (len(problem.small.edges) + len(image) + 1)
    unused = sorted(set(range(len(problem.large.after))).difference(image))
    better, places = [*image, *unused], len(image)
    gain, improving = problem.gain(better[:places]), True
    while improving:
        improving = False
        for a in range(places):
            for b in range(a + 1, len(better)):
                if not swaps:
                    return better[:places]
                swaps -= 1
                better[a], better[b] = better[b], better[a]
                swapped = problem.gain(better[:places])
                if swapped > gain:
                    gain, improving = swapped, True
                else:
                    better[a], better[b] = better[b], better[a]
    return better[:places]
