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
from callscore.importers.agents.conversations import AgentTrace
from callscore.importers.agents.messages import Event, TracedCall
from callscore.importers.agents.scenarios import (
    cards_of,
    recording,
    scenario_steps,
    system_prompts,
)
from callscore.importers.agents.traces import read_traces
from callscore.importers.folder import ImportOptions, ImportReport, import_files, list_files
from callscore.report.numbers import show_count
from callscore.report.safe_text import escape_json
from callscore.store.files import atomic_write
from callscore.store.scenario_files import scenario_files

_OTHER_LETTER = re.compile(r"[^\w.-]+")
_COUNTED = re.compile(r"(\d+) (.+)")


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
    gold, skipped = read_gold_calls(sources)
    if gold:
        return _write_cases(gold, skipped, out)
    traces: list[AgentTrace] = []
    for path, source in zip(files, sources, strict=True):
        found = read_traces(source)
        traces += found if found is not None else _other_traces(path)
    for trace in traces:
        trace.id = _file_name(trace.id)
        trace.model = model or trace.model
    if not any(event.role == "assistant" for trace in traces for event in trace.events):
        raise DataError(
            "no message of an agent; expected conversations with tool calls, of a source that "
            "docs/import.md lists"
        )
    if scenarios is not None:
        return _write_recordings(traces, out, scenarios)
    return _write_scenarios(traces, out)


def _file_name(text: str) -> str:
    return _OTHER_LETTER.sub("_", text).strip("._")[:80] or "trace"


def _other_traces(path: Path) -> list[AgentTrace]:
    """The calls of any other format, such as those of OpenAI Realtime, with their tool calls."""
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
    for skipped in (one for file in report.files if found for one in file.skipped):
        counted = _COUNTED.fullmatch(skipped.why)
        found[0].unread[counted[2] if counted else skipped.why] += int(counted[1]) if counted else 1
    return found


def _write_scenarios(traces: Sequence[AgentTrace], out: Path) -> AgentImport:
    """Cards, system prompts, and scenarios that a person has to confirm."""
    by_id: dict[str, AgentTrace] = {}
    for trace in traces:
        earlier = by_id.setdefault(trace.id, trace)
        if earlier is not trace and (earlier.model, earlier.run) == (trace.model, trace.run):
            raise DataError(f"two conversations have the id {trace.id!r}; expected one each")
    first = list(by_id.values())
    cards = cards_of(first)
    for agent, card in cards.items():
        _write_json(out / "cards" / f"{agent}.json", card)
    for trace in first:
        note = f"imported from {trace.model}: check every expected step, then set confirmed to true"
        value = {
            "metadata": {"confirmed": False, "note": note},
            "steps": scenario_steps(trace),
        }
        _write_json(out / "scenarios" / f"{trace.id}.json", value)
    written = [
        f"{out / 'cards'}: {show_count(len(cards), 'card')}",
        f"{out / 'scenarios'}: {show_count(len(first), 'scenario')}",
    ]
    notes = [
        f"{trace.id}: ended with an error; its steps stop there" for trace in first if trace.error
    ]
    if further := len(traces) - len(first):
        notes.append(
            f"{show_count(further, 'conversation')} of other models or runs of these scenarios: "
            "import them with --scenarios once these are confirmed"
        )
    prompts = system_prompts(first)
    for agent, texts in prompts.items():
        path = out / "prompts" / f"{agent}.md"
        _write(path, texts[0].encode() + b"\n")
        others = f", the first of {len(texts)} different ones" if len(texts) > 1 else ""
        written.append(f"{path}: the system prompt of {agent}{others}")
    if prompts:
        named = ", ".join(f"{agent}: prompts/{agent}.md" for agent in prompts)
        notes.append(f"an eval file next to cards/ uses the prompts with: prompts: {{{named}}}")
    notes += _unread(first)
    notes.append("the expected steps are what the agent did: confirm or correct each scenario")
    return AgentImport(written, notes)


def _unread(traces: Sequence[AgentTrace]) -> list[str]:
    """By kind, what the traces have and no scenario or recording has."""
    kinds = list(dict.fromkeys(kind for trace in traces for kind in trace.unread))
    lines = []
    for kind in kinds:
        having = [trace for trace in traces if trace.unread[kind]]
        count = sum(trace.unread[kind] for trace in having)
        if count:
            lines.append(
                f"left out {count} \N{MULTIPLICATION SIGN} {kind}, first in {having[0].id}"
            )
    return lines


def _left_out(count: int, kind: str) -> str:
    return f"left out {count} \N{MULTIPLICATION SIGN} {kind}"


def _write_recordings(traces: Sequence[AgentTrace], out: Path, scenarios: Path) -> AgentImport:
    """Recordings of confirmed scenarios: one folder per model, one file per scenario."""
    known = {path.stem: path for path in scenario_files(scenarios)}
    by_file: dict[tuple[str, str], list[AgentTrace]] = {}
    for trace in traces:
        by_file.setdefault((_file_name(trace.model), trace.id), []).append(trace)
    unknown = [name for _, name in by_file if name not in known]
    if len(unknown) == len(by_file):
        raise DataError(
            f"no scenario of the name {unknown[0]!r} in {scenarios}; "
            f"expected one such as {', '.join(list(known)[:3])}"
        )
    notes = [f"{name}: left out, as no scenario has this name" for name in dict.fromkeys(unknown)]
    notes += _unread(traces)
    written: dict[str, int] = {}
    for (model, name), found in by_file.items():
        if len({trace.run for trace in found}) < len(found):
            raise DataError(f"two conversations have the id {name!r}; expected one each")
        if name not in known:
            continue
        document, strays = recording(found, name, _confirmed_steps(known[name]))
        if strays:
            notes.append(f"{name}: {show_count(strays, 'tool call')} where no step is expected")
        _write_json(out / model / f"{name}_out.json", document)
        written[str(out / model)] = written.get(str(out / model), 0) + 1
    lines = [f"{folder}: {show_count(count, 'recording')}" for folder, count in written.items()]
    return AgentImport(lines, notes)


def _confirmed_steps(path: Path) -> list[Any]:
    """The steps of a scenario that a person has confirmed; raises DataError for any other."""
    from callscore.store.strict_yaml import read_yaml

    value: Any = read_yaml(path).value
    steps = value.get("steps") if isinstance(value, Mapping) else None
    if not isinstance(steps, list):
        raise DataError("expected a scenario with steps", place=str(path))
    if is_unconfirmed(value):
        raise DataError(
            "is not confirmed; expected a person to check the expected steps and to set "
            "metadata.confirmed to true",
            place=str(path),
        )
    return steps


def is_unconfirmed(scenario: Mapping[str, Any]) -> bool:
    """Whether the expected steps of a scenario are only what an agent did."""
    metadata = scenario.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get("confirmed") is False


def _write_cases(
    gold: Mapping[str, GoldCalls], skipped: Mapping[str, int], out: Path
) -> AgentImport:
    """Cases with gold calls, and the outputs of models."""
    cases, outputs = [], []
    for name, case in gold.items():
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
    return AgentImport(
        written,
        [f"left out {count} \N{MULTIPLICATION SIGN} {kind}" for kind, count in skipped.items()],
    )


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
