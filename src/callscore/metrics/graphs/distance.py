"""Edit distance between small directed graphs, exact, and its similarity.   001, C-117

As a substitution costs at most 2, mapping two nodes never costs more than deleting one and
inserting the other, so every node of the smaller graph is mapped, and

    cost = |V1| + |E1| + |V2| + |E2| - gain
    gain = sum of (2 - substitution) over mapped nodes + 2 * edges that land on an edge

`problem` states this in whole numbers, `search` maximises the gain by branch and bound, `bounds`
and `tuning` derive its bounds from assignments, `symmetry` leaves out twin maps.

Tried and rejected: solving each assignment again (6 times slower), scipy's solver (0.5 s to import,
and it cannot be repaired), only even shares (one in 24 unrelated 16-node pairs unproven after 4 s),
the same relaxation as a mixed-integer program (HiGHS: 0.4 to 2.5 s where this takes 0.2),
coordinate ascent instead of subgradient steps (stops half-way to the linear program's bound).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import NamedTuple

from callscore.metrics.graphs.problem import (
    Graph,
    SearchGraph,
    make_problem,
    make_search_graph,
    size,
)
from callscore.metrics.graphs.search import Effort, Search

Substitution = Callable[[Hashable, Hashable], float]
BUDGET = 5_000
MOST_NODE_PAIRS = 250_000


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
