"""Edit distance between small directed graphs, exact, and its similarity.   001, C-117"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from callscore.metrics.graphs.graph import Graph, size
from callscore.metrics.graphs.problem import Side, problem, side
from callscore.metrics.graphs.search import Search

Substitution = Callable[[Hashable, Hashable], float]
BUDGET = 200_000


class EditDistance(NamedTuple):
    """`cost` lies in [low, high]; where `exact` is false the budget ran out and cost = high."""

    cost: float
    low: float
    high: float
    exact: bool
    expansions: int


def edit_distance(
    first: Graph, second: Graph, substitution: Substitution, *, budget: int = BUDGET
) -> EditDistance:
    """Least cost of turning `first` into `second`        001 "GED", C-117

    Nodes and edges are inserted and deleted for 1, an edge is substituted for 0, a node for
    `substitution(label, label)` in [0, 2]. `budget` is the number of search nodes that may be
    opened: no clock, so the same pair always gives the same answer.
    """
    if len(first.labels) > len(second.labels):
        return edit_distance(second, first, lambda a, b: substitution(b, a), budget=budget)
    costs = [[substitution(a, b) for b in second.labels] for a in first.labels]
    if not all(0 <= cost <= 2 for row in costs for cost in row):
        raise ValueError("a substitution costs between 0 and 2 (2 is delete and insert)")
    found = Search(problem(costs, _side(first), _side(second)), budget).run()
    everything = size(first) + size(second)
    low, high = everything - found.limit, everything - found.gain
    return EditDistance(high, low, high, low == high, found.expansions)


def _side(graph: Graph) -> Side:
    return side(len(graph.labels), graph.edges)


def similarity(cost: float, first: Graph, second: Graph) -> float:
    """1 - cost / (|V1| + |E1| + |V2| + |E2|)        C-117; two empty graphs are equal: 1"""
    largest = size(first) + size(second)
    return 1 - cost / largest if largest else 1.0
