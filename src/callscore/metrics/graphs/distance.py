"""Edit distance between small directed graphs, exact, and its similarity.   001, C-117

As a substitution costs at most 2, mapping two nodes never costs more than deleting one and
inserting the other, so every node of the smaller graph is mapped, and

    cost = |V1| + |E1| + |V2| + |E2| - gain
    gain = sum of (2 - substitution) over mapped nodes + 2 * edges that land on an edge

`problem` states this in whole numbers and leaves out twin maps, `Search` maximises the gain by
branch and bound, `bounds` derives its bounds from assignments.

Tried and rejected: solving each assignment again (6 times slower), scipy's solver (0.5 s to import,
and it cannot be repaired), only even shares (one in 24 unrelated 16-node pairs unproven after 4 s),
the same relaxation as a mixed-integer program (HiGHS: 0.4 to 2.5 s where this takes 0.2),
coordinate ascent instead of subgradient steps (stops half-way to the linear program's bound).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import NamedTuple

from callscore.metrics.graphs.assignment import Assignment
from callscore.metrics.graphs.bounds import EvenShares, Shares, pad_rows, tune
from callscore.metrics.graphs.problem import (
    Graph,
    Problem,
    SearchGraph,
    Twins,
    make_problem,
    make_search_graph,
    size,
)

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


Substitution = Callable[[Hashable, Hashable], float]
BUDGET = 5_000
MOST_NODE_PAIRS = 250_000
"""Beyond, even one assignment takes too long, and the sizes alone are compared."""


class EditDistance(NamedTuple):
    """The true cost is within [low, high]; if not `exact`, the budget ran out and cost = high."""

    cost: float
    low: float
    high: float
    exact: bool
    work: int


def edit_distance(
    first: Graph, second: Graph, substitution: Substitution, *, budget: int = BUDGET
) -> EditDistance:
    """Least cost of turning `first` into `second`        001 "GED", C-117

    Nodes and edges are inserted and deleted for 1, an edge is substituted for 0, a node for
    `substitution(label, label)` in [0, 2]. `budget` is the work that may be done, counted in search
    nodes of a plan with 16 nodes and 20 edges (those of larger and denser graphs count more): no
    clock, so the same pair always gives the same answer. Graphs of more than 64 nodes get the
    bounds of one assignment; if even that is too much, those of their sizes.
    """
    if len(first.labels) * len(second.labels) > MOST_NODE_PAIRS:
        return _bounds_by_size(first, second, substitution)
    if len(first.labels) > len(second.labels):
        return edit_distance(second, first, lambda a, b: substitution(b, a), budget=budget)
    costs = [[substitution(a, b) for b in second.labels] for a in first.labels]
    if not all(0 <= cost <= 2 for row in costs for cost in row):
        raise ValueError("a substitution costs between 0 and 2 (2 is delete and insert)")
    problem = make_problem(costs, _side(first), _side(second))
    found = Search(problem, Effort(budget)).run()
    everything = (size(first) + size(second)) * problem.unit
    low, high = (everything - found.limit) / problem.unit, (everything - found.gain) / problem.unit
    return EditDistance(high, low, high, found.limit == found.gain, found.work)


def _bounds_by_size(first: Graph, second: Graph, substitution: Substitution) -> EditDistance:
    """Between the difference of the sizes and the cost of mapping the nodes in their order."""
    nodes, edges = len(first.labels), len(first.edges)
    other_nodes, other_edges = len(second.labels), len(second.edges)
    kept = len(first.edges & second.edges)
    low = abs(nodes - other_nodes) + abs(edges - other_edges)
    substituted = math.fsum(map(substitution, first.labels, second.labels))
    high = abs(nodes - other_nodes) + substituted + edges + other_edges - 2 * kept
    return EditDistance(high, low, high, low == high, 0)


def _side(graph: Graph) -> SearchGraph:
    return make_search_graph(len(graph.labels), graph.edges)


def similarity(cost: float, first: Graph, second: Graph) -> float:
    """1 - cost / (|V1| + |E1| + |V2| + |E2|)        C-117; two empty graphs are equal: 1"""
    largest = size(first) + size(second)
    return 1 - cost / largest if largest else 1.0
