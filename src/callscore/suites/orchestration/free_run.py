"""Free runs (`history: own`): scenarios that continue with the model's own plans and calls.

The messages of the user, the replies to the user and the order of agents follow the script. Plans
are those of the model: if the gold plan names an agent and the model's plan does not, the step of
that agent is not reached. A tool returns the recorded result if the call matches the expected one,
else `NO_RESULT`. Free runs never affect the teacher-forced score.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from callscore.core.case import Malformed, Message, Reply
from callscore.core.scenarios import StoredReplies
from callscore.suites.orchestration.call.measures import Tools, measure_calls
from callscore.suites.orchestration.call.schema import SCHEMA_VIOLATION
from callscore.suites.orchestration.decision.parse import ToolCalls, read_prediction
from callscore.suites.orchestration.plan.lenient_json import strip_think_block
from callscore.suites.orchestration.plan.parse import read_plan
from callscore.suites.orchestration.replies import ScenarioReplies, StepReply, to_recorded_reply
from callscore.suites.orchestration.scenario.cards import Cards
from callscore.suites.orchestration.scenario.cases import (
    HistoryMessage,
    StepCase,
    StepCaseBuilder,
    conversation,
    tool_result,
)
from callscore.suites.orchestration.scenario.data import ScenarioSet
from callscore.suites.orchestration.scenario.model import (
    AgentStep,
    CallsDue,
    PlanStep,
    Scenario,
)
from callscore.suites.orchestration.scenario.output_file import (
    RecordedReply,
    RecordedRun,
    ScenarioRecording,
)
from callscore.suites.orchestration.scenario.protocol import PromptProtocol
from callscore.suites.orchestration.scenario.queries import PlannedQuery, PlanProgress
from callscore.suites.orchestration.step_record import StepRecord

NO_RESULT = "NO_RECORDED_RESULT"
NO_ERROR = ("undecided_value", SCHEMA_VIOLATION)
"""Differences that do not make a call wrong, as far as code can decide."""


class FreeRun:
    """One run of one scenario; `next_step` is the step to request, None at the end."""

    def __init__(self, scenario: Scenario, cards: Cards, protocol: PromptProtocol) -> None:
        self._scenario = scenario
        self._cards = cards
        self._builder = StepCaseBuilder(scenario, cards, protocol)
        self.asking_back = protocol.asking_back
        self._due: dict[int, PlanStep | AgentStep] = {p.step_id: p for p in scenario.plans}
        self._due |= {step.step_id: step for step in scenario.agent_steps if step.has_card}
        self._left = iter(scenario.raw)
        self._history: list[HistoryMessage] = []
        self._progress = PlanProgress()
        self._planned_at = 0
        self._expected: frozenset[str] = frozenset()
        """Agents of the current gold plan; other agents may act too."""
        self._plans: dict[int, RecordedReply] = {}
        self._steps: dict[int, RecordedReply] = {}
        self.not_reached: list[int] = []
        """Steps of agents that the model's plan does not name."""
        self.next_step: StepCase | None = self._next()

    def add_reply(self, reply: RecordedReply) -> None:
        """Add the reply to `next_step`, and continue with the step after it."""
        case = self.next_step
        assert case is not None
        if isinstance(case.step, PlanStep):
            workflows = case.step.gold.workflows
            self._expected = frozenset(step.agent for flow in workflows for step in flow.steps)
            self._plans[case.step_id] = reply
            self._adopt_plan(case.step_id, reply)
        elif isinstance(case.step, AgentStep):
            self._steps[case.step_id] = reply
            self._add_tool_result(case.step, reply)
        self.next_step = self._next()

    def run(self, number: int) -> RecordedRun:
        """The replies as a recorded run; steps that were not reached have none."""
        return RecordedRun(number, self._plans, self._steps)

    def _next(self) -> StepCase | None:
        """The next step to request; scripted messages before it are added to the history."""
        for raw in self._left:
            due = self._due.get(raw.step_id)
            if isinstance(due, PlanStep):
                history = [each.message for each in self._history]
                return self._builder.plan(raw.step_id, history, due)
            if due is None:
                self._history += conversation([raw])
            elif due.agent in self._expected and not self._progress.has_agent(due.agent):
                self.not_reached.append(raw.step_id)
            else:
                text = self._progress.next_query(due.agent, raw.workflow)
                query = PlannedQuery(text, self._planned_at) if text else None
                return self._builder.agent(due.agent, raw.step_id, self._history, query, due)
        return None

    def _adopt_plan(self, step_id: int, reply: RecordedReply) -> None:
        """Adopt the model's own plan if it can be parsed; else the previous plan stays current."""
        text = strip_think_block(reply.content) if isinstance(reply.content, str) else ""
        if text.strip():
            self._history.append(HistoryMessage(step_id, Message("assistant", text)))
        plan = read_plan(text)
        if not isinstance(plan, Malformed):
            self._progress.adopt(plan)
            self._planned_at = step_id

    def _add_tool_result(self, step: AgentStep, reply: RecordedReply) -> None:
        """Add the result of the calls to the history; after a rejection the script continues."""
        prediction = read_prediction(reply)
        self._progress.record_turn(step.agent, called=isinstance(prediction, ToolCalls))
        if not isinstance(prediction, ToolCalls):
            return
        if matches(prediction, step, self._cards.tools_of(step.agent)):
            raw = next(raw for raw in self._scenario.raw if raw.step_id == step.step_id)
            result: Any = tool_result(raw.content)
        else:
            result = no_result(prediction)
        text = json.dumps(result, ensure_ascii=False)
        self._history.append(HistoryMessage(step.step_id, Message("assistant", text)))


