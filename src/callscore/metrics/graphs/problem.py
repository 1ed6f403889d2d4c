"""The edit distance as a search for the best one-to-one map of the nodes, in whole numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import NamedTuple

import msgspec

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


class Graph(msgspec.Struct, frozen=True):
    """A directed graph: node = index into `labels`; loops allowed, parallel edges not."""

    labels: tuple[Hashable, ...] = ()
    edges: frozenset[tuple[int, int]] = frozenset()

    def __post_init__(self) -> None:
        """Refuse an edge that leaves the graph: a negative index would read another node."""
        count = len(self.labels)
        for source, target in self.edges:
            if not (0 <= source < count and 0 <= target < count):
                raise ValueError(f"edge ({source}, {target}) in a graph of {count} nodes")


def size(graph: Graph) -> int:
    """|V| + |E|"""
    return len(graph.labels) + len(graph.edges)


def has_cycle(graph: Graph) -> bool:
    """True if some node can reach itself, a loop included        C-117"""
    waiting = [0] * len(graph.labels)
    successors: list[list[int]] = [[] for _ in graph.labels]
    for source, target in graph.edges:
        waiting[target] += 1
        successors[source].append(target)
    ready = [node for node, count in enumerate(waiting) if not count]
    for node in ready:
        for target in successors[node]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return len(ready) < len(waiting)


def twin_classes(graph: SearchGraph, own: Sequence[Hashable]) -> list[int]:
    """By node, the first node that has the same neighbours, loop and own gains.

    Twins are joined to each other both ways (then they are their own neighbours here) or not
    at all; a node cannot have twins of both kinds.
    """
    seen: dict[Hashable, int] = {}
    classes = []
    for node, gains in enumerate(own):
        after, before = graph.after[node], graph.before[node]
        alone = (frozenset(after), frozenset(before), node in graph.loops, gains)
        joined = (frozenset(after | {node}), frozenset(before | {node}), *alone[2:], "joined")
        found = seen.get(alone, seen.get(joined, node))
        seen[alone] = seen[joined] = found
        classes.append(found)
    return classes


class Twins:
    """Maps that need not be tried, because a twin map of equal gain is.

    Rows that are twins are mapped in the order of their images' classes, and of the open columns of
    a class one is tried. Both hold at once: swapping twin columns changes neither the classes nor
    the order of the rows.
    """

    def __init__(self, problem: Problem) -> None:
        rows = twin_classes(problem.small, [tuple(row) for row in problem.own])
        nodes = range(len(problem.large.after))
        gains = [tuple(row[node] for row in problem.own) for node in nodes]
        self._class_of = twin_classes(problem.large, gains)
        self._twins = [
            [other for other, kind in enumerate(rows) if kind == rows[row] and other != row]
            for row in range(len(rows))
        ]

    def columns_to_try(
        self, row: int, columns: Sequence[int], open_rows: Sequence[int], image: Sequence[int]
    ) -> list[int]:
        """The columns for `row`, in order, without those that a twin makes unnecessary."""
        mapped = [twin for twin in self._twins[row] if twin not in open_rows]
        kinds = self._class_of
        lowest = max([kinds[image[twin]] for twin in mapped if twin < row], default=0)
        highest = min([kinds[image[twin]] for twin in mapped if twin > row], default=len(kinds))
        tried: dict[int, int] = {}
        for column in columns:
            kind = kinds[column]
            if lowest <= kind <= highest:
                tried.setdefault(kind, column)
        return list(tried.values())
