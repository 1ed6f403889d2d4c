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
from callscore.importers.agents.conversations import MODEL
from callscore.importers.agents.loose_json import as_list, as_object, objects_in
from callscore.importers.agents.messages import decoded, read_events
from callscore.importers.agents.spent import Spent, add_spent, in_milliseconds, spent_in
from callscore.importers.agents.traces import json_values
from callscore.importers.source_file import Source


class GoldCalls(msgspec.Struct):
    """The parts of one case, which may come from several files."""

    question: str = ""
    tools: Any = None
    expected: dict[str, Any] | None = None
    outputs: list[dict[str, Any]] = []


class _Found(msgspec.Struct):
    """The cases of all files so far, and by kind how many are left out."""

    cases: dict[str, GoldCalls] = {}
    simulations: list[tuple[Mapping[str, Any], Source]] = []
    models: dict[PurePath, str] = {}
    """By file of results, and by its folder, the model of tau2-bench."""
    skipped: Counter[str] = msgspec.field(default_factory=Counter)

    def case(self, name: str) -> GoldCalls:
        """The case of an id, a new one if there is none."""
        return self.cases.setdefault(name, GoldCalls())


def read_gold_calls(
    sources: Sequence[Source],
) -> tuple[Mapping[str, GoldCalls], Mapping[str, int]]:
    """By case id, what the files have of benchmarks, and by kind how many cases are left out.

    Both are empty if the files are of no benchmark. Raises DataError if a result has no gold, one
    case has several, or no case has gold.
    """
    found = _Found()
    for source in sources:
        for value in _values(source):
            if isinstance(value, Mapping):
                _add_value(found, value, source)
    _add_tau2_simulations(found)
    for name, case in found.cases.items():
        if case.expected is None:
            has = "a result and no gold" if case.outputs else "no gold"
            raise DataError(f"the case {name!r} has {has}; expected its gold too")
    if found.skipped and not found.cases:
        kinds = "; ".join(
            f"{count} \N{MULTIPLICATION SIGN} {kind}" for kind, count in found.skipped.items()
        )
        raise DataError(f"no case has expected calls: {kinds}")
    return found.cases, found.skipped


def _add_value(found: _Found, value: Mapping[str, Any], source: Source) -> None:
    if _has_tau2_tasks(value):
        model = _model_of_tau2(value)
        found.models[_folder(source)] = found.models[PurePath(source.name)] = model
        _add_tau2_tasks(found, value)
        found.simulations += [(one, source) for one in objects_in(value.get("simulations"))]
    elif "task_id" in value and "termination_reason" in value:
        found.simulations.append((value, source))
    elif str(value.get("id")).startswith(_BFCL_LEFT_OUT):
        category = next(one for one in _BFCL_LEFT_OUT if str(value["id"]).startswith(one))
        kind = f"{category} of BFCL, which expects no calls of one turn"
        found.skipped[kind] += "question" in value
    elif "ground_truth" in value or "result" in value or "function" in value:
        _add_bfcl(found, value, source)
    elif "expected_tools" in value or "expectedTools" in value:
        _add_deepeval(found, value, f"{source.stem}-{len(found.cases) + 1}")
    elif source.json is not None and {"tools_called", "toolsCalled"} & value.keys():
        found.skipped[_NO_TOOLS] += 1


_NO_TOOLS = "test cases of DeepEval without expected tools"


def _values(source: Source) -> list[Any]:
    """The values of a file; of a test run of DeepEval, its test cases."""
    if source.is_archive:
        return []
    values = json_values(source)
    if len(values) == 1 and isinstance(values[0], Mapping):
        run = values[0].get("testRunData", values[0])
        for key in ("test_cases", "testCases", "goldens"):
            if isinstance(run, Mapping) and isinstance(run.get(key), list):
                given = run.get("hyperparameters")
                model = given.get("model") if isinstance(given, Mapping) else None
                known = {"model": model} if isinstance(model, str) else {}
                return [{**known, **one} if isinstance(one, Mapping) else one for one in run[key]]
    return values


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


def _add_tau2_tasks(found: _Found, value: Mapping[str, Any]) -> None:
    """The tasks of one tau2-bench run."""
    for task in objects_in(value["tasks"]):
        name = str(task.get("id"))
        case = found.case(name)
        criteria = as_object(task.get("evaluation_criteria"))
        listed = objects_in(criteria.get("actions"))
        case.question = json.dumps(task.get("user_scenario") or name, ensure_ascii=False)
        actions = [
            {"name": action.get("name"), "kwargs": action.get("arguments") or {}}
            for action in listed
            if action.get("requestor", "assistant") == "assistant"
        ]
        limited = sum(action.get("compare_args") is not None for action in listed)
        if case.expected is None and limited:
            found.skipped["limits of actions to some arguments (compare_args)"] += limited
        _set_gold(case, name, {"actions": actions})


_OUTAGES = frozenset(
    {"infrastructure_error", "unexpected_error", "user_error", "context_window_exceeded"}
)
"""Ends of a simulation that are no fault of the agent; `agent_error` is one."""


