"""Where the nodes of a small directed graph are drawn: in layers, with few crossings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

Node = TypeVar("Node", bound=Hashable)
ROUNDS = 4


class Place(NamedTuple):
    """A layer, from 0, and the place in it, from 0."""

    layer: int
    row: int


def layers(nodes: Sequence[Node], edges: Sequence[tuple[Node, Node]]) -> Mapping[Node, Place]:
    """Each node below all that point to it; rows ordered by the mean row of the neighbours."""
    depth = _depths(nodes, edges)
    rows: list[list[Node]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in nodes:
        rows[depth[node]].append(node)
    before = {node: [a for a, b in edges if b == node and a in depth] for node in nodes}
    after = {node: [b for a, b in edges if a == node and b in depth] for node in nodes}
    for turn in range(ROUNDS):
        near = before if turn % 2 == 0 else after
        for row in rows if turn % 2 == 0 else reversed(rows):
            place = {node: at for line in rows for at, node in enumerate(line)}
            row.sort(key=lambda node: _mean_row(near[node], place, place[node]))
    return {node: Place(at, row) for at, line in enumerate(rows) for row, node in enumerate(line)}


def _mean_row(near: Sequence[Node], place: Mapping[Node, int], own: int) -> float:
    return sum(place[node] for node in near) / len(near) if near else float(own)


def _depths(nodes: Sequence[Node], edges: Sequence[tuple[Node, Node]]) -> dict[Node, int]:
    """The longest way to each node; an edge that closes a circle counts for nothing."""
    depth = dict.fromkeys(nodes, 0)
    for _ in range(len(nodes)):
        changed = False
        for start, end in edges:
            if start in depth and end in depth and start != end:
                deeper = depth[start] + 1
                if depth[end] < deeper < len(nodes):
                    depth[end], changed = deeper, True
        if not changed:
            break
    return depth
