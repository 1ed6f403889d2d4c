"""The schema of QA answers bound to the form of a case: the setting `schema: form`.

A model behind a server that keeps to the schema cannot then invent a question, change its scale or
give a mark that the form does not have. That hides a kind of error, so it is not the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callscore.core.case import JsonObject

PASS_FAIL, SCORE = "PASS_FAIL", "SCORE"


def bind_to_form(schema: JsonObject, questions: Sequence[JsonObject]) -> JsonObject:
    """The schema with one alternative per question of the form, and as many entries."""
    properties = schema["properties"]
    array = properties.get("questions")
    if array is None or not questions:
        return schema
    bound = [_bind_entry(array["items"], question) for question in questions]
    items = bound[0] if len(bound) == 1 else {"anyOf": bound}
    number = len(questions)
    array = {**array, "items": items, "minItems": number, "maxItems": number}
    return {**schema, "properties": {**properties, "questions": array}}


def _bind_entry(entry: JsonObject, question: JsonObject) -> JsonObject:
    """The schema of one entry: id, scale and type as in the form, and the marks they allow."""
    fixed = {name: {"enum": [question[name]]} for name in ("max_score", "type") if name in question}
    named = {"question_id": {"enum": [str(question["question_id"])]}}
    bounds = {**named, **fixed, **_mark_bounds(question)}
    members: Mapping[str, Any] = entry["properties"]
    return {
        **entry,
        "properties": {
            name: {**_without_enum(inner), **bounds.get(name, {})}
            for name, inner in members.items()
        },
    }


def _mark_bounds(question: JsonObject) -> JsonObject:
    """PASS_FAIL: nothing or everything; SCORE: between; null where the question does not apply."""
    highest = question.get("max_score")
    if isinstance(highest, bool) or not isinstance(highest, (int, float)):
        return {}
    if question.get("type") == PASS_FAIL:
        return {"score": {"enum": [0, highest, None]}}
    return {"score": {"minimum": 0, "maximum": highest}} if question.get("type") == SCORE else {}


def _without_enum(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key != "enum"}
