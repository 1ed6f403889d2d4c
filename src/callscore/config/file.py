"""The structure of EVAL.yaml: every key, its type and its meaning. YAML is converted to it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.run import Limits, ModelSpec, Price
from callscore.core.scorecard import BY, Decide
from callscore.store.strict_yaml import Document
from callscore.suites import registry

PROVIDERS = ("openai", "anthropic", "gemini", "bedrock", "replay", "simulated", "baseline")
OFFLINE = frozenset({"replay", "simulated", "baseline"})
SAMPLE = "sample"
"""The value of `data` for the bundled sample calls."""
CALLS = "calls"
"""The key of case files under `data`."""
SCENARIOS = "orchestration"
"""The key of scenarios under `data`; among the tasks, it selects them."""
_AT = re.compile(r" - at `\$\.?(.*)`$")
_MISSING = re.compile(r"Object missing required field `(.*?)`")
_SECRET_KEYS = frozenset({"api_key", "apikey", "key", "token", "secret", "password"})


class ToolEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `data.orchestration.tools`: a Python function, or an MCP server."""

    python: str = ""
    """`FILE.py:function`, `FILE.py:Class.method` or `module:function`; files are relative to the
    eval file."""
    mcp: list[str] = []
    """The command that starts the server, with its arguments, in the folder of the eval file."""
    timeout_s: float = 30.0
    recorded: bool = True
    """Whether calls that the scenario has a result for get that result."""
    env: list[str] = []
    """The names of environment variables that the server gets."""


class StopEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`data.orchestration.stop`: when a conversation ends in any case."""

    steps: int = 20
    """Replies of the model."""
    user_turns: int = 10
    repeats: int = 3
    """The same calls with the same results, one after the other."""
    bytes: int = 60_000
    """Of everything that was said, called and returned."""


class ScenarioEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`data.orchestration`: a folder of scenarios and the cards of their agents, or several."""

    scenarios: str | list[str]
    cards: str | list[str]
    protocol: str = "callscore"
    mode: str = "standard"
    history: str = "gold"
    prompts: str | dict[str, str] | None = None
    """Own system prompts by name (`planner`, `sub_agent`, or the id of an agent); or a config file
    of the public runner, for its prompts."""
    tools: dict[str, ToolEntry] = {}
    """With `history: own`: by name of a tool, or `*` for all others, what carries out its calls."""
    user: dict[str, Any] | None = None
    """With `history: own`: the model that plays the user, with the keys of a model."""
    stop: StopEntry = StopEntry()
    asking_back: str | None = None
    """Whether a reply asks back by its `text` or only by its `status`; by default by its text with
    own prompts."""


class DataEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`data` written out: case files, and scenarios of several steps.

    Other keys are suites of other packages.
    """

    calls: str | list[str] = []
    scenarios: ScenarioEntry | None = msgspec.field(default=None, name=SCENARIOS)


class ModelEntry(ModelSpec, frozen=True, forbid_unknown_fields=True):
    """One entry of `models`."""

    outputs: str | list[str] = []
    """Replay only: the files with the recorded outputs."""


class RegressionEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`no_regression`: how far below a baseline a value may be."""

    margin: float
    baseline: str = "callscore-baseline.json"
    """The file that `callscore baseline set` has written, relative to the eval file."""
    against: str | None = None
    """A model of the baseline; by default the one with the same name, or its only one."""


class GateEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `gates`: a condition for exit code 0."""

    of: str
    at_least: float | None = None
    at_most: float | None = None
    no_regression: RegressionEntry | None = None
    sure: bool = False
    """Whether the limit of the interval must hold, not just the value."""
    model: str | None = None


class AttemptsEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`attempts`: retries and timeouts."""

    most: int = 6
    timeout_s: float = 600.0
    case_timeout_s: float = 900.0


class RaceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`race`: error probability, margin and subject of `--race`."""

    alpha: float = 0.05
    """The greatest probability that the best model is dropped."""
    margin: float = 0.01
    """Finals that differ by less count as equal."""
    about: str = "pool"
    finish_invalid: bool = False
    """Whether a model that is certainly invalid still gets all requests."""
    seed: int = 0
    """Seed of the order in which calls are drawn."""


class EvalFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    data: str | list[Any] | dict[str, Any]
    models: list[ModelEntry]
    name: str = ""
    tasks: list[str] = []
    judge: Any = None
    embedder: Any = None
    repeats: int | None = None
    benchmarks: Any = None
    budget_usd: float | None = None
    store: str | None = None
    gates: list[GateEntry] = []
    verdicts: str | list[str] = []
    labels: str | list[str] = []
    """Verdicts of people on a sample of judged items (STATS §5)."""
    settings: dict[str, Any] = {}
    metrics: list[str] = []
    """Metrics of other installed packages, by the name of their entry point."""
    weights: dict[str, float] = {}
    workload: dict[str, float] = {}
    """The share of telephone calls that need a task, by task (C-83)."""
    intervals: bool = True
    """Whether every number gets its 95 % interval."""
    attempts: AttemptsEntry = AttemptsEntry()
    redact: Any = None
    """Whether personal data is replaced before anything is sent or stored, and which."""
    race: RaceEntry = RaceEntry()
    decide: dict[str, Any] = {}
    """What the recommended model is chosen by: `by`, `margin`, `allow_fail` (C-138)."""
    prompts: dict[str, Any] = {}
    """Prompt files by task, and `variants`: prompt files by name and task."""


def convert_entry(document: Document, kind: Any, part: str, value: Any) -> Any:
    """The value as a struct; an error for an unknown key names the nearest known one."""
    refuse_unknown(document, kind, part, value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message = str(error)
        found = _AT.search(message)
        inner = found.group(1) if found else ""
        whole = f"{part}.{inner}" if part and inner else part or inner
        if missing := _MISSING.match(message):
            raise document.error(whole, f"expected the key {missing[1]}") from None
        raise document.error(whole, _AT.sub("", message).replace("`", "")) from None


def refuse_unknown(document: Document, kind: Any, part: str, value: Any) -> None:
    """Raise if a mapping has a key that its struct does not have, at any depth."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            refuse_unknown(document, kind, f"{part}[{number}]", item)
    if not isinstance(value, dict):
        return
    known = kind.__struct_encode_fields__
    for key, item in value.items():
        inner = f"{part}.{key}" if part else key
        if key not in known:
            raise document.error(inner, _unknown(key, known))
        if (kind, key) in _NESTED:
            refuse_unknown(document, _NESTED[kind, key], inner, item)


