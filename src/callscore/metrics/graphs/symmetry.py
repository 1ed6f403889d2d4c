"""Nodes that can be swapped without changing the graph: only one of them must be tried."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from callscore.metrics.graphs.problem import Problem, SearchGraph


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

    def worth_trying(
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
