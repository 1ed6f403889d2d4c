"""How people confirm or correct the expected steps of a scenario (`callscore annotate`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from callscore.core.case import JsonObject, Turn
from callscore.core.errors import DataError
from callscore.core.labelling import CallLabels, CallTranscript, Label, LabelItem
from callscore.suites.orchestration.scenario.annotation import rejection_message
from callscore.suites.orchestration.scenario.cards import Cards
from callscore.suites.orchestration.scenario.cases import tool_result
from callscore.suites.orchestration.scenario.file_steps import REJECTIONS, read_steps
from callscore.suites.orchestration.scenario.model import AgentStep, CallsDue, RawStep, Scenario
from callscore.suites.orchestration.scenario.parse import ScenarioKey, interpret_steps
from callscore.suites.orchestration.yaml_text import YamlFault, read_document

EXPECTED, OTHER_CALL, LEFT_OUT = "as it is", "another call", "not expected"
STEP, CALL, ARGUMENT = "step", "call", "argument"
"""The parts of the items: what is due, another call instead, the value of an argument."""
CALL_FORM = '{"tool": …, "arguments": {…}}'
_MOST_SHOWN = 2_000


class ScenarioLabelling:
    """What is due at every expected step, and the values of the arguments of its calls."""

    accepts_form = False
    requires = "a step of an agent, or a plan"

    def read_call(self, name: str, text: str) -> CallTranscript:
        """A scenario file as a call; one without confirmed steps is read, too."""
        try:
            value = read_document(text)
        except YamlFault as error:
            raise DataError(f"{error}; expected a scenario, as YAML or JSON") from None
        if not isinstance(value, Mapping):
            raise DataError("expected a scenario with a list of steps", field="steps")
        value = _confirmed(value)
        steps = read_steps(value, Cards())
        turns = [Turn(step.content, step.step_id, step.agent) for step in steps]
        return CallTranscript(name, turns, recording=value)

    def items(self, call: CallTranscript, config: JsonObject) -> Iterator[LabelItem]:
        """One item per expected step, one for another call, and one per argument."""
        scenario = _scenario(call)
        raw = {step.step_id: step.content for step in scenario.raw}
        for plan in scenario.plans:
            yield LabelItem(
                call.name, STEP, str(plan.step_id), "Is this the plan that is due here?",
                (EXPECTED, LEFT_OUT), text=raw[plan.step_id][:_MOST_SHOWN],
            )  # fmt: skip
        for step in scenario.agent_steps:
            name = str(step.step_id)
            yield LabelItem(
                call.name, STEP, name, f"Is this what {step.agent} has to do here?",
                (EXPECTED, OTHER_CALL, *REJECTIONS, LEFT_OUT), text=_shown(step),
                asks_reason=True, help="The comment of a rejection is what the agent says.",
            )  # fmt: skip
            question = f"Another call: {CALL_FORM}, or a list of calls"
            yield LabelItem(call.name, CALL, name, question, required=False)
            for item, value in _arguments(step).items():
                question = f"The right value of {item.partition('.')[2]}; empty if it is this one"
                shown = _text(value)[:_MOST_SHOWN]
                yield LabelItem(call.name, ARGUMENT, item, question, required=False, text=shown)

    def expected_outcome(
        self, call: CallTranscript, labels: CallLabels, config: JsonObject
    ) -> dict[str, Any]:
        """The scenario with the corrected steps."""
        scenario = _scenario(call)
        steps = {step.step_id: step for step in scenario.agent_steps}
        corrected = []
        for entry, raw in zip(call.recording["steps"], scenario.raw, strict=True):
            label = labels.get((STEP, str(raw.step_id)))
            if label is not None and label.answer == LEFT_OUT:
                continue
            content = None
            if label is not None and raw.step_id in steps:
                content = _corrected(call, steps[raw.step_id], raw, labels, label)
            corrected.append(_written(entry, raw, content))
        return {**call.recording, "steps": corrected}


def _confirmed(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata")
    known = {**metadata} if isinstance(metadata, Mapping) else {}
    if known.get("confirmed") is False:
        known.pop("note", None)
        known["confirmed"] = True
    return {**value, **({"metadata": known} if known else {})}


def _scenario(call: CallTranscript) -> Scenario:
    steps = read_steps(call.recording, Cards())
    return interpret_steps(steps, ScenarioKey(call.lang or "", call.name), Cards())


def _shown(step: AgentStep) -> str:
    if not isinstance(step.due, CallsDue):
        return step.due.type
    calls = [f"{call.name}({_text(call.arguments)})" for call in step.due.calls]
    return "; ".join(calls or [step.due.tool])[:_MOST_SHOWN]


def _arguments(step: AgentStep) -> dict[str, Any]:
    """By item, the expected values: `3.text`, and `3[1].text` in the second of several calls."""
    calls = step.due.calls if isinstance(step.due, CallsDue) else ()
    return {
        f"{step.step_id}{f'[{place}]' if len(calls) > 1 else ''}.{key}": value
        for place, call in enumerate(calls)
        for key, value in call.arguments.items()
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _corrected(
    call: CallTranscript, step: AgentStep, raw: RawStep, labels: CallLabels, label: Label
) -> Any:
    """The content of a step that people corrected; None if it stays as it is."""
    name = str(step.step_id)
    if label.answer in REJECTIONS:
        message = label.comment or rejection_message(raw.content)
        return {"status": label.answer, **({"message": message} if message else {})}
    if label.answer == OTHER_CALL:
        return _given_call(call, name, labels.get((CALL, name)))
    values = {
        item: _same_kind(labels[ARGUMENT, item].answer, value)
        for item, value in _arguments(step).items()
        if (ARGUMENT, item) in labels
    }
    return _with_values(step, raw, values) if values else None


def _given_call(call: CallTranscript, name: str, label: Label | None) -> Any:
    try:
        value = msgspec.json.decode("" if label is None else label.answer)
    except msgspec.DecodeError:
        value = None
    if not isinstance(value, (dict, list)):
        raise DataError(
            f"expected the other call as {CALL_FORM}",
            field=f"{CALL}.{name}", case_id=call.name, place="" if label is None else label.place,
        )  # fmt: skip
    return value


def _same_kind(answer: str, expected: Any) -> Any:
    """A text if a text is expected, else the JSON value."""
    if isinstance(expected, str):
        return answer
    try:
        return msgspec.json.decode(answer)
    except msgspec.DecodeError:
        return answer


def _with_values(step: AgentStep, raw: RawStep, values: Mapping[str, Any]) -> Any:
    """The calls of a step with other values of arguments, and the recorded result."""
    assert isinstance(step.due, CallsDue)  # only calls have arguments
    known = {**_arguments(step), **values}
    calls: list[dict[str, Any]] = [
        {"tool": due.name, "arguments": dict(due.arguments)} for due in step.due.calls
    ]
    for place, due in enumerate(calls):
        number = f"[{place}]" if len(calls) > 1 else ""
        due["arguments"] = {key: known[f"{step.step_id}{number}.{key}"] for key in due["arguments"]}
    result = tool_result(raw.content)
    found = {} if result is None else {"tool_call_result": result}
    return {**calls[0], **found} if len(calls) == 1 else {"tool_call": calls, **found}


def _written(entry: Mapping[str, Any], raw: RawStep, content: Any) -> dict[str, Any]:
    """The step as in its file, with other content if there is some; it keeps its number."""
    if "data" in entry:
        data = entry["data"] if content is None else {**entry["data"], "content": content}
        return {**entry, "data": data}
    if len(entry) == 1:
        ((agent, text),) = entry.items()
        entry = {"agent": agent, "content": text}
    shown = entry["content"] if content is None else content
    return {"step_id": raw.step_id, **entry, "content": shown}