def refuse_unknown_suite(document: Document, part: str, name: str) -> None:
    """Raise if a key of `data` is not the name of a suite with files of scenarios."""
    known = registry.scenario_readers()
    if name not in known:
        raise document.error(part, _unknown(name, (CALLS, SCENARIOS, *known)))


def _unknown(key: str, known: Sequence[str]) -> str:
    if key.casefold().replace("-", "_") in _SECRET_KEYS and "api_key_env" in known:
        return "a secret does not belong in this file; expected api_key_env or api_key_file"
    near = difflib.get_close_matches(key, known, n=3, cutoff=0.6)
    near.sort(key=lambda name: sorted(name) != sorted(key))  # swapped letters come first
    hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
    return f"unknown key; {hint}"


_NESTED: Mapping[tuple[Any, str], Any] = {
    (EvalFile, "models"): ModelEntry,
    (EvalFile, "gates"): GateEntry,
    (EvalFile, "attempts"): AttemptsEntry,
    (ModelEntry, "price"): Price,
    (ModelEntry, "limits"): Limits,
    (DataEntry, SCENARIOS): ScenarioEntry,
    (ScenarioEntry, "stop"): StopEntry,
}


DIALECT = "https://json-schema.org/draft/2020-12/schema"
NOTES = {
    "name": "The name of the evaluation; by default that of the file.",
    "data": "Case files or globs, relative to this file; "
    f"{{{SCENARIOS}: {{scenarios, cards}}}}, or {{SUITE: FOLDER}} of an installed suite.",
    "tasks": "Only cases of these tasks.",
    "models": "The models to compare.",
    "judge": "The judge: none, offline, a model, or a list of models.",
    "embedder": "The embedder, which compares sentences: auto, none, a name, or a model.",
    "repeats": "How often every case is requested.",
    "benchmarks": "The eleven optional benchmarks: all or none.",
    "budget_usd": "Stop before more than this is spent.",
    "store": "Where replies are stored: a file, or postgresql://USER@HOST/DATABASE; by default "
    ".callscore/runs.db next to this file.",
    "gates": "Conditions for exit code 0.",
    "verdicts": "Verdicts of people or judges.",
    "labels": "Verdicts of people on a sample of judged items; they correct the judged values.",
    "settings": "Settings of the framework, such as call_gate_tolerance.",
    "weights": "Own weights of the tasks in the Final Score.",
    "workload": "The share of calls that need a task.",
    "redact": "Replace personal data before anything is sent or stored.",
    "decide": "What the recommended model is chosen by: by, margin, allow_fail.",
    "prompts": "Own prompt files by task, and variants of them.",
}


def eval_schema() -> dict[str, Any]:
    """The schema with which editors check an eval file."""
    kinds, parts = msgspec.json.schema_components((EvalFile,), ref_template="#/$defs/{name}")
    del kinds
    whole = parts.pop("EvalFile")
    for key, note in NOTES.items():
        if key in whole["properties"]:
            whole["properties"][key]["description"] = note
    whole["properties"]["data"] = {
        "description": NOTES["data"],
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Data"}]}},
            {"$ref": "#/$defs/Data"},
        ],
    }
    whole["properties"]["tasks"]["items"] = {"enum": list(registry.task_names())}
    _, decide = msgspec.json.schema_components((Decide,), ref_template="#/$defs/{name}")
    parts |= decide
    parts[Decide.__name__]["properties"]["by"]["enum"] = list(BY)
    whole["properties"]["decide"] = {
        "description": NOTES["decide"],
        "$ref": f"#/$defs/{Decide.__name__}",
    }
    model = parts[ModelEntry.__name__]["properties"]
    model["provider"]["examples"] = list(PROVIDERS)
    _, scenario = msgspec.json.schema_components((ScenarioEntry,), ref_template="#/$defs/{name}")
    parts |= scenario
    paths = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    parts["Data"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            CALLS: paths,
            **dict.fromkeys(registry.scenario_readers(), paths),
            SCENARIOS: {"$ref": f"#/$defs/{ScenarioEntry.__name__}"},
        },
    }
    whole.pop("title", None)
    return {"$schema": DIALECT, "title": "Callscore eval file", **whole, "$defs": parts}
