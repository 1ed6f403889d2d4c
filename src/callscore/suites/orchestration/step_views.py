"""Steps of scenarios as cases of a report: the history, the expected step, and the replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Failed, Message, Reply, Turn
from callscore.core.scenarios import StepAnswer, StepView
from callscore.core.scorecard import CaseResult
from callscore.core.task import SCENARIO
from callscore.suites.orchestration.decision.parse import Rejection, ToolCalls, read_prediction
from callscore.suites.orchestration.plan.model import WorkflowPlan, plan_object
from callscore.suites.orchestration.plan.parse import read_plan
from callscore.suites.orchestration.replies import ScenarioReplies, reply_text
from callscore.suites.orchestration.scenario.cases import StepCase, conversation
from callscore.suites.orchestration.scenario.model import (
    AgentStep,
    CallsDue,
    PlanStep,
    Scenario,
    case_id,
    gold_reply,
)
from callscore.suites.orchestration.scenario.output_file import RecordedReply, ScenarioRecording
from callscore.suites.orchestration.step_record import StepRecord, missing_result, step_result

LARGEST = 2**63 - 1
"""Larger integers are written as text."""


def run_views(
    replies: ScenarioReplies, records: Sequence[StepRecord], flags: Sequence[str] = ()
) -> Iterator[StepView]:
    """Every step that was requested in a run, with its prompt."""
    known = {(record.case_id, record.run): record for record in records}
    not_scored = replies.missing or "what was due cannot be read"
    by_step: dict[str, list[tuple[int, Reply | Failed | None]]] = {}
    cases: dict[str, StepCase] = {}
    for step in replies.steps:
        cases[step.case.id] = step.case
        by_step.setdefault(step.case.id, []).append((step.run, step.reply))
    for where, case in cases.items():
        shown = _run_case(case, replies.scenario)
        answers = []
        for run, found in by_step[where]:
            record = known.get((where, run))
            if record is not None:
                answers.append(_scored_answer(replies.model, found, record))
            else:
                result = CaseResult(where, replies.model, run, SCENARIO, "incomplete")
                answers.append(_unscored_answer(result, found, not_scored))
        yield StepView(shown, replies.model, [_add_flags(answer, flags) for answer in answers])


def recording_views(
    recording: ScenarioRecording, scenario: Scenario, model: str, records: Sequence[StepRecord]
) -> Iterator[StepView]:
    """Every scored step of a recording, with the history before it."""
    known = {(record.case_id, record.run): record for record in records}
    history = list(conversation(scenario.raw))
    steps: list[PlanStep | AgentStep] = [*scenario.plans, *scenario.agent_steps]
    for step in sorted(steps, key=lambda step: step.step_id):
        where = case_id(scenario.lang, scenario.id, step.step_id)
        before = [each.message for each in history if each.step_id < step.step_id]
        agent = "main" if isinstance(step, PlanStep) else step.agent
        shown = _case(where, scenario, _StepInput(agent, before), step)
        answers = [
            _scored_answer(model, _reply(record.reply), record)
            for run in recording.runs
            if (record := known.get((where, run.number))) is not None
        ]
        if answers:
            yield StepView(shown, model, answers)


class _StepInput(msgspec.Struct, frozen=True):
    """The input of a step: the agent, the messages before it, and the names of its tools."""

    agent: str
    messages: Sequence[Message]
    tools: Sequence[str] = ()


def _run_case(case: StepCase, scenario: Scenario) -> Case:
    tools = [tool.name for tool in case.prompt.tools]
    return _case(case.id, scenario, _StepInput(case.agent, case.prompt.messages, tools), case.step)


def _case(
    where: str, scenario: Scenario, step_input: _StepInput, due: PlanStep | AgentStep | None
) -> Case:
    """The step as a case: the history is its transcript, instructions and tools are its config."""
    system = "\n\n".join(each.content for each in step_input.messages if each.role == "system")
    history = [each for each in step_input.messages if each.role != "system"]
    config = {"agent": step_input.agent, "instructions": system, "tools": list(step_input.tools)}
    return Case(
        id=where,
        task=SCENARIO,
        transcript=[
            Turn(to_json_value(each.content), id=number, speaker=each.role)
            for number, each in enumerate(history, start=1)
        ],
        config=to_json_value({key: value for key, value in config.items() if value}),
        expected_outcome=to_json_value(_expected(due)),
        call_id=scenario.id,
        lang=scenario.lang.lower(),
        tags=[_kind(due), step_input.agent],
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
    return gold_reply(due)


def _parsed_reply(answer: RecordedReply, *, is_plan: bool) -> dict[str, Any] | None:
    """The reply in the form of the expected outcome; None if it cannot be parsed."""
    if is_plan:
        plan = read_plan(answer.content) if isinstance(answer.content, str) else None
        return {"plan": plan_object(plan)} if isinstance(plan, WorkflowPlan) else None
    found = read_prediction(answer)
    if isinstance(found, ToolCalls):
        return {"calls": [msgspec.structs.asdict(call) for call in found.calls]}
    return {"calls": [], "rejection": found.type} if isinstance(found, Rejection) else None


def _scored_answer(model: str, found: Reply | Failed | None, record: StepRecord) -> StepAnswer:
    """A scored step; in a recording, a missing reply counts against the model."""
    reply = found if isinstance(found, Reply) else None
    given = None
    if record.reply is not None:
        given = _parsed_reply(record.reply, is_plan=record.kind == "plan")
    differences = [
        f"{each.kind.replace('_', ' ')}: {each.detail}" if each.detail else each.kind
        for each in record.differences
    ]
    return StepAnswer(
        _as_scenario_result(step_result(record, model, reply)),
        _writable_reply(reply),
        None if given is None else to_json_value(given),
        to_json_value(differences),
    )


def _unscored_answer(result: CaseResult, found: Reply | Failed | None, why: str) -> StepAnswer:
    """A step of a scenario that could not be scored."""
    if not isinstance(found, Reply):
        result = _as_scenario_result(
            missing_result(result.case_id, result.model, result.run, found)
        )
        return StepAnswer(result, error=result.flags[0])
    reason = to_json_value(f"the scenario was not scored: {why}")
    return StepAnswer(msgspec.structs.replace(result, reasons=[reason]), _writable_reply(found))


def _as_scenario_result(result: CaseResult) -> CaseResult:
    flags = to_json_value(list(result.flags))
    return msgspec.structs.replace(result, task=SCENARIO, flags=flags)


def _add_flags(answer: StepAnswer, flags: Sequence[str]) -> StepAnswer:
    if not flags:
        return answer
    result = msgspec.structs.replace(answer.result, flags=(*answer.result.flags, *flags))
    return msgspec.structs.replace(answer, result=result)


def _reply(answer: RecordedReply | None) -> Reply | None:
    """A recorded reply without its calls, which are in `given`."""
    if answer is None or answer.error:
        return None
    content = answer.content
    return Reply(content if isinstance(content, str) else "")


def _writable_reply(reply: Reply | None) -> Reply | None:
    if reply is None:
        return None
    calls = [
        msgspec.structs.replace(
            call, name=to_json_value(call.name), arguments=to_json_value(call.arguments)
        )
        for call in reply.tool_calls
    ]
    return msgspec.structs.replace(reply, text=to_json_value(reply_text(reply)), tool_calls=calls)


def to_json_value(value: Any) -> Any:
    """The value as JSON can hold it; everything else in it becomes text."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {to_json_value(str(key)): to_json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(item) for item in value]
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int) and abs(value) <= LARGEST:
        return value
    return str(value)
