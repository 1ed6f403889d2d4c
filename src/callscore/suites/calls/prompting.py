"""The prompt of a case: the task's instructions (a file), the config, and the call as data."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.case import Case, JsonObject, Message, Prompt, turns
from callscore.suites.calls.answer_schema import form_of, is_documented, schema_of
from callscore.suites.calls.fast_parse import Form, form_from_schema
from callscore.suites.calls.structure import Structure

NEVER_SHOWN = frozenset({"critical_facts"})
"""Config keys that would give the answer away (C-123)."""
OMITTED = msgspec.UNSET
"""The value of a config key that adds nothing to the transcript."""


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
