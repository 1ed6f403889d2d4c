"""Parses `*_out.json`, the replies of a model to a scenario: the public form (§3), and ours.

Public form   {"scenario_id", "history": {"run #1": {"main_agent_history", "sub_agent_history",
              "label"}}}
Our form      {"callscore": "orchestration-1", "scenario_id", "model"?, "scenario": {"steps": […]},
              "runs": [{"run": 1, "answers": [{"step", "content", "tool_calls", "error"?,
              "latency_ms"?, "usage"?, "cost_usd"?}]}], "asking_back"?: "text"}

A malformed entry affects only its own step (Q25).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec

from callscore.core.errors import DataError
from callscore.suites.orchestration.scenario.cards import Cards
from callscore.suites.orchestration.scenario.file_steps import read_steps
from callscore.suites.orchestration.scenario.model import RawStep

OUR_FORM = "orchestration-1"


class RecordedTokens(msgspec.Struct, frozen=True):
    """The tokens of a recorded reply."""

    input_tokens: Annotated[int, msgspec.Meta(ge=0)] | None = None
    output_tokens: Annotated[int, msgspec.Meta(ge=0)] | None = None


class RecordedSpent(msgspec.Struct, frozen=True):
    """What a recorded reply took; None where it is not recorded."""

    latency_ms: Annotated[float, msgspec.Meta(ge=0)] | None = None
    cost_usd: Annotated[float, msgspec.Meta(ge=0)] | None = None
    usage: RecordedTokens = RecordedTokens()


_NOT_RECORDED = RecordedSpent()


class RecordedReply(msgspec.Struct, frozen=True):
    """The recorded reply to one step; types are not checked."""

    content: Any = None
    tool_calls: Any = None
    error: str = ""
    spent: RecordedSpent = _NOT_RECORDED
    asking_back: bool = False
    """Whether its text alone may ask the user for something (C-142)."""


class RecordedRun(msgspec.Struct, frozen=True):
    """One run: replies by step, of the planner (`plans`) and of sub-agents (`steps`)."""

    number: int
    plans: Mapping[int, RecordedReply]
    steps: Mapping[int, RecordedReply]
    stray: tuple[str, ...] = ()


class ScenarioRecording(msgspec.Struct, frozen=True):
    """All recorded runs of one scenario, and the steps of the scenario in each run."""

    scenario_id: str
    runs: tuple[RecordedRun, ...]
    raw_steps: tuple[tuple[RawStep, ...], ...]
    model: str = ""
    asking_back: bool = False


def decode_output(raw: bytes) -> Any:
    """The JSON of an output file, NaN included; raises DataError if it is not JSON."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON ({error}); expected the history of a scenario") from None


def read_recording(value: Any, scenario_id: str) -> ScenarioRecording:
    """Parse a decoded output file; raises DataError if it has neither of the two forms."""
    if not isinstance(value, Mapping):
        raise DataError("not an object; expected the history of a scenario")
    if value.get("callscore") == OUR_FORM:
        return _read_our_form(value, scenario_id)
    history = value.get("history")
    if not isinstance(history, Mapping) or not history:
        raise DataError("no runs; expected an object with runs", field="history")
    runs: list[RecordedRun] = []
    raw_steps: list[tuple[RawStep, ...]] = []
    for number, (name, run) in enumerate(history.items(), 1):
        if not isinstance(run, Mapping) or not isinstance(run.get("label"), Mapping):
            raise DataError("expected an object with label", field=f"history.{name}")
        runs.append(_read_public_run(number, run))
        raw_steps.append(_reuse_steps(run["label"], raw_steps))
    return ScenarioRecording(scenario_id, tuple(runs), tuple(raw_steps))


def _reuse_steps(
    label: Mapping[str, Any], earlier: list[tuple[RawStep, ...]]
) -> tuple[RawStep, ...]:
    """The steps of a label; the tuple of the previous run is reused if they are the same."""
    steps = tuple(steps_of_label(label))
    return earlier[-1] if earlier and earlier[-1] == steps else steps


