"""Steps of scenarios as cases with prompts; the history is the gold one (§2, teacher-forced)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case, Message, Prompt, Turn
from callscore.core.task import SCENARIO
from callscore.suites.orchestration.scenario.annotation import rejection_message
from callscore.suites.orchestration.scenario.cards import Card, Cards
from callscore.suites.orchestration.scenario.model import (
    AgentStep,
    CallsDue,
    PlanStep,
    RawStep,
    Scenario,
    case_id,
    gold_reply,
)
from callscore.suites.orchestration.scenario.protocol import PromptProtocol, bundled_protocol
from callscore.suites.orchestration.scenario.public_label import history_before, is_plan, label_of
from callscore.suites.orchestration.scenario.queries import PlannedQuery, planned_queries
from callscore.suites.orchestration.yaml_text import YamlFault, read_strict

_RESULT = re.compile(r"^tool_call_result:", re.MULTILINE)


class StepCase(msgspec.Struct, frozen=True):
    """One step of one scenario, ready to be requested.

    `step` is the expected step; None if its annotation cannot be parsed and the public protocol
    requests it nevertheless (Q46).
    """

    id: str
    step_id: int
    agent: str
    prompt: Prompt
    call_id: str
    step: PlanStep | AgentStep | None = None

    @property
    def is_plan(self) -> bool:
        """Whether the step is one of the planner."""
        return self.agent == "main"


class HistoryMessage(NamedTuple):
    """One message of the history, and its step."""

    step_id: int
    message: Message


def step_cases(
    scenario: Scenario, cards: Cards, protocol: PromptProtocol | None = None
) -> list[StepCase]:
    """Every step that is requested from a model, with the gold history before it        C-133

    The default protocol is that of Callscore: every step with readable gold, the query chosen by
    the progress of the current plan, and no query after a later message of the user.
    """
    protocol = protocol or bundled_protocol("callscore")
    if protocol.is_public:
        return list(_public_cases(scenario, cards, protocol))
    return list(_callscore_cases(scenario, cards, protocol))


def _callscore_cases(
    scenario: Scenario, cards: Cards, protocol: PromptProtocol
) -> Iterator[StepCase]:
    builder = StepCaseBuilder(scenario, cards, protocol)
    queries = planned_queries(scenario, "progress")
    history = list(conversation(scenario.raw))
    steps: list[PlanStep | AgentStep] = [*scenario.plans, *scenario.agent_steps]
    for step in sorted(steps, key=lambda step: step.step_id):
        before = [each for each in history if each.step_id < step.step_id]
        if isinstance(step, PlanStep):
            yield builder.plan(step.step_id, [each.message for each in before], step)
        else:
            yield builder.agent(step.agent, step.step_id, before, queries.get(step.step_id), step)


def _public_cases(scenario: Scenario, cards: Cards, protocol: PromptProtocol) -> Iterator[StepCase]:
    """Every plan and every step of an agent with a card, even if its gold cannot be parsed."""
    builder = StepCaseBuilder(scenario, cards, protocol)
    queries = planned_queries(scenario, "public")
    label = label_of(scenario.raw)
    due: dict[int, PlanStep | AgentStep] = {step.step_id: step for step in scenario.plans}
    due |= {step.step_id: step for step in scenario.agent_steps}
    for raw in scenario.raw:
        messages = list(history_before(label, raw.step_id))
        if is_plan(raw):
            yield builder.plan(raw.step_id, messages, due.get(raw.step_id))
        elif raw.by_sub_agent and raw.agent in cards.by_id:
            query = queries.get(raw.step_id)
            task = [Message("user", query.text)] if query is not None else []
            yield builder.public_agent(
                raw.agent, raw.step_id, [*messages, *task], due.get(raw.step_id)
            )


class StepCaseBuilder:
    """Builds the cases of one scenario."""

    def __init__(self, scenario: Scenario, cards: Cards, protocol: PromptProtocol) -> None:
        self._scenario = scenario
        self._cards = cards
        self._known = "\n".join(step.content for step in scenario.raw if step.agent == "system")
        self._protocol = protocol
        self._planner = protocol.planner_system(self._known, cards)

    def plan(
        self, step_id: int, history: Iterable[Message], step: PlanStep | AgentStep | None = None
    ) -> StepCase:
        """A case of the planner."""
        prompt = Prompt((Message("system", self._planner), *history))
        return self._case("main", step_id, prompt, step)

    def agent(
        self,
        agent: str,
        step_id: int,
        before: Sequence[HistoryMessage],
        query: PlannedQuery | None,
        step: AgentStep,
    ) -> StepCase:
        """A case of a sub-agent with its tools; the system message says what it is to do now."""
        task = query.text if query else ""
        system = self._protocol.sub_agent_system(
            self._known, self._card(agent), self._cards, task, has_plan=bool(self._scenario.plans)
        )
        return self._agent_case(agent, step_id, system, agent_messages(before, query), step)

    def public_agent(
        self,
        agent: str,
        step_id: int,
        history: Iterable[Message],
        step: PlanStep | AgentStep | None,
    ) -> StepCase:
        """A case of a sub-agent as the public runner asks it: one system message for all."""
        system = self._protocol.sub_agent_system(self._known, self._card(agent), self._cards)
        return self._agent_case(agent, step_id, system, history, step)

    def _agent_case(
        self,
        agent: str,
        step_id: int,
        system: str,
        history: Iterable[Message],
        step: PlanStep | AgentStep | None,
    ) -> StepCase:
        prompt = Prompt((Message("system", system), *history), tools=self._card(agent).tools)
        return self._case(agent, step_id, prompt, step)

    def _case(
        self, agent: str, step_id: int, prompt: Prompt, step: PlanStep | AgentStep | None
    ) -> StepCase:
        scenario = self._scenario
        where = case_id(scenario.lang, scenario.id, step_id)
        return StepCase(where, step_id, agent, prompt, scenario.call_id, step)

    def conversation(self, agent: str, messages: Iterable[Message]) -> Prompt:
        """The prompt of an agent that talks to the user itself."""
        card = self._card(agent)
        system = self._protocol.conversation_system(self._known, card, self._cards)
        return Prompt((Message("system", system), *messages), tools=card.tools)

    def _card(self, agent: str) -> Card:
        """The card of the agent; one without tools if there is none."""
        return self._cards.by_id.get(agent) or Card(agent)


def agent_messages(
    before: Sequence[HistoryMessage], query: PlannedQuery | None
) -> Iterator[Message]:
    """The messages for a sub-agent: the history, ending with the newest about its task        C-133

    The newest is the planned query; or the last message of the user, if it is later than the plan
    or there is no query. In that case the query is placed after its plan, so that later messages of
    the user can correct it.
    """
    users = [each for each in before if each.message.role == "user"]
    last = users[-1] if users else None
    if query is not None and (last is None or last.step_id < query.planned_at):
        yield from (each.message for each in before)
        yield Message("user", query.text)
        return
    for each in before:
        yield each.message
        if query is not None and each.step_id == query.planned_at:
            yield Message("user", query.text)
    if last is not None and last is not before[-1]:
        yield last.message


def step_case(step: StepCase, case_id: str = "") -> Case:
    """The step as a case with its gold, under its own id or another; its call is the scenario."""
    lang, gold = step.id.partition("/")[0], gold_reply(step.step)
    return Case(case_id or step.id, SCENARIO, "", {}, gold, call_id=step.call_id, lang=lang)


def case_for_judge(scenario: Scenario, step: AgentStep) -> Case:
    """The case that a judge of one step sees: the messages before it, and the expected calls."""
    history = [
        Turn(raw.content, speaker=raw.agent)
        for raw in scenario.raw
        if raw.step_id < step.step_id
        and raw.agent in ("user", "main")
        and not raw.content.startswith("workflow_")
    ]
    due = step.due.calls if isinstance(step.due, CallsDue) else ()
    expected = {"calls": [{"name": call.name, "arguments": call.arguments} for call in due]}
    where = case_id(scenario.lang, scenario.id, step.step_id)
    lang = scenario.lang.lower()
    return Case(where, "orchestration", history, {}, expected, call_id=scenario.call_id, lang=lang)


def conversation(steps: Sequence[RawStep]) -> Iterator[HistoryMessage]:
    """The history: messages of user and planner, plans included; of sub-agents the tool results,
    and what they say to the user when they reject.
    """
    for step in steps:
        if step.agent == "user":
            yield HistoryMessage(step.step_id, Message("user", step.content))
        elif step.agent == "main":
            yield HistoryMessage(step.step_id, Message("assistant", step.content))
        elif step.by_sub_agent:
            result = tool_result(step.content)
            text = json.dumps(result, ensure_ascii=False) if result is not None else ""
            if text := text or rejection_message(step.content):
                yield HistoryMessage(step.step_id, Message("assistant", text))


def tool_result(content: str) -> Any:
    """The result of the tool; its raw text if it is not YAML; None if there is no call."""
    try:
        value = read_strict(content)
    except YamlFault:
        found = _RESULT.search(content)
        return content[found.end() :].strip() if found is not None else None
    calls = value if isinstance(value, list) else [value]
    results = [
        call["tool_call_result"]
        for call in calls
        if isinstance(call, Mapping) and "tool_call_result" in call
    ]
    return results[0] if len(results) == 1 else results or None
