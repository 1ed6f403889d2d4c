"""Finds a plan in text like the public evaluator        C-128, Q41

Its patterns are replaced by plain searches, so that hostile text takes linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from callscore.suites.orchestration.yaml_text import YamlFault, read_public

_JSON_FENCE = re.compile(r"```json\s*\{")
_YAML_FENCE = re.compile(r"```yaml\s*workflow_")
_CLOSE_AFTER_BRACE = re.compile(r"\}\s*```")
_NAMED_OBJECT = re.compile(r'"workflow_\d+":\s*\{')


def extract_plan(content: object) -> Mapping[Any, Any]:
    """The first candidate that is a mapping with a key `workflow_…`, else {}        §4.1"""
    return _extract_from_text(content) if isinstance(content, str) else {}


@lru_cache(maxsize=64)
def _extract_from_text(content: str) -> Mapping[Any, Any]:
    """Cached: the runs of a scenario have the same gold plans."""
    text = content.rsplit("</think>", 1)[-1]
    for read, candidate in _candidates(text):
        try:
            value = read(candidate)
        except (json.JSONDecodeError, YamlFault):
            continue
        if isinstance(value, dict) and any(key.startswith("workflow_") for key in value):
            return value
    return {}


def _candidates(text: str) -> Iterator[tuple[Callable[[str], Any], str]]:
    """What the public code tries, in its order.

    Without a brace, the whole text as JSON is not a plan, but may end the run: a number of 5,000
    digits or 20,000 brackets raise errors that the public code does not expect (Q41).
    """
    if "{" in text:
        for find in (_fenced_json, _flat_object, _balanced_object):
            found = find(text)
            if found is not None:
                yield json.loads, found
    yield json.loads, text
    fenced = _fenced_yaml(text)
    if fenced is not None:
        yield read_public, fenced
    if "workflow_" in text:
        yield read_public, text
        reindented = _reindent(text)
        if reindented is not None:
            yield read_public, reindented


def _fenced_json(text: str) -> str | None:
    """The body of the first ```json fence that begins with a brace, up to a brace and a fence.

    Only the first opening matters: what closes a later one closes the first one too.
    """
    opening = _JSON_FENCE.search(text)
    closing = _CLOSE_AFTER_BRACE.search(text, opening.end()) if opening is not None else None
    if opening is None or closing is None:
        return None
    return text[opening.end() - 1 : closing.start() + 1]


def _fenced_yaml(text: str) -> str | None:
    opening = _YAML_FENCE.search(text)
    close = text.find("```", opening.end()) if opening is not None else -1
    if opening is None or close < 0:
        return None
    return text[opening.end() - len("workflow_") : close].rstrip()


def _flat_object(text: str) -> str | None:
    """The first text `{ … "workflow_ … }` without a closing brace inside.

    If another such object follows after a comma, the public pattern matches both, and two
    objects are not JSON.
    """
    parts = text.split("}")
    for index, part in enumerate(parts[:-1]):
        brace = part.find("{")
        if brace < 0 or part.rfind('"workflow_') < brace:
            continue
        following = parts[index + 1].lstrip() if index + 2 < len(parts) else ""
        two_objects = following.startswith(",") and following[1:].lstrip().startswith("{")
        if two_objects and '"workflow_' in following:
            return None
        return part[brace:] + "}"
    return None


def _balanced_object(text: str) -> str | None:
    """From the brace before the first `"workflow_` to its partner; braces in strings count too."""
    named = _NAMED_OBJECT.search(text)
    if named is None or text.find("}", named.end()) < 0:
        return None
    opening = text.rfind("{", 0, text.find('"workflow_'))
    if opening < 0:
        return None
    depth = 0
    for brace in re.finditer(r"[{}]", text[opening:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return text[opening : opening + brace.end()]
    return None


def _reindent(text: str) -> str | None:
    """The public repair of lost indentation, which doubles the colon of every workflow line."""
    lines = text.strip().split("\n")
    if not lines[0].startswith("workflow_"):
        return None
    repaired = []
    for line in lines:
        bare = line.strip()
        if bare.startswith("workflow_"):
            repaired.append(line + ":")
        elif ":" in line and not bare.startswith("-"):
            repaired.append("  " + bare)
        else:
            repaired.append(("    " if bare.startswith("-") else "      ") + bare)
    return "\n".join(repaired) + "\n"
