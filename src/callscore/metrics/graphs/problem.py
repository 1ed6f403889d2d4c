"""The edit distance as a search for the best one-to-one map of the nodes, in whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import NamedTuple

from callscore.metrics.graphs.assignment import Matrix

# A bound shares an edge between its ends in fractions of 1; this many are fine enough.
GRAIN = 1000
FINEST = 2**40


class SearchGraph(NamedTuple):
    """A graph: its edges without loops, and the edges and neighbours of each node by direction."""

    edges: list[tuple[int, int]]
    leaving: list[list[int]]
    entering: list[list[int]]
    after: list[set[int]]
    before: list[set[int]]
    loops: set[int]


class Problem(NamedTuple):
    """Maximise the gain of mapping every node of `small` to its own node of `large`.

    `own[u][v]` is the gain of u -> v without edges, in units; `unit` units make 1; two gains
    that differ do so by at least `step`.
    """

    small: SearchGraph
    large: SearchGraph
    own: Matrix
    unit: int
    step: int

    def gain(self, image: Sequence[int]) -> int:
        """Sum of own gains + 2 for every edge that lands on an edge."""
        after = self.large.after
        kept = [1 for source, target in self.small.edges if image[target] in after[image[source]]]
        return 2 * self.unit * len(kept) + sum([self.own[u][v] for u, v in enumerate(image)])


def make_search_graph(count: int, edges: Iterable[tuple[int, int]]) -> SearchGraph:
    """The graph as the search uses it; edges are sorted, so that every run is the same."""
    loops = {source for source, target in edges if source == target}
    plain = sorted(edge for edge in edges if edge[0] != edge[1])
    leaving: list[list[int]] = [[] for _ in range(count)]
    entering: list[list[int]] = [[] for _ in range(count)]
    for index, (source, target) in enumerate(plain):
        leaving[source].append(index)
        entering[target].append(index)
    after = [{plain[edge][1] for edge in found} for found in leaving]
    before = [{plain[edge][0] for edge in found} for found in entering]
    return SearchGraph(plain, leaving, entering, after, before, loops)


def make_problem(
    costs: Sequence[Sequence[float]], small: SearchGraph, large: SearchGraph
) -> Problem:
    """2 - cost, and 2 more where both nodes have a loop; small has at most as many nodes."""
    coarse = _parts_per_unit({cost for row in costs for cost in row})
    unit = coarse * GRAIN
    own = [
        [
            2 * unit
            - GRAIN * round(cost * coarse)
            + 2 * unit * (u in small.loops and v in large.loops)
            for v, cost in enumerate(row)
        ]
        for u, row in enumerate(costs)
    ]
    # Maps of all rows differ by 2 for each kept edge and by differences within rows.
    step = gcd(2 * unit, *{gain - row[0] for row in own for gain in row})
    return Problem(small, large, own, unit, step)


def _parts_per_unit(costs: set[float]) -> int:
    """How many parts make 1 so that every cost is a whole number of parts.

    Fractions with small denominators (0.2, 0.8, 1/3) stay exact; others are rounded to one
    part in 2**40, far below anything a report shows.
    """
    parts = lcm(*map(_denominator, costs))
    return parts if parts <= FINEST else FINEST


@lru_cache(maxsize=1024)
def _denominator(cost: float) -> int:
    exact = Fraction(cost)
    near = exact.limit_denominator(GRAIN)
    return near.denominator if abs(near - exact) < 1e-12 else FINEST