def _add_tau2_simulations(found: _Found) -> None:
    """What each simulation called; one in a file of its own is below the folder of the results."""
    runs: Counter[tuple[str, str]] = Counter()
    for simulation, source in found.simulations:
        name = str(simulation.get("task_id"))
        if name not in found.cases:
            raise DataError(f"a simulation of the unknown task {name!r}", place=source.name)
        if not simulation.get("messages") and simulation.get("ticks"):
            raise DataError(
                f"a simulation of the task {name!r} is of speech; expected messages",
                place=source.name,
            )
        places = (PurePath(source.name), _folder(source).parent)
        model = next((found.models[place] for place in places if place in found.models), MODEL)
        runs[model, name] += 1
        ended = str(simulation.get("termination_reason") or "")
        events = read_events(_by_assistant(simulation.get("messages")))
        calls = [
            {"name": call.name, "arguments": call.arguments}
            for event in events
            for call in event.calls
        ]
        cost = simulation.get("agent_cost")
        spent = add_spent(event.spent for event in events)._replace(
            cost_usd=cost if isinstance(cost, int | float) else None
        )
        line: dict[str, Any] = {
            "model": model,
            "run": runs[model, name],
            "output": {"calls": calls},
            **spent.as_json(),
        }
        if ended in _OUTAGES:
            line |= {"output": None, "error": ended}
        found.cases[name].outputs.append(line)


def _by_assistant(messages: Any) -> list[Any]:
    """The messages of the agent, each with what it took; a greeting took nothing."""
    listed = messages if isinstance(messages, list) else []
    return [
        {**one, "spent": _spent_of_message(one)}
        for one in listed
        if isinstance(one, Mapping) and one.get("role") == "assistant"
    ]


def _spent_of_message(message: Mapping[str, Any]) -> Spent:
    if not message.get("usage"):
        return Spent(0.0, 0, 0)
    return spent_in(message["usage"], in_milliseconds(message.get("generation_time_seconds")))


_BFCL_GROUPS = ("live", "non_live")
"""Folders of categories, inside of that of a model."""
_BFCL_LEFT_OUT = ("multi_turn", "memory", "web_search", "live_relevance")
"""Categories without expected calls of one turn; in `live_relevance`, any call is right."""


def _add_bfcl(found: _Found, value: Mapping[str, Any], source: Source) -> None:
    """A line of a BFCL file: a question with its functions, a possible answer, or a result."""
    name = str(value.get("id") or "")
    if not name:
        raise DataError("a line without id; expected one of BFCL", place=source.name)
    case = found.case(name)
    if "ground_truth" in value:
        truth = value["ground_truth"]
        if not isinstance(truth, list) or not all(isinstance(one, Mapping) for one in truth):
            raise DataError(
                f"the case {name!r} has several turns; expected single-turn categories of BFCL",
                place=source.name,
            )
        _set_gold(case, name, {"calls": [dict(one) for one in truth]})
    elif "result" in value:
        case.outputs.append(_bfcl_output(value, source))
    else:
        turns = as_list(value.get("question"))
        first = turns[0] if turns and isinstance(turns[0], list) else turns
        case.question = "\n".join(event.text for event in read_events(first))
        case.tools = value["function"]
        if "irrelevance" in name:
            _set_gold(case, name, {"calls": []})


def _bfcl_output(value: Mapping[str, Any], source: Source) -> dict[str, Any]:
    folder, file = _folder(source), PurePath(source.name).name
    if folder.name in _BFCL_GROUPS and file.startswith("BFCL_"):
        folder = folder.parent
    tokens = {f"{side}_tokens": value.get(f"{side}_token_count") for side in ("input", "output")}
    time = in_milliseconds(value.get("latency"))
    calls = {"calls": _bfcl_calls(value["result"])}
    return {"model": folder.name or MODEL, "output": calls, **spent_in(tokens, time).as_json()}


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


def _add_deepeval(found: _Found, value: Mapping[str, Any], name: str) -> None:
    """A test case of DeepEval: expected and called tools, in the words of code or of files."""
    wanted = value.get("expected_tools", value.get("expectedTools"))
    if not isinstance(wanted, list):
        found.skipped[_NO_TOOLS] += 1
        return
    name = str(value.get("name") or name)
    case = found.case(name)
    case.question = str(value.get("input") or "")
    expected = [
        {str(tool.get("name")): {key: [one] for key, one in _parameters(tool).items()}}
        for tool in objects_in(wanted)
    ]
    _set_gold(case, name, {"calls": expected})
    called = value.get("tools_called", value.get("toolsCalled"))
    if isinstance(called, list):
        model = str(value.get("model") or MODEL)
        time = in_milliseconds(value.get("completionTime", value.get("completion_time")))
        calls = [
            {"name": tool.get("name"), "arguments": _parameters(tool)}
            for tool in objects_in(called)
        ]
        line: dict[str, Any] = {
            "model": model,
            "run": 1 + sum(one["model"] == model for one in case.outputs),
            "output": {"calls": calls},
            **spent_in(value, time, value.get("tokenCost", value.get("token_cost"))).as_json(),
        }
        case.outputs.append(line)


def _parameters(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    given = tool.get("input_parameters", tool.get("inputParameters"))
    return given if isinstance(given, Mapping) else {}
