"""The JSON schema of eval files, generated from the structs that parse them."""

from __future__ import annotations

from typing import Any

import msgspec

from callscore.config.file import CALLS, PROVIDERS, SCENARIOS, EvalFile, ModelEntry, ScenarioEntry
from callscore.core.scorecard import BY, Decide
from callscore.suites import registry

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
