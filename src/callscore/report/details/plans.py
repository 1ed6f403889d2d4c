"""Extracts plans as graphs: nodes with edges, or workflows with steps and dependencies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from callscore.report.details.decoded_case import as_mapping, as_objects
from callscore.report.svg.plan_graph import PlanGraph

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
