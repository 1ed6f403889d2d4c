"""The perfect answer to a prompt: what it asks for, in its schema, with the expected values.

The answer has nothing else of the reference: only sentences that the prompt asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.case import Case, Prompt

Json = dict[str, Any]


def document(prompt: Prompt) -> Json:
    """The JSON document in the prompt."""
    found: Json = msgspec.json.decode(prompt.messages[-1].content)
    return found


def perfect_answer(case: Case, prompt: Prompt) -> Json:
    """An answer in the schema of the prompt, with the values of the human."""
    assert prompt.schema is not None
    asked, expected = document(prompt), case.expected_outcome
    wanted = {
        **expected,
        "questions": _items(asked["config"].get("questions"), expected, "questions", "question_id"),
        "sentiment": _sentences(asked, expected, "sentiment", "sentence_id", "text"),
        "sentence_translations": _sentences(
            asked, expected, "sentence_translations", "source_id", "source_text"
        ),
    }
    answer: Json = _fit(wanted, prompt.schema)
    return answer


def _items(asked: Any, expected: Mapping[str, Any], part: str, key: str) -> list[Json]:
    if part not in expected:
        return []
    human = {str(item.get(key)): item for item in expected[part]}
    return [{**human.get(str(item[key]), {}), **item} for item in asked or ()]


def _sentences(
    asked: Json, expected: Mapping[str, Any], part: str, key: str, text: str
) -> list[Json]:
    turns = [{key: turn.get("id"), text: turn["text"]} for turn in asked["transcript"]]
    return _items(asked["config"].get("sentences") or turns, expected, part, key)


def _fit(value: Any, schema: Mapping[str, Any]) -> Any:
    schema = schema.get("anyOf", [schema])[0]
    if "properties" in schema:
        assert schema["additionalProperties"] is False
        given = value if isinstance(value, Mapping) else {}
        return {name: _fit(given.get(name), of) for name, of in schema["properties"].items()}
    if schema["type"] == "array":
        return [_fit(item, schema["items"]) for item in value or ()]
    if value is not None:
        return value
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return None if "null" in kinds else 0 if "number" in kinds else ""
