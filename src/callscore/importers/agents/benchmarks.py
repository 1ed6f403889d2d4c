"""Recorded tool calls with their gold: tau2-bench, BFCL and DeepEval, as single-turn cases."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.agents.messages import decoded, read_events
from callscore.importers.agents.traces import MODEL
from callscore.importers.source_file import Source


class GoldCalls(msgspec.Struct):
    """The parts of one case, which may come from several files."""

    question: str = ""
    tools: Any = None
    expected: dict[str, Any] | None = None
    outputs: list[dict[str, Any]] = []


def read_gold_calls(sources: Sequence[Source]) -> dict[str, GoldCalls]:
    """By case id, what the files have of benchmarks; empty if they have none.

    Cases of BFCL that demand any call at all have no gold. Raises DataError if a result has no
    gold for another reason, or one case has several.
    """
    found: dict[str, GoldCalls] = {}
    simulations: list[tuple[Mapping[str, Any], Source]] = []
    models: dict[PurePath, str] = {}
    for source in sources:
        for value in _values(source):
            if not isinstance(value, Mapping):
                continue
            if _has_tau2_tasks(value):
                models[_folder(source)] = models[PurePath(source.name)] = _model_of_tau2(value)
                _add_tau2_tasks(found, value)
                simulations += [(one, source) for one in value.get("simulations") or ()]
            elif "task_id" in value and "termination_reason" in value:
                simulations.append((value, source))
            elif "ground_truth" in value or "result" in value or "function" in value:
                _add_bfcl(found, value, source)
            elif "expected_tools" in value:
                _add_deepeval(found, value, f"{source.stem}-{len(found) + 1}")
    _add_tau2_simulations(found, simulations, models)
    for name, case in found.items():
        if case.expected is None and not name.startswith(_ANY_CALL):
            raise DataError(f"the case {name!r} has a result and no gold; expected its gold too")
    return found


def _values(source: Source) -> list[Any]:
    if source.is_archive:
        return []
    whole = source.json
    if isinstance(whole, Mapping) and isinstance(whole.get("test_cases"), list):
        return list(whole["test_cases"])
    if whole is not None:
        return whole if isinstance(whole, list) else [whole]
    try:
        return [msgspec.json.decode(line) for line in source.text.splitlines() if line.strip()]
    except (msgspec.DecodeError, RecursionError, DataError):
        return []


def _set_gold(case: GoldCalls, name: str, expected: dict[str, Any]) -> None:
    if case.expected is not None and case.expected != expected:
        raise DataError(f"the case {name!r} has two golds; expected one")
    case.expected = expected


def _has_tau2_tasks(value: Mapping[str, Any]) -> bool:
    """Whether it is a results file; in the form of a folder, it has no simulations itself."""
    has_runs = "simulations" in value or "simulation_index" in value
    return has_runs and isinstance(value.get("tasks"), list)


def _folder(source: Source) -> PurePath:
    return PurePath(source.name).parent


def _model_of_tau2(value: Mapping[str, Any]) -> str:
    info = value.get("info")
    agent: Any = info.get("agent_info") if isinstance(info, Mapping) else None
    return str(agent.get("llm") or MODEL) if isinstance(agent, Mapping) else MODEL


def _add_tau2_tasks(found: dict[str, GoldCalls], value: Mapping[str, Any]) -> None:
    """The tasks of one tau2-bench run."""
    for task in value["tasks"]:
        name = str(task.get("id"))
        case = found.setdefault(name, GoldCalls())
        criteria = task.get("evaluation_criteria") or {}
        case.question = json.dumps(task.get("user_scenario") or name, ensure_ascii=False)
        actions = [
            {"name": action.get("name"), "kwargs": action.get("arguments") or {}}
            for action in criteria.get("actions") or ()
            if action.get("requestor", "assistant") == "assistant"
        ]
        _set_gold(case, name, {"actions": actions})


_OUTAGES = frozenset(
    {"infrastructure_error", "unexpected_error", "user_error", "context_window_exceeded"}
)
"""Ends of a simulation that are no fault of the agent; `agent_error` is one."""


def _add_tau2_simulations(
    found: Mapping[str, GoldCalls],
    simulations: Sequence[tuple[Mapping[str, Any], Source]],
    models: Mapping[PurePath, str],
) -> None:
    """What each simulation called; one in a file of its own is below the folder of the results."""
    runs: Counter[tuple[str, str]] = Counter()
    for simulation, source in simulations:
        name = str(simulation.get("task_id"))
        if name not in found:
            raise DataError(f"a simulation of the unknown task {name!r}", place=source.name)
        if not simulation.get("messages") and simulation.get("ticks"):
            raise DataError(
                f"a simulation of the task {name!r} is of speech; expected messages",
                place=source.name,
            )
        places = (PurePath(source.name), _folder(source).parent)
        model = next((models[place] for place in places if place in models), MODEL)
        runs[model, name] += 1
        ended = str(simulation.get("termination_reason") or "")
        calls = [
            {"name": call.name, "arguments": call.arguments}
            for event in read_events(_by_assistant(simulation.get("messages")))
            for call in event.calls
        ]
        line: dict[str, Any] = {
            "model": model,
            "run": runs[model, name],
            "output": {"calls": calls},
        }
        if ended in _OUTAGES:
            line |= {"output": None, "error": ended}
        if isinstance(cost := simulation.get("agent_cost"), int | float):
            line["cost_usd"] = cost
        found[name].outputs.append(line)


def _by_assistant(messages: Any) -> list[Any]:
    listed = messages if isinstance(messages, list) else []
    return [one for one in listed if isinstance(one, Mapping) and one.get("role") == "assistant"]


_BFCL_GROUPS = ("live", "non_live")
"""Folders of categories, inside of that of a model."""


_ANY_CALL = "live_relevance"
"""The category of BFCL in which some call is due, whichever it is."""


def _add_bfcl(found: dict[str, GoldCalls], value: Mapping[str, Any], source: Source) -> None:
    """A line of a BFCL file: a question with its functions, a possible answer, or a result."""
    name = str(value.get("id") or "")
    if not name:
        raise DataError("a line without id; expected one of BFCL", place=source.name)
    case = found.setdefault(name, GoldCalls())
    if "ground_truth" in value:
        truth = value["ground_truth"]
        if not isinstance(truth, list) or not all(isinstance(one, Mapping) for one in truth):
            raise DataError(
                f"the case {name!r} has several turns; expected single-turn categories of BFCL",
                place=source.name,
            )
        _set_gold(case, name, {"calls": [dict(one) for one in truth]})
    elif "result" in value:
        folder, file = _folder(source), PurePath(source.name).name
        if folder.name in _BFCL_GROUPS and file.startswith("BFCL_"):
            folder = folder.parent
        model = folder.name or MODEL
        line: dict[str, Any] = {"model": model, "output": {"calls": _bfcl_calls(value["result"])}}
        tokens = value.get("input_token_count"), value.get("output_token_count")
        if all(isinstance(count, int) for count in tokens):
            line["usage"] = dict(zip(("input_tokens", "output_tokens"), tokens, strict=True))
        case.outputs.append(line)
    else:
        turns = value.get("question") or ()
        first = turns[0] if turns and isinstance(turns[0], list) else turns
        case.question = "\n".join(event.text for event in read_events(first))
        case.tools = value["function"]
        if "irrelevance" in name:
            _set_gold(case, name, {"calls": []})


def _bfcl_calls(result: Any) -> list[Any]:
    """The calls of a result: of function calling, or written as Python; other text has none."""
    if isinstance(result, list):
        return [
            {"name": name, "arguments": decoded(arguments)}
            for one in result
            if isinstance(one, Mapping)
            for name, arguments in one.items()
        ]
    try:
        body = ast.parse(str(result).strip().strip("`").strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = body.elts if isinstance(body, ast.List | ast.Tuple) else [body]
    return [_python_call(node) for node in nodes if isinstance(node, ast.Call)]


def _python_call(node: ast.Call) -> dict[str, Any]:
    """A call in Python syntax; what is not a literal stays text, and nothing is executed."""
    arguments = {}
    for keyword in node.keywords:
        try:
            arguments[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError:
            arguments[str(keyword.arg)] = ast.unparse(keyword.value)
    return {"name": ast.unparse(node.func), "arguments": arguments}


def _add_deepeval(found: dict[str, GoldCalls], value: Mapping[str, Any], name: str) -> None:
    """A test case of DeepEval: expected and called tools."""
    case = found.setdefault(str(value.get("name") or name), GoldCalls())
    case.question = str(value.get("input") or "")
    expected = [
        {str(tool.get("name")): {key: [one] for key, one in _parameters(tool).items()}}
        for tool in value["expected_tools"] or ()
    ]
    _set_gold(case, name, {"calls": expected})
    if value.get("tools_called") is not None:
        calls = [
            {"name": tool.get("name"), "arguments": _parameters(tool)}
            for tool in value["tools_called"]
        ]
        case.outputs.append({"model": MODEL, "output": {"calls": calls}})


def _parameters(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    given = tool.get("input_parameters", tool.get("inputParameters"))
    return given if isinstance(given, Mapping) else {}