def matches(prediction: ToolCalls, step: AgentStep, tools: Tools) -> bool:
    """Whether the calls are the expected ones, as far as code can decide."""
    due = step.due
    if not isinstance(due, CallsDue) or prediction.malformed:
        return False
    if not due.readable:
        return {call.name for call in prediction.calls} == {due.tool}
    score = measure_calls(prediction.calls, due.calls, (), tools, lambda question: None)
    return all(difference.kind in NO_ERROR for difference in score.differences)


def no_result(prediction: ToolCalls) -> dict[str, Any]:
    """The result of calls that the script does not have."""
    names = ", ".join(dict.fromkeys(call.name for call in prediction.calls))
    return {"error": NO_RESULT, "tool": names, "message": "Nothing is recorded for this call."}


def is_right(record: StepRecord) -> bool:
    """Whether code finds no error in the step; undecided values are no error."""
    return record.success or (
        bool(record.differences)
        and all(difference.kind in NO_ERROR for difference in record.differences)
    )


def own_case_id(case_id: str) -> str:
    """The id under which the reply to a step in a free run is stored."""
    return f"{case_id}/own"


class FreeReplies(msgspec.Struct, frozen=True):
    """The replies of a model to one scenario with its own history."""

    replies: ScenarioReplies
    recording: ScenarioRecording
    not_reached: int
    """Number of steps, over all runs, that the model's plans do not reach."""


def free_replies(
    scenario_set: ScenarioSet, scenario: Scenario, model: str, repeats: int, stored: StoredReplies
) -> FreeReplies | str:
    """The stored free runs of a scenario; or why they are incomplete."""
    steps: list[StepReply] = []
    runs, not_reached = [], 0
    for number in range(1, repeats + 1):
        free = FreeRun(scenario, scenario_set.cards, scenario_set.protocol)
        steps += _walk(free, model, number, stored)
        if free.next_step is not None:
            return _failure_text(steps[-1])
        runs.append(free.run(number))
        not_reached += len(free.not_reached)
    asking_back = scenario_set.protocol.asking_back
    replies = ScenarioReplies(scenario, model, repeats, steps, asking_back)
    recording = ScenarioRecording(scenario.id, tuple(runs), (scenario.raw,) * repeats, model)
    return FreeReplies(replies, recording, not_reached)


def _walk(free: FreeRun, model: str, run: int, stored: StoredReplies) -> Iterator[StepReply]:
    """The steps of one run up to its end, or to the first step without a reply."""
    while (case := free.next_step) is not None:
        found = stored(model, own_case_id(case.id)).get(run)
        yield StepReply(case, run, found)
        if not isinstance(found, Reply):
            return
        free.add_reply(to_recorded_reply(found, free.asking_back))


def _failure_text(step: StepReply) -> str:
    return f"{step.case.id}, run {step.run}: {to_recorded_reply(step.reply).error}"
