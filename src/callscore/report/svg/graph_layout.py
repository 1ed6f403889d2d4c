"""Positions of the nodes of a small directed graph, in layers with few crossings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

ROUNDS = 4


class GridPosition(NamedTuple):
    """A layer, from 0, and the position in it, from 0."""

    layer: int
    row: int


class GraphLayout(NamedTuple):
    """The position of each node, and the positions that each edge passes through."""

    nodes: Mapping[str, GridPosition]
    routes: Mapping[tuple[str, str], Sequence[GridPosition]]


def lay_out_graph(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> GraphLayout:
    """Place each node below all its predecessors, and order each layer by the mean of its
    neighbours.

    An edge over several layers gets a position in each of them, so that it crosses no node.
    """
    depth = _depths(nodes, edges)
    chains = {edge: _chain(edge, depth) for edge in edges}
    for chain in chains.values():
        for step, node in enumerate(chain[1:-1], start=1):
            depth[node] = depth[chain[0]] + step
    links = [link for chain in chains.values() for link in zip(chain, chain[1:], strict=False)]
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node, layer in depth.items():
        rows[layer].append(node)
    _order(rows, links)
    placed = {
        node: GridPosition(at, row) for at, line in enumerate(rows) for row, node in enumerate(line)
    }
    routes = {edge: [placed[node] for node in chain] for edge, chain in chains.items()}
    return GraphLayout({node: placed[node] for node in nodes}, routes)


def _chain(edge: tuple[str, str], depth: Mapping[str, int]) -> list[str]:
    """Return the edge as a chain with one placeholder per layer between its ends."""
    start, end = edge
    between = range(depth[start] + 1, depth[end])
    return [start, *(f"{start}\x00{end}\x00{layer}" for layer in between), end]


def _order(rows: Sequence[list[str]], links: Sequence[tuple[str, str]]) -> None:
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for start, end in links:
        before.setdefault(end, []).append(start)
        after.setdefault(start, []).append(end)
    for turn in range(ROUNDS):
        near = before if turn % 2 == 0 else after
        for row in rows if turn % 2 == 0 else reversed(rows):
            place = {node: at for line in rows for at, node in enumerate(line)}
            mean = {node: _mean_row(near.get(node, ()), place, place[node]) for node in row}
            row.sort(key=mean.__getitem__)


def _mean_row(near: Sequence[str], place: Mapping[str, int], own: int) -> float:
    return sum(place[node] for node in near) / len(near) if near else float(own)


def _depths(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the longest path to each node; edges that close a cycle are ignored."""
    depth = dict.fromkeys(nodes, 0)
    for _ in range(len(nodes)):
        changed = False
        for start, end in edges:
            deeper = depth[start] + 1
            if start != end and depth[end] < deeper < len(nodes):
                depth[end], changed = deeper, True
        if not changed:
            break
    return depth
