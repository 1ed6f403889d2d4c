"""A plan as a graph: extracted, laid out in layers, drawn, compared with another plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.report.details.decoded_case import as_mapping, as_objects
from callscore.report.markup import Html, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.report.svg.picture import coordinate, frame, label, truncate

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


NODE_TEXT_KEYS = ("text", "name", "label", "refined_query", "agent")
STEP_NAME_KEYS = ("name", "agent_id", "agent")
"""Keys for the name of a step. Its query is not used: the same step may be phrased differently."""
MAX_TEXT_LENGTH = 200


def extract_plan(outcome: Mapping[str, Any] | None) -> PlanGraph | None:
    """Return the plan in an expected outcome or a reply; None if there is none."""
    outcome_object = as_mapping(outcome)
    if isinstance(outcome_object.get("nodes"), (list, dict)):
        return _graph(outcome_object)
    planned = as_mapping(outcome_object.get("plan")) or outcome_object
    workflows = {key: value for key, value in planned.items() if _is_workflow(value)}
    return _workflow_graph(workflows) if workflows else None


def _graph(outcome: Mapping[str, Any]) -> PlanGraph:
    nodes: dict[str, str] = {}
    raw = outcome["nodes"]
    entries = raw.values() if isinstance(raw, dict) else raw
    for number, entry in enumerate(entries, start=1):
        if isinstance(entry, dict):
            key = str(entry.get("id", number))
            nodes[key] = next((str(entry[name]) for name in NODE_TEXT_KEYS if entry.get(name)), key)
        else:
            nodes[str(entry)] = str(entry)
    edges = []
    for edge in outcome.get("edges") or ():
        ends = _edge_ends(edge)
        if ends is not None:
            edges.append(ends)
    for end in dict.fromkeys(end for edge in edges for end in edge):
        nodes.setdefault(end, end)
    return PlanGraph({key: text[:MAX_TEXT_LENGTH] for key, text in nodes.items()}, edges)


def _edge_ends(edge: Any) -> tuple[str, str] | None:
    if isinstance(edge, (list, tuple)) and len(edge) == 2:
        return str(edge[0]), str(edge[1])
    if isinstance(edge, dict):
        start = edge.get("from", edge.get("source"))
        end = edge.get("to", edge.get("target"))
        return None if start is None or end is None else (str(start), str(end))
    return None


def _is_workflow(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("steps"), list)


def _make_unique(name: str, others: Collection[str]) -> str:
    """Return the name, numbered if other steps have it, so that each can be reported missing."""
    same = sum(other == name or other.startswith(f"{name} (") for other in others)
    return f"{name} ({same + 1})" if same else name


def _workflow_graph(workflows: Mapping[str, Any]) -> PlanGraph:
    """Return one node per step, connected in order; a first step depends on other workflows."""
    nodes: dict[str, str] = {}
    edges: list[tuple[str, str]] = []
    steps: dict[str, list[str]] = {}
    for name, workflow in workflows.items():
        steps[name] = []
        for number, step in enumerate(as_objects(workflow["steps"]), start=1):
            key = f"{name}/{number}"
            called = next((str(step[each]) for each in STEP_NAME_KEYS if step.get(each)), key)
            nodes[key] = _make_unique(called[:MAX_TEXT_LENGTH], nodes.values())
            steps[name].append(key)
        edges += zip(steps[name], steps[name][1:], strict=False)
    for name, workflow in workflows.items():
        needed = workflow.get("depends_on") or workflow.get("depend_on") or ()
        for other in [needed] if isinstance(needed, str) else needed:
            if steps.get(name) and steps.get(str(other)):
                edges.append((steps[str(other)][-1], steps[name][0]))
    return PlanGraph(nodes, edges)
