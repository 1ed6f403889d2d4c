"""A plan as a graph, drawn against another: what is missing is dashed, what is extra is thick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.report.markup import Html, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.report.svg.layers import Place, layers
from callscore.report.svg.picture import cut, frame, label, number

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, SIDE = 132.0, 30.0, 16.0, 26.0, 8.0
LEAST_WIDE = 2
"""A graph is drawn as if it had this many boxes next to each other, so that few are not huge."""
LONGEST_NAME = 19
MOST_NODES = 40


class Graph(msgspec.Struct, frozen=True):
    """Nodes by id with the text on each, and edges between ids."""

    nodes: Mapping[str, str]
    edges: Sequence[tuple[str, str]] = ()


def plan_graph(title: str, graph: Graph, other: Graph | None = None, mark: str = "") -> Html:
    """The picture; what `other` does not have is marked as `missing` or `extra`."""
    nodes = dict(list(graph.nodes.items())[:MOST_NODES])
    edges = [(a, b) for a, b in graph.edges if a in nodes and b in nodes]
    drawing = layers(list(nodes), edges)
    places = [*drawing.nodes.values(), *(place for way in drawing.ways.values() for place in way)]
    widest = max((place.row for place in places), default=0) + 1
    deepest = max((place.layer for place in places), default=0) + 1
    size = (
        2 * SIDE + max(LEAST_WIDE, widest) * (BOX_WIDTH + GAP_X) - GAP_X,
        2 * SIDE + deepest * BOX_HEIGHT + (deepest - 1) * GAP_Y,
    )
    odd_nodes = _odd_nodes(nodes, other)
    odd_edges = _odd_edges(graph, nodes, edges, other)
    left_out = len(graph.nodes) - len(nodes)
    return frame(
        size,
        title,
        _in_words(nodes, edges, left_out),
        [_edge(way, mark if edge in odd_edges else "") for edge, way in drawing.ways.items()],
        [
            _node(drawing.nodes[node], shown, mark if node in odd_nodes else "")
            for node, shown in nodes.items()
        ],
    )


def _odd_nodes(nodes: Mapping[str, str], other: Graph | None) -> set[str]:
    if other is None:
        return set()
    known = {shown.casefold() for shown in other.nodes.values()}
    return {node for node, shown in nodes.items() if shown.casefold() not in known}


def _odd_edges(
    graph: Graph, nodes: Mapping[str, str], edges: Sequence[tuple[str, str]], other: Graph | None
) -> set[tuple[str, str]]:
    """Edges between texts that the other graph does not join."""
    if other is None:
        return set()
    joined = {
        (other.nodes[a].casefold(), other.nodes[b].casefold())
        for a, b in other.edges
        if a in other.nodes and b in other.nodes
    }
    return {(a, b) for a, b in edges if (nodes[a].casefold(), nodes[b].casefold()) not in joined}


def _at(place: Place) -> tuple[float, float]:
    return (
        SIDE + place.row * (BOX_WIDTH + GAP_X),
        SIDE + place.layer * (BOX_HEIGHT + GAP_Y),
    )


def _node(place: Place, shown: str, mark: str) -> Html:
    x, y = _at(place)
    return tag(
        "g",
        tag("title", plain(shown, 200)),
        tag(
            "rect",
            x=number(x),
            y=number(y),
            width=number(BOX_WIDTH),
            height=number(BOX_HEIGHT),
            rx=6,
            class_=f"node {mark}".strip(),
        ),
        label(x + BOX_WIDTH / 2, y + 19, cut(plain(shown, 60), LONGEST_NAME), "small", "middle"),
    )


def _edge(way: Sequence[Place], mark: str) -> Html:
    """A line from node to node, straight through the layers between them."""
    points = [(x + BOX_WIDTH / 2, y) for x, y in map(_at, way)]
    (x, y), last = points[0], len(points) - 1
    y += BOX_HEIGHT
    drawn = f"M{number(x)} {number(y)}"
    for place, (next_x, next_y) in enumerate(points[1:], start=1):
        bend = max(12.0, (next_y - y) / 2)
        drawn += (
            f"C{number(x)} {number(y + bend)} {number(next_x)} {number(next_y - bend)} "
            f"{number(next_x)} {number(next_y)}"
        )
        x, y = next_x, next_y
        if place < last:
            y += BOX_HEIGHT
            drawn += f"V{number(y)}"
    return tag("path", d=f"{drawn}m-4 -6l4 6l4 -6", class_=f"edge {mark}".strip())


def _in_words(nodes: Mapping[str, str], edges: Sequence[tuple[str, str]], left_out: int) -> str:
    if not nodes:
        return "An empty plan."
    joined = [f"{plain(nodes[a], 40)} → {plain(nodes[b], 40)}" for a, b in edges[:20]]
    sentence = "; ".join(joined) or ", ".join(
        plain(shown, 40) for shown in list(nodes.values())[:20]
    )
    more = f" {show_count(left_out, 'more node')} not drawn." if left_out else ""
    return f"{sentence}.{more}"
