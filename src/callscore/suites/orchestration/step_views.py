"""Steps of scenarios as cases of a report: what was said, what was due, what came back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Failed, Message, Reply, Turn
from callscore.core.scenarios import StepAnswer, StepView
from callscore.core.scorecard import CaseResult
from callscore.core.task import SCENARIO
from callscore.suites.orchestration.decision.parse import Rejection, ToolCalls, read_answer
from callscore.suites.orchestration.plan.model import WorkflowPlan
from callscore.suites.orchestration.plan.parse import read_plan
from callscore.suites.orchestration.replies import ScenarioReplies
from callscore.suites.orchestration.scenario.cases import StepCase, conversation
from callscore.suites.orchestration.scenario.gold import gold_of, plan_object
from callscore.suites.orchestration.scenario.model import (
    AgentStep,
    CallsDue,
    PlanStep,
    Scenario,
    case_id,
)
from callscore.suites.orchestration.scenario.output_file import RecordedReply, ScenarioRecording
from callscore.suites.orchestration.step_record import StepRecord
from callscore.suites.orchestration.step_results import missing_result, step_result

LARGEST = 2**63 - 1
"""Integers beyond are written as text."""
Records = Mapping[tuple[str, int], StepRecord]


def answered_views(
    replies: ScenarioReplies, records: Sequence[StepRecord], flags: Sequence[str] = ()
) -> Iterator[StepView]:
    """Every step of a run that was asked, with what was sent."""
    known = {(record.case_id, record.run): record for record in records}
    not_scored = replies.missing or "what was due cannot be read"
    by_step: dict[str, list[tuple[int, Reply | Failed | None]]] = {}
    cases: dict[str, StepCase] = {}
    for step in replies.steps:
        cases[step.case.id] = step.case
        by_step.setdefault(step.case.id, []).append((step.run, step.found))
    for where, case in cases.items():
        shown = _asked(case, replies.scenario)
        answers = []
        for run, found in by_step[where]:
            record = known.get((where, run))
            if record is not None:
                answers.append(_scored(replies.model, found, record))
            else:
                result = CaseResult(where, replies.model, run, SCENARIO, "incomplete")
                answers.append(_unscored(result, found, not_scored))
        yield StepView(shown, replies.model, [_flagged(answer, flags) for answer in answers])


def recorded_views(
    recording: ScenarioRecording, scenario: Scenario, model: str, records: Sequence[StepRecord]
) -> Iterator[StepView]:
    """Every step of a recording that was scored, with what was said before it."""
    known = {(record.case_id, record.run): record for record in records}
    said = list(conversation(scenario.raw))
    steps: list[PlanStep | AgentStep] = [*scenario.plans, *scenario.agent_steps]
    for step in sorted(steps, key=lambda step: step.step_id):
        where = case_id(scenario.lang, scenario.id, step.step_id)
        before = [each.message for each in said if each.step_id < step.step_id]
        agent = "main" if isinstance(step, PlanStep) else step.agent
        shown = _case(where, scenario, _StepInput(agent, before), step)
        answers = [
            _scored(model, _reply(record.answer), record)
            for run in recording.runs
            if (record := known.get((where, run.number))) is not None
        ]
        if answers:
            yield StepView(shown, model, answers)


class _StepInput(msgspec.Struct, frozen=True):
    """Who was asked, and what was said before."""

    agent: str
    messages: Sequence[Message]
    tools: Sequence[str] = ()


def _asked(case: StepCase, scenario: Scenario) -> Case:
    tools = [tool.name for tool in case.prompt.tools]
    return _case(case.id, scenario, _StepInput(case.agent, case.prompt.messages, tools), case.step)


def _case(
    where: str, scenario: Scenario, asked: _StepInput, due: PlanStep | AgentStep | None
) -> Case:
    """The step with what was said as its transcript; instructions and tools are its config."""
    system = "\n\n".join(each.content for each in asked.messages if each.role == "system")
    said = [each for each in asked.messages if each.role != "system"]
    config = {"agent": asked.agent, "instructions": system, "tools": list(asked.tools)}
    return Case(
        id=where,
        task=SCENARIO,
        transcript=[
            Turn(writable(each.content), id=number, speaker=each.role)
            for number, each in enumerate(said, start=1)
        ],
        config=writable({key: value for key, value in config.items() if value}),
        expected_outcome=writable(_expected(due)),
        call_id=scenario.id,
        lang=scenario.lang.lower(),
        tags=[_kind(due), asked.agent],
    )


def _kind(due: PlanStep | AgentStep | None) -> str:
    if due is None:
        return "unreadable"
    if isinstance(due, PlanStep):
        return "plan"
    return "call" if isinstance(due.due, CallsDue) else "rejection"


def _expected(due: PlanStep | AgentStep | None) -> dict[str, Any]:
    if isinstance(due, AgentStep) and not isinstance(due.due, CallsDue):
        return {"calls": [], "rejection": due.due.type}
    return gold_of(due)


def _given(answer: RecordedReply, *, is_plan: bool) -> dict[str, Any] | None:
    """The answer in the form of the expected outcome; None if it cannot be read."""
    if is_plan:
        plan = read_plan(answer.content) if isinstance(answer.content, str) else None
        return {"plan": plan_object(plan)} if isinstance(plan, WorkflowPlan) else None
    found = read_answer(answer)
    if isinstance(found, ToolCalls):
        return {"calls": [msgspec.structs.asdict(call) for call in found.calls]}
    return {"calls": [], "rejection": found.type} if isinstance(found, Rejection) else None


def _scored(model: str, found: Reply | Failed | None, record: StepRecord) -> StepAnswer:
    """A step that was scored; one without an answer in a recording is the model's failure."""
    reply = found if isinstance(found, Reply) else None
    given = None
    if record.answer is not None:
        given = _given(record.answer, is_plan=record.kind == "plan")
    differences = [
        f"{each.kind.replace('_', ' ')}: {each.detail}" if each.detail else each.kind
        for each in record.differences
    ]
    return StepAnswer(
        _of_scenario(step_result(record, model, reply)),
        _writable_reply(reply),
        None if given is None else writable(given),
        writable(differences),
    )


