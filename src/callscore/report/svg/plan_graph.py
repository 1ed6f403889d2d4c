"""A plan as a graph, compared with another: extra and missing parts are marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.report.markup import Html, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.report.svg.graph_layout import GridPosition, lay_out_graph
from callscore.report.svg.picture import coordinate, frame, label, truncate

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, SIDE = 132.0, 30.0, 16.0, 26.0, 8.0
MIN_BOXES = 2
"""The minimum width of a picture in boxes, so that a small graph is not scaled up."""
MAX_NAME_LENGTH = 19
MAX_NODES = 40


class PlanGraph(msgspec.Struct, frozen=True):
    """Nodes by id with their texts, and edges between ids."""

    nodes: Mapping[str, str]
    edges: Sequence[tuple[str, str]] = ()


def draw_plan(title: str, graph: PlanGraph, other: PlanGraph | None = None, mark: str = "") -> Html:
    """Draw a plan; nodes and edges that `other` does not have get the class `mark`."""
    nodes = dict(list(graph.nodes.items())[:MAX_NODES])
    edges = [(a, b) for a, b in graph.edges if a in nodes and b in nodes]
    layout = lay_out_graph(list(nodes), edges)
    places = [
        *layout.nodes.values(),
        *(place for route in layout.routes.values() for place in route),
    ]
    widest = max((place.row for place in places), default=0) + 1
    deepest = max((place.layer for place in places), default=0) + 1
    size = (
        2 * SIDE + max(MIN_BOXES, widest) * (BOX_WIDTH + GAP_X) - GAP_X,
        2 * SIDE + deepest * BOX_HEIGHT + (deepest - 1) * GAP_Y,
    )
    odd_nodes = _unmatched_nodes(nodes, other)
    odd_edges = _unmatched_edges(graph, nodes, edges, other)
    left_out = len(graph.nodes) - len(nodes)
    return frame(
        size,
        title,
        _describe(nodes, edges, left_out),
        [_edge(route, mark if edge in odd_edges else "") for edge, route in layout.routes.items()],
        [
            _node(layout.nodes[node], text, mark if node in odd_nodes else "")
            for node, text in nodes.items()
        ],
    )


def _unmatched_nodes(nodes: Mapping[str, str], other: PlanGraph | None) -> set[str]:
    if other is None:
        return set()
    known = {text.casefold() for text in other.nodes.values()}
    return {node for node, text in nodes.items() if text.casefold() not in known}


def _unmatched_edges(
    graph: PlanGraph,
    nodes: Mapping[str, str],
    edges: Sequence[tuple[str, str]],
    other: PlanGraph | None,
) -> set[tuple[str, str]]:
    """Return the edges between texts that the other graph does not connect."""
    if other is None:
        return set()
    joined = {
        (other.nodes[a].casefold(), other.nodes[b].casefold())
        for a, b in other.edges
        if a in other.nodes and b in other.nodes
    }
    return {(a, b) for a, b in edges if (nodes[a].casefold(), nodes[b].casefold()) not in joined}


def _corner(place: GridPosition) -> tuple[float, float]:
    return (
        SIDE + place.row * (BOX_WIDTH + GAP_X),
        SIDE + place.layer * (BOX_HEIGHT + GAP_Y),
    )


def _node(place: GridPosition, text: str, mark: str) -> Html:
    x, y = _corner(place)
    return tag(
        "g",
        tag("title", plain(text, 200)),
        tag(
            "rect",
            x=coordinate(x),
            y=coordinate(y),
            width=coordinate(BOX_WIDTH),
            height=coordinate(BOX_HEIGHT),
            rx=6,
            class_=f"node {mark}".strip(),
        ),
        label(
            x + BOX_WIDTH / 2,
            y + 19,
            truncate(plain(text, 60), MAX_NAME_LENGTH),
            "small",
            "middle",
        ),
    )


def _edge(route: Sequence[GridPosition], mark: str) -> Html:
    """Draw a line between two nodes, through the layers between them."""
    points = [(x + BOX_WIDTH / 2, y) for x, y in map(_corner, route)]
    (x, y), last = points[0], len(points) - 1
    y += BOX_HEIGHT
    drawn = f"M{coordinate(x)} {coordinate(y)}"
    for place, (next_x, next_y) in enumerate(points[1:], start=1):
        bend = max(12.0, (next_y - y) / 2)
        drawn += (
            f"C{coordinate(x)} {coordinate(y + bend)} "
            f"{coordinate(next_x)} {coordinate(next_y - bend)} "
            f"{coordinate(next_x)} {coordinate(next_y)}"
        )
        x, y = next_x, next_y
        if place < last:
            y += BOX_HEIGHT
            drawn += f"V{coordinate(y)}"
    return tag("path", d=f"{drawn}m-4 -6l4 6l4 -6", class_=f"edge {mark}".strip())


def _describe(nodes: Mapping[str, str], edges: Sequence[tuple[str, str]], left_out: int) -> str:
    if not nodes:
        return "An empty plan."
    joined = [f"{plain(nodes[a], 40)} → {plain(nodes[b], 40)}" for a, b in edges[:20]]
    sentence = "; ".join(joined) or ", ".join(plain(text, 40) for text in list(nodes.values())[:20])
    more = f" {show_count(left_out, 'more node')} not drawn." if left_out else ""
    return f"{sentence}.{more}"
