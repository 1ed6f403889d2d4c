"""Which planned query a sub-agent step is about: by workflow progress, or as the public runner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from callscore.suites.orchestration.plan.values import Plan
from callscore.suites.orchestration.scenario.values import AgentStep, CallsDue, Scenario

Binding = Literal["progress", "public"]
_OVER = frozenset({"completed", "cancelled"})


def bound_queries(scenario: Scenario, binding: Binding) -> dict[int, str]:
    """Step id → the refined query that the sub-agent is given; absent where no plan has one."""
    bind = _by_first_use if binding == "public" else _by_progress
    return {step_id: query for step_id, query in bind(scenario) if query}


class _Turn(NamedTuple):
    """One step of the plan then valid, by its place in it."""

    workflow: str
    place: int
    query: str
    is_open: bool


class _Progress:
    """How far the agents have come with the plan then valid."""

    def __init__(self) -> None:
        self._turns: dict[str, list[_Turn]] = {}
        self._done: set[_Turn] = set()
        self._waiting: dict[str, _Turn] = {}
        self._last: dict[str, _Turn] = {}

    def adopt(self, plan: Plan) -> None:
        """A new plan: it says itself what is over, so only who waits for the user is kept."""
        self._turns, self._done = {}, set()
        for flow in plan.workflows:
            for index, step in enumerate(flow.steps):
                turn = _Turn(flow.name, index, step.query, step.status not in _OVER)
                self._turns.setdefault(step.agent, []).append(turn)

    def take(self, step: AgentStep, workflow: str) -> str:
        """The query of this agent's turn; a rejection does not end the turn        Q20"""
        turn = self._turn_of(step.agent, workflow)
        if turn is None:
            return ""
        self._last[step.agent] = turn
        if isinstance(step.due, CallsDue):
            self._done.add(turn)
            self._waiting.pop(step.agent, None)
        else:
            self._waiting[step.agent] = turn
        return turn.query

    def _turn_of(self, agent: str, workflow: str) -> _Turn | None:
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


def _by_progress(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """The step of the plan then valid whose turn it is; later plans are not looked at   Q20"""
    workflows = {raw.step_id: raw.workflow for raw in scenario.raw}
    progress = _Progress()
    plans = list(scenario.plans)
    for step in scenario.agent_steps:
        while plans and plans[0].step_id < step.step_id:
            progress.adopt(plans.pop(0).gold)
        yield step.step_id, progress.take(step, workflows.get(step.step_id, ""))


def _by_first_use(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """The first query of this agent not yet given out, of all plans merged, later ones included

    ORCHESTRATIONBENCH.md §2: the last definition of a workflow wins, even for earlier steps.
    """
    merged = {
        flow.name: [(step.agent, step.query) for step in flow.steps if step.query]
        for plan in scenario.plans
        for flow in plan.gold.workflows
    }
    left = [step for steps in merged.values() for step in steps]
    for due in scenario.agent_steps:
        mine = next((step for step in left if step[0] == due.agent), None)
        if mine is not None:
            left.remove(mine)
            yield due.step_id, mine[1]
