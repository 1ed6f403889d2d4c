"""Similarity of two plans: 1 - cost / (|V1|+|E1|+|V2|+|E2|) on two graphs        001, C-117"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, cast

from callscore.metrics.graphs import Graph, Substitution, edit_distance, similarity
from callscore.suites.orchestration.spec import spec


class PlanSimilarity(NamedTuple):
    """A similarity; if the search ran out of budget, the exact one is in [low, high]."""

    similarity: float
    low: float
    high: float
    exact: bool


IDENTICAL = PlanSimilarity(1.0, 1.0, 1.0, exact=True)


def structural_similarity(first: Graph, second: Graph) -> PlanSimilarity:
    """Workflows and dependencies without labels: substitution is free        C-117"""
    bare = [Graph((0,) * len(graph.labels), graph.edges) for graph in (first, second)]
    return _similarity_of(bare[0], bare[1], free_cost)


def component_similarity(first: Graph, second: Graph) -> PlanSimilarity:
    """(agent, status) pairs; 0.8 if only the agent differs, 0.2 if only the status   C-117"""
    return _similarity_of(first, second, component_cost)


def free_cost(_first: Hashable, _second: Hashable) -> float:
    """0: workflows differ only by their edges        C-117"""
    return 0.0


def component_cost(first: Hashable, second: Hashable) -> float:
    """0 if equal, 1 if both differ, else the weight of what differs        C-117"""
    if first == second:
        return 0.0
    weights = spec().plan
    agent, status = cast(tuple[Hashable, Hashable], first)
    other_agent, other_status = cast(tuple[Hashable, Hashable], second)
    if agent == other_agent:
        return weights.status_changed
    return weights.agent_changed if status == other_status else weights.both_changed


def _similarity_of(first: Graph, second: Graph, substitution: Substitution) -> PlanSimilarity:
    if first == second:
        return IDENTICAL
    found = edit_distance(first, second, substitution, budget=spec().plan.budget)
    return PlanSimilarity(
        similarity(found.cost, first, second),
        similarity(found.high, first, second),
        similarity(found.low, first, second),
        found.exact,
    )


def step_score(structural: float, component: float) -> float:
    """0.5 · structural + 0.5 · component        C-118"""
    weights = spec().plan
    return weights.structural_weight * structural + weights.component_weight * component