def _unscored(result: CaseResult, found: Reply | Failed | None, why: str) -> StepAnswer:
    """A step of a scenario that could not be scored."""
    if not isinstance(found, Reply):
        result = _of_scenario(missing_result(result.case_id, result.model, result.run, found))
        return StepAnswer(result, error=result.flags[0])
    reason = writable(f"the scenario was not scored: {why}")
    return StepAnswer(msgspec.structs.replace(result, reasons=[reason]), _writable_reply(found))


def _of_scenario(result: CaseResult) -> CaseResult:
    flags = writable(list(result.flags))
    return msgspec.structs.replace(result, task=SCENARIO, flags=flags)


def _flagged(answer: StepAnswer, flags: Sequence[str]) -> StepAnswer:
    if not flags:
        return answer
    result = msgspec.structs.replace(answer.result, flags=(*answer.result.flags, *flags))
    return msgspec.structs.replace(answer, result=result)


def _reply(answer: RecordedReply | None) -> Reply | None:
    """A recorded answer as a reply; what its calls were is in `given`."""
    if answer is None or answer.error:
        return None
    content = answer.content
    return Reply(content if isinstance(content, str) else "")


def _writable_reply(reply: Reply | None) -> Reply | None:
    if reply is None:
        return None
    text = reply.text.decode("utf-8", "replace") if isinstance(reply.text, bytes) else reply.text
    calls = [
        msgspec.structs.replace(call, name=writable(call.name), arguments=writable(call.arguments))
        for call in reply.tool_calls
    ]
    return msgspec.structs.replace(reply, text=writable(text), tool_calls=calls)


def writable(value: Any) -> Any:
    """The value with everything in it that JSON can hold; other things as text."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {writable(str(key)): writable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [writable(item) for item in value]
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int) and abs(value) <= LARGEST:
        return value
    return str(value)
