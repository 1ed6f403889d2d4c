"""The prompt of a case: the task's instructions (a file), the config, and the call as data.

The schema of the reply is made from the shape that also checks its structure (C-130).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.case import Case, JsonObject, Message, Prompt, turns
from callscore.suites.calls.parse import Form, Structure, form_from_schema
from callscore.suites.calls.structure import SCALAR, Shape

NEVER_SHOWN = frozenset({"critical_facts"})
"""Config keys that would give the answer away (C-123)."""
OMITTED = msgspec.UNSET
"""The value of a config key that adds nothing to the transcript."""
ANY_SCALAR: JsonObject = {"type": ["string", "number", "boolean", "null"]}
"""The schema of a value whose name the framework does not document."""

NamesByPath = Mapping[str, Sequence[str]]


class PromptFile(msgspec.Struct, frozen=True):
    """A task's prompt in the package: instructions and the JSON schema of the reply."""

    system: str
    schema: JsonObject


@cache
def prompt_file(task: str) -> PromptFile:
    """The instructions of a task, and the JSON schema of its replies."""
    folder = Path(__file__).with_name(task)
    return PromptFile(
        folder.joinpath("prompt.md").read_text(encoding="utf-8"),
        msgspec.json.decode(folder.joinpath("answer.schema.json").read_bytes()),
    )


@cache
def answer_form(task: str) -> Form:
    """The documented form of a task's replies, from its schema."""
    return form_from_schema(prompt_file(task).schema)


def build_prompt(case: Case, asked: JsonObject, structure: Structure) -> Prompt:
    """The instructions of the task, then config and transcript as one JSON document.

    `asked` says what is asked for in place of what the config says. The schema of the answer, and
    its form if it is not the documented one, come from the structure it is checked by (C-130).
    The call is data, never part of the instructions: it is JSON-encoded, so that nothing
    said in it can close its block.
    """
    file = prompt_file(case.task)
    config = {key: value for key, value in case.config.items() if key not in NEVER_SHOWN}
    config |= asked
    document: dict[str, Any] = {
        "config": {key: value for key, value in config.items() if value is not OMITTED},
        "transcript": [_shown(turn) for turn in msgspec.to_builtins(list(turns(case.transcript)))],
    }
    if case.lang:
        document["language"] = case.lang
    if case.question:
        document["question"] = case.question
    schema = schema_of(structure.shape, file.schema, structure.asked)
    if not is_documented(schema, file.schema):
        document["form"] = form_of(schema)
    data = msgspec.json.encode(document).decode()
    return Prompt((Message("system", file.system), Message("user", data)), schema)


def _shown(turn: dict[str, Any]) -> dict[str, Any]:
    return {key: turn[key] for key in ("id", "speaker", "start", "text") if key in turn}


def schema_of(
    shape: Shape, documented: JsonObject, asked: NamesByPath, path: str = ""
) -> JsonObject:
    """The schema of a shape, with the types of the documented schema if it has the name.

    If names are content (`asked`, by path), only the requested ones are allowed.
    """
    if shape.kind == "array":
        assert shape.item is not None  # every array shape has one
        items = schema_of(shape.item, documented.get("items", ANY_SCALAR), asked, f"{path}[]")
        return {"type": "array", "items": items}
    if shape.kind == "scalar":
        return ANY_SCALAR if documented.get("type") in ("object", "array") else documented
    names = asked.get(path) or _in_order(shape, documented)
    requested = [name for name in names if name not in shape.unchecked]
    properties = {name: _member(name, shape, documented, asked, path) for name in requested}
    optional = frozenset() if path in asked else shape.allowed - shape.required
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in requested if name not in optional],
        "properties": properties,
    }


def _in_order(shape: Shape, documented: JsonObject) -> Sequence[str]:
    known = documented.get("properties", {})
    return [*(name for name in known if name in shape.allowed), *sorted(shape.allowed - {*known})]


def _member(
    name: str, shape: Shape, documented: JsonObject, asked: NamesByPath, path: str
) -> JsonObject:
    inner = documented.get("properties", {}).get(name) or documented.get("additionalProperties")
    inner = inner if isinstance(inner, Mapping) else ANY_SCALAR
    below = f"{path}.{name}" if path else name
    return schema_of(shape.containers.get(name, SCALAR), inner, asked, below)


def form_of(schema: JsonObject) -> Any:
    """The form of the reply as an example: every name, and `...` for its value."""
    if schema["type"] == "object":
        return {name: form_of(inner) for name, inner in schema["properties"].items()}
    return [form_of(schema["items"])] if schema["type"] == "array" else "..."


def is_documented(schema: JsonObject, documented: JsonObject) -> bool:
    """Whether a reply has the documented names; names that are content may be any."""
    if documented.get("type") == "array":
        return is_documented(schema.get("items", {}), documented["items"])
    if "properties" not in documented:
        return documented.get("type") == "object" or "properties" not in schema
    members = schema.get("properties", {})
    return members.keys() == documented["properties"].keys() and all(
        is_documented(members[name], inner) for name, inner in documented["properties"].items()
    )