def steps_of_label(label: Mapping[str, Any]) -> list[RawStep]:
    """The steps of a recorded label: its plain numbered entries have the original text."""
    steps = []
    for key, entry in label.items():
        if not key.isdigit() or not isinstance(entry, Mapping):
            continue
        content, agent = entry.get("content"), entry.get("agent_id")
        if not isinstance(content, str):
            continue
        if not isinstance(agent, str):
            role = entry.get("role")
            agent = role if role in ("system", "user") else "main"
        steps.append(RawStep(int(key), agent, content))
    return sorted(steps, key=lambda step: step.step_id)


def _read_public_run(number: int, run: Mapping[str, Any]) -> RecordedRun:
    stray: list[str] = []
    plans = _replies_by_step(run.get("main_agent_history"), "step_id", stray)
    steps = _replies_by_step(run.get("sub_agent_history"), "step_id", stray)
    return RecordedRun(number, plans, steps, tuple(stray))


def _replies_by_step(entries: Any, key: str, stray: list[str]) -> dict[int, RecordedReply]:
    """Replies by step; of two replies to one step the later counts."""
    answers: dict[int, RecordedReply] = {}
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        step_id = _step_id(entry.get(key)) if isinstance(entry, Mapping) else None
        if step_id is None:
            stray.append(f"entry {index + 1} names no step")
            continue
        if step_id in answers:
            stray.append(f"step {step_id} is answered twice")
        error = entry.get("error")
        answers[step_id] = RecordedReply(
            entry.get("content"), entry.get("tool_calls"), error if isinstance(error, str) else ""
        )
    return answers


def _step_id(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class _OurScenario(msgspec.Struct):
    steps: list[Any]


class _OurRun(msgspec.Struct):
    run: int
    answers: list[Any] = []


class _OurFile(msgspec.Struct):
    scenario: _OurScenario
    runs: list[_OurRun]
    model: str = ""
    asking_back: Literal["text", "status"] = "status"


def _read_our_form(value: Mapping[str, Any], scenario_id: str) -> ScenarioRecording:
    try:
        file = msgspec.convert(value, _OurFile)
    except msgspec.ValidationError as error:
        raise DataError(f"{error}; expected scenario.steps and runs") from None
    steps = tuple(read_steps(value["scenario"], Cards()))
    planning = {step.step_id for step in steps if not step.by_sub_agent}
    known = {step.step_id for step in steps}
    asking_back = file.asking_back == "text"
    runs = tuple(_read_our_run(run, planning, known, asking_back) for run in file.runs)
    return ScenarioRecording(
        scenario_id, runs, (steps,) * len(runs), file.model, asking_back=asking_back
    )


def _read_our_run(
    run: _OurRun, planning: Iterable[int], known: Collection[int], asking_back: bool
) -> RecordedRun:
    stray: list[str] = []
    answers = _replies_by_step(run.answers, "step", stray)
    spent = _spent_by_step(run)
    answers = {
        step: msgspec.structs.replace(
            answer, spent=spent.get(step, _NOT_RECORDED), asking_back=asking_back
        )
        for step, answer in answers.items()
    }
    stray += [f"step {step} is not in the scenario" for step in answers if step not in known]
    if stray:
        raise DataError(f"{stray[0]}; expected every step once", field=f"runs: run {run.run}")
    plans = {step: answer for step, answer in answers.items() if step in planning}
    steps = {step: answer for step, answer in answers.items() if step not in plans}
    return RecordedRun(run.run, plans, steps, tuple(stray))


def _spent_by_step(run: _OurRun) -> dict[int, RecordedSpent]:
    spent = {}
    for place, answer in enumerate(run.answers):
        step = _step_id(answer.get("step")) if isinstance(answer, Mapping) else None
        if step is None:
            continue
        try:
            spent[step] = msgspec.convert(answer, RecordedSpent)
        except msgspec.ValidationError as error:
            raise DataError(str(error), field=f"runs: run {run.run}: answers[{place}]") from None
    return spent
