"""Compares a predicted plan with its gold plan: the similarities of document 001, and F1."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import msgspec

from callscore.metrics.graphs import has_cycle
from callscore.suites.orchestration.multiset_f1 import f1_or_one, multiset_counts
from callscore.suites.orchestration.plan.graphs import (
    component_graph,
    consecutive_steps,
    dangling_dependencies,
    structural_graph,
)
from callscore.suites.orchestration.plan.model import WorkflowPlan
from callscore.suites.orchestration.plan.similarity import (
    PlanSimilarity,
    component_similarity,
    step_score,
    structural_similarity,
)


class PlanScore(msgspec.Struct, frozen=True):
    """All measures of one plan step."""

    structural: PlanSimilarity
    component: PlanSimilarity
    node_f1: float
    edge_f1: float
    flags: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """Mean of both similarities        C-118"""
        return step_score(self.structural.similarity, self.component.similarity)

    @property
    def is_right(self) -> bool:
        """Whether both similarities are 1: the order of independent workflows is free    C-141"""
        return self.structural.similarity == self.component.similarity == 1.0

    @property
    def exact_plan(self) -> bool:
        """Whether nothing differs, including repeated steps        extension of C-117"""
        return self.is_right and self.node_f1 == self.edge_f1 == 1.0

    @property
    def approximate(self) -> bool:
        """Whether a search ran out of budget        C-117"""
        return not (self.structural.exact and self.component.exact)


def measure_plan(predicted: WorkflowPlan, gold: WorkflowPlan) -> PlanScore:
    """Structural and component similarity        C-117; node F1, edge F1, flags (extensions)"""
    graph = structural_graph(predicted)
    flags = []
    if has_cycle(graph):
        flags.append("cycle")
    if dangling_dependencies(predicted):
        flags.append("dangling_dependency")
    return PlanScore(
        structural=structural_similarity(graph, structural_graph(gold)),
        component=component_similarity(component_graph(predicted), component_graph(gold)),
        node_f1=f1_or_one(multiset_counts(_nodes(gold), _nodes(predicted))),
        edge_f1=f1_or_one(multiset_counts(_edges(gold), _edges(predicted))),
        flags=tuple(flags),
    )


def _nodes(plan: WorkflowPlan) -> Iterator[Hashable]:
    """Agent steps by (agent, status), repeated ones counted (Q8)"""
    return (step.pair for workflow in plan.workflows for step in workflow.steps)


def _edges(plan: WorkflowPlan) -> Iterator[Hashable]:
    return ((a.pair, b.pair) for a, b in consecutive_steps(plan, keep_equal=True))
