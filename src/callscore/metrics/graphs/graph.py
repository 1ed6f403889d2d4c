"""A small directed graph as a value."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec


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
