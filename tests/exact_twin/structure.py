"""Response Structure Compliance: kinds of containers and key sets (C-21 … C-25, C-127)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from exact_twin.exact import Json

OPEN_MAP = "/summary/call_extracted_info"
ITEM_KEYS = {
    "/domain_terms_handled": {"term", "handled_as"},
    "/named_entities_handled": {"entity", "handled_as"},
}


def read(raw: Any) -> Any:
    """The JSON object of a reply; None if it has none."""
    if not isinstance(raw, str):
        return raw
    if raw.strip().startswith("<think>"):
        raw = raw.partition("</think>")[2]
    try:
        value = json.loads(raw, object_pairs_hook=_unique)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key appears twice")
    return dict(pairs)


def complies(case: Json, answer: Any) -> bool:
    """Whether an answer has the structure of the expected outcome."""
    parts = case.get("expected_parts", {})
    absent = {part for part, word in parts.items() if word == "absent"}
    if answer is None:
        return False
    expected = case["expected_outcome"]
    given = answer.get("emotion")
    if isinstance(given, Mapping) and isinstance(expected.get("emotion"), Mapping):
        asked = set(case["config"].get("emotions", ())) - absent
        answer = {**answer, "emotion": _as_expected(expected["emotion"], given, asked)}
    return _same(expected, answer, "", absent)


def _as_expected(expected: Json, given: Json, asked: set[str]) -> dict[str, Any]:
    """The emotions of an answer in the form of the reference, as far as they may differ (C-25)."""
    others = {name: 0 for name in expected if name not in asked} if asked else {}
    own = {name: share for name, share in given.items() if name in expected or name not in asked}
    return {**others, **own}


def _same(expected: Any, given: Any, path: str, absent: set[str]) -> bool:
    if isinstance(expected, Mapping):
        return isinstance(given, Mapping) and _same_object(expected, given, path, absent)
    if isinstance(expected, list):
        return isinstance(given, list) and _same_items(expected, given, path, absent)
    return not isinstance(given, (Mapping, list))


def _same_object(expected: Json, given: Json, path: str, absent: set[str]) -> bool:
    wanted, found = set(expected) - absent, set(given) - absent
    keys_fit = found <= wanted if path == OPEN_MAP else found == wanted
    return keys_fit and all(
        _same(expected[key], given[key], f"{path}/{key}", absent) for key in found
    )


def _same_items(expected: list[Any], given: list[Any], path: str, absent: set[str]) -> bool:
    if expected:
        return all(_same(expected[0], item, f"{path}[]", absent) for item in given)
    keys = ITEM_KEYS.get(path)
    if keys is None:
        return not any(isinstance(item, (Mapping, list)) for item in given)
    return all(isinstance(item, Mapping) and set(item) == keys for item in given)
