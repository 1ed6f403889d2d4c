"""Chooses the planned query of a sub-agent step: by plan progress, or like the public runner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from callscore.suites.orchestration.plan.model import WorkflowPlan
from callscore.suites.orchestration.scenario.model import CallsDue, Scenario
from callscore.suites.orchestration.scenario.public_label import is_plan
from callscore.suites.orchestration.yaml_text import PUBLIC_ERRORS, read_public

Binding = Literal["progress", "public"]
_OVER = frozenset({"completed", "cancelled"})


class PlannedQuery(NamedTuple):
    """A query that a plan has for an agent, and the step of that plan; 0 if it is not needed."""

    text: str
    planned_at: int = 0


def planned_queries(scenario: Scenario, binding: Binding) -> dict[int, PlannedQuery]:
    """Step id → the query for the sub-agent; no entry if no plan has one."""
    bind = _by_first_use if binding == "public" else _by_progress
    return {step_id: query for step_id, query in bind(scenario) if query.text}


class _AgentTurn(NamedTuple):
    """One step of the current plan, at its position in a workflow."""

    workflow: str
    place: int
    query: str
    is_open: bool


class PlanProgress:
    """The progress of the agents in the current plan."""

    def __init__(self) -> None:
        self._turns: dict[str, list[_AgentTurn]] = {}
        self._done: set[_AgentTurn] = set()
        self._waiting: dict[str, _AgentTurn] = {}
        self._last: dict[str, _AgentTurn] = {}

    def adopt(self, plan: WorkflowPlan) -> None:
        """Start a new plan; agents that wait for the user keep their turn."""
        self._turns, self._done = {}, set()
        for flow in plan.workflows:
            for index, step in enumerate(flow.steps):
                turn = _AgentTurn(flow.name, index, step.query, step.status not in _OVER)
                self._turns.setdefault(step.agent, []).append(turn)

    def has_agent(self, agent: str) -> bool:
        """Whether the current plan names this agent."""
        return agent in self._turns

    def next_query(self, agent: str, workflow: str) -> str:
        """The query of this agent's next turn; empty if the plan has none."""
        turn = self._turn_of(agent, workflow)
        if turn is None:
            self._last.pop(agent, None)
            return ""
        self._last[agent] = turn
        return turn.query

    def record_turn(self, agent: str, *, called: bool) -> None:
        """End the agent's turn if it called; a rejection does not end it        Q20"""
        turn = self._last.get(agent)
        if turn is None:
            return
        if called:
            self._done.add(turn)
            self._waiting.pop(agent, None)
        else:
            self._waiting[agent] = turn

    def _turn_of(self, agent: str, workflow: str) -> _AgentTurn | None:
        turns = self._turns.get(agent, [])
        left = [turn for turn in turns if turn.is_open and turn not in self._done]
        noted = [turn for turn in left if turn.workflow == workflow]
        if noted:
            return noted[0]
        waiting, last = self._waiting.get(agent), self._last.get(agent)
        if waiting in left:
            return waiting
        if left:
            return left[0]
        return last if last in turns else next(iter(turns), None)


def _by_progress(scenario: Scenario) -> Iterator[tuple[int, PlannedQuery]]:
    """The query of the next step of the current plan; later plans are ignored        Q20"""
    workflows = {raw.step_id: raw.workflow for raw in scenario.raw}
    progress = PlanProgress()
    plans, planned_at = list(scenario.plans), 0
    for step in scenario.agent_steps:
        while plans and plans[0].step_id < step.step_id:
            planned_at = plans[0].step_id
            progress.adopt(plans.pop(0).gold)
        text = progress.next_query(step.agent, workflows.get(step.step_id, ""))
        progress.record_turn(step.agent, called=isinstance(step.due, CallsDue))
        yield step.step_id, PlannedQuery(text, planned_at)


def _by_first_use(scenario: Scenario) -> Iterator[tuple[int, PlannedQuery]]:
    """The first unused query of the agent in all plans, later ones included

    As in the public runner (Q20): the last definition of a workflow wins, even for earlier steps.
    """
    merged: dict[str, list[tuple[str, str]]] = {}
    for step in scenario.raw:
        if is_plan(step):
            merged |= _public_workflows(step.content)
    left = [step for steps in merged.values() for step in steps]
    for due in scenario.raw:
        mine = next((step for step in left if step[0] == due.agent), None)
        if due.by_sub_agent and not is_plan(due) and mine is not None:
            left.remove(mine)
            yield due.step_id, PlannedQuery(mine[1])


def _public_workflows(content: str) -> dict[str, list[tuple[str, str]]]:
    """Agent and query of every step, by workflow; empty for a plan that is not YAML."""
    try:
        plan = read_public(content)
    except PUBLIC_ERRORS:
        return {}
    found = {}
    for name, flow in plan.items() if isinstance(plan, Mapping) else ():
        if isinstance(flow, Mapping) and "steps" in flow:
            steps = flow["steps"] if isinstance(flow["steps"], list) else []
            found[name] = [
                (step["name"], str(step["refined_query"]))
                for step in steps
                if isinstance(step, Mapping) and step.get("name") and step.get("refined_query")
            ]
    return found
