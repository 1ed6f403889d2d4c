"""Imports recordings of agents: as scenarios to confirm, as recordings, or as cases with gold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.core.scenarios import STEP_TASK
from callscore.import_job import read_source
from callscore.importers.agents.benchmarks import GoldCalls, read_gold_calls
from callscore.importers.agents.messages import Event, TracedCall
from callscore.importers.agents.scenarios import cards_of, recording, scenario_steps
from callscore.importers.agents.traces import AgentTrace, read_traces
from callscore.importers.folder import ImportOptions, ImportReport, import_files, list_files
from callscore.report.numbers import show_count
from callscore.report.safe_text import escape_json
from callscore.store.files import atomic_write
from callscore.store.scenario_files import scenario_files

_OTHER_LETTER = re.compile(r"[^\w.-]+")


class AgentImport(NamedTuple):
    """What was written, in words, and notes for the user."""

    written: Sequence[str]
    notes: Sequence[str]


def import_agents(
    paths: Sequence[Path], out: Path, scenarios: Path | None = None, model: str = ""
) -> AgentImport:
    """Import recordings of agents into the folder `out`; raises DataError and UsageError."""
    files = list_files(paths)
    sources = [read_source(path) for path in files]
    gold = read_gold_calls(sources)
    if gold:
        return _write_cases(gold, out)
    traces: list[AgentTrace] = []
    for path, source in zip(files, sources, strict=True):
        found = read_traces(source)
        traces += _unique(found if found is not None else _other_traces(path), traces)
    if model:
        for trace in traces:
            trace.model = model
    if not any(event.role == "assistant" for trace in traces for event in trace.events):
        raise DataError("no message of an agent; expected conversations with tool calls")
    if scenarios is not None:
        return _write_recordings(traces, out, scenarios)
    return _write_scenarios(traces, out)


def _unique(found: Sequence[AgentTrace], earlier: Sequence[AgentTrace]) -> list[AgentTrace]:
    """The traces with ids that can be names of files; raises DataError if one occurs twice."""
    seen = {trace.id for trace in earlier}
    for trace in found:
        trace.id = _file_name(trace.id)
        if trace.id in seen:
            raise DataError(f"two conversations have the id {trace.id!r}; expected one each")
        seen.add(trace.id)
    return list(found)


def _file_name(text: str) -> str:
    return _OTHER_LETTER.sub("_", text).strip("._")[:80] or "trace"


def _other_traces(path: Path) -> list[AgentTrace]:
    """The calls of any other format, such as those of voice agents, with their tool calls."""
    report = ImportReport()
    found = []
    for call in import_files([path], ImportOptions(), report):
        events = [
            Event(
                "user" if turn.speaker == "customer" else "assistant",
                turn.text,
                [TracedCall(str(one["name"]), one["arguments"]) for one in turn.tool_calls],
            )
            for turn in call.turns
            if turn.speaker != "system"
        ]
        found.append(AgentTrace(call.call_id, events))
    for problem in report.problems:
        raise DataError(problem.problem or "cannot be read", place=problem.path)
    return found


def _write_scenarios(traces: Sequence[AgentTrace], out: Path) -> AgentImport:
    """Cards, and scenarios that a person has to confirm."""
    cards = cards_of(traces)
    for agent, card in cards.items():
        _write_json(out / "cards" / f"{agent}.json", card)
    for trace in traces:
        note = f"imported from {trace.model}: check every expected step, then set confirmed to true"
        value = {
            "metadata": {"confirmed": False, "note": note},
            "steps": scenario_steps(trace),
        }
        _write_json(out / "scenarios" / f"{trace.id}.json", value)
    failed = [trace.id for trace in traces if trace.error]
    notes = [f"{name}: ended with an error; its steps stop there" for name in failed]
    prompted = sum(any(event.role == "system" for event in trace.events) for trace in traces)
    if prompted:
        notes.append(
            f"the system prompts of {show_count(prompted, 'conversation')} are left out: give "
            "yours under prompts of the eval file, and what a step needs as a system step"
        )
    notes.append("the expected steps are what the agent did: confirm or correct each scenario")
    return AgentImport(
        [
            f"{out / 'cards'}: {show_count(len(cards), 'card')}",
            f"{out / 'scenarios'}: {show_count(len(traces), 'scenario')}",
        ],
        notes,
    )


def _write_recordings(traces: Sequence[AgentTrace], out: Path, scenarios: Path) -> AgentImport:
    """Recordings of confirmed scenarios: one folder per model, one file per scenario."""
    from callscore.store.strict_yaml import read_yaml

    known = {path.stem: path for path in scenario_files(scenarios)}
    written: dict[str, int] = {}
    notes = []
    for trace in traces:
        if trace.id not in known:
            raise DataError(
                f"no scenario of the name {trace.id!r} in {scenarios}; "
                f"expected one such as {', '.join(list(known)[:3])}"
            )
        value: Any = read_yaml(known[trace.id]).value
        steps = value.get("steps") if isinstance(value, Mapping) else None
        if not isinstance(steps, list):
            raise DataError("expected a scenario with steps", place=str(known[trace.id]))
        if is_unconfirmed(value):
            raise DataError(
                "is not confirmed; expected a person to check the expected steps and to set "
                "metadata.confirmed to true",
                place=str(known[trace.id]),
            )
        document, strays = recording(trace, trace.id, steps)
        if strays:
            notes.append(f"{trace.id}: {show_count(strays, 'tool call')} where no step is expected")
        folder = out / _file_name(trace.model)
        _write_json(folder / f"{trace.id}_out.json", document)
        written[str(folder)] = written.get(str(folder), 0) + 1
    lines = [f"{folder}: {show_count(count, 'recording')}" for folder, count in written.items()]
    return AgentImport(lines, notes)


def is_unconfirmed(scenario: Mapping[str, Any]) -> bool:
    """Whether the expected steps of a scenario are only what an agent did."""
    metadata = scenario.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get("confirmed") is False


def _write_cases(gold: Mapping[str, GoldCalls], out: Path) -> AgentImport:
    """Cases with gold calls, and the outputs of models."""
    cases, outputs = [], []
    judged = {name: case for name, case in gold.items() if case.expected is not None}
    open_cases = len(gold) - len(judged)
    if not judged:
        raise DataError("no case has expected calls; expected other categories than live_relevance")
    for name, case in judged.items():
        tools = case.tools if isinstance(case.tools, list) else []
        cases.append(
            {
                "id": name,
                "task": STEP_TASK,
                "transcript": case.question or name,
                "config": {"tools": tools} if tools else {},
                "expected_outcome": case.expected,
            }
        )
        outputs += [{"case_id": name, **line} for line in case.outputs]
    _write_lines(out / "cases.jsonl", cases)
    written = [f"{out / 'cases.jsonl'}: {show_count(len(cases), 'case')}"]
    if outputs:
        _write_lines(out / "outputs.jsonl", outputs)
        written.append(f"{out / 'outputs.jsonl'}: {show_count(len(outputs), 'output')}")
    notes = [f"{show_count(open_cases, 'case')} of live_relevance left out: no expected calls"]
    return AgentImport(written, notes if open_cases else [])


def _write_json(path: Path, value: Any) -> None:
    _write(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def _write_lines(path: Path, values: Sequence[Any]) -> None:
    _write(path, b"".join(msgspec.json.encode(value) + b"\n" for value in values))


def _write(path: Path, raw: bytes) -> None:
    if path.exists():
        raise UsageError(f"{path}: exists; expected another folder (-o)")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(escape_json(raw))
