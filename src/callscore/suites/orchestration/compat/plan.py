"""Scores plans like the public evaluator, quirks included        C-128

Values stay as they were decoded: a value of a wrong type must have the same effect as in the
public code, an error that drops the whole run (Q5).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from callscore.metrics.graphs import Graph, Substitution, similarity, size
from callscore.suites.orchestration.compat.edit_cost import TOLERANCE, has_loop, public_cost
from callscore.suites.orchestration.compat.plan_text import extract_plan
from callscore.suites.orchestration.plan.measures import (
    PlanSimilarity,
    component_cost,
    component_similarity,
    free_cost,
    structural_similarity,
)
from callscore.suites.orchestration.spec import spec

CRASHES = (TypeError, AttributeError, KeyError, ValueError, IndexError, RecursionError)
"""Errors of the public code that end a run (plans) or a file (calls)."""


class PublicSimilarity(NamedTuple):
    """The similarity of the public evaluator, the exact one, and whether a search was cut off."""

    public: float
    exact: float
    approximate: bool = False


class PlanStepScore(NamedTuple):
    """Both similarities of one gold plan step; both are 0 without a prediction."""

    structural: PublicSimilarity
    component: PublicSimilarity


NO_PREDICTION = PlanStepScore(PublicSimilarity(0.0, 0.0), PublicSimilarity(0.0, 0.0))


class PlanRun(NamedTuple):
    """The plan scores of one run of a scenario."""

    steps: tuple[PlanStepScore, ...] = ()
    failures: int = 0


def score_runs(data: Any) -> list[PlanRun] | str:
    """The runs `run #1` … `run #n`, without those on which the public code fails.

    Returns the error that the public code reports if the history cannot be read at all.
    """
    try:
        history = data.get("history", {})
        return _score_runs(history, len(history))
    except CRASHES as error:
        return str(error)


def _score_runs(history: Any, number_of_runs: int) -> list[PlanRun]:
    runs = []
    for number in range(1, number_of_runs + 1):
        try:
            runs.append(_score_run(history[f"run #{number}"]))
        except CRASHES:
            continue
    return runs


def _score_run(run: Mapping[str, Any]) -> PlanRun:
    """The scores of every gold step; an unreadable reply counts as two failures (Q2)        §4.2"""
    predicted, failures = _predicted_plans(run.get("main_agent_history", []))
    gold = _gold_plans(run.get("label", {}))
    steps = []
    for step_id in sorted(gold):
        plan = predicted.get(step_id)
        if plan is None:
            failures += 1
            steps.append(NO_PREDICTION)
        else:
            steps.append(_compare_plans(plan, gold[step_id]))
    return PlanRun(tuple(steps), failures)


def _predicted_plans(
    entries: Iterable[Mapping[str, Any]],
) -> tuple[dict[Any, Mapping[Any, Any]], int]:
    """The plans by step, and the number of entries without one."""
    plans: dict[Any, Mapping[Any, Any]] = {}
    failures = 0
    for entry in entries:
        step_id = entry.get("step_id")
        if step_id is None:
            continue
        content = entry.get("content")
        plan = extract_plan(content) if content is not None else {}
        if plan:
            plans[step_id] = plan
        else:
            failures += 1
    return plans, failures


def _gold_plans(label: Mapping[str, Any]) -> dict[int, Mapping[Any, Any]]:
    plans = {}
    for key, entry in label.items():
        try:
            step_id = int(key)
            content = entry.get("content", "")
            plan = (
                extract_plan(content) if isinstance(content, str) and "workflow_" in content else {}
            )
        except (ValueError, TypeError):
            continue
        if plan:
            plans[step_id] = plan
    return plans


def _compare_plans(predicted: Mapping[Any, Any], gold: Mapping[Any, Any]) -> PlanStepScore:
    plans = [
        {key: workflow for key, workflow in plan.items() if "workflow" in key}
        for plan in (predicted, gold)
    ]
    workflows = [structural_graph(plan) for plan in plans]
    structural = _public_similarity(workflows, structural_similarity(*workflows), free_cost)
    agents = [component_graph(plan) for plan in plans]
    return PlanStepScore(
        structural, _public_similarity(agents, component_similarity(*agents), component_cost)
    )


def _public_similarity(
    graphs: Sequence[Graph], exact: PlanSimilarity, cost: Substitution
) -> PublicSimilarity:
    """1 - cost / max_cost with the cost that the public graph library finds        §4.4, Q6"""
    first, second = graphs
    value = exact.similarity
    if value == 1.0 or not (has_loop(first) or has_loop(second)):
        return PublicSimilarity(value, value, not exact.exact)
    exact_cost = (1 - value) * (size(first) + size(second))
    search = public_cost(first, second, cost, exact_cost, spec().compat.loop_budget)
    is_cheaper = search.cost < exact_cost - TOLERANCE
    public = similarity(search.cost, first, second) if is_cheaper else value
    return PublicSimilarity(public, value, not (exact.exact and search.complete))


class _GraphBuilder:
    """A graph under construction: nodes are numbered in order of appearance."""

    def __init__(self) -> None:
        self.nodes: dict[Hashable, int] = {}
        self.edges: set[tuple[int, int]] = set()

    def node(self, label: Hashable) -> int:
        if label is None:
            raise ValueError("the public graph library refuses None as a node")
        return self.nodes.setdefault(label, len(self.nodes))

    def edge(self, source: Hashable, target: Hashable) -> None:
        self.edges.add((self.node(source), self.node(target)))

    def graph(self) -> Graph:
        return Graph(tuple(self.nodes), frozenset(self.edges))


def structural_graph(plan: Mapping[Any, Any]) -> Graph:
    """Workflows, and an edge for each element of `depends_on` (Q1, Q9)        §4.3"""
    builder = _GraphBuilder()
    for workflow, attributes in plan.items():
        builder.node(workflow)
        for dependency in attributes.get("depends_on", []) or []:
            builder.edge(dependency, workflow)
    return builder.graph()


def component_graph(plan: Mapping[Any, Any]) -> Graph:
    """Distinct (agent, status) pairs; steps in sequence, and last → first over dependencies §4.3"""
    builder = _GraphBuilder()
    sequences = {
        name: _agent_status_pairs(attributes.get("steps")) for name, attributes in plan.items()
    }
    for pairs in sequences.values():
        for pair in pairs:
            builder.node(pair)
    for pairs in sequences.values():
        for before, after in zip(pairs, pairs[1:], strict=False):
            if before != after:
                builder.edge(before, after)
    for name, attributes in plan.items():
        if not sequences[name]:
            continue
        for dependency in _dependencies(attributes):
            pairs = sequences.get(dependency, [])
            if pairs:
                builder.edge(pairs[-1], sequences[name][0])
    return builder.graph()


def _agent_status_pairs(steps: Any) -> list[tuple[Hashable, Hashable]]:
    pairs = []
    for step in steps or []:
        agent = step.get("agent_id") or step.get("name")
        status = step.get("status", "UNK")
        if agent:
            pairs.append((agent, status))
    return pairs


def _dependencies(attributes: Mapping[str, Any]) -> Iterable[Any]:
    """The workflows in `depends_on`, else those in `depend_on`."""
    plural = attributes.get("depends_on", []) or []
    if plural:
        return plural
    singular = attributes.get("depend_on")
    if not singular:
        return ()
    return [singular] if isinstance(singular, str) else singular
