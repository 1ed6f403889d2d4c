"""Compares a graph of sub-tasks with its gold graph: nodes are matched by words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from callscore.core.case import Malformed
from callscore.metrics.classification import f1_or_one, multiset_counts
from callscore.metrics.graphs import Graph, edit_distance, similarity
from callscore.metrics.graphs.assignment import Assignment
from callscore.suites.orchestration.spec import spec

_WORD = re.compile(r"\w+")
_ENDS = ("START", "END")
_FINENESS = 1_000_000


class SubTasks(NamedTuple):
    """A graph of sub-tasks: texts by node id, and edges between ids."""

    texts: Mapping[str, str]
    edges: frozenset[tuple[str, str]]


class GraphScore(NamedTuple):
    """The scores of a predicted graph; `lexical` if a match depends on shared words."""

    similarity: float
    node_f1: float
    edge_f1: float
    exact: bool
    lexical: bool


def read_graph(value: Mapping[str, Any]) -> SubTasks | Malformed:
    """`{nodes: [{id, text} | text], edges: [[from, to]]}`; START and END always exist."""
    nodes, edges = value.get("nodes"), value.get("edges")
    if not isinstance(nodes, list) or not isinstance(edges, list):
        return Malformed("structure", 'expected {"nodes": […], "edges": […]}')
    texts: dict[str, str] = {}
    for place, node in enumerate(nodes, 1):
        name, text = (
            (node.get("id", place), node.get("text")) if isinstance(node, dict) else (place, node)
        )
        if not isinstance(text, str) or not isinstance(name, int | str) or str(name) in texts:
            return Malformed("structure", f"nodes[{place - 1}]: expected an own id and a text")
        texts[str(name)] = text
    if not all(_is_edge(edge, texts) for edge in edges):
        return Malformed("structure", "edges: expected pairs of node ids, START or END")
    return SubTasks(texts, frozenset((str(a), str(b)) for a, b in edges))


def _is_edge(edge: Any, texts: Mapping[str, str]) -> bool:
    return (
        isinstance(edge, list)
        and len(edge) == 2
        and all(isinstance(end, int | str) and (str(end) in texts or end in _ENDS) for end in edge)
    )


def measure_graph(predicted: SubTasks, gold: SubTasks) -> GraphScore:
    """Node F1, edge F1 over matched nodes, 1 - GED / (|V1|+|E1|+|V2|+|E2|)        C-117"""
    partners = _partners(predicted.texts, gold.texts)
    renamed = {**{name: f"?{name}" for name in predicted.texts}, **partners}
    edges = [(renamed.get(a, a), renamed.get(b, b)) for a, b in predicted.edges]
    node_f1 = f1_or_one(multiset_counts(gold.texts, [renamed[name] for name in predicted.texts]))
    edge_f1 = f1_or_one(multiset_counts(gold.edges, edges))
    first = _build_graph([renamed[name] for name in predicted.texts], edges)
    second = _build_graph(list(gold.texts), gold.edges)
    found = edit_distance(first, second, _unequal, budget=spec().plan.budget)
    return GraphScore(
        similarity=similarity(found.cost, first, second),
        node_f1=node_f1,
        edge_f1=edge_f1,
        exact=node_f1 == edge_f1 == 1.0,
        lexical=not found.exact
        or any(
            _fold_words(predicted.texts[p]) != _fold_words(gold.texts[g])
            for p, g in partners.items()
        ),
    )


def _unequal(first: object, second: object) -> float:
    return float(first != second)


def _build_graph(names: Sequence[str], edges: Any) -> Graph:
    """The graph without START and END, which every graph has."""
    number = {name: place for place, name in enumerate(names)}
    inside = [(number[a], number[b]) for a, b in edges if a in number and b in number]
    return Graph(tuple(names), frozenset(inside))


def _fold_words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _partners(predicted: Mapping[str, str], gold: Mapping[str, str]) -> dict[str, str]:
    """Predicted id → gold id: the assignment with the most shared words, similar pairs only."""
    mine, theirs = list(predicted), list(gold)
    size = max(len(mine), len(theirs))
    shares = [
        [_shared_words(predicted[a], gold[b]) for b in theirs] + [0.0] * (size - len(theirs))
        for a in mine
    ] + [[0.0] * size for _ in range(size - len(mine))]
    if not size:
        return {}
    assignment = Assignment([[int(share * _FINENESS) for share in row] for row in shares])
    assignment.settle(0)
    chosen = {name: assignment.column_of[place] for place, name in enumerate(mine)}
    return {
        name: theirs[column]
        for place, (name, column) in enumerate(chosen.items())
        if column < len(theirs) and shares[place][column] >= spec().single_turn.same_node
    }


def _shared_words(first: str, second: str) -> float:
    """|A ∩ B| / |A ∪ B| of the words; texts without any word must be equal"""
    a, b = set(_WORD.findall(first.casefold())), set(_WORD.findall(second.casefold()))
    if not a and not b:
        return float(first == second)
    return len(a & b) / len(a | b)
