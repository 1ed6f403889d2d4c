"""The JSON schema of a Text answer, closed: which fields and emotions it has, the case says.

Structured output of most APIs takes only objects whose members are all named. The prompt asks for
exactly these names, so the schema says nothing that the prompt does not.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from callscore.core.case import Case, JsonObject
from callscore.suites.calls.prompting import prompt_file

USUAL_EMOTIONS = ("anger", "neutral", "joy", "fear", "sadness")
"""Where a case names none, as the prompt says."""
MOST_NAMES, LONGEST_NAME = 100, 100
"""Beyond these a part stays open: no API takes a schema of any size."""

Names = tuple[str, ...] | None


def answer_schema(case: Case) -> JsonObject:
    """The schema of the answer to a case; the same object for the same fields and emotions."""
    emotions = case.config.get("emotions")
    return _closed(
        _names(case.config.get("required_fields")),
        USUAL_EMOTIONS if emotions is None else _names(emotions),
    )


def _names(given: Any) -> Names:
    """The names in a list, each once; None where they are none that a schema could hold."""
    if not isinstance(given, list) or len(given) > MOST_NAMES:
        return None
    if not all(isinstance(name, str) and 0 < len(name) <= LONGEST_NAME for name in given):
        return None
    return tuple(dict.fromkeys(given))


@lru_cache(maxsize=256)
def _closed(fields: Names, emotions: Names) -> JsonObject:
    schema = prompt_file("text").schema
    if fields is None and emotions is None:
        return schema
    closed: dict[str, Any] = copy.deepcopy(dict(schema))
    if fields is not None:
        summary = closed["properties"]["summary"]["properties"]
        summary["call_extracted_info"] = _object(fields, "string")
    if emotions is not None:
        closed["properties"]["emotion"] = _object(emotions, "number")
    return closed


def _object(names: Sequence[str], kind: str) -> JsonObject:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(names),
        "properties": {name: {"type": kind} for name in names},
    }
